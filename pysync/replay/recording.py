"""Recording: a target's replay in the journal: operations that were applied, and events that were parked.

It must cost next to nothing, as the lanes call it for every operation, and it must never fail one.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.journal import Record
from pysync.journal.record import MOST_PARTITIONS, bounded, reason_of
from pysync.model.change import Change
from pysync.model.difference import Difference
from pysync.model.event import SIDECAR, Event
from pysync.model.event_objects import named_in_event, objects_of
from pysync.model.names import TableName, partition_name
from pysync.model.operation import (
    DropPartitions,
    Operation,
    PutPartitions,
    Refresh,
    RenameTable,
    TableOperation,
    partitions,
)
from pysync.model.wire import decode_event
from pysync.queue import Queued
from pysync.replay.batch import Job
from pysync.replay.window.blocks import Refusal
from pysync.replay.window.mapping import NameMapping

_MS = 1000

Append = Callable[[Record], object]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OperationResult:
    """How an operation ended: after how many seconds and attempts, what it changed, and the reason to record."""

    outcome: str
    seconds: float | None = None
    attempts: int = 1
    differences: Sequence[Difference] = ()
    reason: str | None = None


class Recorder:
    """Makes the records of one target; `append` takes them, None if nobody wants them. Called by several lanes."""

    def __init__(self, target: str, mapping: NameMapping, append: Append | None) -> None:
        self._target, self._mapping, self._append = target, mapping, append
        self._failures = 0

    def applied(self, job: Job, operation: Operation, done: OperationResult) -> None:
        """An operation of a job has ended."""
        if self._append is not None:
            self._add(self._append, lambda: [self._of_applied(job, operation, done)])

    def parked(self, refused: Iterable[Refusal]) -> None:
        """Events were parked. Those that wait for the same objects make one record."""
        if self._append is not None:
            self._add(self._append, lambda: self._of_parked(refused))

    def _add(self, append: Append, make: Callable[[], Iterable[Record]]) -> None:
        try:
            for record in make():
                append(record)
        except Exception:  # noqa: BLE001 - an operation that was applied has not failed for want of a record
            self._failures += 1
            if self._failures & (self._failures - 1) == 0:  # the 1st, 2nd, 4th, 8th …
                log.error("record_failed", target=self._target, traceback=traceback.format_exc())

    def _of_applied(self, job: Job, operation: Operation, done: OperationResult) -> Record:
        positions = job.work.positions
        queued, change = job.batch.draft.changes[max(positions)]
        source, former = self._sources(operation, change)
        renamed = operation if isinstance(operation, RenameTable) else None
        return Record(
            at=time.time(),
            target=self._target,
            operation=type(operation).__name__,
            outcome=done.outcome,
            object=str(renamed.new_name) if renamed else operation.key,
            former=operation.key if renamed else "",
            source_object=source,
            source_former=former,
            partitions=_some_partitions(operation),
            partition_count=_count(operation),
            first_position=min(positions),
            last_position=queued.position,
            events=len(positions),
            committed_at=_committed_at(change.event),
            captured_at=queued.at_ms / _MS,
            attempts=done.attempts,
            milliseconds=None if done.seconds is None else round(done.seconds * _MS, 3),
            reason=reason_of(done.reason),
            differences=bounded(done.differences),
        )

    def _of_parked(self, refused: Iterable[Refusal]) -> Iterator[Record]:
        waiting: dict[frozenset[str], list[Refusal]] = {}
        for refusal in refused:
            if refusal.kind == "waits":
                waiting.setdefault(refusal.keys, []).append(refusal)
            else:
                yield self._of_refused([refusal], "held" if refusal.kind == "held" else "parked")
        for several in waiting.values():
            yield self._of_refused(several, "waits")

    def _of_refused(self, refused: Sequence[Refusal], outcome: str) -> Record:
        last = refused[-1]
        event = _event(last.event)
        sources = objects_of(event, last.event.position) if event else []
        names = [self._mapping.key(it) for it in sources] or sorted(last.keys)
        return Record(
            at=time.time(),
            target=self._target,
            operation=str(event.kind) if event else "unreadable",
            outcome=outcome,
            object=names[-1] if names else "",
            former=names[0] if len(names) > 1 else "",
            source_object=sources[-1] if sources else "",
            source_former=sources[0] if len(sources) > 1 else "",
            first_position=refused[0].event.position,
            last_position=last.event.position,
            events=len(refused),
            committed_at=_committed_at(event) if event else None,
            captured_at=last.event.at_ms / _MS,
            reason=reason_of(last.reason),
        )

    def _sources(self, operation: Operation, change: Change) -> tuple[str, str]:
        """The names at the source: of the object, and of a renamed one the former."""
        if isinstance(operation, RenameTable):
            new = replace(change.event, before=())  # of the event with the new state alone that is the new name
            return self._source(operation.new_name, new), self._source(operation.table, change.event)
        if isinstance(operation, Refresh):
            return str(operation.source_table or operation.source_database), ""
        if isinstance(operation, TableOperation):
            return self._source(operation.table, change.event), ""
        database, dot, rest = operation.key.partition(".")
        return f"{self._mapping.source_database(database)}{dot}{rest}", ""

    def _source(self, name: TableName, event: Event) -> str:
        """The name at the source of a table. Several may be mapped to one, so the event is asked first."""
        if not self._mapping.renames:
            return str(name)
        return str(named_in_event(event) or self._mapping.source_table(name))


def _event(queued: Queued) -> Event | None:
    try:
        return decode_event(queued.data)
    except PysyncError:
        return None


def _committed_at(event: Event) -> float | None:
    """When the change was committed at the source; the sidecar's own events are no changes."""
    return None if event.instance == SIDECAR else event.time_ms / _MS


def _count(operation: Operation) -> int:
    return len(operation.partitions) if isinstance(operation, Refresh) else partitions(operation)


def _some_partitions(operation: Operation) -> tuple[str, ...]:
    """The names of the first partitions."""
    if isinstance(operation, Refresh):
        return operation.partitions[:MOST_PARTITIONS]
    if isinstance(operation, PutPartitions):
        keys = [key.name for key in operation.definition.partitionKeys or ()]
        return _named(keys, (it.values for it in islice(operation.partitions, MOST_PARTITIONS)))
    if isinstance(operation, DropPartitions):
        return _named(operation.keys, operation.values[:MOST_PARTITIONS])
    return ()


def _named(keys: Sequence[str], values: Iterable[Any]) -> tuple[str, ...]:
    # Some clients send partitions that do not fit their table: the target refuses them, and they have no name.
    return tuple(partition_name(keys, it) if len(keys) == len(it) else ",".join(it) for it in values)
