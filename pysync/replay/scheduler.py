"""Scheduler: which works may begin, as others end, over all the windows that are under way.

A work begins once nothing that it depends on (see pysync.replay.order) is under way any more. One that the target
refuses takes with it those that must wait behind it; one that is stopped leaves undone whatever comes after it. One
that has to be tried again later keeps its place, and no lane.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable

from pysync.replay.lanes import Again, Lanes, Stopped
from pysync.replay.legs import Job, Leg
from pysync.replay.order import Order

_AHEAD = 2
"""So many works for each lane are in its hands, or next: it need not wait until somebody hands it one."""
_MOST_RESTING = 32
"""While so many works wait to be tried again, no other begins: it is not they, it is the target that is away."""
_MOST_FORBIDDEN = 256
"""While so many wait that are forbidden: where one may do nothing, others need not be tried; where most, they must."""


class Scheduler:
    """The works under way, for one thread. `refuse` is called for each that cannot be done, with what it raised, or
    None where it would have to wait behind what is parked; `holds` tells which would.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        holds: Callable[[Job], bool],
        refuse: Callable[[Job, Exception | None], None],
    ) -> None:
        self._clock = clock
        self._holds = holds
        self._refuse = refuse
        self._order: Order[Job] = Order()
        self._ready: deque[Job] = deque()
        self._resting: list[tuple[float, int, Job, bool]] = []  # by when they are tried again; whether forbidden
        self._numbers = itertools.count()
        self._in_hand = 0
        self.broken = False

    @property
    def busy(self) -> bool:
        """Whether any work is in a lane's hands, may begin, or is to be tried again."""
        return bool(self._in_hand or self._ready or self._resting)

    @property
    def resting(self) -> int:
        """How many works wait to be tried again."""
        return len(self._resting)

    def wants(self, lanes: Lanes) -> bool:
        """Whether a lane has nothing to do, or soon will have."""
        return not (self.broken or self._ready) and self._in_hand < _AHEAD * lanes.count

    def add(self, leg: Leg) -> None:
        """Take the works of a leg along, behind all others."""
        self._release([job for job in leg.left if not self._order.add(job, job.work.keys)])

    def note(self, lanes: Lanes) -> None:
        """Take note of the works that have ended; waits for nothing."""
        for job, error in lanes.ended():
            self._in_hand -= 1
            self._end(job, error)

    def begin(self, lanes: Lanes) -> None:
        """Begin the works that may, as far as there is room in the lanes."""
        now = self._clock()
        while self._resting and self._resting[0][0] <= now:
            self._begin(lanes, heapq.heappop(self._resting)[2])
        while self._ready and self._in_hand < _AHEAD * lanes.count and not self._is_away():
            self._begin(lanes, self._ready.popleft())

    def seconds(self) -> float:
        """How long there is nothing to do unless a work ends; infinite if none is to be tried again."""
        return self._resting[0][0] - self._clock() if self._resting else float("inf")

    def ground(self, lanes: Lanes, wait: Callable[[], object]) -> None:
        """Begin nothing more, and wait until no work is in a lane's hands; `wait` returns when one may have ended."""
        self.broken = True
        while self._in_hand:
            self.note(lanes)
            if self._in_hand:
                wait()
        self._ready.clear()
        self._resting.clear()

    def _is_away(self) -> bool:
        """Whether so many wait that it is the target's fault."""
        if len(self._resting) < _MOST_RESTING:
            return False
        forbidden = sum(it[3] for it in self._resting)
        return len(self._resting) - forbidden >= _MOST_RESTING or forbidden >= _MOST_FORBIDDEN

    def _begin(self, lanes: Lanes, job: Job) -> None:
        self._in_hand += 1
        lanes.begin(job)

    def _end(self, job: Job, error: Exception | None) -> None:
        if isinstance(error, Stopped):
            self.broken = True
        elif isinstance(error, Again):
            at = self._clock() + error.seconds
            heapq.heappush(self._resting, (at, next(self._numbers), job, error.forbidden))
        else:
            if error is not None:
                self._refuse(job, error)
            self._release(self._leave(job))

    def _release(self, freed: list[Job]) -> None:
        """Nothing has to come before these now; those that would have to wait behind what is parked are refused.

        That may be one far before them: those between need not have failed.
        """
        waiting = deque(freed)
        while waiting:
            job = waiting.popleft()
            if self._holds(job):
                self._refuse(job, None)
                waiting.extend(self._leave(job))
            else:
                self._ready.append(job)

    def _leave(self, job: Job) -> list[Job]:
        job.leg.end(job)
        return self._order.end(job, job.work.keys)
