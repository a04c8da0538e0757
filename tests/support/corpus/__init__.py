"""The corpus of tables that are hard to say in DDL, each a case: how it is made at a source, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.corpus import changes, shapes, texts
from tests.support.corpus.case import Case

__all__ = ["Case", "cases"]


def cases() -> list[Case]:
    """All of them, always in the same order."""
    return list(_cases())


def _cases() -> Iterator[Case]:
    yield from texts.cases()
    yield from shapes.cases()
    yield from changes.cases()
