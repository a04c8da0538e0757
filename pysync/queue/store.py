"""The queue's file in use: one connection, one lock, one owner; persist-queue's class without its own ways."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from persistqueue import SQLiteQueue

from pysync.queue import events, files, lives, losses, repair, schema
from pysync.queue.answered import Answered
from pysync.queue.errors import QueueClosed, damaged, translated
from pysync.queue.files import Room
from pysync.queue.values import Queued

FILE = "queue.db"
_MS = 1000


def _not_offered(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise NotImplementedError(f"{name} is not supported: use append, window and advance")

    refuse.__name__, refuse.__doc__ = name, "Not offered: it would break a promise of the queue."
    return refuse


class QueueFile(SQLiteQueue):  # type: ignore[misc]  # persist-queue is checked as Any
    """The database of a queue, which all parts of the queue share: persist-queue's, whole, durable, and ours alone.

    `epoch` is when it was begun (ms since 1970); `life` is this opening of it, `ended_lives` has the last position of
    each former one. It keeps the events from `first` to `last`. `lock` may be taken for
    longer than one `reading` or `transaction`, and again by the thread that has it. As text it is its path.
    """

    _conn: sqlite3.Connection

    def __init__(self, room: Room, *, quarantine: bool, lock_timeout: float, clock: Callable[[], float]) -> None:
        """Open the database `room.file`, or begin one, as `EventQueue` does."""
        self.room, self.lock, self.closed = room, threading.RLock(), False
        self._file, self._quarantine, self._clock = room.file, quarantine, clock
        self._owner = -1
        directory = room.file.parent
        files.prepare(directory)
        try:
            with translated(self._file):
                self._owner = files.own(directory, self._file, lock_timeout)
                # What would serialize is not offered; persist-queue's own default would be pickle.
                super().__init__(
                    str(directory), name="events", timeout=lock_timeout, serializer=None, db_file_name=FILE
                )
                self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        self._conn.text_factory = schema.any_text  # persist-queue has set its own
        self.first, self.last = events.span(self._conn)
        self.epoch = schema.read_epoch(self._conn)
        self._answered = Answered(self._file.with_name("answered"))
        self._compare_with_answered()
        self.life, self.ended_lives = lives.begin(self._conn, self.last)

    def _compare_with_answered(self) -> None:
        """Compare the file with what was answered. Where something is missing, open a gap and begin a new epoch."""
        last, found = self._answered.read(self.epoch)
        if last > self.last or found > losses.gaps_found(self._conn):
            told = {"answered": last, "last": self.last, "at_ms": self.now_ms()}
            repair.tell_lost(self._conn, self._file, self.epoch, **told)
            self.epoch = schema.read_epoch(self._conn)
        self.remember_gaps()

    def __str__(self) -> str:
        return str(self._file)

    def now_ms(self) -> int:
        """The time by the clock of the queue."""
        return round(self._clock() * _MS)

    # --- reading and writing

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend the connection, to one thread at a time. Raises QueueClosed, and QueueFailed for what SQLite raises."""
        with self.lock, translated(self._file):
            self.assert_open()
            yield self._conn

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """As `reading`, but what is written is on disk at the end of the block; nothing of it if the block raises."""
        with self.reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back by itself after some errors, a full disk among them.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def events(self, after: int, limit: int, max_bytes: int) -> list[Queued]:
        """The events kept after the position `after`, in order: up to `limit`, up to `max_bytes` of data.

        At least one if there is one, however large. One that is damaged is set aside, and comes without data.
        """
        with self.reading() as connection:
            after = max(after, self.first - 1)
            found, is_well = events.read(connection, self.last, after, limit, max_bytes)
            if not is_well:
                self._set_aside(after + 1)
                found, is_well = events.read(connection, self.last, after, limit, max_bytes)
            if not is_well:
                raise damaged(self._file, f"event {after + 1} cannot be replaced")
        return found

    def _set_aside(self, position: int) -> None:
        """Put an event without data in the place of one that is damaged, which is a gap."""
        with self.transaction() as connection:
            repair.set_event_aside(connection, self.epoch, position, self.now_ms())
        self.remember_gaps()

    # --- what was committed

    def appended(self, count: int) -> None:
        """Note, outside of SQLite as well, that `count` more events were committed."""
        self.last += count
        self._answered.note(self.epoch, self.last, self._gaps)

    def trimmed(self, upto: int) -> int:
        """Note that the events up to `upto` were deleted; returns how many."""
        removed, self.first = upto + 1 - self.first, upto + 1
        return removed

    def remember_gaps(self) -> None:
        """Note outside of SQLite how many gaps were committed by now."""
        self._gaps = losses.gaps_found(self._conn)
        self._answered.note(self.epoch, self.last, self._gaps)

    # --- the end

    def assert_open(self) -> None:
        """Raises QueueClosed after `close`."""
        if self.closed:
            raise QueueClosed(f"{self._file} is closed", hint="pysync is stopping")

    def close(self) -> None:
        """Let go of the file. From any thread, as often as you like."""
        with self.lock:
            self.closed = True
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
        return schema.open_database(self._file, timeout, self.now_ms(), self._quarantine)

    def _count(self) -> int:
        return 0  # persist-queue would read every row at opening

    @property
    def size(self) -> int:
        """How many events are kept, whoever is done with them."""
        return self.last + 1 - self.first

    # persist-queue has a __len__, by which an empty queue would be false.
    def __bool__(self) -> bool:
        return True

    put = _not_offered("put")
    put_nowait = _not_offered("put_nowait")
    get = _not_offered("get")
    get_nowait = _not_offered("get_nowait")
    task_done = _not_offered("task_done")
    update = _not_offered("update")
    queue = _not_offered("queue")
    shrink_disk_usage = _not_offered("shrink_disk_usage")
    full = _not_offered("full")
