"""Last ids: has the databases of a target say up to which event id of the source's log everything is in them.

A job that can read the target's metastore, but not ask the sidecar, waits for the parameter `pysync.last.id`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from pysync.metastore.reads import Reads
from pysync.replay.drain import Drain
from pysync.resync.refreshes import Refreshes
from pysync.resync.wanted import Names
from pysync.sidecar.waiting.object_status import ObjectStatus
from pysync.worker import Worker

_RETRY_SECONDS = 60.0


class LastIds:
    """The worker for one target, if its settings say so.

    It asks for a refresh of each database whose id has grown. So the write has its place in the order of the database's
    changes, and what it says was so when it was asked for. `source` opens the source.
    """

    def __init__(
        self,
        drain: Drain,
        objects: ObjectStatus,
        refreshes: Refreshes,
        *,
        source: Callable[[], AbstractContextManager[Reads]],
    ) -> None:
        self._drain = drain
        self._objects = objects
        self._refreshes = refreshes
        self._source = source
        self._requested: dict[str, int] = {}
        self._every = drain.settings.last_id_every
        self.worker = Worker(f"last-ids-{drain.name}", self.turn, every=self._every or 1, retry=_RETRY_SECONDS)

    def start(self) -> None:
        """Begin, where the settings say so; waits for nothing."""
        if self._every is not None and self._drain.settings.mode != "shadow":
            self.worker.start()

    def turn(self) -> None:
        """Ask for what has grown. Raises PysyncError if the source cannot be read."""
        with self._source() as source:
            names = [it for it in source.databases() if self._drain.translator.policy.takes_database(it)]
        # Together: an own refresh that waits for the target would make its database wait, too.
        wanted = [it for it in map(self._wanted, names) if it is not None]
        if wanted:
            self._refreshes.ask(wanted)
        self.worker.succeeded()

    def _wanted(self, database: str) -> Names | None:
        last_id = self._objects.upto(self._drain, database)
        if not last_id or last_id <= self._requested.get(database, 0):
            return None
        self._requested[database] = last_id
        return {"database": database, "targets": self._drain.name, "event_id": str(last_id)}
