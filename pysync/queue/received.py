"""Which events ever came, per listener JVM: how a repeated event is recognised, also after it was trimmed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from pysync.queue.sequences import Sequences
from pysync.queue.values import Entry, Instance

CREATE_INSTANCES = """CREATE TABLE instances (
    instance TEXT PRIMARY KEY, source TEXT NOT NULL, seen TEXT NOT NULL,
    first_at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL, seal INTEGER) WITHOUT ROWID"""

_READ_INSTANCES = "SELECT instance, source, seen, first_at_ms, last_at_ms FROM instances"
_WRITE_INSTANCE = (
    "INSERT OR REPLACE INTO instances (instance, source, seen, first_at_ms, last_at_ms) VALUES (?, ?, ?, ?, ?)"
)


@dataclass(slots=True)
class _Seen:
    source: str
    sequences: Sequences
    first_at_ms: int
    last_at_ms: int

    def copy(self) -> _Seen:
        return _Seen(self.source, self.sequences.copy(), self.first_at_ms, self.last_at_ms)


class Instances:
    """The table `instances` in memory. It changes only through `Additions` that were committed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read the table; raises ValueError if a row is not what pysync writes."""
        self._seen = {
            instance: _Seen(source, Sequences.from_json(seen), first_at, last_at)
            for instance, source, seen, first_at, last_at in connection.execute(_READ_INSTANCES)
        }

    def __iter__(self) -> Iterator[Instance]:
        for name, seen in self._seen.items():
            sequences = seen.sequences
            yield Instance(
                instance=name,
                source=seen.source,
                received=sequences.count,
                highest=sequences.highest,
                missing=sequences.holes(),
                first_at_ms=seen.first_at_ms,
                last_at_ms=seen.last_at_ms,
            )

    def additions(self, at_ms: int) -> Additions:
        """A draft of the next change, at the time `at_ms`."""
        return Additions(self._seen, at_ms)


class Additions:
    """The instances as one transaction would leave them: draft, `write` in the transaction, `accept` after it."""

    def __init__(self, seen: dict[str, _Seen], at_ms: int) -> None:
        self._base = seen
        self._draft: dict[str, _Seen] = {}
        self._at_ms = at_ms

    def add(self, entry: Entry) -> bool:
        """Count `entry`; False if it came before, in this draft or ever."""
        seen = self._draft.get(entry.instance) or self._base.get(entry.instance)
        if seen is not None and entry.sequence in seen.sequences:
            return False
        if entry.instance not in self._draft:
            fresh = _Seen(entry.source, Sequences(), self._at_ms, self._at_ms)
            self._draft[entry.instance] = seen.copy() if seen else fresh
        draft = self._draft[entry.instance]
        draft.last_at_ms = self._at_ms
        return draft.sequences.add(entry.sequence)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write every changed instance; the caller's transaction makes it durable."""
        rows = [
            (name, seen.source, seen.sequences.to_json(), seen.first_at_ms, seen.last_at_ms)
            for name, seen in self._draft.items()
        ]
        connection.executemany(_WRITE_INSTANCE, rows)

    def accept(self) -> None:
        """Make the draft what is known; only after its transaction was committed."""
        self._base.update(self._draft)
