"""Recurring resyncs: tables that a target reads again from time to time, as no event says what changes.

- The schema of a Delta or Hudi table is in a log, of which no metastore need hear. A refresh reads the log
  (`pysync.targets.glue.log_columns`), and writes if the columns differ.
- A filter on partitions that is relative to today takes other partitions every day.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from pysync.metastore.reads import Reads
from pysync.model.names import TableName
from pysync.model.table_formats import keeps_schema
from pysync.queue import Resync
from pysync.replay.window.policy import Policy, typed_keys
from pysync.resync.trigger import ResyncRequest, Trigger, Wanted
from pysync.resync.wanted import RefreshScope, chosen
from pysync.targets.settings import TargetSettings

_MS = 1000


@dataclass(frozen=True, slots=True)
class Recurring(Trigger):
    """Tables in scope whose definitions are `chosen`, when the time has come since the last resync has begun.

    `is_time` gets when that was and the present, in seconds since 1970.
    """

    name: str
    reason: str
    scope: RefreshScope
    is_time: Callable[[float, float], bool]
    chosen: Callable[[Any], bool]
    is_frequent = True

    def due(self, last: Resync | None, now: float) -> ResyncRequest | None:
        """The next one begins when the last one has ended."""
        is_due = last is None or (last.ended_at_ms is not None and self.is_time(last.began_at_ms / _MS, now))
        return ResyncRequest(self.reason) if is_due else None

    def wanted(self, source: Reads, resync: Resync) -> Wanted:
        """The tables behind the cursor."""
        after = TableName(*resync.cursor) if resync.cursor else None
        return Wanted(chosen(source, self.scope, self.chosen, after=after))


def recurring_of(settings: TargetSettings, policy: Policy, scope: RefreshScope) -> list[Recurring]:
    """Those that the settings of a target ask for."""
    found = list[Recurring]()
    if (every := settings.reads_logs_every) is not None:
        reason = "the schemas of Delta and Hudi tables are in logs"
        found.append(Recurring("log_schemas", reason, scope, lambda last, now: now >= last + every, keeps_schema))
    if any(it.where is not None and it.where.is_relative for it in policy.all):
        reason = "filters on partitions are relative to today"
        found.append(Recurring("partition_filters", reason, scope, _is_another_day, partial(_is_relative, policy)))
    return found


def _is_another_day(last: float, now: float) -> bool:
    """Whether another day has begun on this machine."""
    return date.fromtimestamp(last) != date.fromtimestamp(now)


def _is_relative(policy: Policy, table: Any) -> bool:
    """Whether a filter with CURRENT_DATE concerns the table."""
    where = policy.deciding(TableName(table.dbName, table.tableName)).where
    return where is not None and where.is_relative and where.concerns(typed_keys(table))
