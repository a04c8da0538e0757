"""Parked events: what a target has set aside, each event under every table that it touches."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence

from pysync.queue.queue_file import QueueFile
from pysync.queue.values import Park, Parked, ParkedTable

_COLUMNS = "target, position, table_key, data, reason, kind, attempts, first_at_ms, last_at_ms"
# One that is parked again keeps first_at_ms: since when it waits.
_PARK = f"""INSERT INTO parked ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (target, table_key, position) DO UPDATE SET reason = excluded.reason, kind = excluded.kind,
    attempts = excluded.attempts, last_at_ms = excluded.last_at_ms"""  # noqa: S608
_EVENTS = f"""SELECT {_COLUMNS}, id FROM parked
    WHERE target = ? AND (position, id) > (?, ?) ORDER BY position, id LIMIT ?"""  # noqa: S608
_OF_TABLE = f"""SELECT {_COLUMNS}, id FROM parked
    WHERE target = ? AND table_key = ? AND (position, id) > (?, ?) ORDER BY position, id LIMIT ?"""  # noqa: S608
# From one table name to the next through the index: the cost is that of the tables, not of what they hold back.
_BLOCKED = """WITH RECURSIVE blocked(key) AS (
    SELECT min(table_key) FROM parked WHERE target = :target
    UNION ALL
    SELECT (SELECT min(table_key) FROM parked WHERE target = :target AND table_key > key)
    FROM blocked WHERE key IS NOT NULL)
    SELECT key FROM blocked WHERE key IS NOT NULL"""
_TABLES = """SELECT first.table_key, every.events, first.position, first.kind, first.reason, first.attempts,
    every.first_at_ms, every.last_at_ms
    FROM (SELECT table_key, count(*) AS events, min(position) AS position, min(first_at_ms) AS first_at_ms,
          max(last_at_ms) AS last_at_ms FROM parked WHERE target = :target GROUP BY table_key) AS every
    JOIN parked AS first ON first.target = :target AND first.table_key = every.table_key
     AND first.position = every.position ORDER BY first.table_key"""
_AT = f"""SELECT {_COLUMNS}, id FROM parked WHERE target = ? AND position = ? ORDER BY table_key"""  # noqa: S608
_NAMES = "SELECT position, table_key FROM parked WHERE target = ? ORDER BY position, id"
_REMOVE_AT = "DELETE FROM parked WHERE target = ? AND position = ?"
_REMOVE = "DELETE FROM parked WHERE id = ? AND target = ?"
_DOUBT = "UPDATE gaps SET waited = 1 WHERE closed_at_ms IS NULL AND upto >= ?"
_HELD = "SELECT count(*) FROM parked WHERE target = ? AND kind = 'held'"
_UPDATE = "UPDATE parked SET reason = ?, kind = ?, attempts = ?, last_at_ms = ? WHERE id = ? AND target = ?"


class ParkedEvents:
    """The parked events of one target. `TargetQueue.advance` parks them, as it moves the position past them.

    What a method changes is on disk when it returns. All of them may be called from any thread, and raise as those of
    `EventQueue` do. Of a target that is not registered nothing is parked.
    """

    def __init__(self, file: QueueFile, target: str) -> None:
        self._file, self.target = file, target

    def events(self, table: str | None = None, after: Parked | None = None, limit: int = 1000) -> list[Parked]:
        """Up to `limit` parked events (of one `table`) in event order; `after` the last one for more."""
        start = (after.position, after.id) if after else (-1, -1)
        with self._file.reading() as connection:
            if table is None:
                rows = connection.execute(_EVENTS, (self.target, *start, limit))
            else:
                rows = connection.execute(_OF_TABLE, (self.target, table, *start, limit))
            return [Parked(*row) for row in rows.fetchall()]

    def at(self, position: int) -> list[Parked]:
        """The parked event at `position`, once under each of its tables; empty if it is not parked."""
        with self._file.reading() as connection:
            return [Parked(*row) for row in connection.execute(_AT, (self.target, position)).fetchall()]

    def tables(self) -> list[ParkedTable]:
        """What is parked, table by table."""
        with self._file.reading() as connection:
            return [ParkedTable(*row) for row in connection.execute(_TABLES, {"target": self.target}).fetchall()]

    def names(self) -> dict[int, set[str]]:
        """The tables of every parked event, by its position, in event order."""
        names: dict[int, set[str]] = {}
        with self._file.reading() as connection:
            for position, table in connection.execute(_NAMES, (self.target,)).fetchall():
                names.setdefault(position, set()).add(table)
        return names

    def count(self) -> int:
        """How many events are parked, each counted once for every table that it is parked under."""
        with self._file.reading() as connection:
            row = connection.execute("SELECT count(*) FROM parked WHERE target = ?", (self.target,)).fetchone()
            return int(row[0])

    def held(self) -> int:
        """How many of them the brake holds."""
        with self._file.reading() as connection:
            row = connection.execute(_HELD, (self.target,)).fetchone()
            return int(row[0])

    def first(self) -> int | None:
        """The position of the first parked event; None if none is parked."""
        with self._file.reading() as connection:
            row = connection.execute("SELECT min(position) FROM parked WHERE target = ?", (self.target,)).fetchone()
            return None if row[0] is None else int(row[0])

    def blocked(self) -> set[str]:
        """The tables that have a parked event, so that their later events must wait."""
        with self._file.reading() as connection:
            return {key for (key,) in connection.execute(_BLOCKED, {"target": self.target}).fetchall()}

    def remove(self, applied: Collection[Parked]) -> int:
        """Remove parked events, applied now; returns how many of them were this target's."""
        return self.replace(applied, ())

    def replace(self, applied: Collection[Parked], parks: Sequence[Park]) -> int:
        """Remove parked events, applied now, and add others, in one transaction.

        Returns how many of the removed ones were this target's. What is added and there already takes the new reason.
        """
        rows = [(event.id, self.target) for event in applied]
        with self._file.transaction() as connection:
            _doubt(connection, [event.position for event in applied])
            removed = connection.executemany(_REMOVE, rows).rowcount if rows else 0
            park(connection, parks)
            return removed

    def remove_at(self, positions: Collection[int]) -> None:
        """Remove the parked events at `positions`, skipped, under all of their tables."""
        with self._file.transaction() as connection:
            _doubt(connection, positions)
            connection.executemany(_REMOVE_AT, [(self.target, position) for position in positions])

    def update(self, changed: Sequence[Parked]) -> None:
        """Store the new reason, kind, attempts and last time of parked events, after a retry that failed.

        Those that are gone stay gone.
        """
        rows = [(it.reason, it.kind, it.attempts, it.last_at_ms, it.id, it.target) for it in changed]
        with self._file.transaction() as connection:
            connection.executemany(_UPDATE, rows)


def _doubt(connection: sqlite3.Connection, positions: Collection[int]) -> None:
    """Have the gaps that these events held up healed again: an event applied late may undo what was put right."""
    if positions:
        connection.execute(_DOUBT, (min(positions),))


def supersede(connection: sqlite3.Connection, target: str, positions: Iterable[int]) -> None:
    """Remove the events of a target at these positions, which need not be applied any more."""
    connection.executemany(_REMOVE_AT, [(target, position) for position in positions])


def park(connection: sqlite3.Connection, parks: Iterable[Park]) -> None:
    """Add `parks`; one that is there already (target, table, position) takes the new reason and counts."""
    connection.executemany(
        _PARK,
        [
            (p.target, p.position, p.table, p.data, p.reason, p.kind, p.attempts, p.first_at_ms, p.last_at_ms)
            for p in sorted(parks, key=lambda p: p.position)
        ],
    )


def amend(connection: sqlite3.Connection, changed: Mapping[int, bytes]) -> None:
    """Store other bytes for the events at these positions where they are parked, for all targets."""
    rows = [(data, position) for position, data in changed.items()]
    connection.executemany("UPDATE parked SET data = ? WHERE position = ?", rows)
