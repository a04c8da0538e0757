"""Columns from tables' logs: has a target read them anew, every so often.

A Delta or Hudi table gets another schema by a commit to its log, of which no metastore need hear. So every such table
in scope is refreshed: a refresh reads the log (`pysync.targets.glue.log_columns`), and writes if the columns differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import structlog

from pysync.errors import PysyncError
from pysync.metastore.client import Reads
from pysync.model.table_formats import keeps_schema
from pysync.queue import EventQueue
from pysync.replay.policy import Policy
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Refreshes, Scope, chosen
from pysync.targets.settings import TargetSettings
from pysync.worker import Worker

_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 60.0

log = structlog.get_logger(__name__)


class LogSchemas:
    """The worker that refreshes the Delta and Hudi tables of one target, if its `log_schemas_every` says so.

    `source` opens the source, if it is known. When it was last read is kept in the queue's file. `tables_per_second` is
    the pace, `clock` gives the time in seconds since 1970.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        settings: TargetSettings,
        policy: Policy,
        *,
        source: Callable[[], AbstractContextManager[Reads]] | None,
        tables_per_second: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._queue = queue
        self._target = settings.name
        self._every = settings.reads_logs_every
        self._scope = Scope(policy.takes_database, policy.takes_table)
        self._source = source
        self._clock = clock
        self.worker = Worker(f"log-schemas-{settings.name}", self.look, every=_LOOK_SECONDS, retry=_RETRY_SECONDS)
        self._feed = Feed(refreshes, self.worker.stopping, self._done, tables_per_second)

    def start(self) -> None:
        """Begin, where the settings say so; waits for nothing."""
        if self._every is not None:
            self.worker.start()

    def look(self) -> None:
        """Queue the refreshes if it is time. Raises PysyncError if the source cannot be read."""
        now = self._clock()
        if now >= self._due_at() and self._refresh():
            self._queue.notes.put(self._note, str(int(now)))
        self.worker.well()

    def _refresh(self) -> bool:
        """Queue the refreshes; returns whether they are all."""
        if self._source is None:
            raise PysyncError("[source] metastore is not set", "set it, or leave log_schemas_every out")
        with self._source() as source:
            wanted = ({**it, "targets": self._target} for it in chosen(source, self._scope, keeps_schema))
            fed = self._feed.queue(wanted)
        if fed.refreshes:
            log.info("log_schemas_queued", target=self._target, tables=fed.refreshes)
        return fed.whole

    def _due_at(self) -> float:
        last = self._queue.notes.get(self._note)
        return 0.0 if last is None or self._every is None else int(last) + self._every

    @property
    def _note(self) -> str:
        return f"log-schemas:{self._target}"

    def _done(self) -> int:
        return self._queue.target(self._target).position()
