"""Journal: takes records in memory, and writes them in a thread of its own. Nobody ever waits for it.

A record is on disk half a second later, as a rule. While the disk is full or does not answer, records are kept in
memory up to a bound; then the oldest are dropped, and counted.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.base.text import plain
from pysync.journal import file as journal_file
from pysync.journal.curves import Sample
from pysync.journal.record import Record, names_of
from pysync.worker import Worker

_MOST_WAITING = 10_000
_MOST_SAMPLES = 1000
_EVERY_SECONDS = 0.5
_RETRY_SECONDS = 2.0
_LOCK_SECONDS = 1.0
_END_SECONDS = 1.0
_TRIM_ROWS = 500
_TRIM_SECONDS = 0.2  # of one turn
_SPARE_PAGES = 1024  # unused: fewer are left in the file, which needs them again soon
_VACUUM_PAGES = 1024
# Bytes that are no text (in the name of a file, say), numbers beyond 64 bits, and types that SQLite does not know.
_UNFIT = (ValueError, TypeError, OverflowError, sqlite3.InterfaceError, sqlite3.ProgrammingError)

log = structlog.get_logger(__name__)


class Journal:
    """The journal in `file`. `append` may be called from any thread, all else is for one at a time.

    Records are kept for `keep` seconds, as long as they take no more than `max_bytes`. While `is_tight` nothing is
    written: the disk belongs to the queue. A file that is damaged is set aside, and a new one begun.
    """

    def __init__(
        self,
        file: Path,
        *,
        keep: float,
        max_bytes: int,
        is_tight: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Opens nothing yet, so it cannot fail."""
        self.file = file
        self._keep, self._max_bytes, self._is_tight, self._clock = keep, max_bytes, is_tight, clock
        self._lock = threading.Lock()
        self._waiting: deque[Record] = deque()
        self._writing = 0  # how many records `write` has taken from `_waiting`
        self._samples: deque[Sample] = deque(maxlen=_MOST_SAMPLES)
        self._dropped = self._untold = 0
        self._connection: sqlite3.Connection | None = None
        self._last = 0
        self.worker = Worker("journal", self.write, every=_EVERY_SECONDS, retry=_RETRY_SECONDS)

    # --- from any thread

    def append(self, record: Record) -> None:
        """Have a record written; returns at once, and never fails."""
        with self._lock:
            self._waiting.append(record)
            if len(self._waiting) > _MOST_WAITING:
                self._drop(1)

    def sample(self, samples: Iterable[Sample]) -> None:
        """Have samples of targets written; returns at once, and never fails."""
        with self._lock:
            self._samples.extend(samples)

    @property
    def last(self) -> int:
        """The id of the last record; 0 before the first write."""
        return self._last

    def status(self) -> dict[str, Any]:
        """As in `pysync status --json`. `waiting` is 0 only if all that was appended is on disk, or dropped."""
        with self._lock:
            waiting = len(self._waiting) + self._writing
        return {"file": str(self.file), "waiting": waiting, "dropped": self._dropped}

    # --- the worker's turn

    def write(self) -> None:
        """Write what waits, then trim. Raises PysyncError where the disk or the file is in the way: it is kept."""
        records = self._take()
        try:
            with self._opened() as connection:
                self._insert(connection, records)
        except BaseException:
            self._requeue(records)
            raise
        self._writing = 0
        self._write_samples()
        with self._opened() as connection:
            self._trim(connection)
        self.worker.succeeded()
        self._log_dropped()

    def _write_samples(self) -> None:
        with self._lock:
            samples = list(self._samples)
            self._samples.clear()
        try:
            if samples:
                with self._opened() as connection:
                    journal_file.insert_samples(connection, samples, self._clock())
        except BaseException:
            with self._lock:
                self._samples.extendleft(reversed(samples))
            raise

    def rename_target(self, old: str, new: str) -> None:
        """Rename a target in all that is kept of it. Raises PysyncError as `write`."""
        with self._opened() as connection:
            journal_file.rename_target(connection, old, new)

    def close(self) -> None:
        """End the worker, write what waits, as far as it can be, and close the file. Leaves a disk that hangs alone."""
        if not self.worker.end(_END_SECONDS):
            return
        with suppress(PysyncError):
            self.write()
        self._close()

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The connection for a block. Raises PysyncError for what goes wrong in it; damage is set aside."""
        try:
            if self._is_tight():
                raise PysyncError(f"the disk of {self.file.parent} is nearly full: {self.file.name} is not written")
            yield self._connected()
        except (sqlite3.Error, OSError, journal_file.Unusable) as error:
            self._close()
            if isinstance(error, journal_file.Unusable) or journal_file.is_damage(error):
                self._replace_file(error)
            raise PysyncError(f"cannot write {self.file}: {error}") from error

    def _connected(self) -> sqlite3.Connection:
        """The connection; another one if the file was deleted or replaced."""
        if self._connection is not None and not self.file.exists():
            self._close()
        if self._connection is None:
            self._connection, self._last = journal_file.open_for_writing(self.file, _LOCK_SECONDS)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _replace_file(self, error: Exception) -> None:
        with suppress(OSError):  # then it is tried again
            aside = journal_file.set_aside(self.file)
            log.warning("journal_damaged", file=str(self.file), reason=str(error), set_aside=str(aside))

    def _insert(self, connection: sqlite3.Connection, records: Sequence[Record]) -> None:
        """Insert records; those that SQLite cannot hold are made to fit, or dropped."""
        try:
            self._insert_all(connection, records, _row)
        except _UNFIT:
            for record in records:
                self._insert_fitting(connection, record)

    def _insert_fitting(self, connection: sqlite3.Connection, record: Record) -> None:
        try:
            self._insert_all(connection, [record], _plain_row)
        except _UNFIT:
            with self._lock:
                self._dropped, self._untold = self._dropped + 1, self._untold + 1

    def _insert_all(
        self, connection: sqlite3.Connection, records: Sequence[Record], row: Callable[[int, Record], journal_file.Row]
    ) -> None:
        if not records:
            return
        numbered = list(enumerate(records, self._last + 1))
        names = [(plain(name), number) for number, record in numbered for name in record.names]
        journal_file.insert(connection, [row(number, record) for number, record in numbered], names)
        self._last = numbered[-1][0]

    # --- how long records are kept

    def _trim(self, connection: sqlite3.Connection) -> None:
        until = time.monotonic() + _TRIM_SECONDS
        while self._trim_some(connection) and time.monotonic() < until:
            pass

    def _trim_some(self, connection: sqlite3.Connection) -> bool:
        """Remove some of the oldest records, if they are to go; returns whether any were."""
        used, unused, size = journal_file.pages(connection)
        too_large, too_old = used * size > self._max_bytes, self._clock() - self._keep
        oldest = journal_file.first(connection, 1)
        if too_large or any(at < too_old for _, at, *_ in oldest):
            oldest = journal_file.first(connection, _TRIM_ROWS)
        # The newest stays, so that ids are never used again.
        gone = [it for it in oldest if it[0] < self._last and (too_large or it[1] < too_old)]
        if gone:
            journal_file.remove(connection, gone[-1][0], _names(gone))
        if unused > _SPARE_PAGES:
            journal_file.release_pages(connection, _VACUUM_PAGES)
        return bool(gone)

    # --- what waits

    def _take(self) -> list[Record]:
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
            self._writing = len(taken)
        return taken

    def _requeue(self, records: Sequence[Record]) -> None:
        with self._lock:
            self._waiting.extendleft(reversed(records))
            self._writing = 0
            self._drop(max(0, len(self._waiting) - _MOST_WAITING))

    def _drop(self, number: int) -> None:
        for _ in range(number):
            self._waiting.popleft()
        self._dropped += number
        self._untold += number

    def _log_dropped(self) -> None:
        with self._lock:
            number, self._untold = self._untold, 0
        if number:
            log.warning("journal_incomplete", dropped=number)


def _row(number: int, record: Record) -> journal_file.Row:
    it = record
    differences = [(one.field, one.old, one.new) for one in it.differences]
    return (
        *(number, it.at, it.target, it.operation, it.outcome, it.object, it.source_object, it.former, it.source_former),
        json.dumps(it.partitions) if it.partitions else None,
        *(it.partition_count, it.first_position, it.last_position, it.events, it.committed_at, it.captured_at),
        *(it.attempts, it.milliseconds, it.reason),
        json.dumps(differences) if differences else None,
        it.who,
    )


def _plain_row(number: int, record: Record) -> journal_file.Row:
    return tuple(plain(it) if isinstance(it, str) else it for it in _row(number, record))


def _names(gone: Iterable[journal_file.Oldest]) -> list[journal_file.Named]:
    return [(plain(name), number) for number, _, *objects in gone for name in names_of(*objects)]
