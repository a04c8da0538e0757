"""Ledger: the drops that a target was allowed lately, and those that the brake does not let through, by their names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from pysync.base.text import count, span
from pysync.model.operation import DropDatabase, DropTable, Operation, PutTable
from pysync.queue import Pause
from pysync.replay.window.draft import Draft
from pysync.replay.window.order import database_of

# Ledger: the drops that a target was allowed lately, for the limits over time. Kept in the queue's file.


What = Literal["database", "table", "partitions"]


@dataclass(frozen=True, slots=True)
class Drop:
    """What one event drops: a database, a table, or `count` partitions of a table; `key` is the database or table.

    `at_ms` is when the event came (ms since 1970). `lasting`: it is a table that is gone for good, and that existed at
    the source for longer than the limits look back, or went with its database: a table that lives for an hour belongs
    to some job, not to the warehouse.
    """

    position: int
    at_ms: int
    what: What
    key: str
    count: int = 1
    lasting: bool = False

    @property
    def database(self) -> str:
        """The database that it is, or is in."""
        return database_of(self.key)


_GRAINS = 60
"""The time is divided into so many parts. Drops in one part are stored as one, at the time of the last."""


class Ledger:
    """The drops of the last `seconds`, by the times at which their events came. Used with the brake's lock held.

    They are stored with every window that drops anything, so they must be few: only their number in each sixtieth of
    the time is kept, except for lasting tables, whose names count. So a drop counts for up to a sixtieth longer, and
    never for less.

    The time is counted back from the latest event, by its position: the events of a backlog may all be old, and a clock
    that was ahead for a while is no reason to forget what comes after it was set back. A drop from the future counts.

    `save` stores what must outlive the process; `saved` is what it stored last. Drops are entered before they are
    applied: a crash may count what was not done, but never omit what was.
    """

    def __init__(
        self, seconds: float, save: Callable[[str], object] = lambda _: None, saved: str | None = None
    ) -> None:
        self._ms = round(seconds * 1000)
        self._save = save
        record: dict[str, Any] = json.loads(saved) if saved else {"upto": 0, "drops": []}
        self._upto = int(record["upto"])
        self._drops = [Drop(**it) for it in record["drops"]]

    def new(self, drops: Sequence[Drop]) -> list[Drop]:
        """The drops that were not entered before: after a crash the same events are replayed again."""
        return [it for it in drops if it.position > self._upto]

    def enter(self, drops: Sequence[Drop]) -> None:
        """Remember these drops, and forget those that are too old; durable when it returns."""
        if drops and self._ms:
            latest = max(drops, key=lambda it: it.position)
            since = latest.at_ms - self._ms
            self._drops = self._gathered(it for it in [*self._drops, *drops] if it.at_ms > since)
            self._store(max(self._upto, *(it.position for it in drops)))

    def _gathered(self, drops: Iterable[Drop]) -> list[Drop]:
        """The same drops in fewer entries."""
        sums: dict[tuple[int, str], Drop] = {}
        for it in drops:
            part = self._grain(it), it.key if it.lasting else ""
            known = sums.get(part, replace(it, count=0))
            sums[part] = replace(it, at_ms=max(it.at_ms, known.at_ms), count=it.count + known.count)
        return list(sums.values())

    def _grain(self, drop: Drop) -> int:
        return drop.at_ms // max(1, self._ms // _GRAINS)

    def clear(self) -> None:
        """Start counting again: a person has looked at these drops."""
        if self._drops:
            self._drops = []
            self._store(self._upto)

    def most(self, new: Sequence[Drop]) -> int:
        """The most drops within the time that the remembered ones and these come to, as these come in their order."""
        lately: dict[int, tuple[int, int]] = {}  # by the part of the time: its last drop, and the number
        most = total = 0
        for drop in [*self._drops, *sorted(new, key=lambda it: it.position)]:
            # A sliding window: events of a backlog may all be long ago, so the last `seconds` from now are not enough.
            for grain in [grain for grain, (at_ms, _) in lately.items() if at_ms <= drop.at_ms - self._ms]:
                total -= lately.pop(grain)[1]
            at_ms, number = lately.get(self._grain(drop), (drop.at_ms, 0))
            lately[self._grain(drop)] = max(at_ms, drop.at_ms), number + drop.count
            total += drop.count
            most = max(most, total)
        return most

    def tables(self, database: str) -> set[str]:
        """The lasting tables of a database that were dropped within the time, by their names `db.table`."""
        return {it.key for it in self._drops if it.lasting and it.database == database}

    def _store(self, upto: int) -> None:
        self._upto = upto
        self._save(json.dumps({"upto": upto, "drops": [asdict(it) for it in self._drops]}))


def drops_of(draft: Draft, seconds: float) -> list[tuple[Drop, Operation]]:
    """The drops of a draft, each with its operation. `seconds` is how far the limits look back."""
    times = {event.position: event.at_ms for event in draft.events}
    # By the clock of the source, as createTime is: after an outage, events come hours later.
    committed = {position: change.event.time_ms for position, (_, change) in draft.changes.items()}
    drops = list[tuple[Drop, Operation]]()
    for work in draft.works:
        last = max(work.positions, default=0)
        at_ms = times.get(last, 0)
        drops += _of_work(work.operations, last, (at_ms, committed.get(last, at_ms)), seconds)
    return drops


def drops_of_refresh(operations: Sequence[Operation], position: int, at_ms: int) -> list[tuple[Drop, Operation]]:
    """The drops of the refresh at `position`. The age of its tables is not known."""
    return list(_of_work(operations, position, (at_ms, at_ms), 0.0))


def _of_work(
    operations: Sequence[Operation], position: int, times: tuple[int, int], seconds: float
) -> Iterator[tuple[Drop, Operation]]:
    """`times`: when the event came, and when its change was committed."""
    at_ms, committed_ms = times
    put = {it.key for it in operations if isinstance(it, PutTable)}
    for it in operations:
        if it.drops:
            # A table that the same work creates again is not lost.
            gone = isinstance(it, DropTable) and it.key not in put and _is_old(it.mark.created, committed_ms, seconds)
            yield Drop(position, at_ms, _what(it), it.key, it.drops, lasting=gone), it


def _what(operation: Operation) -> What:
    if isinstance(operation, DropDatabase):
        return "database"
    return "table" if isinstance(operation, DropTable) else "partitions"


def _is_old(created: int, dropped_ms: int, seconds: float) -> bool:
    """Whether a table lived longer than that; True if the source does not say when it was created (0).

    True also if it was dropped before it was created: then one of the two clocks is wrong.
    """
    return not created or not 0 <= dropped_ms / 1000 - created <= seconds


# Hold: the drops that the brake does not let through, by their names, and what to say of them. Pure.


MOST_OBJECTS = 20
"""How many objects are named."""

_MOST_DATABASES = 3


@dataclass(frozen=True, slots=True)
class Hold:
    """The `drops` that wait for a person, and the `limit` that they exceed; nothing of their events is applied.

    `first` and `last` are the positions of these events, `at_ms` is when the hold began. With `refreshes` they are
    drops of a comparison with the source, which knows them only when its turn comes.
    """

    first: int
    last: int
    at_ms: int
    limit: str
    drops: tuple[Drop, ...] = field(repr=False)
    refreshes: bool = False

    @property
    def count(self) -> int:
        """How many databases, tables and partitions would be dropped."""
        return sum(it.count for it in self.drops)

    @property
    def databases(self) -> frozenset[str]:
        """The databases that the drops are in, or of."""
        return frozenset(it.database for it in self.drops)

    @property
    def summary(self) -> str:
        """`database hr2 with 40 tables`, `3 tables of db, 12 partitions in db`; of the first few databases."""
        names = sorted(self.databases)
        more = f", and drops in {count(len(names) - _MOST_DATABASES, 'more database')}"
        named = ", ".join(self._of(name) for name in names[:_MOST_DATABASES])
        return named + (more if len(names) > _MOST_DATABASES else "")

    @property
    def reason(self) -> str:
        """What is held, and which limit it exceeds."""
        events = span("event", self.first, self.last)
        how = (
            f"found by a comparison at event {self.first}" if self.refreshes else f"{events}, of which none is applied"
        )
        return f"held: the drop of {self.summary}; {how}; {self.limit}"

    @property
    def pause(self) -> Pause:
        """The hold as a reason why the target applies nothing."""
        return Pause(self.reason, self.at_ms)

    def covers(self, name: str) -> bool:
        """Whether a database, table or partition of this name (`db`, `db.t`) would be dropped."""
        return any(it.key == name for it in self.drops)

    def as_json(self) -> dict[str, Any]:
        """As in docs/status.md."""
        objects = list(dict.fromkeys(self._object(it) for it in sorted(self.drops, key=_by_name)))
        return {
            "at": self.at_ms / 1000,
            "first": self.first,
            "last": self.last,
            "drops": self.count,
            "summary": self.summary,
            "limit": self.limit,
            "reason": self.reason,
            "objects": objects[:MOST_OBJECTS],
            "more": max(0, len(objects) - MOST_OBJECTS),
        }

    def _of(self, database: str) -> str:
        drops = [it for it in self.drops if it.database == database]
        tables, partitions = _number(drops, "table"), _number(drops, "partitions")
        in_all = [count(number, word) for number, word in ((tables, "table"), (partitions, "partition")) if number]
        if _number(drops, "database"):
            return f"database {database}" + (f" with {' and '.join(in_all)}" if in_all else "")
        return f"{' and '.join(in_all)} of {database}"

    def _object(self, drop: Drop) -> str:
        if drop.what != "partitions":
            return f"{drop.what} {drop.key}"
        number = sum(it.count for it in self.drops if it.what == "partitions" and it.key == drop.key)
        return f"{count(number, 'partition')} of {drop.key}"


def _number(drops: Iterable[Drop], what: str) -> int:
    return sum(it.count for it in drops if it.what == what)


def _by_name(drop: Drop) -> tuple[str, str]:
    return drop.key, drop.what
