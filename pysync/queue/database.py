"""The queue's database: its tables, how it is made, and what must hold before it is used.

SQLite database `queue.db`, application id "pysq", user_version 5. The table of events is persist-queue's own
(`queue_events`) with a checksum; the others are ours. A file is made whole under another name and renamed, so that an
empty or half-made `queue.db` is always damage and never a crash of ours.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

from persistqueue import SQLiteQueue

from pysync.base.files import sync
from pysync.queue import checksums, digests, directory, events, lives, losses, received, repair
from pysync.queue.errors import QueueDamaged, QueueFailed, damaged, translated

APPLICATION = 0x70797371
VERSION = 5
CHECK_SECONDS = 1.0
"""How long opening looks for damage: a small file is checked whole, a large one as far as this takes."""

_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, seal INTEGER) WITHOUT ROWID",
    """CREATE TABLE targets (
    target TEXT PRIMARY KEY, position INTEGER NOT NULL, registered_at_ms INTEGER NOT NULL,
    paused_reason TEXT, paused_at_ms INTEGER, seal INTEGER) WITHOUT ROWID""",
    events.ADD_CHECKSUM,
    received.CREATE_INSTANCES,
    digests.CREATE_DIGESTS,
    """CREATE TABLE parked (
    id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, position INTEGER NOT NULL,
    table_key TEXT NOT NULL, data BLOB NOT NULL, reason TEXT NOT NULL, kind TEXT NOT NULL,
    attempts INTEGER NOT NULL, first_at_ms INTEGER NOT NULL, last_at_ms INTEGER NOT NULL, seal INTEGER,
    UNIQUE (target, table_key, position))""",
    "CREATE INDEX parked_in_order ON parked (target, position, id)",
    """CREATE TABLE finished (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL, upto INTEGER NOT NULL, positions TEXT NOT NULL, seal INTEGER)""",
    """CREATE TABLE removals (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL, object TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
    reason TEXT NOT NULL, position INTEGER NOT NULL, at_ms INTEGER NOT NULL, count INTEGER NOT NULL,
    lasting INTEGER NOT NULL, leaving INTEGER NOT NULL, seal INTEGER, UNIQUE (target, object))""",
    """CREATE TABLE resyncs (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL, trigger TEXT NOT NULL, reason TEXT NOT NULL, scope TEXT NOT NULL,
    began_at_ms INTEGER NOT NULL, total INTEGER, queued INTEGER NOT NULL, cursor TEXT NOT NULL, upto INTEGER,
    ended_at_ms INTEGER, failure TEXT, result TEXT NOT NULL, seal INTEGER, UNIQUE (target, trigger))""",
    """CREATE TABLE data_versions (
    id INTEGER PRIMARY KEY, target TEXT NOT NULL, directory TEXT NOT NULL, base TEXT NOT NULL,
    database_name TEXT NOT NULL, table_name TEXT NOT NULL, partition_name TEXT NOT NULL, until_ms INTEGER NOT NULL,
    position INTEGER NOT NULL, seal INTEGER, UNIQUE (target, directory))""",
    "CREATE INDEX data_versions_below ON data_versions (target, base)",
    *losses.CREATE_LOSSES,
)
# Exclusive before WAL: no shared memory file, whose mapping dies of SIGBUS on a full disk.
# synchronous=FULL, asserted: NORMAL lost answered events at power cuts, and a build of SQLite may have it as default.
# cell_size_check: SQLite notices a damaged page as it reads it, before the damage spreads.
# journal_size_limit: the log would stay as long as it ever was.
_SETTINGS = (
    ("locking_mode", "EXCLUSIVE", "exclusive"),
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", 2),
    ("cell_size_check", "ON", 1),
    ("journal_size_limit", "67108864", 67108864),
)


def open_database(file: Path, timeout: float, epoch: int, quarantine: bool) -> sqlite3.Connection:
    """Open the queue file, making it if there is none, and return its only connection, checked and durable.

    `timeout` in seconds waits for another owner; `epoch` is for a new file. With `quarantine` a damaged file is
    renamed and a new one made. Raises QueueFull, QueueDamaged (not with `quarantine`) or QueueFailed.
    """
    with suppress(QueueDamaged):
        return _open(file, timeout, epoch)
    try:
        return _open(file, timeout, epoch)  # a read that failed once is no damage
    except QueueDamaged:
        if not quarantine:
            raise
        directory.set_aside(file)
        return _open(file, timeout, epoch)


def any_text(data: bytes) -> str:
    """The text in `data`, UTF-8 or not: a damaged row must be readable to be noticed."""
    return data.decode("utf-8", "surrogateescape")


def read_epoch(connection: sqlite3.Connection) -> int:
    """When the queue file was made, in milliseconds since 1970: it distinguishes this file from those before it."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchone()
    return int(row[0])


def _open(file: Path, timeout: float, epoch: int) -> sqlite3.Connection:
    if not file.exists():
        if directory.companion(file).exists():
            raise damaged(file, "the file is missing, but its write-ahead log exists")
        _create(file, epoch)
    # SQLite would take it for a new, empty database.
    if file.stat().st_size == 0:
        raise damaged(file, "the file is empty (0 bytes)")
    connection = _connect(file, timeout)
    try:
        with translated(file):
            _identify(connection, file)
            _set(connection, file)
            _check(connection, file)
            checksums.teach_checksums(connection)
            repair.set_rows_aside(connection, file, epoch)
            _check_content(connection, file)
    except BaseException:
        connection.close()
        raise
    return connection


def _connect(file: Path, timeout: float) -> sqlite3.Connection:
    with translated(file):
        file.chmod(0o600)
        # mode=rw: SQLite would make an empty database where the file has just gone.
        uri = f"{file.absolute().as_uri()}?mode=rw"
        # All threads share it under the lock of the queue, and begin their transactions themselves.
        connection = sqlite3.connect(uri, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
    connection.text_factory = any_text
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _create(file: Path, epoch: int) -> None:
    draft = file.with_name(f"{file.name}.new")
    for leftover in (draft, directory.companion(draft), draft.with_name(f"{draft.name}-journal")):
        leftover.unlink(missing_ok=True)
    # SQLite gives its log the mode of the database.
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    connection = _connect(draft, timeout=0)
    try:
        _fill(connection, lives.begin_epoch(file.with_name("epoch"), epoch))
    finally:
        connection.close()
    draft.rename(file)
    sync(file.parent)


class _PersistQueue(SQLiteQueue):  # type: ignore[misc]  # persist-queue is checked as Any
    """persist-queue, as far as it makes its table of events on this connection: any persist-queue reads the file.

    Events go in and out by `queue.events`: its `put` costs an fsync for each, and its `get` has one position for all.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._opened = connection
        # A path in memory, because the file is there already. Events are bytes; its own default would be pickle.
        super().__init__(self._MEMORY, name="events", serializer=None)

    def _new_db_connection(self, *_: object) -> sqlite3.Connection:
        return self._opened

    def __del__(self) -> None:
        """Leave the connection open."""


def _fill(connection: sqlite3.Connection, epoch: int) -> None:
    # Before the first table: later it would take a VACUUM of the whole file.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    # The content must be on disk before the rename gives the file its name.
    connection.execute("PRAGMA synchronous = FULL")
    _PersistQueue(connection)
    connection.execute("BEGIN")
    for table in _TABLES:
        connection.execute(table)
    checksums.teach_checksums(connection)
    connection.execute("INSERT INTO meta (key, value) VALUES ('epoch', ?)", (str(epoch),))
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _identify(connection: sqlite3.Connection, file: Path) -> None:
    # Before the first read: the file is in WAL mode, and without this a read maps the shared memory file.
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    application = _pragma(connection, "application_id")
    version = int(str(_pragma(connection, "user_version")))
    if application != APPLICATION:
        raise QueueFailed(f"{file} is not a pysync queue", hint="set another queue.directory, or move the file away")
    if version != VERSION:
        raise QueueFailed(
            f"{file} has queue format {version}, this pysync reads format {VERSION}",
            hint="another version of pysync wrote the file: start that version, or set another queue.directory",
        )


def _set(connection: sqlite3.Connection, file: Path) -> None:
    for name, value, expected in _SETTINGS:
        connection.execute(f"PRAGMA {name} = {value}")
        current = _pragma(connection, name)
        if current != expected:
            raise QueueFailed(
                f"{file}: SQLite reports {name} = {current}, but durability needs {expected}",
                hint="put the queue on a local disk and use the standard SQLite library",
            )


def _check(connection: sqlite3.Connection, file: Path) -> None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    missing = {*checksums.SEALED, "unreadable"} - tables
    if missing:
        raise damaged(file, f"it has no table {', '.join(sorted(missing))}")
    # The short check does not compare indexes with their tables: those two are small, and read by them.
    for check in ("quick_check(1)", "integrity_check(parked)", "integrity_check(gaps)"):
        result = _checked(connection, check)
        if result != "ok":
            raise damaged(file, result)


def _check_content(connection: sqlite3.Connection, file: Path) -> None:
    try:
        read_epoch(connection)
        received.Instances(connection)
        first, last = events.span(connection)
        positions = [it for (it,) in connection.execute("SELECT position FROM targets")]
    except (TypeError, ValueError) as error:
        raise damaged(file, str(error)) from error
    if not all(first - 1 <= it <= last for it in positions):
        raise damaged(file, f"it holds events {first} to {last}, but its targets are at {positions}")


def _checked(connection: sqlite3.Connection, check: str) -> str:
    clock = threading.Timer(CHECK_SECONDS, connection.interrupt)
    clock.start()
    try:
        return str(_pragma(connection, check)).replace("\n", " ")
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):
            raise
        return "ok"  # as far as it got
    finally:
        clock.cancel()
        # Else an interrupt that comes late would end the statement after this one.
        clock.join()


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    row = connection.execute(f"PRAGMA {name}").fetchone()
    return row[0] if row else None
