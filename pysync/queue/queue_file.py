"""The queue's file in use: one connection, one lock, one owner."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pysync.queue import events, lives, losses, repair
from pysync.queue.database import open_database, read_epoch
from pysync.queue.directory import Room, lock_directory, prepare
from pysync.queue.errors import QueueClosed, damaged, translated
from pysync.queue.last_answered import Answered
from pysync.queue.values import Queued

FILE = "queue.db"
_MS = 1000


class QueueFile:
    """The database of a queue, which all parts of the queue share: persist-queue's, whole, durable, and ours alone.

    `epoch` is when it was begun (ms since 1970); `life` is this opening of it, `ended_lives` has the last position of
    each former one. It keeps the events from `first` to `last`. `lock` may be taken for
    longer than one `reading` or `transaction`, and again by the thread that has it. As text it is its path.
    """

    def __init__(self, room: Room, *, quarantine: bool, lock_timeout: float, clock: Callable[[], float]) -> None:
        """Open the database `room.file`, or begin one, as `EventQueue` does."""
        self.room, self.lock, self.closed = room, threading.RLock(), False
        self._file, self._clock = room.file, clock
        self._owner = -1
        directory = room.file.parent
        prepare(directory)
        try:
            with translated(self._file):
                self._owner = lock_directory(directory, self._file, lock_timeout)
                self._conn = open_database(self._file, lock_timeout, self.now_ms(), quarantine)
                self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        self.first, self.last = events.span(self._conn)
        self.epoch = read_epoch(self._conn)
        self._answered = Answered(self._file.with_name("answered"))
        self._compare_with_answered()
        self.life, self.ended_lives = lives.begin_life(self._conn, self.last)

    def _compare_with_answered(self) -> None:
        """Compare the file with what was answered. Where something is missing, open a gap and begin a new epoch."""
        last, state = self._answered.read(self.epoch)
        if last > self.last or state > losses.gap_count(self._conn):
            fields = {"answered": last, "last": self.last, "at_ms": self.now_ms()}
            repair.record_loss(self._conn, self._file, self.epoch, **fields)
            self.epoch = read_epoch(self._conn)
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
            rows, is_well = events.read(connection, self.last, after, limit, max_bytes)
            if not is_well:
                self._set_aside(after + 1)
                rows, is_well = events.read(connection, self.last, after, limit, max_bytes)
            if not is_well:
                raise damaged(self._file, f"event {after + 1} cannot be replaced")
        return rows

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
        self._gaps = losses.gap_count(self._conn)
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

    @property
    def size(self) -> int:
        """How many events are kept, whoever is done with them."""
        return self.last + 1 - self.first
