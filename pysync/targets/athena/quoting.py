r"""The one place where text becomes part of a statement: Hive's string literals and quoted identifiers. Pure.

How Hive reads a literal back (BaseSemanticAnalyzer.unescapeSQLString) decides how one is written:

- `''` within a literal is the end of one and the start of the next: the quote vanishes. Only a backslash keeps it;
- `\0` followed by two octal digits is another character: NUL is always written with three digits;
- `${name}` is a variable to Hive: a backslash before the brace is dropped by the parser, and no variable is left.

An identifier has no backslash; a backtick in it is doubled. Hive's parser takes a pair of backticks off twice, so a
name that begins and ends with one cannot be expressed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

MAX_BYTES = 262_144
"""The longest statement that Athena takes, in bytes of UTF-8."""
_ESCAPES = {
    "\\": r"\\",
    "'": r"\'",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\b": r"\b",
    "\x1a": r"\Z",
    "\x00": r"\000",
}

_SPECIAL = re.compile("|".join(map(re.escape, _ESCAPES)))
_PLACE = re.compile(r"[a-z0-9_]+")


class InexpressibleError(ValueError):
    """No statement can express this; the text says why."""


def string(text: str) -> str:
    """The literal that Hive reads as `text`. Raises InexpressibleError for what UTF-8 cannot carry."""
    _encodable(text)
    escaped = _SPECIAL.sub(lambda match: _ESCAPES[match[0]], text)
    return "'" + escaped.replace("${", "$\\{") + "'"


def identifier(name: str) -> str:
    """A column's or field's name in backticks. Raises InexpressibleError for one that Hive would read otherwise."""
    _encodable(name)
    if not name.strip():
        raise InexpressibleError("a name is empty")
    if name[0] == name[-1] == "`":
        raise InexpressibleError(f"the name {name!r} begins and ends with a backtick")
    if "." in name or ":" in name:
        raise InexpressibleError(f"the name {name!r} contains a dot or a colon")
    if "\x00" in name:
        raise InexpressibleError(f"the name {name!r} contains a NUL character")
    return "`" + name.replace("`", "``") + "`"


def place(*names: str) -> str:
    """A database's or table's name, quoted part by part. Raises InexpressibleError unless Athena documents it."""
    for name in names:
        if not _PLACE.fullmatch(name):
            raise InexpressibleError(f"the name {name!r} contains characters other than a-z, 0-9 and _")
    return ".".join(f"`{name}`" for name in names)


def properties(pairs: Mapping[str, str]) -> str:
    """`('a'='b', 'c'='d')`, by key; there is at least one."""
    return f"({', '.join(f'{string(key)}={string(value)}' for key, value in sorted(pairs.items()))})"


def listed(items: Iterable[str]) -> str:
    """`(a, b)`."""
    return f"({', '.join(items)})"


def size(statement: str) -> int:
    """Its length as Athena counts it, in bytes of UTF-8."""
    return len(statement.encode())


def fitting(statement: str) -> str:
    """The statement. Raises InexpressibleError when Athena would not take it for its length."""
    length = size(statement)
    if length > MAX_BYTES:
        raise InexpressibleError(f"the statement has {length} bytes; Athena accepts {MAX_BYTES}")
    return statement


def _encodable(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InexpressibleError(f"{text!r:.80} contains half of a surrogate pair") from None
