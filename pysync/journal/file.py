"""The journal's file: the schema of records, and how it is opened. SQLite with a write-ahead log; SQL only.

`names` is the index of records by name: those of their objects, at both ends and before a rename, and of databases. So
all records of a name are found in order, however many others there are. Of outcomes and operations only rare ones have
an index.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from pysync.journal import curves

FILE = "journal.db"
VERSION = 1

COLUMNS = (
    "id, at, target, operation, outcome, object, source_object, former, source_former, partitions, partition_count, "
    "first_position, last_position, events, committed_at, captured_at, attempts, milliseconds, reason, differences, who"
)
COMMON = ("applied", "unchanged")
"""The outcomes of nearly all records."""
RARE = ("DropDatabase", "Pause")
"""Operations that are looked for, and that few records have."""

_SCHEMA = (
    """CREATE TABLE records (
        id INTEGER PRIMARY KEY, at REAL NOT NULL, target TEXT NOT NULL, operation TEXT NOT NULL, outcome TEXT NOT NULL,
        object TEXT NOT NULL, source_object TEXT NOT NULL, former TEXT NOT NULL, source_former TEXT NOT NULL,
        partitions TEXT, partition_count INTEGER NOT NULL, first_position INTEGER, last_position INTEGER,
        events INTEGER NOT NULL, committed_at REAL, captured_at REAL, attempts INTEGER NOT NULL, milliseconds REAL,
        reason TEXT, differences TEXT, who TEXT)""",
    "CREATE TABLE names (name TEXT NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (name, record)) WITHOUT ROWID",
    "CREATE INDEX by_target ON records (target, id)",
    f"CREATE INDEX by_rare_outcome ON records (outcome, id) WHERE outcome NOT IN {COMMON}",
    f"CREATE INDEX by_rare_operation ON records (operation, id) WHERE operation IN {RARE}",
)
_PLACES = ", ".join("?" * len(COLUMNS.split(",")))
_INSERT = f"INSERT INTO records ({COLUMNS}) VALUES ({_PLACES})"  # noqa: S608
_NAME = "INSERT INTO names (name, record) VALUES (?, ?)"
_FIRST = "SELECT id, at, object, source_object, former, source_former FROM records ORDER BY id LIMIT ?"

Row = tuple[object, ...]
Named = tuple[str, int]
Oldest = tuple[int, float, str, str, str, str]
"""The id, the time and the names of one of the oldest records."""


class Unusable(Exception):
    """The file is no journal that this release can read: it is damaged, or another release's."""


def open_for_writing(file: Path, timeout: float) -> tuple[sqlite3.Connection, int]:
    """The connection, and the id of the last record. Raises Unusable, sqlite3.Error and OSError."""
    # First, so that neither it nor SQLite's files beside it, which get its mode, are ever readable by others.
    os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    connection = sqlite3.connect(file, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        return connection, _begin(connection)
    except BaseException as error:
        connection.close()
        if is_damage(error):
            raise Unusable(str(error)) from error
        raise


def open_for_reading(file: Path, timeout: float) -> sqlite3.Connection | None:
    """A connection that cannot write; None where the file is just being begun.

    Raises sqlite3.Error, also where the file is not there or is no journal.
    """
    uri = f"{file.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None)
    try:
        if assert_known(connection):
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    return None


def assert_known(connection: sqlite3.Connection) -> int:
    """The version of the schema, 0 in an empty file. Raises DatabaseError for one that this release cannot read."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version not in (0, VERSION):
        raise sqlite3.DatabaseError(f"its version is {version}, this pysync reads version {VERSION}")
    return version


def is_damage(error: BaseException) -> bool:
    """Whether an error says that the file is no journal, or a damaged one; a full disk, a lock and the like do not."""
    missing = isinstance(error, sqlite3.OperationalError) and str(error).startswith("no such")
    return missing or type(error) is sqlite3.DatabaseError


def _begin(connection: sqlite3.Connection) -> int:
    # Both only count in a file without tables.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    # Without an fsync for each commit: a power cut may take the last records, and damages nothing.
    connection.execute("PRAGMA synchronous = NORMAL")
    if assert_known(connection) == 0:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA:
            connection.execute(statement)
        curves.create(connection)
        # Last: readers take a file with a version to have all its tables.
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    connection.execute("SELECT name, record FROM names LIMIT 1").fetchone()
    connection.execute(f"SELECT {COLUMNS} FROM records LIMIT 1").fetchone()  # noqa: S608
    return int(connection.execute("SELECT max(id) FROM records").fetchone()[0] or 0)


def insert(connection: sqlite3.Connection, rows: Sequence[Row], names: Iterable[Named]) -> None:
    """Add records, and the names by which they are found, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany(_INSERT, rows)
        connection.executemany(_NAME, names)
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def insert_samples(connection: sqlite3.Connection, samples: Sequence[curves.Sample], now: float) -> None:
    """Add samples of targets, in one transaction; `now` is seconds since 1970."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        curves.add(connection, samples, now)
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def first(connection: sqlite3.Connection, most: int) -> list[Oldest]:
    """So many of the oldest records."""
    return connection.execute(_FIRST, (most,)).fetchall()


def remove(connection: sqlite3.Connection, upto: int, names: Iterable[Named]) -> None:
    """Remove the records up to that id, which have these names, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("DELETE FROM records WHERE id <= ?", (upto,))
        connection.executemany("DELETE FROM names WHERE name = ? AND record = ?", names)
        connection.execute("COMMIT")
    except BaseException:
        _roll_back(connection)
        raise


def rename_target(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Rename a target in all records and marks."""
    connection.execute("UPDATE records SET target = ? WHERE target = ?", (new, old))
    curves.rename_target(connection, old, new)


def pages(connection: sqlite3.Connection) -> tuple[int, int, int]:
    """How many pages are in use, how many are not, and the bytes of a page."""
    names = ("page_count", "freelist_count", "page_size")
    total, unused, size = (int(connection.execute(f"PRAGMA {name}").fetchone()[0]) for name in names)
    return total - unused, unused, size


def release_pages(connection: sqlite3.Connection, most: int) -> None:
    """Give unused pages back to the disk."""
    # A page for every step, and only executescript steps to the end.
    connection.executescript(f"PRAGMA incremental_vacuum({most})")


def set_aside(file: Path) -> Path:
    """Rename a file that is of no use; the one that was set aside before makes room for it."""
    aside = file.with_name(f"{file.name}.damaged")
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            file.with_name(file.name + end).unlink()
    file.replace(aside)
    return aside


def _roll_back(connection: sqlite3.Connection) -> None:
    # SQLite has rolled back by itself after some errors, a full disk among them.
    if connection.in_transaction:
        connection.execute("ROLLBACK")
