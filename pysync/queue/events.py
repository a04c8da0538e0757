"""The table of events: persist-queue's, with a checksum, and how long events are kept as history. SQL only."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from struct import Struct
from zlib import crc32

from pysync.queue.values import History, Queued

# --- Checksums: what shows that a row of the queue's file is not what was written.
#
# CRC-32 finds every flipped bit and every burst of up to 32 bits, and of other damage all but one in four billion,
# for half of what SHA-256 takes. Against somebody who may write in the file it is no help: its mode is.
#
# The code that appends an event computes its checksum. The small tables have a column `seal`, which triggers of the
# connection keep, so that code which writes a row need not know of it.

SEALED = ("meta", "targets", "instances", "parked", "finished", "gaps", "removals")
_HEAD = Struct("<qd")


def event_checksum(position: int, data: bytes, at: float) -> int:
    """The checksum of an event at `position`, which came `at` seconds since 1970."""
    # With the position: a whole row in the place of another one is damage, too.
    return crc32(data, crc32(_HEAD.pack(position, at)))


def teach_checksums(connection: sqlite3.Connection) -> None:
    """Give the connection the functions `event_checksum` and `seal`, and have it seal what it writes."""
    connection.create_function("event_checksum", 3, event_checksum, deterministic=True)
    connection.create_function("seal", -1, _seal, deterministic=True)
    # Before the triggers: SQLite drops all that is temporary when this setting changes.
    connection.execute("PRAGMA temp_store = MEMORY")
    for table in SEALED:
        key, names, sealed = _columns(connection, table)
        seals = f"UPDATE {table} SET seal = {sealed} WHERE {key} = NEW.{key}"  # noqa: S608
        connection.execute(f"CREATE TEMP TRIGGER seal_new_{table} AFTER INSERT ON main.{table} BEGIN {seals}; END")
        changed = f"AFTER UPDATE OF {names} ON main.{table}"
        connection.execute(f"CREATE TEMP TRIGGER seal_changed_{table} {changed} BEGIN {seals}; END")


def take_unsealed(connection: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    """Remove the rows of `table` that are not as they were written, and return them."""
    # IS NOT, because a row without a seal (NULL) is broken as well.
    broken = f"FROM {table} WHERE seal IS NOT {_columns(connection, table)[2]}"
    rows: list[tuple[object, ...]] = connection.execute(f"SELECT * {broken}").fetchall()
    if rows:
        connection.execute(f"DELETE {broken}")
    return rows


def _columns(connection: sqlite3.Connection, table: str) -> tuple[str, str, str]:
    """The key of `table`, the columns that are sealed, and the call that seals them."""
    columns = [row for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "seal"]
    key = next(name for _, name, _, _, _, is_key in columns if is_key)
    # As bytes: what is damaged need not be UTF-8.
    values = (f"CAST({name} AS BLOB)" if kind == "TEXT" else name for _, name, kind, *_ in columns)
    return key, ", ".join(name for _, name, *_ in columns), f"seal({', '.join(values)})"


def _seal(*values: object) -> int:
    # `repr` keeps apart what joined text would not: 1 and '1', NULL and '', ("a", "b") and ("ab",).
    return crc32(repr(values).encode())


# --- The table of events: persist-queue's, with a checksum. SQL only.
#
# An event that is not as it was written is replaced by one without data: positions stay dense, and no target stops at
# it.

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


# --- History: events that every target is done with, and how long they are kept. SQL only.
#
# An event's time is that of the sidecar's clock when it came. A clock may be set back: then events in the queue seem
# to come from the future, and would be kept until that time is past. So the queue notes, once, that all of its events
# had come by now.

_NOTE = "history:came-by"


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
