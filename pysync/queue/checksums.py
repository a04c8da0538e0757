"""Checksums: what shows that a row of the queue's file is not what was written.

CRC-32 finds every flipped bit and every burst of up to 32 bits, and of other damage all but one in four billion, for
half of what SHA-256 takes. Against somebody who may write in the file it is no help: its mode is.

The code that appends an event computes its checksum. The small tables have a column `seal`, which triggers of the
connection keep, so that code which writes a row need not know of it.
"""

from __future__ import annotations

import sqlite3
from struct import Struct
from zlib import crc32

SEALED = ("meta", "targets", "instances", "parked", "finished", "gaps", "removals", "resyncs", "data_versions")
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
