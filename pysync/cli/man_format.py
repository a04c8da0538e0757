"""The language of manual pages, man(7), as far as a page of ours needs it. Pure: texts in, lines out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

_SPECIAL = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
_WIDTH = 80
_CODE = re.compile(r"`([^`]+)`")


def escaped(text: str) -> str:
    """Plain text, so that a terminal shows, and a person may copy, these very characters."""
    plain_text = "".join(_SPECIAL.get(it) or (it if it.isascii() else rf"\[u{ord(it):04X}]") for it in text)
    return rf"\&{plain_text}" if plain_text.startswith(".") else plain_text


def prose(text: str) -> list[str]:
    """Flowing text, in lines; what stands in backticks is bold."""
    parts = _CODE.split(" ".join(text.split()))
    text_line = "".join(bold(part) if at % 2 else escaped(part) for at, part in enumerate(parts))
    lines = textwrap.wrap(text_line, _WIDTH - 2, break_long_words=False, break_on_hyphens=False)
    # Where a line begins with a dot, it would be a macro.
    return [rf"\&{line}" if line.startswith(".") else line for line in lines]


def bold(text: str) -> str:
    """Text as it is typed."""
    return rf"\fB{escaped(text)}\fR"


def synopsis(words: Sequence[str]) -> str:
    """A command or an option and what follows it: what stands for something else is in italics."""
    return " ".join(
        rf"\fI{escaped(word)}\fR" if word.strip("[]<>.").isupper() else bold(word)
        for word in " ".join(words).replace(", ", " , ").split()
    ).replace(rf" {bold(',')}", ",")


def header(title: str, number: int, date: str, source: str, manual: str) -> Iterator[str]:
    """The head of a page. Its words are not broken: keys, paths and addresses are there to be copied."""
    yield from (f'.TH {title} {number} "{date}" "{source}" "{manual}"', ".nh", ".ad l")


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section, which begins with no space between it and its title."""
    yield f".SH {title.upper()}"
    yield from _begun(lines)


def subsection(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A part of a section. The title is written in this language."""
    yield f".SS {title}"
    yield from _begun(lines)


def paragraphs(text: str) -> Iterator[str]:
    """Text with empty lines between its paragraphs."""
    for part in re.split(r"\n\s*\n", text.strip()):
        yield ".PP"
        yield from prose(part)


def terms(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Terms, written in this language, and what each means."""
    for term, text in entries:
        yield from (".TP", term, *prose(text))


def example(text: str) -> Iterator[str]:
    """Lines as they are typed."""
    yield from (".PP", ".RS 4", ".EX", *map(escaped, text.strip().splitlines()), ".EE", ".RE")


def _begun(lines: Iterable[str]) -> Iterator[str]:
    page_lines = list(lines)
    yield from page_lines[1:] if page_lines[:1] == [".PP"] else page_lines
