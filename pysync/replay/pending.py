"""Pending: what a target has taken from the queue and not finished, and the position that moves past what is done.

It alone writes what is parked and finished in the queue's file. The drain's thread changes it. Other threads ask up to
which event objects are at the target.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from pysync.queue import Parked
from pysync.queue.target_queue import TargetQueue
from pysync.replay.batch import Batch, Job
from pysync.replay.parking import parks_of
from pysync.replay.retries import MakeDraft, Retry
from pysync.replay.window.blocks import Blocks, Refusal, is_covered
from pysync.replay.window.concerns import Concerns

_MOST_BYTES = 32 * 1024 * 1024
"""While the windows under way hold more data than this, no other is taken."""


class Pending:
    """The windows under way for one target, in order, what is refused in them, its position in the queue, and the
    parked events that are tried again.

    A refusal is stored, as a parked event, only when the position moves past it, in the same transaction. Until then
    it is known only here. `heals` is whether refreshes can read the source, and so make good what is parked.
    """

    def __init__(self, queue: TargetQueue, *, heals: bool = False) -> None:
        self._queue = queue
        self.heals = heals
        self.blocks = self._no_blocks()
        self._windows: deque[Batch] = deque()  # those that the position has not passed
        self._done: int | None = None  # the target's position; None: ask the queue
        self._taken = 0  # the last position that is in `_windows`, or that was
        self._lock = threading.Lock()
        self.retry: Retry | None = None
        """The parked events that are tried again, while they are."""
        self.finished: Set[int] = frozenset()
        """The positions behind the target's that an earlier run had finished."""

    def __bool__(self) -> bool:
        """Whether any window, or parked event, is under way."""
        return bool(self._windows or self.retry)

    @property
    def done(self) -> int:
        """The target's position."""
        if self._done is None:
            position = self._queue.position()
            self.finished = self._queue.finished()
            with self._lock:
                self._done = self._taken = position
        return self._done

    @property
    def taken(self) -> int:
        """The position of the last event that was taken; later ones wait in the queue."""
        return max(self.done, self._taken)

    @property
    def is_alone(self) -> bool:
        """Whether there is a window beside which nothing else may be under way."""
        return any(batch.alone for batch in self._windows)

    @property
    def has_room(self) -> bool:
        """Whether another window may come beside what is under way, and its data be held in memory."""
        retry_alone = self.retry is not None and self.retry.is_alone
        return not self.is_alone and not retry_alone and sum(batch.size for batch in self._windows) < _MOST_BYTES

    @property
    def has_refused(self) -> bool:
        """Whether events are refused that are not stored as parked."""
        return any(batch.refused for batch in self._windows)

    @property
    def first(self) -> Batch | None:
        """The window in which the position is."""
        return self._windows[0] if self._windows else None

    def blocks_now(self) -> Blocks:
        """What waits behind events that are parked, or refused under way; a draft of the next window needs it."""
        return self.blocks.recall(self._queue.parked.blocked())

    def blocks_stored(self, *, trying: Set[str] | None = frozenset()) -> Blocks:
        """What waits behind parked events alone, but for the keys that a retry is `trying` (None: all).

        For whoever calls it alone, in any thread.
        """
        return self._no_blocks().recall(self._queue.parked.blocked() - trying if trying is not None else set())

    def take(self, batch: Batch) -> None:
        """A window is under way: events that it refused block, and its refreshes make good what they cover."""
        self.blocks.take(batch.draft.refused, batch.draft.heals)
        with self._lock:
            self._windows.append(batch)
            self._taken = batch.last

    def heals_parked(self) -> bool:
        """Whether a refresh under way will make good anything that is parked."""
        return bool(self._covered(self.taken))

    def refuse(self, job: Job, refusal: Refusal) -> None:
        """An event of a job is to be parked; call it before the `end` of the job."""
        with self._lock:
            job.batch.refused.append(refusal)

    def end(self, job: Job) -> None:
        """A job is done, or its events are refused."""
        with self._lock:
            job.batch.end(job)

    def ended(self) -> Sequence[Batch]:
        """The first windows, as far as all their works are done or refused."""
        return list(_ended(self._windows))

    def record(self) -> None:
        """Store the works that have ended behind the position."""
        finished = self._take_finished(self.done)
        if finished:
            self._queue.advance(self.done, finished=finished)

    def advance(self, done: int) -> Sequence[Refusal]:
        """Store that all up to `done` is applied, or parked; and the works that have ended behind it.

        What refreshes up to there have made good is parked no longer, nor parked anew. Returns what is parked now.
        """
        healed = {upto: covers for upto, covers in self.blocks.healing.items() if upto <= done}
        refused = [
            it
            for batch in self._windows
            for it in batch.refused
            if it.event.position <= done and not is_covered(it.event.position, it.keys, healed)
        ]
        parks = parks_of(self._queue.name, refused)
        self._queue.advance(done, parks, self._take_finished(done), self._covered(done))
        self.blocks.settle(done)
        with self._lock:
            self._done = done
            while self._windows and self._windows[0].last <= done:
                self._windows.popleft()
        return refused

    def begin_retry(
        self,
        trying: Set[str] | None,
        draft: MakeDraft,
        attempts: int,
        note_refused: Callable[[Sequence[Refusal]], object],
    ) -> Retry:
        """Parked events of the keys `trying` (None: all) are tried again, beside the windows under way.

        `attempts` is how often an unclassified error is tried; `note_refused` gets what is refused again.
        """

        def store(rows: Sequence[Parked], refused: Sequence[Refusal]) -> None:
            self._store_retried(rows, refused)
            note_refused(refused)

        self.retry = Retry(self._queue.parked, self.blocks_stored(trying=trying), draft, attempts, store)
        return self.retry

    def _store_retried(self, rows: Sequence[Parked], refused: Sequence[Refusal]) -> None:
        """Remove the rows of events that were not refused again, and update the reasons of the others.

        Of a comparison that the brake holds in part, the objects may be others than before.
        """
        again = {refusal.event.position: refusal for refusal in refused}
        held = [it for it in again.values() if it.kind == "held"]
        gone = [row for row in rows if not _is_refused(row, again)]
        self._queue.parked.replace(gone, parks_of(self._queue.name, held))
        now = int(time.time() * 1000)
        self._queue.parked.update(
            [
                replace(row, reason=why.reason, kind=why.kind, attempts=row.attempts + 1, last_at_ms=now)
                for row in rows
                if _is_refused(row, again) and (why := again[row.position]).kind != "waits"
            ]
        )

    def skip(self, positions: Collection[int]) -> None:
        """The parked events at these positions are given up for good."""
        self._queue.parked.remove_at(positions)

    def forget(self) -> int:
        """Forget what is not stored: everything after the position, which is returned, is replayed again."""
        self.blocks = self._no_blocks()
        with self._lock:
            self._windows.clear()
            self.retry = None
            self._taken, self._done = self._done or 0, None
            return self._taken

    def upto(self, concerned: Concerns) -> int:
        """The position up to which all events that are concerned are applied or parked; from any thread.

        A refused event counts as under way until it is stored as parked, so that nobody takes it for applied.
        """
        with self._lock:
            positions = [at for at, keys in self._left() if concerned(keys)]
            return min(positions) - 1 if positions else self._taken

    def _left(self) -> Iterator[tuple[int, Set[str]]]:
        for batch in self._windows:
            yield from ((min(job.work.positions), job.work.keys) for job in batch.left)
            refused = ((it.event.position, it.keys) for it in batch.refused)
            yield from ((at, keys) for at, keys in refused if at > (self._done or 0))

    def _no_blocks(self) -> Blocks:
        return Blocks(self._queue.parked.names, self.heals)

    def _covered(self, upto: int) -> list[int]:
        """The positions of parked events that refreshes up to there make good."""
        healing = {at: covers for at, covers in self.blocks.healing.items() if at <= upto}
        names = self._queue.parked.names() if healing else {}
        return [at for at, keys in names.items() if is_covered(at, keys, healing)]

    def _take_finished(self, done: int) -> set[int]:
        finished = set[int]()
        for batch in self._windows:
            if batch.last > done:
                finished |= batch.finished
                batch.finished = set()
        return finished


def _is_refused(row: Parked, again: Mapping[int, Refusal]) -> bool:
    """Whether the event was refused again because of this row's object."""
    refusal = again.get(row.position)
    return refusal is not None and (refusal.kind != "held" or row.table in refusal.keys)


def _ended(windows: deque[Batch]) -> Iterator[Batch]:
    for batch in windows:
        if batch.left:
            return
        yield batch
