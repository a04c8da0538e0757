"""Whether what a command printed has the form that a page shows: lines with other numbers, JSON with its keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from tests.support.docpages import slug

_NOT_KEYS = {"attributes", "calls", "settings"}
"""What is in there has names of others: the source's (docs/wire-format.md), of a target's API, or of pysync.toml."""
_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_KEY_TABLE = re.compile(r"^\| key \|.*\n\|[-| ]+\n((?:\|.*\n?)+)", re.MULTILINE)


def form(line: str) -> str:
    """A line without its numbers, and without the plural that goes with them."""
    return re.sub(r"N (\w+?)s?\b", r"N \1", re.sub(r"\d[\d,.:]*", "N", line.strip()))


def other_lines(shown: Sequence[str], printed: str) -> list[str]:
    """The lines that a page shows and that nothing printed has the form of."""
    forms = [form(line) for line in printed.splitlines()]
    return [line for line in shown if form(line) not in forms]


def unexplained(printed: Any, page: str) -> set[str]:
    """The keys of JSON that no code of the page mentions."""
    return set(_keys(printed)) - set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", page))))


def unprinted(printed: Any, page: str, section: str, verb: str) -> list[str]:
    """The keys in the section's tables that JSON has not.

    If there are several tables, those count whose introduction has the command's `verb`. A table may be about the
    whole, or about the entries of one of its lists; of what is empty or null nothing is known.
    """
    tables = list(_key_tables(page, section))
    chosen = [table for intro, table in tables if len(tables) == 1 or f"`{verb}`" in intro]
    roots = [printed, *(it for value in printed.values() if isinstance(value, list) for it in value[:1])]
    paths = [path for table in chosen for path in _paths(table)]
    return [path for path in paths if not any(_has(root, path.split(".")) for root in roots)]


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = [it for key, it in value.items() if key not in _NOT_KEYS]
    if isinstance(value, list):
        for it in value:
            yield from _keys(it)


def _key_tables(page: str, section: str) -> Iterator[tuple[str, str]]:
    """The tables of keys below the heading with that anchor, each with the paragraph before it."""
    for part in _HEADING.split(page)[1:]:
        heading, _, text = part.partition("\n")
        if slug(heading.strip()) == section:
            for table in _KEY_TABLE.finditer(text):
                yield text[: table.start()].rstrip().rpartition("\n\n")[2], table[1]


def _paths(table: str) -> Iterator[str]:
    """The keys in the first column; one that begins with a dot is beside the one before it."""
    before = ""
    for row in table.splitlines():
        for key in re.findall(r"`([^`]+)`", row.split("|")[1]):
            before = f"{before.rpartition('.')[0]}{key}" if key.startswith(".") else key
            yield before


def _has(value: Any, path: Sequence[str]) -> bool:
    if not path or value in (None, []):
        return True
    name = path[0].removesuffix("[]")
    if not isinstance(value, dict) or name not in value:
        return False
    inner = value[name] if path[0].endswith("[]") else [value[name]]
    return all(_has(it, path[1:]) for it in inner or [])
