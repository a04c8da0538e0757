"""Scheduler: what is under way to a target, the lanes that apply it, and which work may begin."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Protocol

from pysync.model.difference import Difference
from pysync.replay.window.draft import Blocks, Draft, Refusal
from pysync.replay.window.order import Order
from pysync.replay.window.plan import Work
from pysync.targets.base import Target, Unavailable

# Batches: what is under way to a target. A batch is the draft of a window, and each of its works is a job.


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

    def __post_init__(self) -> None:
        self.left = {Job(self, work): None for work in self.draft.works}
        self.refused = list(self.draft.refused)
        self.finished = set()
        counts = Counter(position for work in self.draft.works for position in work.positions)
        self._shared = {position for position, count in counts.items() if count > 1}
        self.size = sum(len(event.data) for event in self.draft.events)

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
        """Note that a job is done or refused. After the last one the batch frees its events and works.

        A refresh is not `finished`: what it makes good, and its count, are stored when the position passes it. Until
        then it runs again after a crash, and reads the source as it is then.
        """
        del self.left[job]
        left = {position for it in self.left for position in it.work.positions} if self._shared else set[int]()
        refused = {refusal.event.position for refusal in self.refused}
        self.finished.update({*job.work.positions} - left - refused - self.draft.heals.keys())
        if not self.left:
            # A finished batch may wait long for an earlier one. Only the last event is still needed, for the position.
            self.draft = replace(self.draft, events=self.draft.events[-1:], works=(), changes={})
            self.size = sum(len(refusal.event.data) for refusal in self.refused)


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


# Lanes: threads that apply works, each with a target of its own. The scheduler decides which work may begin.


class Stopped(Exception):
    """A work was not finished because the drain stops; the work is not at fault."""


class Again(Exception):
    """A work is to be tried again after `seconds`; no lane waits for it.

    `forbidden`: the target may deny access to this work only.
    """

    def __init__(self, seconds: float, *, forbidden: bool = False) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        self.forbidden = forbidden


class Lane:
    """What one thread applies works with: its own target, opened when it is first needed."""

    def __init__(self, open_target: Callable[[], Target]) -> None:
        self._open_target = open_target
        self._target: Target | None = None
        self._take: Callable[[], Sequence[Difference]] = tuple

    @property
    def target(self) -> Target:
        """The lane's target. Raises Unavailable if it cannot be opened: no operation is at fault for that."""
        if self._target is None:
            try:
                self._target = self._open_target()
                # A kind need not report them (see ReportsChanges).
                self._take = getattr(self._target, "take_differences", tuple)
            except Unavailable:
                raise
            except Exception as error:
                raise Unavailable(f"cannot open the target: {type(error).__name__}: {error}") from error
        return self._target

    def changes(self) -> Sequence[Difference]:
        """What operations have changed at the target since the last call, as far as its kind shows."""
        return self._take()

    def close(self) -> None:
        """Close the target, if it was ever opened."""
        if self._target is not None:
            with suppress(Exception):
                self._target.close()


Apply = Callable[[Lane, Job], None]
"""Applies one work with a lane, and raises if it cannot; it is called in several threads at once."""

Ended = tuple[Job, Exception | None]


class Lanes(Protocol):
    """Where works are applied; a context manager."""

    count: int

    def begin(self, job: Job) -> None:
        """Have a work applied when a lane is free."""

    def ended(self) -> list[Ended]:
        """The works that have ended since the last call, with what they raised; does not wait."""

    def __enter__(self) -> Lanes: ...

    def __exit__(self, *_: object) -> None: ...


OpenLanes = Callable[[int, Callable[[], Target], Apply, Callable[[], object]], Lanes]
"""Lanes, given their number, how to open a target, how to apply a work, and what to call whenever one has ended."""


class Threads:
    """Lanes that are threads. They are daemons: a target that hangs for ever must not keep the process alive."""

    def __init__(
        self, count: int, open_target: Callable[[], Target], apply: Apply, wake: Callable[[], object] = lambda: None
    ) -> None:
        self.count = count
        self._apply = apply
        self._wake = wake
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._ended: SimpleQueue[Ended] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._run, args=(Lane(open_target),), name=f"lane-{number}", daemon=True)
            for number in range(count)
        ]

    def __enter__(self) -> Threads:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Not joined, for the same reason: a lane may hang in its target.
        for _thread in self._threads:
            self._jobs.put(None)

    def begin(self, job: Job) -> None:
        """Have a work applied when a lane is free."""
        self._jobs.put(job)

    def ended(self) -> list[Ended]:
        """The works that have ended since the last call, with what they raised; does not wait."""
        ended: list[Ended] = []
        with suppress(Empty):
            while True:
                ended.append(self._ended.get_nowait())
        return ended

    def _run(self, lane: Lane) -> None:
        while (job := self._jobs.get()) is not None:
            error: Exception | None = None
            try:
                self._apply(lane, job)
            except Exception as caught:  # noqa: BLE001 - whoever asked decides what it means
                error = caught
            self._ended.put((job, error))
            self._wake()
        lane.close()


# Scheduler: decides which works may begin, as others end, over all windows under way.
#
# A work begins when nothing that it depends on (see pysync.replay.window.order) is under way any more. If the target
# refuses a work, those that must wait behind it are refused, too. If a work is stopped, all later ones are left
# undone. A work that has to be tried again keeps its place, but no lane.


_AHEAD = 2
"""So many works per lane are in flight or next, so that a lane never waits for this thread."""
_MOST_RESTING = 32
"""While so many works wait to be tried again, no other begins: then the target is away, not these works at fault."""
_MOST_FORBIDDEN = 256
"""The same for forbidden works, which may fail alone. More are needed to conclude that everything is forbidden: others
must still be tried, to see whether any succeeds.
"""


class Scheduler:
    """The works under way, for one thread. `holds` says which would have to wait behind what is parked.

    `refuse` is called for each work that cannot be done, with its error, or with None if it has to wait.
    `waits_for_hold` says which may not begin now, for a while (see `Holds`). `left` is called for each that is done or
    refused.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        holds: Callable[[Job], bool],
        refuse: Callable[[Job, Exception | None], None],
        waits_for_hold: Callable[[Job], bool] = lambda _: False,
        left: Callable[[Job], object] = lambda _: None,
    ) -> None:
        self._clock = clock
        self._holds = holds
        self._refuse = refuse
        self._waits_for_hold = waits_for_hold
        self._left = left
        self._waiting: list[Job] = []
        self._freed: list[Job] = []
        self._order: Order[Job] = Order()
        self._ready: deque[Job] = deque()
        self._resting: list[tuple[float, int, Job, bool]] = []  # when it is due, a tie-breaker, whether forbidden
        self._numbers = itertools.count()
        self._in_flight = 0
        self._retried: set[Job] = set()  # those in flight that were tried before
        self._retried_last = False
        self._is_full = False  # whether the lanes had no room when works were begun last
        self.broken = False

    @property
    def busy(self) -> bool:
        """Whether any work is in flight, may begin, or is to be tried again."""
        return bool(self._in_flight or self._ready or self._resting)

    @property
    def resting(self) -> int:
        """How many works wait to be tried again."""
        return len(self._resting)

    def wants(self, lanes: Lanes) -> bool:
        """Whether a lane has nothing new to do, or soon will have nothing.

        Works that are tried again do not count: while they fail slowly, new events must not wait for them.
        """
        return not (self.broken or self._ready) and self._in_flight - len(self._retried) < _AHEAD * lanes.count

    @property
    def frees(self) -> bool:
        """Whether works that have ended were waited for: `release` makes those ready that waited."""
        return bool(self._freed)

    def add(self, batch: Batch) -> None:
        """Add the works of a batch behind all others; those that wait for none of these are ready."""
        self._release([job for job in batch.left if not self._order.add(job, job.work.keys, job.work.reads)])

    def note(self, lanes: Lanes) -> None:
        """Note the works that have ended; does not wait. What waited for them goes on waiting until `release`."""
        for job, error in lanes.ended():
            self._in_flight -= 1
            self._retried.discard(job)
            self._end(job, error)

    def release(self) -> None:
        """Make ready what waits for no work under way, and for no hold; call it when the ends of works are recorded."""
        freed, self._freed, self._waiting = [*self._waiting, *self._freed], [], []
        self._release(freed)

    def begin(self, lanes: Lanes) -> None:
        """Begin the works that are ready, as far as the lanes have room."""
        now = self._clock()
        most = _AHEAD * lanes.count
        while self._in_flight < most and (job := self._next(now)) is not None:
            self._begin(lanes, job)
        self._is_full = self._in_flight >= most

    def _next(self, now: float) -> Job | None:
        """The work to begin: one that is to be tried again and a new one in turn, so that neither keeps the other back.

        While the target is away only the former begin: they show first that it is back.
        """
        due = bool(self._resting) and self._resting[0][0] <= now
        new = bool(self._ready) and not self._is_away()
        if due and not (new and self._retried_last):
            self._retried_last = True
            job = heapq.heappop(self._resting)[2]
            self._retried.add(job)
            return job
        self._retried_last = False
        return self._ready.popleft() if new else None

    def seconds(self) -> float:
        """The seconds until a work is to be tried again; infinite if there is none, or if one must end first."""
        return self._resting[0][0] - self._clock() if self._resting and not self._is_full else float("inf")

    def stuck(self, seconds: float) -> list[Job]:
        """The works that have failed for so long, if nothing else can be done before they are tried again."""
        if self.broken or self._in_flight or self._ready or self._waiting or self._freed:
            return []
        jobs = [job for _, _, job, _ in self._resting]
        since = self._clock() - seconds
        return jobs if all(job.tries.since <= since for job in jobs) else []

    def try_now(self, jobs: Sequence[Job]) -> None:
        """Begin works that wait to be tried again as soon as a lane has room."""
        self._resting = [(self._clock() if it[2] in jobs else it[0], *it[1:]) for it in self._resting]
        heapq.heapify(self._resting)

    def give_up(self, jobs: Sequence[Job], error: Callable[[Job], Exception]) -> None:
        """Refuse works that wait to be tried again, each with its error."""
        self._resting = [it for it in self._resting if it[2] not in jobs]
        heapq.heapify(self._resting)
        for job in jobs:
            self._refuse(job, error(job))
            self._release(self._leave(job))

    def stop(self, lanes: Lanes, wait: Callable[[], object]) -> None:
        """Begin nothing more, and wait until no work is in flight; `wait` returns when one may have ended."""
        self.broken = True
        while self._in_flight:
            self.note(lanes)
            if self._in_flight:
                wait()
        self._ready.clear()
        self._waiting.clear()
        self._freed.clear()
        self._resting.clear()

    def _is_away(self) -> bool:
        """Whether so many works wait that the target must be at fault."""
        if len(self._resting) < _MOST_RESTING:
            return False
        forbidden = sum(it[3] for it in self._resting)
        return len(self._resting) - forbidden >= _MOST_RESTING or forbidden >= _MOST_FORBIDDEN

    def _begin(self, lanes: Lanes, job: Job) -> None:
        self._in_flight += 1
        lanes.begin(job)

    def _end(self, job: Job, error: Exception | None) -> None:
        if isinstance(error, Stopped):
            # Its place in the order stays taken, so nothing that depends on it begins.
            self.broken = True
        elif isinstance(error, Again):
            if job.tries.count == 1:
                job.tries.since = self._clock()
            job.tries.error = error.__cause__
            at = self._clock() + error.seconds
            heapq.heappush(self._resting, (at, next(self._numbers), job, error.forbidden))
        else:
            if error is not None:
                self._refuse(job, error)
            self._freed += self._leave(job)

    def _release(self, freed: list[Job]) -> None:
        """Make works ready that wait for no other; refuse those that must wait behind what is parked.

        The parked event may be far before them: works in between need not have failed.
        """
        waiting = deque(freed)
        while waiting:
            job = waiting.popleft()
            if self._holds(job):
                self._refuse(job, None)
                waiting.extend(self._leave(job))
            elif self._waits_for_hold(job):
                self._waiting.append(job)
            else:
                self._ready.append(job)

    def _leave(self, job: Job) -> list[Job]:
        self._left(job)
        job.batch.end(job)
        return self._order.end(job, job.work.keys)
