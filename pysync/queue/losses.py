"""Losses: the gaps where events may be missing, and bytes that were no event. SQL only, in the caller's transaction."""

from __future__ import annotations

import sqlite3

CREATE_LOSSES = (
    """CREATE TABLE unreadable (
    id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL, size INTEGER NOT NULL,
    reason TEXT NOT NULL, at_ms INTEGER NOT NULL)""",
    """CREATE TABLE gaps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, reason TEXT NOT NULL,
    found_at_ms INTEGER NOT NULL, upto INTEGER, closed_at_ms INTEGER, waited INTEGER NOT NULL DEFAULT 0,
    seal INTEGER)""",
)
KEEP_CLOSED = 1000
"""Closed gaps that are remembered: the same one is not found twice."""
KEEP_UNREADABLE = 1000
KEEP_UNREADABLE_BYTES = 64 * 1024 * 1024

_FORGET = """DELETE FROM gaps WHERE closed_at_ms NOT NULL
    AND id <= (SELECT max(id) FROM gaps) - ?"""


def add_gap(connection: sqlite3.Connection, key: str, reason: str, at_ms: int) -> bool:
    """Record a gap; False if it was known already."""
    added = connection.execute(
        "INSERT INTO gaps (key, reason, found_at_ms) VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
        (key, reason, at_ms),
    )
    connection.execute(_FORGET, (KEEP_CLOSED,))
    return added.rowcount > 0


def gap_count(connection: sqlite3.Connection) -> int:
    """How many gaps were ever recorded, or a little more."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'gaps'").fetchone()
    return int(row[0]) if row else 0


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
