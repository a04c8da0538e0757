"""The statements of a TOML text, with their places: what a file's parser does not say. Pure.

The text must be one that Python's parser has taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pysync.base.toml_places import NAME, name_parts

Key = tuple[str, ...]
"""The parts of a dotted key, without their quotes."""

_HEADER_LINE = re.compile(rf"[ \t]*(\[\[?)[ \t]*({NAME})[ \t]*\]\]?")
_KEY = re.compile(rf"[ \t]*({NAME})[ \t]*=[ \t]*")
# A text of several lines, one of a line, a comment, a bracket, the end of a line, and a run of anything else. A text
# may lack its end: else each quote in a row of them would be followed to the end of the file.
_TOKEN = re.compile(
    r'''"""(?:\\.|(?!""")[^\\])*"{0,5}|\'\'\'(?:(?!\'\'\').)*'{0,5}|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?'''
    r"""|\#[^\n]*|[\[{\]}\n]|[^\s"'\#\[\]{}]+""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A header, or a key and its value. `start` to `end` are its whole lines, `value` where the value is in the text.

    The key of a header is the name of its table; a header of an array of tables `is_array`.
    """

    key: Key
    start: int
    end: int
    value: tuple[int, int] | None = None
    is_array: bool = False

    @property
    def is_header(self) -> bool:
        """Whether it begins a table."""
        return self.value is None


def statements(text: str) -> Iterator[Statement]:
    """The statements in their order; comments and empty lines are in none."""
    at = 0
    while at < len(text):
        if header := _HEADER_LINE.match(text, at):
            _, end = _rest(text, header.end())
            yield Statement(name_parts(header[2]), at, end, is_array=header[1] == "[[")
        elif key := _KEY.match(text, at):
            last, end = _rest(text, key.end())
            yield Statement(name_parts(key[1]), at, end, value=(key.end(), last))
        else:
            end = text.find("\n", at) + 1 or len(text)
        at = end


def _rest(text: str, at: int) -> tuple[int, int]:
    """Where what begins at `at` ends, and where its last line does."""
    depth, last = 0, at
    while token := _TOKEN.search(text, at):
        at = token.end()
        if token[0] == "\n" and depth == 0:
            return last, at
        if token[0] != "\n" and token[0][0] != "#":
            last = at
            depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
    return last, len(text)
