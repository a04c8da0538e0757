"""Repair of damage that leaves the rest of the queue's file sound: what is damaged is set aside, and a gap is opened.

Healing the gap compares source and targets, so whatever the damage has hidden is made good.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import structlog

from pysync.queue import checksums, events, lives
from pysync.queue.losses import add_gap, keep_unreadable

log = structlog.get_logger(__name__)


def set_rows_aside(connection: sqlite3.Connection, file: Path, at_ms: int) -> None:
    """Take damaged rows out of the small tables. A target whose row goes is new then; so is an epoch that goes."""
    connection.execute("BEGIN IMMEDIATE")
    for table in checksums.SEALED:
        for row in checksums.take_unsealed(connection, table):
            data = repr(row).encode()
            reason = f"a row of the queue's table {table} was damaged and has been set aside"
            # A key for each row: a gap whose key is known already is not opened.
            key = f"damaged:{table}:{at_ms}:{checksums.event_checksum(0, data, 0.0)}"
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
        epoch = lives.begin_epoch(file.with_name("epoch"), epoch)
        connection.execute("INSERT INTO meta (key, value) VALUES ('epoch', ?)", (str(epoch),))
