"""Ledger: the drops that a target was allowed lately, for the limits over time. Kept in the queue's file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pysync.model.event import Kind
from pysync.model.operation import DropDatabase, DropTable, Operation, PutTable
from pysync.replay.draft import Draft
from pysync.replay.order import database_of


@dataclass(frozen=True, slots=True)
class Drop:
    """What one event drops: `count` databases, tables and partitions of `key`, and when it came (ms since 1970).

    `table` is whether it is a table that is gone for good, and that existed for longer than the limits look back: a
    table that lives for an hour belongs to some job, not to the warehouse.
    """

    position: int
    at_ms: int
    key: str
    count: int
    table: bool = False

    @property
    def database(self) -> str:
        """The database that it is, or is in."""
        return database_of(self.key)


_GRAINS = 60
"""The time is divided into so many parts. Drops in one part are stored as one, at the time of the last."""


class Ledger:
    """The drops of the last `seconds`, by the times at which their events came. Used with the brake's lock held.

    They are stored with every window that drops anything, so they must be few: only their number in each sixtieth of
    the time is kept, except for tables that are gone for good, whose names count. So a drop counts for up to a sixtieth
    longer, and never for less.

    `keep` stores what must outlive the process; `kept` is what it stored last. Drops are entered before they are
    applied: a crash may count what was not done, but never omit what was.
    """

    def __init__(self, seconds: float, keep: Callable[[str], object] = lambda _: None, kept: str | None = None) -> None:
        self._ms = round(seconds * 1000)
        self._keep = keep
        found: dict[str, Any] = json.loads(kept) if kept else {"upto": 0, "drops": []}
        self._upto = int(found["upto"])
        self._drops = [Drop(**it) for it in found["drops"]]

    def new(self, drops: Sequence[Drop]) -> list[Drop]:
        """The drops that were not entered before: after a crash the same events come again."""
        return [it for it in drops if it.position > self._upto]

    def enter(self, drops: Sequence[Drop]) -> None:
        """Remember these drops, and forget those that are too old; durable when it returns."""
        if drops and self._ms:
            every = [*self._drops, *drops]
            # Counted back from the newest event, not from now: the events of a backlog may all be old.
            since = max(it.at_ms for it in every) - self._ms
            self._drops = self._gathered(it for it in every if it.at_ms > since)
            self._store(max(self._upto, *(it.position for it in drops)))

    def _gathered(self, drops: Iterable[Drop]) -> list[Drop]:
        """The same drops in fewer entries."""
        grain = max(1, self._ms // _GRAINS)
        sums: dict[tuple[int, str], Drop] = {}
        for it in drops:
            part = it.at_ms // grain, it.key if it.table else ""
            known = sums.get(part, replace(it, count=0))
            sums[part] = replace(it, at_ms=max(it.at_ms, known.at_ms), count=it.count + known.count)
        return list(sums.values())

    def clear(self) -> None:
        """Start counting anew: a person has looked at these drops."""
        if self._drops:
            self._drops = []
            self._store(self._upto)

    def most(self, new: Sequence[Drop]) -> int:
        """The most drops within the time, among the remembered and these."""
        every = sorted([*self._drops, *new], key=lambda it: it.at_ms)
        most = total = first = 0
        for drop in every:
            total += drop.count
            # A sliding window: events of a backlog may all be long ago, so the last `seconds` from now are not enough.
            while drop.at_ms - every[first].at_ms >= self._ms:
                total -= every[first].count
                first += 1
            most = max(most, total)
        return most

    def tables(self, database: str) -> set[str]:
        """The tables of a database that were dropped within the time, by their names `db.table`."""
        return {it.key for it in self._drops if it.table and it.database == database}

    def _store(self, upto: int) -> None:
        self._upto = upto
        self._keep(json.dumps({"upto": upto, "drops": [asdict(it) for it in self._drops]}))


def drops_of(draft: Draft, seconds: float) -> list[Drop]:
    """The drops of a draft, as many as its `drops` in all. `seconds` is how far the limits look back."""
    times = {event.position: event.at_ms for event in draft.events}
    found = [
        it for work in draft.works for it in _of_work(work.operations, max(work.positions, default=0), times, seconds)
    ]
    told = ((event, change) for event, change in draft.changes.values() if change.event.uncommitted)
    return found + [
        Drop(event.position, event.at_ms, str(change.table_name), 1, _is_old(change.created, event.at_ms, seconds))
        for event, change in told
        if change.kind is Kind.DROP_TABLE
    ]


def drops_of_refresh(operations: Sequence[Operation], position: int, at_ms: int) -> list[Drop]:
    """The drops of the refresh at `position`. The age of its tables is not known."""
    return list(_of_work(operations, position, {position: at_ms}, 0.0))


def _of_work(operations: Sequence[Operation], position: int, times: dict[int, int], seconds: float) -> Iterator[Drop]:
    put, at_ms = {it.key for it in operations if isinstance(it, PutTable)}, times.get(position, 0)
    for it in operations:
        if it.drops:
            # A table that the same work creates again is not lost.
            gone = isinstance(it, DropTable) and it.key not in put and _is_old(it.mark.created, at_ms, seconds)
            key = it.database if isinstance(it, DropDatabase) else it.key
            yield Drop(position, at_ms, key, it.drops, table=gone)


def _is_old(created: int, dropped_ms: int, seconds: float) -> bool:
    """Whether a table lived longer than that; True if the source does not tell when it was created (0)."""
    return not created or dropped_ms / 1000 - created > seconds
