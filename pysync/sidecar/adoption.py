"""Adoption: tables of the target that stand in the way become the source's, a few or many at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from pysync.base.counts import Counts
from pysync.base.errors import PysyncError
from pysync.base.throttle import Throttle
from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.names import TableName
from pysync.model.operation import PutTable, Refresh
from pysync.model.wire import decode_event, encode_event
from pysync.queue import EventQueue, ParkedTable
from pysync.replay.drain import Drain
from pysync.replay.rereading import Rereading
from pysync.replay.window.fold import fold
from pysync.replay.window.plan import plan
from pysync.sidecar.parked import ParkedSelection, is_adoptable, retried_tables
from pysync.sidecar.wiring import open_counted
from pysync.targets.base import Rejected, Target
from pysync.targets.settings import TargetSettings, assert_enabled

_SECONDS = 4.0
"""Of one answer, without the retry: who has more to adopt asks again."""

OpenSource = Callable[[], AbstractContextManager[Reads]]
OpenTarget = Callable[[TargetSettings, Counts, Throttle], Target]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Adoption:
    """Adopts tables of one target. `refresh` has the source's tables of these names read again at all targets."""

    queue: EventQueue
    drain: Drain
    source: OpenSource | None
    refresh: Callable[[Sequence[TableName]], object]
    open_target: OpenTarget = open_counted

    def __call__(self, parked: Sequence[ParkedTable], request: Mapping[str, Any]) -> dict[str, Any]:
        """Adopt the tables that the request selects, and try their parked events again.

        Each is brought to its definition at the source as with `on_conflict = "adopt"`, which marks it; its partitions
        follow by a refresh. `adopted` tables are the source's then, `refused` says why others are not, and `more` are
        for another request; the rest is the answer of a retry. Raises PysyncError where nothing can be adopted.
        """
        source = self._possible_source()
        tables = [it for it in ParkedSelection.of(request).tables(parked) if is_adoptable(it)]
        if not tables:
            raise PysyncError(
                "no parked table that fits is in the way of the source's", f"see: pysync parked list {self.drain.name}"
            )
        adopted, refused = dict[str, TableName](), dict[str, str]()
        throttle = self.drain.progress.throttle
        with source() as reads, closing(self._opened()) as target, _ended_after(_SECONDS) as is_over:
            for table in tables:
                if not throttle.wait(is_over):
                    break
                try:
                    adopted[table.table] = self._adopted(reads, target, table)
                except Rejected as error:
                    refused[table.table] = str(error)
        more = len(tables) - len(adopted) - len(refused)
        return {"adopted": len(adopted), "refused": refused, "more": more, **self._retried(adopted)}

    def _possible_source(self) -> OpenSource:
        """How the source is read. Raises PysyncError where tables cannot be adopted one by one."""
        settings, name = self.drain.settings, self.drain.name
        assert_enabled(settings)
        source = known(self.source)
        if self.drain.paused() is not None:
            raise PysyncError(f"target {name} is paused", f"first run: pysync resume {name}")
        if reason := _reason_against(settings):
            raise PysyncError(f"target {name} {reason}: no table is adopted one by one", 'set on_conflict = "adopt"')
        return source

    def _opened(self) -> Target:
        """The target with the rule that adopts. Its calls are among those that the drain counts and limits."""
        settings, progress = self.drain.settings.model_copy(update={"on_conflict": "adopt"}), self.drain.progress
        return self.open_target(settings, progress.calls, progress.throttle)

    def _adopted(self, source: Reads, target: Target, table: ParkedTable) -> TableName:
        """The name at the source of a table that is adopted now. Raises Rejected where it cannot be."""
        name = self.drain.translator.mapping.source_of(table.table)
        refresh = self._refresh_of(name, table)
        operations = Rereading(source, target, self.drain.translator, refresh).operations() if refresh else iter(())
        put = next((it for it in operations if isinstance(it, PutTable)), None)
        if put is None:
            raise Rejected(f"the source has no table {name} that the target takes", f"see: pysync why {name}")
        target.apply(put)
        log.warning("table_adopted", target=self.drain.name, table=table.table)
        return name

    def _refresh_of(self, name: TableName, table: ParkedTable) -> Refresh | None:
        """A refresh of the table, as old as its first parked event."""
        (row, *_) = self.queue.target(self.drain.name).parked.at(table.position)
        try:
            source = decode_event(row.data).source
        except PysyncError as error:
            raise Rejected(f"event {table.position} cannot be read", error.message) from error
        attributes = {"database": name.database, "table": name.table}
        event = Event(Kind.REFRESH, source, SIDECAR, 1, 0, attributes=attributes)
        change = self.drain.translator.translate(encode_event(event), table.position)
        works = plan(fold([change] if change else []), self.queue.writer(self.drain.name))
        return next((it for work in works for it in work.operations if isinstance(it, Refresh)), None)

    def _retried(self, adopted: Mapping[str, TableName]) -> dict[str, Any]:
        if adopted:
            self.refresh(list(adopted.values()))
        return retried_tables(self.drain, list(adopted))


def _reason_against(settings: TargetSettings) -> str:
    """What a target does for which a table cannot be adopted alone; empty if it can be."""
    if settings.both_ways:
        return "replicates both ways"
    if settings.copy_files is not None:
        return "copies files"
    return "only plans" if settings.mode == "shadow" else ""


@contextmanager
def _ended_after(seconds: float) -> Iterator[threading.Event]:
    """An event that is set when the time is over."""
    is_over = threading.Event()
    timer = threading.Timer(seconds, is_over.set)
    timer.daemon = True
    timer.start()
    try:
        yield is_over
    finally:
        timer.cancel()
