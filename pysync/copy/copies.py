"""Copies: one Spark session for all targets of a sidecar that have their files copied, and a copier for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pysync.copy.copier import Copier
from pysync.copy.files import FilesFirst
from pysync.copy.spark import SparkWorkers
from pysync.targets.base import Target
from pysync.targets.settings import TargetSettings


class Copies:
    """Nothing of Spark is started before the first file is to be copied."""

    def __init__(self, targets: Iterable[TargetSettings], jar: Callable[[], Path], directory: Path) -> None:
        """`jar` tells where the listener's jar is, `directory` is for Spark's log.

        Raises UsageError when pyspark is not installed, and what `jar` raises; if no target copies, neither.
        """
        wanted = {it.name: it.copy_files for it in targets if it.copy_files is not None}
        self._workers = SparkWorkers(next(iter(wanted.values())), jar(), directory) if wanted else None
        self.copiers = {name: Copier(self._workers, it) for name, it in wanted.items()} if self._workers else {}

    def opener(self, settings: TargetSettings, open_target: Callable[[], Target]) -> Callable[[], Target]:
        """What opens the target: with its files first, where they are copied."""
        copier = self.copiers.get(settings.name)
        return FilesFirst.opener(open_target, copier, settings) if copier else open_target

    def status(self) -> dict[str, Any]:
        """How far copying is, by the target's name; as in `pysync status --json`."""
        return {name: copier.tally.status() for name, copier in self.copiers.items()}

    def close(self) -> None:
        """End what is under way; calls raise Unavailable from then on."""
        for copier in self.copiers.values():
            copier.close()
        if self._workers:
            self._workers.close()
