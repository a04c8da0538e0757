"""Where each key is in the text of a TOML file, and what of it is no TOML. Pure.

Python's parser does not say where a key is. That is looked for in texts which the parser has taken.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Place = tuple[int, int]
"""A line and a column, both from 1."""

_PART = r"""(?:[A-Za-z0-9_-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')"""
NAME = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
"""The expression of a name, which may have dots and parts in quotes."""
_TABLE = re.compile(rf"[ \t]*(\[\[?)[ \t]*({NAME})[ \t]*\]\]?")
_KEY = re.compile(rf"[ \t]*({NAME})[ \t]*=")
# The quotes of a text of several lines, a text of one line, a comment, a bracket. A text may lack its end: else each
# quote in a row of them would be followed to the end of the line.
_TOKEN = re.compile(r"""\"\"\"|'''|"(?:\\.|[^"\\])*"?|'[^']*'?|\#.*|[\[{\]}]""")

# What the parser adds to what it says, and how it writes the name of a table: ('targets', 'copy').
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TUPLE = re.compile(r"\(((?:'[^']*',? ?)+)\)")


def fault(message: str) -> tuple[Place | None, str]:
    """Where a text is no TOML, and why, out of what the parser says; at no place where its end is missing."""
    match = _AT.search(message)
    at = (int(match[1]), int(match[2])) if match and match[1] else None
    why = _TUPLE.sub(lambda it: ".".join(re.findall(r"'([^']*)'", it[1])), _AT.sub("", message))
    why = why.replace("Cannot overwrite a value", "the key is there twice")
    return at, (why[:1].lower() + why[1:]) + ("" if at else ", at the end of the file")


def places(text: str) -> Mapping[str, Place]:
    """The place of each table and key, by its name as pysync's messages have it: `targets[0].locations`.

    A table of an array has its number. Keys of inline tables are at the key of the table.
    """
    keys: dict[str, Place] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in _statements(text):
        if header := _TABLE.match(line):
            name = ".".join(name_parts(header[2]))
            if header[1] == "[[":
                counts[name] = counts.get(name, -1) + 1
            table = _numbered(name, counts)
            keys.setdefault(table, (number, header.start(1) + 1))
        elif key := _KEY.match(line):
            keys.setdefault(f"{table}.{'.'.join(name_parts(key[1]))}".lstrip("."), (number, key.start(1) + 1))
    return keys


def name_parts(name: str) -> tuple[str, ...]:
    """The parts of a name, without their quotes. Raises ValueError for a text that is no name."""
    if not re.fullmatch(NAME, name.strip()):
        raise ValueError("not a key")
    value: Any = tomllib.loads(f"{name} = 0")
    parts = list[str]()
    while isinstance(value, dict):
        ((part, value),) = value.items()
        parts.append(part)
    return tuple(parts)


def place_of(key: str, places: Mapping[str, Place]) -> Place | None:
    """The place of a key, else that of the nearest table or key around it; None if none of them is in the file."""
    while key:
        if key in places:
            return places[key]
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    return None


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The lines, numbered from 1, but for those that go on with a value of the line before."""
    depth, quote = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        begin = 0
        if quote:
            end = line.find(quote)
            if end < 0:
                continue
            begin = end + len(quote)
        elif not depth:
            yield number, line
        depth, quote = _left_open(line[begin:], depth)


def _left_open(line: str, depth: int) -> tuple[int, str]:
    """How deep in brackets a line ends, and the quotes that it leaves open, if it does."""
    at = 0
    while token := _TOKEN.search(line, at):
        at = token.end()
        if token[0] in {'"""', "'''"}:
            end = line.find(token[0], at)
            if end < 0:
                return depth, token[0]
            at = end + len(token[0])
        elif len(token[0]) == 1 and token[0] in "[{]}":
            depth += 1 if token[0] in "[{" else -1
    return depth, ""


def _numbered(name: str, counts: Mapping[str, int]) -> str:
    """The name with the number of the last table of each array in it."""
    done = ""
    for part in name.split("."):
        done = f"{done}.{part}".lstrip(".")
        bare = re.sub(r"\[\d+\]", "", done)
        done += f"[{counts[bare]}]" if bare in counts else ""
    return done
