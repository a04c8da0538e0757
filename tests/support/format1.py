"""A queue file of format 1, made by the very SQL of the release that wrote it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

_SQL = (
    "PRAGMA auto_vacuum = INCREMENTAL",
    "PRAGMA synchronous = FULL",
    "BEGIN",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    """CREATE TABLE targets (
    target TEXT PRIMARY KEY, position INTEGER NOT NULL, registered_at_ms INTEGER NOT NULL,
    paused_reason TEXT, paused_at_ms INTEGER) WITHOUT ROWID""",
    """CREATE TABLE instances (
    instance TEXT PRIMARY KEY, source TEXT NOT NULL, seen TEXT NOT NULL,
    first_at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE parked (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, position INTEGER NOT NULL,
    table_key TEXT NOT NULL, data BLOB NOT NULL, reason TEXT NOT NULL, kind TEXT NOT NULL,
    attempts INTEGER NOT NULL, first_at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL,
    UNIQUE (target, table_key, position))""",
    "CREATE INDEX parked_in_order ON parked (target, position, id)",
    """CREATE TABLE unreadable (
    id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB NOT NULL, size INTEGER NOT NULL,
    reason TEXT NOT NULL, at_ms INTEGER NOT NULL)""",
    """CREATE TABLE gaps (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, reason TEXT NOT NULL,
    found_at_ms INTEGER NOT NULL, upto INTEGER, closed_at_ms INTEGER, waited INTEGER NOT NULL DEFAULT 0)""",
    "INSERT INTO meta (key, value) VALUES ('epoch', '1234567')",
    "PRAGMA application_id = 1887007601",
    "PRAGMA user_version = 1",
    "COMMIT",
)
_EVENTS = (
    """CREATE TABLE IF NOT EXISTS queue_events (_id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB, timestamp FLOAT)"""
)


def write(file: Path, events: int) -> None:
    """A file with `events` events of one listener; "dr" is done with two, has parked the second, and is paused."""
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in (*_SQL, "PRAGMA journal_mode = WAL", _EVENTS, "BEGIN"):
        connection.execute(statement)
    rows = [(at, b"%d" % at, 1000.0 + at) for at in range(1, events + 1)]
    connection.executemany("INSERT INTO queue_events VALUES (?, ?, ?)", rows)
    seen = json.dumps([[1, events]])
    connection.execute("INSERT INTO instances VALUES ('jvm', 'onprem', ?, 1000, 2000)", (seen,))
    connection.execute("INSERT INTO targets VALUES ('dr', 2, 1000, 'by hand', 3000)")
    connection.execute("INSERT INTO parked VALUES (1, 'dr', 2, 'sales.orders', x'32', 'no', 'rejected', 1, 1, 1)")
    connection.execute("INSERT INTO gaps (key, reason, found_at_ms) VALUES ('ended:old:3', 'it ended', 1000)")
    connection.execute("INSERT INTO meta VALUES ('note:living', '77')")
    connection.execute("COMMIT")
    connection.close()
