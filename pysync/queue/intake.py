"""The intake: events are appended, many in one commit, and each answer comes after the fsync."""

from __future__ import annotations

import copy
import itertools
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from pysync.base.crashpoints import crash_point
from pysync.queue import events, received, repair
from pysync.queue.errors import QueueClosed
from pysync.queue.gaps import Gaps
from pysync.queue.received import Additions, Instances
from pysync.queue.store import QueueFile
from pysync.queue.values import Entry, Instance, Unreadable

# --- Group commit: one of the waiting callers writes the rows of all in one transaction, while the next batch
# gathers

Row = TypeVar("Row")
Answer = TypeVar("Answer")


@dataclass(slots=True)
class _Ticket(Generic[Row, Answer]):
    rows: Sequence[Row]
    reply: Sequence[Answer] | BaseException | None = None


class GroupCommit(Generic[Row, Answer]):
    """Calls `commit(rows)`, one at a time, with all that is waiting by then, and gives each caller its answers.

    `commit` returns one answer per row, after the rows are durable; what it raises goes to every caller
    of that batch. Rows keep the order in which their callers arrived. A batch ends at `limit` rows, but
    the rows of one caller are never split. A caller that is alone waits for no other thread to wake up.
    """

    def __init__(self, commit: Callable[[Sequence[Row]], Sequence[Answer]], limit: int = 1000) -> None:
        self._commit = commit
        self._limit = limit
        self._changed = threading.Condition()
        self._waiting: deque[_Ticket[Row, Answer]] = deque()
        self._busy = False
        self._closed = False

    def submit(self, rows: Sequence[Row]) -> Sequence[Answer]:
        """Wait until `rows` are committed and return their answers, in order.

        Raises what `commit` raised for the batch, and QueueClosed after `close`.
        """
        ticket: _Ticket[Row, Answer] = _Ticket(rows)
        with self._changed:
            if self._closed:
                raise QueueClosed("the queue is closed", hint="pysync is stopping; send the events again later")
            self._waiting.append(ticket)
        # A turn takes the oldest tickets, and a full batch may end before this one: then it takes another turn.
        while batch := self._turn(ticket):
            self._settle(batch)
        if isinstance(ticket.reply, BaseException):
            # Every waiter raises its own copy: raising one exception in many threads mixes their tracebacks.
            raise copy.copy(ticket.reply) from ticket.reply
        assert ticket.reply is not None  # noqa: S101 - only then is there no batch for it
        return ticket.reply

    def close(self) -> None:
        """Refuse new callers, and wait until those who came before have their answers. May be called again."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._busy and not self._waiting)

    def _turn(self, own: _Ticket[Row, Answer]) -> list[_Ticket[Row, Answer]]:
        """Wait until somebody has committed `own` (then nothing), or it is the caller's turn to commit these."""
        with self._changed:
            while self._busy and own.reply is None:
                self._changed.wait()
            if own.reply is not None:
                return []
            self._busy = True
            return self._gather()

    def _gather(self) -> list[_Ticket[Row, Answer]]:
        batch = [self._waiting.popleft()]
        rows = len(batch[0].rows)
        while self._waiting and rows < self._limit:
            batch.append(self._waiting.popleft())
            rows += len(batch[-1].rows)
        return batch

    def _settle(self, batch: Sequence[_Ticket[Row, Answer]]) -> None:
        try:
            replies = self._shared(batch, self._commit([row for ticket in batch for row in ticket.rows]))
        except BaseException as error:  # noqa: BLE001 - whatever it is, nobody may be left waiting for ever
            replies = [error] * len(batch)
        with self._changed:
            for ticket, reply in zip(batch, replies, strict=True):
                ticket.reply = reply
            self._busy = False
            self._changed.notify_all()

    @staticmethod
    def _shared(
        batch: Sequence[_Ticket[Row, Answer]], answers: Sequence[Answer]
    ) -> list[Sequence[Answer] | BaseException]:
        """Each one's own answers."""
        ends = itertools.accumulate(len(ticket.rows) for ticket in batch)
        return [answers[end - len(ticket.rows) : end] for ticket, end in zip(batch, ends, strict=True)]


# --- Intake: how events come into the queue, each once for ever, and what is remembered of those that came

_UNREADABLE = "SELECT id, data, size, reason, at_ms FROM unreadable ORDER BY id DESC LIMIT ?"

log = structlog.get_logger(__name__)


class Intake:
    """What appends to the queue, from any number of threads, whose events are committed together.

    Durable: what `append`, `append_all` and `keep_unreadable` were given is on disk when they return, or they raise and
    nothing of it is. Ordered: positions follow the order of appending, without a gap. Once: an event (instance and
    sequence) that came before is not appended again, even if it was trimmed since. Methods raise as those of
    `EventQueue` do.
    """

    def __init__(self, file: QueueFile, gaps: Gaps, arrived: Callable[[], None]) -> None:
        """`arrived` is called after events were committed, without the lock of the file."""
        self._file, self._gaps, self._arrived = file, gaps, arrived
        with file.reading() as connection:
            self._seen = Instances(connection)
        self._differing = 0
        self._committer: GroupCommit[Entry, bool] = GroupCommit(self._commit)

    def append(self, instance: str, sequence: int, source: str, data: bytes) -> bool:
        """Wait until the event is on disk; False if it was there already, which is a success too.

        Raises ValueError for an impossible event, QueueFull below the floor (send it again later).
        """
        return self.append_all([Entry(instance, sequence, source, data)])[0]

    def append_all(self, entries: Sequence[Entry]) -> Sequence[bool]:
        """Append `entries` in their order, all or none, in one transaction; answers as `append` does for each."""
        return self._committer.submit(entries) if entries else []

    def instances(self) -> list[Instance]:
        """What came from every listener JVM so far, with the sequences that are missing."""
        with self._file.reading():
            return list(self._seen)

    @property
    def differing(self) -> int:
        """How many events came with other bytes than before, since the opening; of each batch the first is counted."""
        return self._differing

    def keep_unreadable(self, data: bytes, reason: str) -> None:
        """Keep bytes that are no event: the newest 1000 and 64 MiB of them. Raises QueueFull as `append` does."""
        with self._file.lock:
            self._file.room.need(len(data))
            with self._file.transaction() as connection:
                repair.keep_unreadable(connection, data, reason, self._file.now_ms())

    def unreadable(self, limit: int = 100) -> list[Unreadable]:
        """The newest of what `keep_unreadable` kept, newest first."""
        with self._file.reading() as connection:
            return [Unreadable(*row) for row in connection.execute(_UNREADABLE, (limit,)).fetchall()]

    def close(self) -> None:
        """Take no more, and wait until what came before is on disk. Later callers get QueueClosed; may be repeated."""
        self._committer.close()

    def _commit(self, entries: Sequence[Entry]) -> list[bool]:
        with self._file.lock:
            self._file.assert_open()
            at_ms = self._file.now_ms()
            additions = self._seen.additions(at_ms)
            answers = [additions.add(entry) for entry in entries]
            new = [entry for entry, is_new in zip(entries, answers, strict=True) if is_new]
            if new:
                self._write(new, additions, at_ms)
            if len(new) < len(entries):
                self._compare([entry for entry, is_new in zip(entries, answers, strict=True) if not is_new])
        if new:
            # After the lock of the file, which whoever wakes up takes at once.
            self._arrived()
        return answers

    def _write(self, new: Sequence[Entry], additions: Additions, at_ms: int) -> None:
        self._file.room.need(sum(len(entry.data) for entry in new))
        with self._file.transaction() as connection:
            events.insert(connection, self._file.last + 1, (entry.data for entry in new), at_ms)
            additions.write(connection)
            received.keep_digests(connection, new)
            crash_point("append.written")
        crash_point("append.committed")
        additions.accept()
        self._file.appended(len(new))

    def _compare(self, again: Sequence[Entry]) -> None:
        """Open a gap for an event that came with other bytes than before, or whose former bytes are unknown."""
        with self._file.reading() as connection:
            differing = received.differing(connection, again)
        for instance, entry in differing.items():
            came = f"event {entry.sequence} of metastore {instance}"
            if self._gaps.open(f"differs:{instance}:{entry.sequence}", f"{came} arrived again with different content"):
                self._differing += 1
                log.error("event_differs", instance=instance, sequence=entry.sequence)
