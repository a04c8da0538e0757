"""The queue file in use: one connection, one lock, one owner; persist-queue's class without its own ways."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from persistqueue import SQLiteQueue

from pysync.queue import events, files, gaps, migration, repair, schema
from pysync.queue.answered import Answered
from pysync.queue.errors import QueueClosed, QueueFull, translated

FILE = "queue.db"
_MS = 1000
_MIB = 1024 * 1024


def _not_offered(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(f"{name} is not supported: use append, window and advance")

    refuse.__name__, refuse.__doc__ = name, "Not offered: it would break a promise of the queue."
    return refuse


class QueueFile(SQLiteQueue):  # type: ignore[misc]  # persist-queue is checked as Any
    """persist-queue's table of events in a file that is checked, durable, locked and ours alone."""

    _conn: sqlite3.Connection

    def __init__(
        self,
        directory: Path | str,
        *,
        min_free_bytes: int = 256 * 1024 * 1024,
        quarantine: bool = False,
        lock_timeout: float = 5.0,
        free_bytes: Callable[[Path], int] = files.free_bytes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the queue in `directory`, or begin one.

        Less than `min_free_bytes` on its disk refuses new events. With `quarantine` a damaged file is renamed and
        a new one begun. Another owner is waited for `lock_timeout` seconds. `free_bytes` and `clock` (seconds since
        1970) are for tests. Raises QueueFailed, QueueDamaged or QueueFull, each in one line.
        """
        self._directory, self._file = Path(directory), Path(directory) / FILE
        self.min_free_bytes, self._disk_free, self._clock = min_free_bytes, free_bytes, clock
        self._quarantine, self._owner, self._closed = quarantine, -1, False
        self._lock = threading.RLock()  # a transaction may begin within a longer stretch under the lock
        files.prepare(self._directory)
        try:
            with translated(self._file):
                self._owner = files.own(self._directory, self._file, lock_timeout)
                # What would serialize is not offered; persist-queue's own default would be pickle.
                super().__init__(
                    str(directory), name="events", timeout=lock_timeout, serializer=None, db_file_name=FILE
                )
                self._begin()
        except BaseException:
            self._release()
            raise

    def _begin(self) -> None:
        self._conn.text_factory = schema.any_text  # persist-queue has set its own
        self._first, self._last = events.span(self._conn)
        self._unsummed = migration.unsummed(self._conn)
        self._epoch = schema.read_epoch(self._conn)
        self._answered = Answered(self._directory / "answered")
        self._compare_with_answered()

    def _compare_with_answered(self) -> None:
        """Compare the file with what was answered. Where something is missing, open a gap and begin a new epoch."""
        last, found = self._answered.read(self._epoch)
        if last > self._last or found > gaps.found(self._conn):
            told = {"answered": last, "last": self._last, "at_ms": self._now_ms()}
            repair.tell_lost(self._conn, self._file, self._epoch, **told)
            self._epoch = schema.read_epoch(self._conn)
        self._remember_gaps()

    def _remember(self) -> None:
        """Note outside of SQLite what is answered from now on."""
        self._answered.note(self._epoch, self._last, self._gaps)

    def _remember_gaps(self) -> None:
        """As `_remember`, after a gap may have been opened."""
        self._gaps = gaps.found(self._conn)
        self._remember()

    @property
    def epoch(self) -> int:
        """When this queue file was begun (ms since 1970): a later event has the greater (epoch, position)."""
        return self._epoch

    @property
    def size(self) -> int:
        """How many events are kept, whoever is done with them."""
        return self._last + 1 - self._first

    # persist-queue has a __len__, by which an empty queue would be false.
    def __bool__(self) -> bool:
        return True

    def free_bytes(self) -> int:
        """What is left on the queue's disk."""
        with translated(self._file):
            return self._disk_free(self._directory)

    def _need_room(self, size: int) -> None:
        free = self.free_bytes()
        if free - size < self.min_free_bytes:
            left, floor = free // _MIB, self.min_free_bytes // _MIB
            raise QueueFull(
                f"only {left} MiB are free on the disk of {self._directory}, queue.min_free_mb is {floor}",
                hint="free some disk space; the queue then continues by itself",
            )

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translated(self._file):
            self._live()
            yield self._conn

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some errors, a full disk among them.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def _now_ms(self) -> int:
        return round(self._clock() * _MS)

    def _live(self) -> None:
        if self._closed:
            raise QueueClosed(f"{self._file} is closed", hint="pysync is stopping")

    def _release(self) -> None:
        if hasattr(self, "_conn"):
            self._conn.close()
        if hasattr(self, "_answered"):
            self._answered.close()
            del self._answered
        if self._owner >= 0:
            os.close(self._owner)
            self._owner = -1

    def __del__(self) -> None:
        """Do nothing, unlike persist-queue's: an open queue lives by its committer, a failed one let go of its file."""

    # What persist-queue calls, and what it would offer.

    def _new_db_connection(self, path: str, multithreading: bool, timeout: float) -> sqlite3.Connection:  # noqa: ARG002
        return schema.open_database(self._file, timeout, self._now_ms(), self._quarantine)

    def _count(self) -> int:
        return 0  # persist-queue would read every row at opening

    put = _not_offered("put")
    put_nowait = _not_offered("put_nowait")
    get = _not_offered("get")
    get_nowait = _not_offered("get_nowait")
    task_done = _not_offered("task_done")
    update = _not_offered("update")
    queue = _not_offered("queue")
    shrink_disk_usage = _not_offered("shrink_disk_usage")
    full = _not_offered("full")
