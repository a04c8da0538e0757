"""The tables of what is set aside: parked events, and bytes that were no event. SQL only: no lock, no commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from pysync.queue.values import Park, Parked, ParkedTable, Unreadable

CREATE = (
    """CREATE TABLE parked (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, position INTEGER NOT NULL,
    table_key TEXT NOT NULL, data BLOB NOT NULL, reason TEXT NOT NULL, kind TEXT NOT NULL,
    attempts INTEGER NOT NULL, first_at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL, seal INTEGER,
    UNIQUE (target, table_key, position))""",
    "CREATE INDEX parked_in_order ON parked (target, position, id)",
    """CREATE TABLE unreadable (
    id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL, size INTEGER NOT NULL,
    reason TEXT NOT NULL, at_ms INTEGER NOT NULL)""",
)

_COLUMNS = "target, position, table_key, data, reason, kind, attempts, first_at_ms, last_at_ms"
# One that is parked again keeps first_at_ms: since when it waits.
_PARK = f"""INSERT INTO parked ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (target, table_key, position) DO UPDATE SET reason = excluded.reason, kind = excluded.kind,
    attempts = excluded.attempts, last_at_ms = excluded.last_at_ms"""  # noqa: S608
_PARKED = f"""SELECT {_COLUMNS}, id FROM parked
    WHERE target = ? AND (position, id) > (?, ?) ORDER BY position, id LIMIT ?"""  # noqa: S608
_PARKED_OF_TABLE = f"""SELECT {_COLUMNS}, id FROM parked
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
_NAMED = "SELECT position, table_key FROM parked WHERE target = ? ORDER BY position, id"
_UPDATE = "UPDATE parked SET reason = ?, kind = ?, attempts = ?, last_at_ms = ? WHERE id = ? AND target = ?"

KEEP_UNREADABLE = 1000
KEEP_UNREADABLE_BYTES = 64 * 1024 * 1024


def park(connection: sqlite3.Connection, parks: Iterable[Park]) -> None:
    """Add `parks`; one that is there already (target, table, position) takes the new reason and counts."""
    connection.executemany(
        _PARK,
        [
            (p.target, p.position, p.table, p.data, p.reason, p.kind, p.attempts, p.first_at_ms, p.last_at_ms)
            for p in sorted(parks, key=lambda p: p.position)
        ],
    )


def parked(
    connection: sqlite3.Connection, target: str, table: str | None, after: Parked | None, limit: int
) -> list[Parked]:
    """Up to `limit` parked events of `target` in event order, from the one that follows `after`."""
    start = (after.position, after.id) if after else (-1, -1)
    if table is None:
        rows = connection.execute(_PARKED, (target, *start, limit))
    else:
        rows = connection.execute(_PARKED_OF_TABLE, (target, table, *start, limit))
    return [Parked(*row) for row in rows.fetchall()]


def parked_count(connection: sqlite3.Connection, target: str) -> int:
    """How many events of `target` are parked."""
    row = connection.execute("SELECT count(*) FROM parked WHERE target = ?", (target,)).fetchone()
    return int(row[0])


def parked_at(connection: sqlite3.Connection, target: str, position: int) -> list[Parked]:
    """The parked event at `position`, once under each of its tables."""
    return [Parked(*row) for row in connection.execute(_AT, (target, position)).fetchall()]


def parked_tables(connection: sqlite3.Connection, target: str) -> list[ParkedTable]:
    """The parked events of `target`, table by table."""
    return [ParkedTable(*row) for row in connection.execute(_TABLES, {"target": target}).fetchall()]


def parked_names(connection: sqlite3.Connection, target: str) -> dict[int, set[str]]:
    """The tables of every parked event of `target`, by its position."""
    found: dict[int, set[str]] = {}
    for position, table in connection.execute(_NAMED, (target,)).fetchall():
        found.setdefault(position, set()).add(table)
    return found


def unpark_positions(connection: sqlite3.Connection, target: str, positions: Iterable[int]) -> None:
    """Remove the parked events at `positions` of `target`, under all of their tables."""
    rows = [(target, position) for position in positions]
    connection.executemany("DELETE FROM parked WHERE target = ? AND position = ?", rows)


def blocked_tables(connection: sqlite3.Connection, target: str) -> set[str]:
    """The tables of `target` that have a parked event."""
    return {key for (key,) in connection.execute(_BLOCKED, {"target": target}).fetchall()}


def unpark(connection: sqlite3.Connection, target: str, ids: Iterable[int]) -> int:
    """Remove the parked events `ids` of `target`; returns how many there were."""
    rows = [(number, target) for number in ids]
    return connection.executemany("DELETE FROM parked WHERE id = ? AND target = ?", rows).rowcount if rows else 0


def update(connection: sqlite3.Connection, changed: Sequence[Parked]) -> None:
    """Store reason, kind, attempts and last time of parked events; those that are gone stay gone."""
    rows = [(p.reason, p.kind, p.attempts, p.last_at_ms, p.id, p.target) for p in changed]
    connection.executemany(_UPDATE, rows)


def forget(connection: sqlite3.Connection, target: str) -> None:
    """Remove every parked event of `target`."""
    connection.execute("DELETE FROM parked WHERE target = ?", (target,))


def keep_unreadable(connection: sqlite3.Connection, data: bytes, reason: str, at_ms: int) -> None:
    """Keep `data` (its first 64 MiB), and of all that is kept so only the newest 1000 and 64 MiB."""
    row = (data[:KEEP_UNREADABLE_BYTES], len(data), reason, at_ms)
    connection.execute("INSERT INTO unreadable (data, size, reason, at_ms) VALUES (?, ?, ?, ?)", row)
    sizes = connection.execute("SELECT id, length(data) FROM unreadable ORDER BY id DESC").fetchall()
    total = 0
    for rank, (number, size) in enumerate(sizes):
        total += size
        # The newest always stays: it was cut to what is kept of all.
        if rank == KEEP_UNREADABLE or total > KEEP_UNREADABLE_BYTES:
            connection.execute("DELETE FROM unreadable WHERE id <= ?", (number,))
            return


def unreadable(connection: sqlite3.Connection, limit: int) -> list[Unreadable]:
    """The newest `limit` of what could not be read, newest first."""
    query = "SELECT id, data, size, reason, at_ms FROM unreadable ORDER BY id DESC LIMIT ?"
    return [Unreadable(*row) for row in connection.execute(query, (limit,)).fetchall()]
