"""The data versions of a target, in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pysync.queue import DataVersion, DataVersions


class VersionsInMemory(DataVersions):
    """They are in no file; `rows` has them by directory."""

    def __init__(self) -> None:
        self.rows: dict[str, DataVersion] = {}

    def below(self, base: str) -> list[DataVersion]:
        return sorted((it for it in self.rows.values() if it.base == base), key=lambda it: it.directory)

    def note(self, versions: Iterable[DataVersion]) -> None:
        self.rows |= {it.directory: it for it in versions}

    def claim(self, now_ms: int, most: int) -> list[DataVersion]:
        due = sorted((it for it in self.rows.values() if it.until_ms <= now_ms), key=lambda it: it.until_ms)[:most]
        self.rows |= {it.directory: replace(it, position=0) for it in due}
        return due

    def forget(self, versions: Iterable[DataVersion]) -> None:
        for it in versions:
            self.rows.pop(it.directory, None)
