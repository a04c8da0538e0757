"""Cursor: reads a short text of keywords, names, numbers and strings, and tells the place of any error in it. Pure."""

from __future__ import annotations

import re
from typing import NoReturn

from pysync.errors import UsageError
from pysync.text import quoted

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
        found = self._matched(self._word)
        if found is None or not (found[0].isascii() and found[0].isdigit()):
            self.fails("a whole number")
        if len(found[0]) > len(str(_LARGEST)) or int(found[0]) > _LARGEST:
            self.refuse(f"the number is too large; the maximum is {_LARGEST}")
        self._past(found)
        return int(found[0])

    def name(self, what: str) -> str:
        """Read the name of a database or table, plain or in backquotes; in small letters, as a metastore keeps it."""
        found = self._matched(_BACKQUOTED) or self._matched(self._word)
        if found is None:
            self.fails(what)
        text = found[1] if found.re is _BACKQUOTED else found[0]
        if not _NAME.fullmatch(text):
            self.refuse(f"{quoted(text)} cannot be a name: it has a space, a dot, a quote or a bracket")
        self._past(found)
        return text.lower()

    def string(self, what: str) -> str:
        """Read a string in quotes of either kind."""
        found = self._matched(_STRING)
        if found is None:
            if self._next() in ("'", '"'):
                self.refuse("the string has no closing quote")
            self.fails(what)
        self._past(found)
        return _ESCAPED.sub(r"\1", found[1] if found[1] is not None else found[2])

    def text_of(self, pattern: re.Pattern[str], what: str) -> str:
        """Read what the pattern matches, which must be there."""
        found = self._matched(pattern)
        if found is None:
            self.fails(what)
        self._past(found)
        return found[0]

    def ends(self) -> None:
        """Nothing but spaces may be left."""
        if self._next():
            self.fails("the end")

    # --- what may be there

    def has_keyword(self, word: str) -> bool:
        """Read the keyword if it is next."""
        found = self._matched(self._word)
        return self._has(found if found is not None and found[0].upper() == word else None, word)

    def has_symbol(self, symbol: str) -> bool:
        """Read the symbol if it is next."""
        return self._has(self._matched(re.compile(re.escape(symbol))), symbol)

    def next_is(self, *symbols: str) -> bool:
        """Whether one of these symbols is next; nothing is read."""
        return self._next() in symbols

    def matches(self, pattern: re.Pattern[str]) -> bool:
        """Whether what is next matches the pattern; nothing is read."""
        return self._matched(pattern) is not None

    def here(self) -> int:
        """The place of what is next."""
        found = _SPACE.match(self.text, self.at)
        return found.end() if found else self.at

    # --- errors

    def fails(self, *expected: str) -> NoReturn:
        """Raise UsageError that tells what was expected here, and what is there."""
        there = self.text[self.here() :][:_SHOWN].split(None, 1)
        found = quoted(there[0]) if there else "the end"
        wanted = list(dict.fromkeys([*self._expected, *expected]))
        listed = " or ".join([", ".join(wanted[:-1]), wanted[-1]] if len(wanted) > 1 else wanted)
        self.refuse(f"expected {listed}, found {found}")

    def refuse(self, why: str, at: int | None = None) -> NoReturn:
        """Raise UsageError about this place, or about another one that `here` gave."""
        before = self.text[: self.here() if at is None else at]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        place = f"line {line}, column {column}" if "\n" in self.text.strip() else f"column {column}"
        raise UsageError(f"cannot read {self._what}: {place}: {why}")

    # ---

    def _has(self, found: re.Match[str] | None, what: str) -> bool:
        if found is None:
            self._expected.append(what if what.replace("_", "").isalpha() else quoted(what))
            return False
        self._past(found)
        return True

    def _next(self) -> str:
        return self.text[self.here() :][:1]

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        return pattern.match(self.text, self.here())

    def _past(self, found: re.Match[str]) -> None:
        self.at = found.end()
        self._expected.clear()
