"""Damage and losses: what is damaged is set aside, and a gap is opened, which a comparison closes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import structlog

from pysync.queue import events, files

# --- Losses: the gaps where events may be missing, and bytes that were no event. SQL only, in the caller's
# transaction

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


# --- Repair of damage that leaves the rest of the queue's file sound: what is damaged is set aside, and a gap is
# opened.
#
# Healing the gap compares source and targets, so whatever the damage has hidden is made good.

log = structlog.get_logger(__name__)


def set_rows_aside(connection: sqlite3.Connection, file: Path, at_ms: int) -> None:
    """Take damaged rows out of the small tables. A target whose row goes is new then; so is an epoch that goes."""
    connection.execute("BEGIN IMMEDIATE")
    for table in events.SEALED:
        for row in events.take_unsealed(connection, table):
            data = repr(row).encode()
            reason = f"a row of the queue's table {table} was damaged and has been set aside"
            # A key for each row: a gap whose key is known already is not opened.
            key = f"damaged:{table}:{at_ms}:{events.event_checksum(0, data, 0.0)}"
            _record_damage(connection, key, reason, data, at_ms)
            if table == "meta":
                _add_epoch(connection, file, at_ms)
    connection.execute("COMMIT")


def set_event_aside(connection: sqlite3.Connection, epoch: int, position: int, at_ms: int) -> None:
    """Replace the event at `position`, within the caller's transaction."""
    data = events.replace(connection, position, at_ms)
    reason = f"event {position} of the queue was damaged and has been set aside"
    _record_damage(connection, f"damaged:event:{epoch}:{position}", reason, data, at_ms)


def record_loss(
    connection: sqlite3.Connection, file: Path, epoch: int, *, answered: int, last: int, at_ms: int
) -> None:
    """Open a gap for what the file has lost, and begin a new epoch: its positions are given out again."""
    reason = (
        f"the queue has confirmed events up to {answered}, but its last event is {last}: its write-ahead log was "
        "damaged, or an older file was restored"
    )
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM meta WHERE key = 'epoch'")
    connection.execute("DELETE FROM finished WHERE upto > ?", (last,))
    # Greater than the old one even where the clock was set back.
    _add_epoch(connection, file, max(at_ms, epoch + 1))
    add_gap(connection, f"damaged:log:{epoch}:{answered}:{at_ms}", reason, at_ms)
    connection.execute("COMMIT")
    _log(reason)


def _record_damage(connection: sqlite3.Connection, key: str, reason: str, data: bytes, at_ms: int) -> None:
    keep_unreadable(connection, data, reason, at_ms)
    add_gap(connection, key, reason, at_ms)
    _log(reason)


def _log(reason: str) -> None:
    log.error("queue_damaged", reason=reason)
    log.warning("gap_opened", reason=reason)


def _add_epoch(connection: sqlite3.Connection, file: Path, epoch: int) -> None:
    """A new epoch, if there is none in the file now."""
    if connection.execute("SELECT 1 FROM meta WHERE key = 'epoch'").fetchone() is None:
        epoch = files.begin_epoch(file.with_name("epoch"), epoch)
        connection.execute("INSERT INTO meta (key, value) VALUES ('epoch', ?)", (str(epoch),))
