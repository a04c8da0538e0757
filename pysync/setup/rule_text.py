"""Rule text: the rules in a text, and the words of a rule, each with its place. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pysync.base.errors import UsageError
from pysync.base.text import plain, quoted

_WORD = re.compile(r"""\s*(?:(?P<string>"[^"\n]*"|'[^'\n]*')|(?P<mark>[|;()])|(?P<bare>[^\s|;()"']+)|(?P<open>["']))""")
_MARKS = frozenset("|;()")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a rule: its text without quotes, whether it had any, and where it begins in the text (0: the first)."""

    text: str
    at: int
    is_string: bool = False

    @property
    def option(self) -> str:
        """The option that it is, with its hyphen; "" if it is none."""
        return self.text if self.text.startswith("-") and len(self.text) > 1 and not self.is_string else ""

    def is_any_of(self, *words: str) -> bool:
        """Whether it is one of these words, in any case, and not in quotes."""
        return not self.is_string and self.text.lower() in words

    def __str__(self) -> str:
        return f'"{self.text}"' if self.is_string else self.text


@dataclass(frozen=True, slots=True)
class Text:
    """A text with rules, and the name of its file, if it has one."""

    content: str
    name: str = ""

    def unread(self, at: int, what: str, hint: str) -> UsageError:
        """The error for what cannot be read there, with line and column, both from 1."""
        line = self.content.count("\n", 0, at) + 1
        column = at - (self.content.rfind("\n", 0, at) + 1) + 1
        where = f"{plain(self.name)}: " if self.name else ""
        return UsageError(f"{where}line {line}, column {column}: {what}", hint)

    def rules(self) -> Iterator[tuple[int, int]]:
        """Where each rule begins and ends.

        A rule is a line. A line that is indented further than the first, or begins with |, continues the rule before.
        Lines that begin with # are comments.
        """
        begin, end, indent, at = -1, -1, 0, 0
        for line in self.content.splitlines(keepends=True):
            bare = line.strip()
            inset = len(line) - len(line.lstrip())
            if bare and not bare.startswith("#"):
                if begin < 0 or (inset <= indent and not bare.startswith("|")):
                    if begin >= 0:
                        yield begin, end
                    indent, begin = (inset if begin < 0 else min(indent, inset)), at + inset
                end = at + len(line.rstrip())
            at += len(line)
        if begin >= 0:
            yield begin, end

    def words(self, begin: int, end: int) -> list[Word]:
        """The words between these places, without comment lines. Raises UsageError for a quote that does not end."""
        shown = _without_comments(self.content)
        words, at = list[Word](), begin
        while (match := _WORD.match(shown, at, end)) is not None:
            place, at = match.start(match.lastgroup or 0), match.end()
            if match["open"]:
                raise self.unread(place, "the quote does not end", 'write the name in quotes, as in "db.*"')
            text = match["string"]
            words.append(Word(text[1:-1] if text else match[0].strip(), place, is_string=text is not None))
        return words

    def stray(self, word: Word, hint: str) -> UsageError:
        """The error for a word that has no meaning where it is."""
        return self.unread(word.at, f"{quoted(word.text)} is not understood here", hint)


@lru_cache(maxsize=1)
def _without_comments(content: str) -> str:
    """The text with blanks in place of comment lines, which keep the places of all others; once for all its rules."""
    return re.sub(r"(?m)^[ \t]*#.*$", lambda it: " " * len(it[0]), content)


def parted(words: Sequence[Word], mark: str) -> list[list[Word]]:
    """The words between the marks, in order; one list more than there are marks."""
    parts: list[list[Word]] = [[]]
    for word in words:
        if word.is_any_of(mark):
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def joined(words: Sequence[Word]) -> str:
    """The words as one line, as they were written but for blanks."""
    return plain(" ".join(map(str, words)))
