"""Data versions: directories at a target that no object has, or not for sure; in the queue's file.

What an object had before its files changed stays for a while, for those who still read it. What it is to get is there
before the target knows of it; a crash in between must not leave it there for ever.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from pysync.queue.queue_file import QueueFile

_COLUMNS = "directory, base, database_name, table_name, partition_name, until_ms, position"
_READ = f"SELECT {_COLUMNS} FROM data_versions WHERE target = ?"  # noqa: S608
_DUE = f"{_READ} AND until_ms <= ? ORDER BY until_ms LIMIT ?"
_BELOW = f"{_READ} AND base = ? ORDER BY directory"
_WRITE = f"""INSERT INTO data_versions (target, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (target, directory) DO UPDATE SET database_name = excluded.database_name,
    table_name = excluded.table_name, partition_name = excluded.partition_name, until_ms = excluded.until_ms,
    position = excluded.position"""  # noqa: S608
_CLAIM = "UPDATE data_versions SET position = 0 WHERE target = ? AND directory = ?"
_FORGET = "DELETE FROM data_versions WHERE target = ? AND directory = ?"


@dataclass(frozen=True, slots=True)
class DataVersion:
    """A directory below the location `base` of an object, by the object's names at the target.

    `partition` is `key=value/…`, empty for a table. Nobody removes it before `until_ms`. `position` is that of the
    event with which the object is to get it; 0: it was that of the object, or is to be removed.
    """

    directory: str
    base: str
    database: str
    table: str
    partition: str
    until_ms: int
    position: int


class DataVersions:
    """The directories of one target. What a method changes is on disk when it returns. From any thread.

    They are renamed and forgotten with their target (`pysync.queue.targets`). All raise as those of `EventQueue` do.
    """

    def __init__(self, file: QueueFile, target: str) -> None:
        self._file, self._target = file, target

    def below(self, base: str) -> list[DataVersion]:
        """Those of the objects at `base`, the oldest first."""
        with self._file.reading() as connection:
            return [DataVersion(*row) for row in connection.execute(_BELOW, (self._target, base)).fetchall()]

    def note(self, versions: Iterable[DataVersion]) -> None:
        """Write some, each in place of what was known of its directory."""
        rows = [(self._target, *_values(it)) for it in versions]
        if rows:
            with self._file.transaction() as connection:
                connection.executemany(_WRITE, rows)

    def claim(self, now_ms: int, most: int) -> list[DataVersion]:
        """Some whose time is over, the oldest first. No object gets one of them any more."""
        with self._file.transaction() as connection:
            due = [DataVersion(*row) for row in connection.execute(_DUE, (self._target, now_ms, most)).fetchall()]
            connection.executemany(_CLAIM, [(self._target, it.directory) for it in due])
        return due

    def forget(self, versions: Iterable[DataVersion]) -> None:
        """Remove some."""
        rows = [(self._target, it.directory) for it in versions]
        if rows:
            with self._file.transaction() as connection:
                connection.executemany(_FORGET, rows)


def _values(it: DataVersion) -> tuple[object, ...]:
    return it.directory, it.base, it.database, it.table, it.partition, it.until_ms, it.position


def forget(connection: sqlite3.Connection, target: str) -> None:
    """Remove what is kept of `target`, within the caller's transaction."""
    connection.execute("DELETE FROM data_versions WHERE target = ?", (target,))


def rename(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Keep under the name `new` what is kept of `old`, within the caller's transaction."""
    connection.execute("UPDATE data_versions SET target = ? WHERE target = ?", (new, old))
