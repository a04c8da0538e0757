"""The durable queue itself: how it is opened and closed, its events, and how long they are kept."""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pysync.base.crashpoints import crash_point
from pysync.model.mark import Writer
from pysync.queue import events, history, parked
from pysync.queue.directory import Room, free_bytes
from pysync.queue.gaps import Gaps
from pysync.queue.intake import Intake
from pysync.queue.notes import Notes
from pysync.queue.queue_file import FILE, QueueFile
from pysync.queue.target_queue import TargetQueue
from pysync.queue.targets import Targets
from pysync.queue.values import History, Queued

_TRIM_ROWS = 2000  # of one transaction, for which appends wait
_VACUUM_PAGES = 1000
_SPARE_PAGES = 4096  # unused, 16 MiB: less is left in the file, which needs it again soon
_DELETE = f"DELETE FROM {events.TABLE} WHERE _id <= ?"  # noqa: S608
_MS = 1000


class EventQueue:
    """One ordered log of events on disk, with a position for every target, in one file with one owner.

    `intake` appends to it. `target(name)` is the queue as one target has it. `gaps` records where events may be
    missing, `notes` keeps small texts of others, and `room` says how much is left on the disk.

    Durable: what a method writes is on disk (fsync) when it returns, or it raises and nothing of it is. Ordered:
    positions are 1, 2, 3, … in the order of appending, without a gap. Once: an event (instance and sequence) is taken
    in once for ever, even if it was trimmed since; but a target sees it again until it has advanced past it. Checked:
    damage is noticed when it is read and set aside, and becomes a gap; `events` has an event without data in its place.
    Answered events that are missing from the file become a gap, too.

    All methods, those of its parts included, may be called from any thread. They raise QueueClosed after `close`,
    QueueFull where the disk has no room, and QueueFailed for any other fault of disk or database.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        min_free_bytes: int = 256 * 1024 * 1024,
        quarantine: bool = False,
        lock_timeout: float = 5.0,
        free_bytes: Callable[[Path], int] = free_bytes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the queue in `directory`, or begin one.

        Less than `min_free_bytes` on its disk refuses new events. With `quarantine` a damaged file is renamed and
        a new one begun. Another owner is waited for `lock_timeout` seconds. `free_bytes` and `clock` (seconds since
        1970) are for tests. Raises QueueFailed, QueueDamaged or QueueFull, each in one line.
        """
        self.room = Room(Path(directory) / FILE, min_free_bytes, free_bytes)
        self._file = QueueFile(self.room, quarantine=quarantine, lock_timeout=lock_timeout, clock=clock)
        try:
            self._targets = Targets(self._file)
            self.notes = Notes(self._file)
            self.gaps = Gaps(self._file, self._targets)
            self.intake = Intake(self._file, self.gaps, arrived=self._targets.signal_work)
            self._retained: dict[str, int] = {}
        except BaseException:
            self._file.close()
            raise

    def target(self, name: str) -> TargetQueue:
        """The queue of one target, which need not be registered yet."""
        return TargetQueue(self._file, self._targets, name)

    def positions(self) -> dict[str, int]:
        """The position of every registered target."""
        with self._file.reading():
            return {name: row.position for name, row in self._targets.rows.items()}

    def writer(self, target: str) -> Writer:
        """Who writes the marks of a target: that target of this queue, in the present life of the queue's file."""
        with self._file.reading():
            others = frozenset(self._targets.rows) - {target}
        return Writer(self.epoch, self._file.life, self._file.ended_lives, target, others)

    # --- the events

    @property
    def epoch(self) -> int:
        """When the queue's file was begun (ms since 1970): it distinguishes the file from others."""
        return self._file.epoch

    @property
    def last(self) -> int:
        """The position of the newest event, 0 if there never was one."""
        return self._file.last

    @property
    def first(self) -> int:
        """The position of the oldest event that is kept, or of the next to come if none is."""
        return self._file.first

    @property
    def size(self) -> int:
        """How many events are kept, whoever is done with them."""
        return self._file.size

    def since(self, at_ms: int) -> int:
        """The position of the first kept event that came at `at_ms` or later; of the next to come if none did.

        It is found by halves: if the clock was set back meanwhile, it is one of the places where that time was passed.
        """
        with self._file.reading() as connection:
            return history.history_since(connection, events.TABLE, range(self._file.first, self._file.last + 1), at_ms)

    def events(self, after: int, limit: int, max_bytes: int) -> list[Queued]:
        """The events kept after the position `after`, in order, whoever is done with them.

        Up to `limit`, up to `max_bytes` of data; at least one if there is one, however large. Never waits.
        """
        return self._file.events(after, limit, max_bytes)

    def amend(self, changed: Mapping[int, bytes]) -> None:
        """Keep other bytes for the events at these positions, parked ones, too; in one transaction."""
        with self._file.transaction() as connection:
            events.amend(connection, changed)
            parked.amend(connection, changed)

    # --- how long they are kept

    def history(self) -> History:
        """What is kept though every target is done with it. Cheap, however much it is."""
        with self._file.reading() as connection:
            return history.retained(connection, events.TABLE, self._done(), self.size)

    def retain(self, who: str, first: int) -> bool:
        """Keep events from the position `first` on, until `release`; False if they are not all there any more.

        Not over a restart, and not while the disk is near its floor.
        """
        with self._file.lock:
            if first < self._file.first:
                return False
            self._retained[who] = first
            return True

    def release(self, who: str) -> None:
        """End what `retain` began. Idempotent."""
        with self._file.lock:
            self._retained.pop(who, None)

    def trim(
        self,
        retain_rows: int = 0,
        retain_seconds: float = 0.0,
        retain_bytes: float = math.inf,
        seconds: float = math.inf,
    ) -> int:
        """Delete the events which every target is done with, but for the last `retain_rows`; returns how many.

        What came less than `retain_seconds` ago is kept as well, as long as it is no more than `retain_bytes` and the
        disk is not near its floor; never does a clock, however it jumps, delete what a target still needs. The oldest
        go first, in slices, so that others get their turn; no new one is begun after `seconds`. Deletes nothing while
        no target is registered. Gives space back to the disk when half of the file is unused, or any is and the disk
        is near its floor.
        """
        until = time.monotonic() + seconds
        removed = 0
        while step := self._trim_slice(retain_rows, retain_seconds, retain_bytes):
            removed += step
            if time.monotonic() > until:
                return removed
            # While the disk is tight, history goes too: what a slice frees is given back at once, so that no more goes.
            if retain_seconds and self.room.is_tight():
                self._release_pages(until)
        self._release_pages(until)
        return removed

    def _trim_slice(self, retain_rows: int, retain_seconds: float, retain_bytes: float) -> int:
        with self._file.lock:
            self._file.assert_open()
            first, tight = self._file.first, self.room.is_tight()
            upto = min(self._targets.slowest(default=0) - retain_rows, first + _TRIM_ROWS - 1)
            if not tight:
                upto = min([upto, *(it - 1 for it in self._retained.values())])
            if upto < first:
                return 0
            with self._file.transaction() as connection:
                if retain_seconds and not tight:
                    upto = self._spent(connection, range(first, upto + 1), retain_seconds, retain_bytes)
                connection.execute(_DELETE, (upto,))
                crash_point("trim.written")
            crash_point("trim.committed")
            return self._file.trimmed(upto)

    def _spent(self, connection: sqlite3.Connection, among: range, seconds: float, most: float) -> int:
        """The last of the positions `among` whose event is too old, or too much; the one before them if none is."""
        ripe = history.Ripe(events.TABLE, self.last, self._file.now_ms(), round(seconds * _MS))
        over = history.excess_history(connection, self._done(), self.size, most)
        return max(ripe.upto(connection, among.start, among[-1]), min(among[-1], among.start - 1 + over))

    def _done(self) -> int:
        """How many of the kept events every target is done with."""
        return max(0, self._targets.slowest(default=0) + 1 - self._file.first)

    def _release_pages(self, until: float) -> None:
        while self._vacuum_slice() and time.monotonic() < until:
            pass

    def _vacuum_slice(self) -> bool:
        with self._file.reading() as connection:
            unused = connection.execute("PRAGMA freelist_count").fetchone()[0]
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            if unused <= (0 if self.room.is_tight() else max(_SPARE_PAGES, pages // 2)):
                return False
            # A page for every step, and only executescript steps to the end; the checkpoint shrinks the file.
            connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return True

    # --- the end

    def close(self) -> None:
        """Commit what waits, then close: waiting threads get QueueClosed. From any thread, as often as you like."""
        self.intake.close()
        self._file.close()
        self._targets.signal_work()

    def __enter__(self) -> EventQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
