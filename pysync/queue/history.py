"""History: events that every target is done with, and how long they are kept. SQL only.

An event's time is that of the sidecar's clock when it came. A clock may be set back: then events in the queue seem to
come from the future, and would be kept until that time is past. So the queue notes, once, that all of its events had
come by now.
"""

from __future__ import annotations

import math
import sqlite3
from dataclasses import dataclass

from pysync.queue.values import History

_NOTE = "history:came-by"

_MS = 1000


@dataclass(frozen=True, slots=True)
class Ripe:
    """Which events of the table `events` came `retain_ms` ago or earlier; `last` is the newest there is."""

    events: str
    last: int
    now_ms: int
    retain_ms: int

    def upto(self, connection: sqlite3.Connection, first: int, last: int) -> int:
        """The last position, at most `last`, such that all events from `first` to it are ripe; `first` - 1 if none is.

        Reads no further than to the first event that is too young. Within the caller's transaction.
        """
        query = f"SELECT _id, timestamp FROM {self.events} WHERE _id BETWEEN ? AND ? ORDER BY _id"  # noqa: S608
        known, noted_ms = _came_by(connection)
        position_before = first - 1
        rows = connection.execute(query, (first, last))
        for position, at in rows:
            came_ms = round(at * _MS)
            if position <= known:
                came_ms = min(came_ms, noted_ms)
            # The clock was set back since.
            if came_ms > self.now_ms:
                _note(connection, self.last, self.now_ms)
            if came_ms > self.now_ms - self.retain_ms:
                break
            position_before = position
        rows.close()
        return position_before


def retained(connection: sqlite3.Connection, table: str, events: int, of: int) -> History:
    """What the oldest `events` of the `of` events in `table` come to."""
    if not events:
        return History(0, 0, None)
    query = f"SELECT timestamp FROM {table} ORDER BY _id LIMIT 1"  # noqa: S608
    (oldest,) = connection.execute(query).fetchone()
    return History(events, _used(connection) * events // of, round(oldest * _MS))


def excess_history(connection: sqlite3.Connection, events: int, of: int, most: float) -> int:
    """How many of the oldest `events` of the `of` events make history larger than `most` bytes.

    As if all events were alike: where the oldest are larger than others, fewer would do, so ask again after some.
    """
    size = _used(connection) * events // of if events else 0
    return 0 if size <= most else math.ceil(events * (size - most) / size)


def history_since(connection: sqlite3.Connection, table: str, positions: range, at_ms: int) -> int:
    """The first of the positions whose event came at `at_ms` or later, by halves; the one after the last if none."""
    query = f"SELECT timestamp FROM {table} WHERE _id = ?"  # noqa: S608
    low, high = positions.start, positions.stop
    while low < high:
        middle = (low + high) // 2
        (at,) = connection.execute(query, (middle,)).fetchone()
        low, high = (low, middle) if round(at * _MS) >= at_ms else (middle + 1, high)
    return low


def _used(connection: sqlite3.Connection) -> int:
    """The bytes of the file that are in use."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (unused,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - unused) * size)


def _came_by(connection: sqlite3.Connection) -> tuple[int, int]:
    """A position, and the time by which all events up to it had come, whatever time they carry."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_NOTE,)).fetchone()
    if row is None:
        return 0, 0
    position, at_ms = row[0].split(" ")
    return int(position), int(at_ms)


def _note(connection: sqlite3.Connection, position: int, at_ms: int) -> None:
    value = f"{position} {at_ms}"
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_NOTE, value))
