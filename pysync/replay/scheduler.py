"""Scheduler: decides which works may begin, as others end, over all windows under way.

A work begins when nothing that it depends on (see pysync.replay.window.order) is under way any more. If the target
refuses a work, those that must wait behind it are refused, too. If a work is stopped, all later ones are left undone. A
work that has to be tried again keeps its place, but no lane.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Sequence

from pysync.replay.batch import Batch, Job
from pysync.replay.lanes import Again, Lanes, Stopped
from pysync.replay.window.order import Order

_AHEAD = 2
"""So many works per lane are in flight or next, so that a lane never waits for this thread."""
_MOST_RESTING = 32
"""While so many works wait to be tried again, no other begins: then the target is away, not these works at fault."""
_MOST_FORBIDDEN = 256
"""The same for forbidden works, which may fail alone. More are needed to conclude that everything is forbidden: others
must still be tried, to see whether any succeeds.
"""


class Scheduler:
    """The works under way, for one thread. `is_blocked` says which would have to wait behind what is parked.

    `refuse` is called for each work that cannot be done, with its error, or with None if it has to wait.
    `is_pinned` says which may not begin now, for a while (see `Pins`). `end` notes each that is done or
    refused in its batch.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        is_blocked: Callable[[Job], bool],
        refuse: Callable[[Job, Exception | None], None],
        is_pinned: Callable[[Job], bool] = lambda _: False,
        end: Callable[[Job], object] = lambda job: job.batch.end(job),
    ) -> None:
        self._clock = clock
        self._is_blocked = is_blocked
        self._refuse = refuse
        self._is_pinned = is_pinned
        self._end_job = end
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
        """Make ready what waits for no work under way, and for no pin; call it when the ends of works are recorded."""
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
            if self._is_blocked(job):
                self._refuse(job, None)
                waiting.extend(self._leave(job))
            elif self._is_pinned(job):
                self._waiting.append(job)
            else:
                self._ready.append(job)

    def _leave(self, job: Job) -> list[Job]:
        self._end_job(job)
        return self._order.end(job, job.work.keys)
