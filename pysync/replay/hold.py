"""Hold: the drops that the brake does not let through, by their names, and what to say of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pysync.queue import Pause
from pysync.replay.ledger import Drop
from pysync.text import count, span

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
