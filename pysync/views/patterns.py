r"""Regular expressions of Java in Trino's: those that mean the same there. Pure.

Trino's engine counts all of Unicode among `\d`, `\w` and `\s`, and lets `.` stop at a line feed only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pysync.hiveql.refusal import CannotTranslate

_CLASSES = {"d": "0-9", "w": "a-zA-Z_0-9", "s": " \\t\\n\\x0B\\f\\r"}
_LITERALS = frozenset(r".\/-+*?()[]{}^$|:,;'_@#%&=~<>!" + '"')
LINE_ENDS = "\n\r\u0085\u2028\u2029"
# `$` of Java: the end, or before what ends the last line; never between a carriage return and its line feed.
_END = r"(?=(?:\r\n|(?<!\r)\n|[\r\u0085\u2028\u2029])?(?![\s\S]))"
_PART = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]?|(\(\?:|\()|(\))([*+?]|\{\d+(?:,\d*)?\})?|(\|)", re.DOTALL)
"""What says where groups are: escapes and classes, within which a parenthesis is none; parentheses; branches."""
_SET_OPERATION = re.compile(r"\[\^?\[|&&|--|~~|\|\|")  # of classes, which Python would warn of
_COUNT = re.compile(r"\{\d+(?:,\d*)?\}")


def translated_pattern(pattern: str) -> str:
    """The pattern for Trino. Raises CannotTranslate for constructs that may mean something else there."""
    if not pattern or not pattern.isascii() or _SET_OPERATION.search(pattern):
        raise CannotTranslate(f"the pattern {pattern!r}")
    _compiled(pattern)
    return "".join(_Reader(pattern).pieces())


def has_optional_group(pattern: str) -> bool:
    """Whether a group may take no part in a match."""
    return any(it.has_others or (it.is_optional and (it.captures or it.has_groups)) for it in _groups(pattern))


def has_group_of_some_repetitions(pattern: str) -> bool:
    """Whether a group may take part in one repetition of what it is in, and not in the next one."""
    return any(it.quantifier not in {"", "?"} and it.has_others for it in _groups(pattern))


@dataclass(slots=True)
class _Group:
    """A group of a pattern, or the whole pattern."""

    captures: bool
    has_groups: bool = False  # that capture
    has_branches: bool = False
    has_optional: bool = False  # a group that may take no part where this one does
    quantifier: str = ""

    @property
    def has_others(self) -> bool:
        """Whether it may match without a group that is in it."""
        return self.has_optional or (self.has_branches and self.has_groups)

    @property
    def is_optional(self) -> bool:
        return self.quantifier in {"?", "*"} or self.quantifier.startswith("{0")


def _groups(pattern: str) -> Iterator[_Group]:
    """All groups as they end, and last the whole pattern."""
    opened = [_Group(captures=False)]
    for part in _PART.finditer(pattern):
        if part[1]:
            opened.append(_Group(captures=part[1] == "("))
        elif part[4]:
            opened[-1].has_branches = True
        elif part[2] and len(opened) > 1:
            ended = opened.pop()
            ended.quantifier = part[3] or ""
            holds_group = ended.captures or ended.has_groups
            opened[-1].has_groups |= holds_group
            opened[-1].has_optional |= ended.has_others or (ended.is_optional and holds_group)
            yield ended
    yield opened[0]


def number_of_groups(pattern: str) -> int:
    """How many groups the pattern has. Raises CannotTranslate for what is no pattern."""
    return _compiled(pattern).groups


def may_be_empty(pattern: str) -> bool:
    """Whether the pattern matches an empty string. Raises CannotTranslate for what is no pattern."""
    return _compiled(pattern).search("") is not None


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        raise CannotTranslate(f"the pattern {pattern!r}") from None


class _Reader:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._rules: dict[str, Callable[[], str]] = {
            "\\": self._escape,
            "[": self._class,
            ".": self._not_a_line_end,
            "$": self._end,
            "(": self._group,
            "*": self._quantifier,
            "+": self._quantifier,
            "?": self._quantifier,
            "{": self._count,
        }

    def pieces(self) -> list[str]:
        pieces = []
        while self._at < len(self._pattern):
            pieces.append(self._piece())
        return pieces

    def _piece(self) -> str:
        here = self._take()
        rule = self._rules.get(here)
        return here if rule is None else rule()

    def _not_a_line_end(self) -> str:
        return f"[^{LINE_ENDS}]"

    def _end(self) -> str:
        if self._peek() and self._peek() in "*+?{":
            raise self._refused()
        return _END

    def _group(self) -> str:
        if self._peek() != "?":
            return "("
        if self._pattern[self._at : self._at + 2] != "?:":
            raise self._refused()
        self._at += 2
        return "(?:"

    def _quantifier(self) -> str:
        here = self._pattern[self._at - 1]
        if self._peek() == "+":  # possessive
            raise self._refused()
        return here

    def _count(self) -> str:
        match = _COUNT.match(self._pattern, self._at - 1)
        if match is None:
            raise self._refused()
        self._at = match.end()
        self._quantifier()
        return match[0]

    def _class(self) -> str:
        class_ = "["
        if self._peek() == "^":
            class_ += self._take()
        if self._peek() == "]":
            raise self._refused()
        while (here := self._take()) != "]":
            if here == "[":
                raise self._refused()
            class_ += self._escape(inside=True) if here == "\\" else here
        return class_ + "]"

    def _escape(self, *, inside: bool = False) -> str:
        letter = self._take()
        if letter in _CLASSES:
            return _CLASSES[letter] if inside else f"[{_CLASSES[letter]}]"
        if letter in "DWS" and not inside:
            return f"[^{_CLASSES[letter.lower()]}]"
        if letter in _LITERALS or letter in "nrt":
            return "\\" + letter
        raise self._refused()

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        self._at += 1
        return self._pattern[self._at - 1]

    def _refused(self) -> CannotTranslate:
        return CannotTranslate(f"the pattern {self._pattern!r}")
