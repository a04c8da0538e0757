"""Lists of values as one text, in the form in which AWS's own Hive client writes them to Glue. Pure.

`["a$b", ""]` is `3$a$b0$`: the length of each in UTF-16 units, a dollar sign, the value.
"""

from __future__ import annotations

from collections.abc import Iterable

from pysync.targets.aws.texts import length


def joined(values: Iterable[str]) -> str:
    """The values as one text."""
    return "".join(f"{length(value)}${value}" for value in values)


def parted(text: str) -> list[str]:
    """The values in a text of `joined`; a text in another form is one value."""
    # Cut in UTF-16, in whose units the lengths are.
    pieces, rest = [], text.encode("utf-16-le", "surrogatepass")
    while rest:
        digits, mark, tail = rest.decode("utf-16-le", "surrogatepass").partition("$")
        if not mark or not (digits.isascii() and digits.isdigit()):
            return [text]
        rest = tail.encode("utf-16-le", "surrogatepass")
        size = 2 * int(digits)
        if size > len(rest):
            return [text]
        pieces.append(rest[:size].decode("utf-16-le", "surrogatepass"))
        rest = rest[size:]
    return pieces
