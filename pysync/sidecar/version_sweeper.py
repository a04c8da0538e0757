"""The worker that removes the data versions of a target which nobody needs any more (pysync.model.data_versions)."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

import structlog

from pysync.model.data_versions import version_in
from pysync.model.names import TableName
from pysync.queue import DataVersion, DataVersions
from pysync.sidecar.optional import FileCopies
from pysync.targets.base import Rejected, Target
from pysync.targets.diff import same_location
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.worker import Finished, Worker

_EVERY_SECONDS = 60.0
_AT_ONCE = 100
_MS = 1000

log = structlog.get_logger(__name__)


class VersionSweeper:
    """Removes what is due of one target, while that is not `paused`.

    Only what the object of the name is known not to have: of one that was dropped or renamed the files stay.
    """

    def __init__(
        self,
        settings: TargetSettings,
        versions: DataVersions,
        copies: FileCopies,
        paused: Callable[[], object],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings, self._versions, self._copies = settings, versions, copies
        self._paused, self._clock = paused, clock
        self.worker = Worker(f"versions-{settings.name}", self.turn, every=_EVERY_SECONDS, retry=_EVERY_SECONDS)

    def start(self) -> None:
        """Begin, where files are copied; waits for nothing."""
        if self._settings.copy_files is not None and self._settings.mode != "shadow":
            self.worker.start()

    def turn(self) -> None:
        """Remove what is due. Raises PysyncError if the target or its files cannot be reached."""
        while not self._paused() and (due := self._versions.claim(round(self._clock() * _MS), _AT_ONCE)):
            with closing(target_kind(self._settings.kind).open(self._settings)) as target:
                for version in due:
                    self._settle(target, version)
        self.worker.succeeded()

    def _settle(self, target: Target, version: DataVersion) -> None:
        if self.worker.stopping.is_set():
            raise Finished
        name, directory = self._settings.name, version.directory
        try:
            if _is_needless(target, version):
                self._copies.discard(name, directory, version.base)
                log.info("version_removed", target=name, directory=directory)
        except Rejected as error:  # of this one alone
            log.warning("version_left", target=name, directory=directory, reason=str(error))
        self._versions.forget([version])


def _is_needless(target: Target, version: DataVersion) -> bool:
    """Whether the object of the name is at the same place, but in another version.

    One elsewhere says nothing: the name may be that of a new table, and the former one have another name.
    """
    name = TableName.of(version.database, version.table)
    item = target.table(name)
    if item is not None and version.partition:
        item = next(iter(target.partitions_by_name(name, [version.partition])), None)
    location = item.sd.location if item is not None and item.sd is not None else None
    is_there = location is not None and same_location(version.base, location)
    return is_there and version_in(location) != version_in(version.directory)
