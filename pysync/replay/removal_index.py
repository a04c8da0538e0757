"""The index of removals: those of a target, as the brake looks them up; none takes longer because there are many."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from pysync.queue import Removal, Removals
from pysync.queue.removals import State

_Named = dict[str, Removal]


class RemovalIndex:
    """What is known of objects, by name, by state and database, and in order of time; all of it is in the queue's file.

    One thread at a time may change it, or ask for more than one object; `get`, `state`, `keeps_within` and whether
    anything is known may be asked at any time.
    """

    def __init__(self, removals: Removals) -> None:
        self._removals = removals
        self._rows: _Named = {}
        self._by_state: dict[State, dict[str, _Named]] = defaultdict(lambda: defaultdict(dict))
        self._kept_within = Counter[str]()
        self._ages: list[tuple[int, str]] = []  # when what has passed has done so; some has not, any more
        self.passed = 0  # how many objects have passed
        self._put(removals.all())

    def __bool__(self) -> bool:
        """Whether anything is known."""
        return bool(self._rows)

    def get(self, name: str) -> Removal | None:
        """What is known of an object."""
        return self._rows.get(name)

    def state(self, name: str) -> State | None:
        """What was decided of an object."""
        row = self._rows.get(name)
        return None if row is None else row.state

    def keeps_within(self, name: str) -> bool:
        """Whether any part of a database or table is kept."""
        return self._kept_within[name] > 0

    def of(self, *states: State) -> list[Removal]:
        """Those in one of these states."""
        return [row for it in states for named in self._by_state[it].values() for row in named.values()]

    def within(self, database: str, *states: State) -> Iterator[Removal]:
        """Those of a database in one of these states."""
        return (row for it in states for row in self._by_state[it].get(database, {}).values())

    def times(self) -> tuple[int, ...]:
        """When the first and the last of what has passed did so (ms)."""
        return (self._ages[0][0], self._ages[-1][0]) if self._ages else ()

    def passed_before(self, at_ms: float) -> list[str]:
        """The objects that passed at that time or before."""
        old = self._ages[: bisect_right(self._ages, at_ms, key=lambda it: it[0])]
        return [name for at, name in old if self._is_passed(at, name)]

    def change(self, written: Sequence[Removal], forgotten: Collection[str] = ()) -> None:
        """Forget some, then write others, on disk first."""
        self._removals.change(written, forgotten)
        for row in filter(None, map(self._rows.get, forgotten)):
            del self._rows[row.object]
            self._leave(row)
        self._put(written)
        stale = next((at for at, it in enumerate(self._ages) if self._is_passed(*it)), len(self._ages))
        del self._ages[:stale]

    def _put(self, rows: Iterable[Removal]) -> None:
        for row in rows:
            former = self._rows.get(row.object)
            if former is not None and former.state != row.state:
                self._leave(former)
            self._rows[row.object] = row
            self._by_state[row.state][row.database][row.object] = row
            if row.state == "passed":
                same = former if former is not None and former.state == "passed" else None
                self.passed += row.count - (same.count if same is not None else 0)
                if same is None or same.at_ms != row.at_ms:
                    insort(self._ages, (row.at_ms, row.object))
            elif row.state == "keep" and (former is None or former.state != "keep"):
                self._kept_within.update(_around(row))

    def _leave(self, row: Removal) -> None:
        """The row is gone, or gets another state."""
        del self._by_state[row.state][row.database][row.object]
        if row.state == "passed":
            self.passed -= row.count
        elif row.state == "keep":
            self._kept_within.subtract(_around(row))

    def _is_passed(self, at_ms: int, name: str) -> bool:
        row = self._rows.get(name)
        return row is not None and row.state == "passed" and row.at_ms == at_ms


def _around(row: Removal) -> set[str]:
    """The database and the table that an object is a part of."""
    return {row.database, row.table} - {row.object}
