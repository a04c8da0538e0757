"""Removals: what a window, or a comparison, takes from a target, before any of it is applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from pysync.model.names import TableName, normalized
from pysync.model.operation import (
    DropDatabase,
    DropTable,
    Operation,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    RenameTable,
)
from pysync.model.removal import Lost, lost_by, partitions_by, put_by
from pysync.queue import Removal
from pysync.replay.window.draft import Draft
from pysync.replay.window.order import database_of
from pysync.replay.window.plan import Work

_ASKED_ONE_BY_ONE = 2
"""So many replaced tables of a database are asked for their partitions before its tables are listed."""


class TargetReads(Protocol):
    """What the target has. Methods raise what the target raises."""

    def tables_of(self, database: str) -> Collection[str]:
        """The names of the tables that it has in a database."""

    def tables_with(self, drop: DropDatabase) -> Mapping[str, int]:
        """The names of the tables that the drop of a database takes along, with their createTime at the source."""

    def is_young(self, database: str, seconds: float) -> bool:
        """Whether this queue has seen how the source made the database, within so many seconds."""

    def partitions_of(self, table: TableName, most: int) -> Collection[str]:
        """The names of a table's partitions at the target, at most so many."""


@dataclass(frozen=True, slots=True)
class Flight:
    """The tables that a window under way, up to the event `last`, puts and removes, by their names at the end of it.

    Those that it puts have their createTime at the source (s; 0: not known). `operations` are all of the window.
    """

    last: int
    put: Mapping[str, int] = field(default_factory=dict)
    removed: Set[str] = frozenset()
    operations: Sequence[Operation] = ()

    def ever_put(self) -> set[str]:
        """All objects that it puts, whether they stay or not. Not for each window: it may put many partitions."""
        tables = {it.key for it in self.operations if isinstance(it, PutTable)}
        return tables.union(*map(put_by, self.operations))


def flight_of(draft: Draft) -> Flight:
    """What a window does to the lists of tables."""
    put, removed = dict[str, int](), set[str]()
    operations = [it for work in draft.works for it in work.operations]
    for operation in operations:
        if isinstance(operation, PutTable):
            put[operation.key] = operation.mark.created
            removed.discard(operation.key)
        elif isinstance(operation, RenameTable):
            put[str(operation.new_name)] = operation.mark.created
            removed.discard(str(operation.new_name))
        if isinstance(operation, DropTable | RenameTable):
            put.pop(operation.key, None)
            removed.add(operation.key)
    return Flight(draft.events[-1].position, put, removed, operations)


def lost_by_window(
    draft: Draft, flights: Sequence[Flight], ends: TargetReads, *, seconds: float, most: int
) -> list[Removal]:
    """What the works of a window remove, behind the windows under way (`flights`), as far as the works name it.

    `seconds` is how long a table must have lived to count for the share of its database. Of the partitions of a table
    that is replaced at most so many (`most`) are counted. Raises what the target raises.
    """
    times = {event.position: event.at_ms for event in draft.events}
    # By the clock of the source, as createTime is: after an outage, events come hours later.
    committed = {position: change.event.time_ms for position, (_, change) in draft.changes.items()}
    losses = _Losses(flights, ends, seconds, most)
    for work in draft.works:
        last = max(work.positions, default=0)
        losses.add(work)
        for name in losses.new:
            losses.times[name] = (last, times.get(last, 0), committed.get(last, times.get(last, 0)))
    return [
        _removal(it, position, at_ms, it.is_lasting(committed_ms, seconds))
        for name, it in losses.lost.items()
        for position, at_ms, committed_ms in [losses.times[name]]
    ]


def lost_by_operations(
    operations: Iterable[Operation], position: int, at_ms: int, ends: TargetReads, *, seconds: float, leaving: bool
) -> list[Removal]:
    """What the operations of a comparison, the event at `position`, remove. Raises what the target raises.

    `leaving`: because it leaves the scope.

    When they were dropped is not known, so the age of tables counts in young databases alone.
    """
    is_young = cache(lambda name: ends.is_young(name, seconds))
    lost = [it for operation in operations for it in lost_by(operation)]
    aged = (it if it.kind == "table" and is_young(database_of(it.object)) else replace(it, created=0) for it in lost)
    removals = (_removal(it, position, at_ms, it.is_lasting(at_ms, seconds)) for it in aged)
    return [replace(it, leaving=leaving) for it in removals]


def _removal(lost: Lost, position: int, at_ms: int, lasting: bool) -> Removal:
    return Removal(lost.object, lost.kind, "passed", "", position, at_ms, 0 if lost.replaced else lost.count, lasting)


@dataclass(slots=True)
class _Losses:
    """What is lost by the works so far: an object that is put again is not.

    `new` has the names that the last work added, `times` their event, when it came and when it was committed (ms).
    """

    flights: Sequence[Flight]
    ends: TargetReads
    seconds: float
    most: int
    lost: dict[str, Lost] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)
    times: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    _put: dict[str, int] = field(default_factory=dict)
    _moved: set[str] = field(default_factory=set)
    _listed: dict[str, Collection[str]] = field(default_factory=dict)
    _replaced: Counter[str] = field(default_factory=Counter)  # by database

    def add(self, work: Work) -> None:
        """The next work."""
        self.new = []
        for operation in work.operations:
            for it in [*lost_by(operation), *self._taken_along(operation)]:
                self.lost[it.object] = it
                self.new.append(it.object)
                self._put.pop(it.object, None)
            self._note_put(operation)

    def _taken_along(self, operation: Operation) -> Iterator[Lost]:
        """The tables that go with a database: those at the target, and those that are on their way there.

        Their age counts in young databases alone: those may have got older tables by renames.
        """
        if not isinstance(operation, DropDatabase):
            return
        prefix = f"{operation.database}."
        there = {f"{prefix}{name}": created for name, created in self.ends.tables_with(operation).items()}
        for put, removed in [*((it.put, it.removed) for it in self.flights), (self._put, self._moved)]:
            there = {name: created for name, created in there.items() if name not in removed}
            there |= {name: created for name, created in put.items() if name.startswith(prefix)}
        is_young = self.ends.is_young(operation.database, self.seconds)
        for name, created in sorted(there.items()):
            yield Lost(name, "table", created=created if is_young else 0)

    def _note_put(self, operation: Operation) -> None:
        if isinstance(operation, PutTable):
            self._put_table(operation)
        elif isinstance(operation, RenameTable):
            self._put[str(operation.new_name)] = operation.mark.created
            self._put.pop(operation.key, None)
            self._moved.add(operation.key)
            self._replace([str(operation.new_name)])
        elif isinstance(operation, PutDatabase | PutFunction):
            self._replace([normalized(operation.key)])
        elif isinstance(operation, PutPartitions):
            self._replace(partitions_by(operation))

    def _replace(self, names: Iterable[str]) -> None:
        """What was dropped before is put again."""
        for name in names:
            if name in self.lost:
                self.lost[name] = replace(self.lost[name], replaced=True)

    def _put_table(self, operation: PutTable) -> None:
        """A table that was dropped before is replaced: only its partitions may be lost."""
        self._put[operation.key] = operation.mark.created
        self._moved.discard(operation.key)
        if operation.key not in self.lost:
            return
        self._replace([operation.key])
        if operation.definition.partitionKeys and (number := self._partitions_of(operation.table)):
            name = f"{operation.key}/*"
            self.lost[name] = Lost(name, "partition", number)
            self.new.append(name)

    def _partitions_of(self, table: TableName) -> int:
        """How many partitions of a table are lost. Of many tables, only those are asked for that the target has."""
        database = table.database
        self._replaced[database] += 1
        if self._replaced[database] > _ASKED_ONE_BY_ONE:
            if database not in self._listed:
                self._listed[database] = frozenset(self.ends.tables_of(database))
            if table.table not in self._listed[database]:
                return 0
        return len(self.ends.partitions_of(table, self.most))
