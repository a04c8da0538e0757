"""Lists of values as one text, in the form in which AWS's own Hive client writes them to Glue. Pure.

`["a$b", ""]` is `3$a$b0$`: the length of each in UTF-16 units, a dollar sign, the value.
"""

from __future__ import annotations

from collections.abc import Iterable

from pysync.base.text import whole_number
from pysync.targets.aws.texts import length

_UTF_16 = "utf-16-le"


def joined(values: Iterable[str]) -> str:
    """The values as one text."""
    return "".join(f"{length(value)}${value}" for value in values)


def parted(text: str) -> list[str]:
    """The values in a text of `joined`; a text in another form is one value."""
    # A character for each unit of UTF-16, as which the lengths count them.
    units = "".join(map(chr, memoryview(text.encode(_UTF_16, "surrogatepass")).cast("H")))
    pieces, at = [], 0
    while at < len(units):
        mark = units.find("$", at)
        size = whole_number(units[at:mark])
        if mark < 0 or size is None or mark + 1 + size > len(units):
            return [text]
        at = mark + 1 + size
        piece = units[mark + 1 : at].encode(_UTF_16, "surrogatepass")
        pieces.append(piece.decode(_UTF_16, "surrogatepass"))
    return pieces
