"""Batches: what is under way to a target. A batch is the draft of a window, and each of its works is a job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field, replace

from pysync.replay.window.blocks import Blocks, Refusal
from pysync.replay.window.draft import Draft
from pysync.replay.window.plan import Work


@dataclass(eq=False, slots=True)
class Batch:
    """A draft on its way: done when none of its works is `left`. `refused` are its events that are to be parked,
    `finished` the positions of those that are applied, until the queue has recorded them.

    `blocks` knows what its works may have to wait behind. `attempts` is how often an unclassified error is tried.
    `alone`: nothing else may be under way. `parked`: its events were parked before. `size` is the number of bytes that
    it holds.
    """

    draft: Draft
    blocks: Blocks
    attempts: int
    alone: bool = False
    parked: bool = False
    left: dict[Job, None] = field(init=False)
    refused: list[Refusal] = field(init=False)
    finished: set[int] = field(init=False)
    size: int = field(init=False)
    _shared: Set[int] = field(init=False)  # positions of events that are part of several works
    _whole: int = field(init=False)  # how many works were left when it last freed what has ended

    def __post_init__(self) -> None:
        self.left = {Job(self, work): None for work in self.draft.works}
        self.refused = list(self.draft.refused)
        self.finished = set()
        counts = Counter(position for work in self.draft.works for position in work.positions)
        self._shared = {position for position, count in counts.items() if count > 1}
        self.size = sum(len(event.data) for event in self.draft.events)
        self._whole = len(self.left)

    @property
    def last(self) -> int:
        """The position of its last event."""
        return self.draft.events[-1].position

    def at_ms(self, position: int) -> int:
        """When its event at that position came into the queue."""
        return next(event.at_ms for event in self.draft.events if event.position == position)

    def done_upto(self) -> int:
        """The position up to which its events are done or refused; the one before its first event if none is."""
        undone = [position for job in self.left for position in job.work.positions]
        return min(undone) - 1 if undone else self.last

    def end(self, job: Job) -> None:
        """Note that a job is done or refused. The batch frees what only works that have ended need, now and then.

        A refresh is not `finished`: what it makes good, and its count, are stored when the position passes it. Until
        then it runs again after a crash, and reads the source as it is then.
        """
        del self.left[job]
        left = {position for it in self.left for position in it.work.positions} if self._shared else set[int]()
        refused = {refusal.event.position for refusal in self.refused}
        self.finished.update({*job.work.positions} - left - refused - self.draft.heals.keys())
        # A few works that fail may keep it for long, as may an earlier batch once it is done. Each time that half of
        # them are left it costs what these are, in all no more than the batch itself.
        if len(self.left) <= self._whole // 2:
            self._free()

    def _free(self) -> None:
        """Keep only what the works that are left need, and of the other events when they came."""
        self._whole = len(self.left)
        works = [job.work for job in self.left]
        needed = {position for it in works for position in it.positions}
        events = [it if it.position in needed else replace(it, data=b"") for it in self.draft.events]
        changes = {position: it for position, it in self.draft.changes.items() if position in needed}
        self.draft = replace(self.draft, events=events, works=works, changes=changes)
        self.size = sum(len(it.data) for it in events) + sum(len(it.event.data) for it in self.refused)


@dataclass(slots=True)
class Tries:
    """The failed tries of an operation: their `count`, and why the last one failed.

    `failures` are those in which the target was available. `since` is when the first one failed, by the scheduler's
    clock. `applied_before` is how many operations of all works were done before it. `last` is the count at which the
    work is parked, 0 if that is not decided.
    """

    count: int = 0
    failures: int = 0
    since: float = 0.0
    applied_before: int = 0
    error: BaseException | None = None
    last: int = 0


@dataclass(eq=False, slots=True)
class Job:
    """One work on its way: how many of its operations are `done`, and the `tries` of the next one.

    `begun` is when the work was first begun, in seconds since 1970. `hidden`: an operation has left the target without
    the change. `reason` is why the next operation is not applied as it was planned, if so.
    """

    batch: Batch
    work: Work
    done: int = 0
    tries: Tries = field(default_factory=Tries)
    begun: float = 0.0
    hidden: bool = False
    reason: str | None = None
