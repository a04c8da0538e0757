"""The table of gaps: where events may be missing, until every target has been brought past them. SQL only."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from pysync.queue.values import Gap

CREATE = (
    """CREATE TABLE gaps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, reason TEXT NOT NULL,
    found_at_ms INTEGER NOT NULL, upto INTEGER, closed_at_ms INTEGER, waited INTEGER NOT NULL DEFAULT 0,
    seal INTEGER)""",
)
KEEP_CLOSED = 1000
"""Closed gaps that are remembered: the same one is not found twice."""

_READ = "SELECT key, reason, found_at_ms, upto, closed_at_ms FROM gaps ORDER BY id DESC LIMIT ?"
_OPEN = "SELECT key, reason, found_at_ms, upto, closed_at_ms FROM gaps WHERE closed_at_ms IS NULL ORDER BY id"
_FORGET = """DELETE FROM gaps WHERE closed_at_ms NOT NULL
    AND id <= (SELECT max(id) FROM gaps) - ?"""


def add(connection: sqlite3.Connection, key: str, reason: str, at_ms: int) -> bool:
    """Record a gap; False if it was known already."""
    added = connection.execute(
        "INSERT INTO gaps (key, reason, found_at_ms) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
        (key, reason, at_ms),
    )
    connection.execute(_FORGET, (KEEP_CLOSED,))
    return added.rowcount > 0


def found(connection: sqlite3.Connection) -> int:
    """How many gaps were ever recorded, or a little more."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'gaps'").fetchone()
    return int(row[0]) if row else 0


def latest(connection: sqlite3.Connection, limit: int) -> list[Gap]:
    """The newest gaps, newest first."""
    return [Gap(*row) for row in connection.execute(_READ, (limit,)).fetchall()]


def unclosed(connection: sqlite3.Connection) -> list[Gap]:
    """The gaps that are not closed, oldest first."""
    return [Gap(*row) for row in connection.execute(_OPEN).fetchall()]


def healed_by(connection: sqlite3.Connection, keys: Iterable[str], upto: int) -> None:
    """Record that the events up to `upto` make good what is missing in these gaps."""
    connection.executemany("UPDATE gaps SET upto = ? WHERE key = ?", [(upto, key) for key in keys])


def close(connection: sqlite3.Connection, done: int, at_ms: int, target: str | None = None) -> int:
    """Close the gaps whose events every target has passed, all being done up to `done`; returns how many.

    With `target`: the gaps of its own scope, and `done` is its own position.

    A gap waits while an event before its end is parked: applied later, it may undo what was put right. Once that event
    is not parked any more, the gap is open anew, as when it was found.
    """
    passed = "closed_at_ms IS NULL AND upto <= :done"
    held = "SELECT 1 FROM parked WHERE parked.position <= gaps.upto"
    if target is not None:
        passed += " AND substr(key, 1, length(:begin)) = :begin"
        held += " AND parked.target = :target"
    values = {"done": done, "at": at_ms, "target": target, "begin": scope_gaps(target or "")}
    connection.execute(f"UPDATE gaps SET waited = 1 WHERE {passed} AND EXISTS ({held})", values)  # noqa: S608
    again = f"UPDATE gaps SET waited = 0, upto = NULL WHERE {passed} AND waited = 1 AND NOT EXISTS ({held})"  # noqa: S608
    connection.execute(again, values)
    query = f"UPDATE gaps SET closed_at_ms = :at WHERE {passed} AND waited = 0"  # noqa: S608
    return connection.execute(query, values).rowcount


def scope_gaps(target: str) -> str:
    """How the keys of the gaps begin that a change of the target's scope has opened."""
    return f"scope:{target}:"
