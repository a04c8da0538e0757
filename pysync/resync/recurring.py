"""Recurring refreshes: has a target read some of its tables again from time to time, as no event says what changes.

- The schema of a Delta or Hudi table is in a log, of which no metastore need hear. A refresh reads the log
  (`pysync.targets.glue.log_columns`), and writes if the columns differ.
- A filter on partitions that is relative to today takes other partitions every day.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from typing import Any

import structlog

from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.model.names import TableName
from pysync.model.table_formats import keeps_schema
from pysync.queue import EventQueue, note_of
from pysync.replay.window.policy import Policy, typed_keys
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Refreshes, RefreshScope, chosen
from pysync.targets.settings import TargetSettings
from pysync.worker import Worker

_EVERY_SECONDS = 1.0
_RETRY_SECONDS = 60.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Occasion:
    """When which tables of a target are refreshed; `note` is the key in the queue's file that has the last time.

    `is_due` gets the time of the last refresh and the present one, in seconds since 1970. `wanted` chooses tables by
    their definitions. `queued` is called with the number of tables. Without `applies` there is nothing to do, ever.
    `setting` is what asks for it.
    """

    target: str
    note: str
    setting: str
    applies: bool
    is_due: Callable[[float, float], bool]
    wanted: Callable[[Any], bool]
    queued: Callable[[int], None]


def log_schemas(settings: TargetSettings) -> Occasion:
    """The Delta and Hudi tables of a target, if its `log_schemas_every` says so."""
    every = settings.reads_logs_every
    return Occasion(
        target=settings.name,
        note=note_of(settings.name, "log-schemas"),
        setting="log_schemas_every",
        applies=every is not None,
        is_due=lambda last, now: now >= last + (every or 0),
        wanted=keeps_schema,
        queued=lambda tables: log.info("log_schemas_queued", target=settings.name, tables=tables),
    )


def partition_filters(settings: TargetSettings, policy: Policy) -> Occasion:
    """The tables that a `where` with CURRENT_DATE concerns, when another day has begun on this machine."""

    def wanted(table: Any) -> bool:
        where = policy.deciding(TableName(table.dbName, table.tableName)).where
        return where is not None and where.is_relative and where.concerns(typed_keys(table))

    return Occasion(
        target=settings.name,
        note=note_of(settings.name, "partition-filters"),
        setting="where",
        applies=any(it.where is not None and it.where.is_relative for it in policy.all),
        is_due=lambda last, now: date.fromtimestamp(last) != date.fromtimestamp(now),
        wanted=wanted,
        queued=lambda tables: log.info("partition_filters_queued", target=settings.name, tables=tables),
    )


class Recurring:
    """The worker that refreshes tables of one target on one occasion, again and again.

    `source` opens the source, if it is known. When it was last read is kept in the queue's file. `tables_per_second` is
    the pace, `clock` gives the time in seconds since 1970.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        policy: Policy,
        occasion: Occasion,
        *,
        source: Callable[[], AbstractContextManager[Reads]] | None,
        tables_per_second: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._queue = queue
        self._occasion = occasion
        self._scope = RefreshScope(policy.takes_database, policy.takes_table)
        self._source = source
        self._clock = clock
        self.worker = Worker(occasion.note.replace(":", "-"), self.turn, every=_EVERY_SECONDS, retry=_RETRY_SECONDS)
        self._feed = Feed(refreshes, self.worker.stopping, self._done, tables_per_second)

    def start(self) -> None:
        """Begin, where the settings say so; waits for nothing."""
        if self._occasion.applies:
            self.worker.start()

    def turn(self) -> None:
        """Queue the refreshes if it is time. Raises PysyncError if the source cannot be read."""
        now = self._clock()
        last = self._queue.notes.get(self._occasion.note)
        if (last is None or self._occasion.is_due(float(last), now)) and self._refresh():
            self._queue.notes.put(self._occasion.note, str(int(now)))
        self.worker.succeeded()

    def _refresh(self) -> bool:
        """Queue the refreshes; returns whether they are all."""
        with known(self._source)() as source:
            wanted = (
                {**it, "targets": self._occasion.target} for it in chosen(source, self._scope, self._occasion.wanted)
            )
            fed = self._feed.queue(wanted)
        if fed.refreshes:
            self._occasion.queued(fed.refreshes)
        return fed.whole

    def _done(self) -> int:
        return self._queue.target(self._occasion.target).position()
