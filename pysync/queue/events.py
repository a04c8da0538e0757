"""The table of events: persist-queue's, with a checksum. SQL only.

An event that is not as it was written is replaced by one without data: positions stay dense, and no target stops at it.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress

from pysync.queue.checksums import event_checksum
from pysync.queue.values import Queued

TABLE = "queue_events"
ADD_CHECKSUM = f"ALTER TABLE {TABLE} ADD COLUMN crc INTEGER"
"""To persist-queue's table."""

_INSERT = f"INSERT INTO {TABLE} (_id, data, timestamp, crc) VALUES (?, ?, ?, ?)"  # noqa: S608
_REPLACE = _INSERT.replace("INSERT", "INSERT OR REPLACE")
_READ = f"SELECT _id, data, timestamp, crc FROM {TABLE} WHERE _id > ? ORDER BY _id LIMIT ?"  # noqa: S608
_ONE = f"SELECT CAST(data AS BLOB) FROM {TABLE} WHERE _id = ?"  # noqa: S608
_AMEND = f"UPDATE {TABLE} SET data = ?1, crc = event_checksum(_id, ?1, timestamp) WHERE _id = ?2"  # noqa: S608
_MS = 1000


def span(connection: sqlite3.Connection) -> tuple[int, int]:
    """The positions of the first event that is kept (or is to come) and of the last that ever was.

    Raises ValueError where the file contradicts itself.
    """
    counted = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (TABLE,)).fetchone()
    # AUTOINCREMENT remembers the last number even when every row was trimmed.
    last = int(counted[0]) if counted else 0
    first, newest = connection.execute(f"SELECT min(_id), max(_id) FROM {TABLE}").fetchone()  # noqa: S608
    if newest is not None and newest != last:
        raise ValueError(f"its last event is {newest}, but its counter is at {last}")
    return first or last + 1, last


def insert(connection: sqlite3.Connection, first: int, data: Iterable[bytes], at_ms: int) -> None:
    """Append events, at the positions from `first` on."""
    at = at_ms / _MS
    rows = [(position, it, at, event_checksum(position, it, at)) for position, it in enumerate(data, first)]
    connection.executemany(_INSERT, rows)


def read(
    connection: sqlite3.Connection, last: int, after: int, limit: int, max_bytes: int
) -> tuple[list[Queued], bool]:
    """The events after the position `after`, up to `limit` and `max_bytes`, but at least one; and whether all is well.

    `last` is the position of the newest event. They end before one that is missing, or not as it was written. If that
    is the first of them, all is not well.
    """
    events: list[Queued] = []
    expected = after + 1
    rows = connection.execute(_READ, (after, limit))
    with suppress(TypeError, struct.error):  # of a value that is not even of the type that was written
        for position, data, at, crc in rows:
            if position != expected or event_checksum(position, data, at) != crc:
                break
            max_bytes -= len(data)
            if events and max_bytes < 0:
                break
            events.append(Queued(position, data, round(at * _MS)))
            expected += 1
    # A statement that is not read to its end would keep its read transaction open.
    rows.close()
    return events, bool(events) or expected > last or limit < 1


def replace(connection: sqlite3.Connection, position: int, at_ms: int) -> bytes:
    """Put an event without data at `position`, and return the data of the one that was there, if any."""
    row = connection.execute(_ONE, (position,)).fetchone()
    at = at_ms / _MS
    connection.execute(_REPLACE, (position, b"", at, event_checksum(position, b"", at)))
    return row[0] or b"" if row else b""


def amend(connection: sqlite3.Connection, changed: Mapping[int, bytes]) -> None:
    """Store other bytes for the events at these positions; those that are not there any more stay away."""
    connection.executemany(_AMEND, [(data, position) for position, data in changed.items()])
