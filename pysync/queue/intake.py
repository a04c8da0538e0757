"""Intake: how events come into the queue, each once for ever, and what is remembered of those that came."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from pysync.base.crashpoints import crash_point
from pysync.queue import digests, events, losses
from pysync.queue.gaps import Gaps
from pysync.queue.group_commit import GroupCommit
from pysync.queue.queue_file import QueueFile
from pysync.queue.received import Additions, Instances
from pysync.queue.values import Entry, Instance, Unreadable

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
                losses.keep_unreadable(connection, data, reason, self._file.now_ms())

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
            digests.keep_digests(connection, new)
            crash_point("append.written")
        crash_point("append.committed")
        additions.accept()
        self._file.appended(len(new))

    def _compare(self, again: Sequence[Entry]) -> None:
        """Open a gap for an event that came with other bytes than before, or whose former bytes are unknown."""
        with self._file.reading() as connection:
            differing = digests.differing(connection, again)
        for instance, entry in differing.items():
            came = f"event {entry.sequence} of metastore {instance}"
            if self._gaps.open(f"differs:{instance}:{entry.sequence}", f"{came} arrived again with different content"):
                self._differing += 1
                log.error("event_differs", instance=instance, sequence=entry.sequence)
