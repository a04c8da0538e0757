"""Copies: one Spark session for all targets of a sidecar that want Spark, and a copier for each that copies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pysync.base.errors import UsageError
from pysync.base.jars import copy_jar
from pysync.copy.copier import Copier
from pysync.copy.files import Copying, FilesFirst
from pysync.copy.iceberg import IcebergCopier
from pysync.copy.reencoder import Reencoder
from pysync.copy.workers import SparkWorkers
from pysync.queue import DataVersions
from pysync.targets.base import Target
from pysync.targets.settings import TargetSettings
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark.settings import SparkSettings
from pysync.targets.target import StoreTarget

_LOAD = "remove rewrite from its [targets.copy] for the load, or load only the metadata: --files none"


class Copies:
    """The copiers by target. Spark is not started before the first file is to be copied."""

    def __init__(
        self,
        targets: Iterable[TargetSettings],
        directory: Path,
        *,
        out_of: Callable[[Copier], Copying] | None = None,
    ) -> None:
        """`directory` is for Spark's log. `out_of` has files taken from another place than the source, if one is given.

        Targets of kind spark that are opened from these settings share the session from now on.
        Raises UsageError when pyspark is not installed, and PysyncError when the jar is not built; neither if no
        target wants Spark.
        """
        known = list(targets)
        self._out_of = out_of
        wanted = {it.name: it.copy_files for it in known if it.copy_files is not None}
        self._host = _host(known, directory)
        workers = SparkWorkers(self._host) if self._host else None
        self.copiers = {name: Copier(workers, it) for name, it in wanted.items()} if workers else {}
        self.reencoders = {
            name: Reencoder(self.copiers[name], workers, it.settle_seconds)
            for name, it in wanted.items()
            if workers and it.rewrite
        }
        self._iceberg = {
            name: IcebergCopier(self.copiers[name], workers)
            for name, it in wanted.items()
            if workers and it.iceberg == "whole"
        }
        for it in known:
            if isinstance(it, SparkSettings) and self._host:
                it.use(self._host)

    def opener(
        self, settings: TargetSettings, open_target: Callable[[], Target], versions: DataVersions
    ) -> Callable[[], Target]:
        """What opens the target, with its files first where they are copied; `versions` are those of the target.

        Raises UsageError for files from another place that would have to be rewritten.
        """
        copier = self.copiers.get(settings.name)
        if copier is None:
            return open_target
        if self._out_of is not None:
            if settings.name in self.reencoders:
                raise UsageError(
                    f"target {settings.name} re-encodes files, but the files of a dump can only be copied", _LOAD
                )
            return partial(_open, open_target, FilesFirst(self._out_of(copier), settings, versions, of_dump=True))
        copying, iceberg = self.reencoders.get(settings.name, copier), self._iceberg.get(settings.name)
        return partial(_open, open_target, FilesFirst(copying, settings, versions, iceberg=iceberg))

    def discard(self, target: str, directory: str, base: str) -> None:
        """Remove a version (pysync.model.data_versions) of the location `base`, with all that is in it.

        No error if it is not there. Raises Unavailable, and Rejected where it may not be removed.
        """
        self.copiers[target].discard(directory, base)

    def status(self) -> dict[str, Any]:
        """How far copying is, by the target's name; as in `pysync status --json`."""
        return {name: copier.tally.status() for name, copier in self.copiers.items()}

    def close(self) -> None:
        """End what is under way; calls raise Unavailable from then on."""
        for copier in self.copiers.values():
            copier.close()
        if self._host:
            self._host.close()


def _open(open_target: Callable[[], Target], files: FilesFirst) -> Target:
    target = open_target()
    if not isinstance(target, StoreTarget):
        raise UsageError("files can only be copied for a kind of target that has a store", "remove [targets.copy]")
    target.bring_files_by(files)
    return target


def _host(targets: Sequence[TargetSettings], directory: Path) -> SparkHost | None:
    """The session that serves all of them; None if none wants Spark."""
    requests = [request for it in targets if (request := it.spark_request())]
    if not requests:
        return None
    # A session with a catalog serves the others, too.
    request = next((it for it in requests if it.catalog), requests[0])
    threads = max(it.threads for it in requests)
    copies = any(it.copy_files for it in targets)
    return SparkHost(replace(request, threads=threads), directory, [copy_jar()] if copies else [])
