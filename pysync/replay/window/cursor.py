"""Cursor: reads a short text of keywords, names, numbers and strings, and names the place of any error in it. Pure."""

from __future__ import annotations

import re
from typing import NoReturn

from pysync.base.errors import UsageError
from pysync.base.text import quoted

WORD = re.compile(r"""[^\s.,;=()'"`\[\]]+""")
_LARGEST = 2**63 - 1
_SPACE = re.compile(r"\s*")
_STRING = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_BACKQUOTED = re.compile(r"`([^`]+)`")
_ESCAPED = re.compile(r"""\\(['"\\])""")
_NAME = re.compile(r"""[^.'"\[\]\s]+""")
_SHOWN = 20


class Cursor:
    """A place in a text. What is read moves it; spaces before that are skipped.

    `what` names the text in errors, `word` says what a keyword or name may consist of.
    """

    def __init__(self, text: str, what: str, word: re.Pattern[str] = WORD) -> None:
        self.text = text
        self._what = what
        self._word = word
        self.at = 0
        self._expected: list[str] = []

    # --- what must be there

    def keyword(self, word: str) -> None:
        """Read a keyword."""
        if not self.has_keyword(word):
            self.fails()

    def symbol(self, symbol: str) -> None:
        """Read a symbol."""
        if not self.has_symbol(symbol):
            self.fails()

    def number(self) -> int:
        """Read a whole number."""
        match = self._matched(self._word)
        if match is None or not (match[0].isascii() and match[0].isdigit()):
            self.fails("a whole number")
        if len(match[0]) > len(str(_LARGEST)) or int(match[0]) > _LARGEST:
            self.refuse(f"the number is too large; the maximum is {_LARGEST}")
        self._past(match)
        return int(match[0])

    def name(self, what: str) -> str:
        """Read the name of a database or table, plain or in backquotes; in small letters, as a metastore keeps it."""
        match = self._matched(_BACKQUOTED) or self._matched(self._word)
        if match is None:
            self.fails(what)
        text = match[1] if match.re is _BACKQUOTED else match[0]
        if not _NAME.fullmatch(text):
            self.refuse(f"{quoted(text)} cannot be a name: it has a space, a dot, a quote or a bracket")
        self._past(match)
        return text.lower()

    def string(self, what: str) -> str:
        """Read a string in quotes of either kind."""
        match = self._matched(_STRING)
        if match is None:
            if self._next() in ("'", '"'):
                self.refuse("the string has no closing quote")
            self.fails(what)
        self._past(match)
        return _ESCAPED.sub(r"\1", match[1] if match[1] is not None else match[2])

    def text_of(self, pattern: re.Pattern[str], what: str) -> str:
        """Read what the pattern matches, which must be there."""
        match = self._matched(pattern)
        if match is None:
            self.fails(what)
        self._past(match)
        return match[0]

    def ends(self) -> None:
        """Nothing but spaces may be left."""
        if self._next():
            self.fails("the end")

    # --- what may be there

    def has_keyword(self, word: str) -> bool:
        """Read the keyword if it is next."""
        match = self._matched(self._word)
        return self._has(match if match is not None and match[0].upper() == word else None, word)

    def has_symbol(self, symbol: str) -> bool:
        """Read the symbol if it is next."""
        return self._has(self._matched(re.compile(re.escape(symbol))), symbol)

    def next_is(self, *symbols: str) -> bool:
        """Whether one of these symbols is next; nothing is read."""
        return self._next() in symbols

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether what is next matches the pattern; nothing is read."""
        return self._matched(pattern) is not None

    def position(self) -> int:
        """The place of what is next."""
        match = _SPACE.match(self.text, self.at)
        return match.end() if match else self.at

    # --- errors

    def fails(self, *expected: str) -> NoReturn:
        """Raise UsageError that says what was expected here, and what is there."""
        there = self.text[self.position() :][:_SHOWN].split(None, 1)
        text = quoted(there[0]) if there else "the end"
        wanted = list(dict.fromkeys([*self._expected, *expected]))
        listed = " or ".join([", ".join(wanted[:-1]), wanted[-1]] if len(wanted) > 1 else wanted)
        self.refuse(f"expected {listed}, found {text}")

    def refuse(self, why: str, at: int | None = None) -> NoReturn:
        """Raise UsageError about this place, or about another one that `here` gave."""
        before = self.text[: self.position() if at is None else at]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        place = f"line {line}, column {column}" if "\n" in self.text.strip() else f"column {column}"
        raise UsageError(f"cannot read {self._what}: {place}: {why}")

    # ---

    def _has(self, match: re.Match[str] | None, what: str) -> bool:
        if match is None:
            self._expected.append(what if what.replace("_", "").isalpha() else quoted(what))
            return False
        self._past(match)
        return True

    def _next(self) -> str:
        return self.text[self.position() :][:1]

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.match(self.text, self.position())

    def _past(self, match: re.Match[str]) -> None:
        self.at = match.end()
        self._expected.clear()
