"""Scheduler: decides which works may begin, as others end, over all windows under way.

A work begins when nothing that it depends on (see pysync.replay.order) is under way any more. If the target refuses a
work, those that must wait behind it are refused, too. If a work is stopped, all later ones are left undone. A work that
has to be tried again keeps its place, but no lane.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Sequence

from pysync.replay.lanes import Again, Lanes, Stopped
from pysync.replay.legs import Job, Leg
from pysync.replay.order import Order

_AHEAD = 2
"""So many works per lane are in hand or next, so that a lane never waits for this thread."""
_MOST_RESTING = 32
"""While so many works wait to be tried again, no other begins: then the target is away, not these works at fault."""
_MOST_FORBIDDEN = 256
"""The same for forbidden works, which may fail alone. More are needed to tell that everything is forbidden: others must
still be tried, to see whether any succeeds.
"""


class Scheduler:
    """The works under way, for one thread. `holds` tells which would have to wait behind what is parked.

    `refuse` is called for each work that cannot be done, with its error, or with None if it has to wait. `kept` tells
    which may not begin now, for a while (see pysync.replay.holds). `left` is called for each that is done or refused.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        holds: Callable[[Job], bool],
        refuse: Callable[[Job, Exception | None], None],
        kept: Callable[[Job], bool] = lambda _: False,
        left: Callable[[Job], object] = lambda _: None,
    ) -> None:
        self._clock = clock
        self._holds = holds
        self._refuse = refuse
        self._is_kept = kept
        self._left = left
        self._kept: list[Job] = []
        self._order: Order[Job] = Order()
        self._ready: deque[Job] = deque()
        self._resting: list[tuple[float, int, Job, bool]] = []  # when it is due, a tie-breaker, whether forbidden
        self._numbers = itertools.count()
        self._in_hand = 0
        self.broken = False

    @property
    def busy(self) -> bool:
        """Whether any work is in hand, may begin, or is to be tried again."""
        return bool(self._in_hand or self._ready or self._resting)

    @property
    def resting(self) -> int:
        """How many works wait to be tried again."""
        return len(self._resting)

    def wants(self, lanes: Lanes) -> bool:
        """Whether a lane has nothing to do, or soon will have nothing."""
        return not (self.broken or self._ready) and self._in_hand < _AHEAD * lanes.count

    def add(self, leg: Leg) -> None:
        """Add the works of a leg behind all others."""
        self._release([job for job in leg.left if not self._order.add(job, job.work.keys, job.work.reads)])

    def note(self, lanes: Lanes) -> None:
        """Note the works that have ended; does not wait."""
        for job, error in lanes.ended():
            self._in_hand -= 1
            self._end(job, error)

    def begin(self, lanes: Lanes) -> None:
        """Begin the works that may begin, as far as the lanes have room."""
        now = self._clock()
        if self._kept:
            kept, self._kept = self._kept, []
            self._release(kept)
        while self._resting and self._resting[0][0] <= now:
            # Without regard to room: they were in hand before, and show first that the target is back.
            self._begin(lanes, heapq.heappop(self._resting)[2])
        while self._ready and self._in_hand < _AHEAD * lanes.count and not self._is_away():
            self._begin(lanes, self._ready.popleft())

    def seconds(self) -> float:
        """The seconds until a work is to be tried again; infinite if there is none."""
        return self._resting[0][0] - self._clock() if self._resting else float("inf")

    def stuck(self, seconds: float) -> list[Job]:
        """The works that have failed for so long, if nothing else can be done before they are tried again."""
        if self.broken or self._in_hand or self._ready or self._kept:
            return []
        jobs = [job for _, _, job, _ in self._resting]
        since = self._clock() - seconds
        return jobs if all(job.failing_since <= since for job in jobs) else []

    def give_up(self, jobs: Sequence[Job], error: Callable[[Job], Exception]) -> None:
        """Refuse works that wait to be tried again, each with its error."""
        self._resting = [it for it in self._resting if it[2] not in jobs]
        heapq.heapify(self._resting)
        for job in jobs:
            self._refuse(job, error(job))
            self._release(self._leave(job))

    def ground(self, lanes: Lanes, wait: Callable[[], object]) -> None:
        """Begin nothing more, and wait until no work is in hand; `wait` returns when one may have ended."""
        self.broken = True
        while self._in_hand:
            self.note(lanes)
            if self._in_hand:
                wait()
        self._ready.clear()
        self._kept.clear()
        self._resting.clear()

    def _is_away(self) -> bool:
        """Whether so many works wait that the target must be at fault."""
        if len(self._resting) < _MOST_RESTING:
            return False
        forbidden = sum(it[3] for it in self._resting)
        return len(self._resting) - forbidden >= _MOST_RESTING or forbidden >= _MOST_FORBIDDEN

    def _begin(self, lanes: Lanes, job: Job) -> None:
        self._in_hand += 1
        lanes.begin(job)

    def _end(self, job: Job, error: Exception | None) -> None:
        if isinstance(error, Stopped):
            # Its place in the order stays taken, so nothing that depends on it begins.
            self.broken = True
        elif isinstance(error, Again):
            if job.tries == 1:
                job.failing_since = self._clock()
            job.error = error.__cause__
            at = self._clock() + error.seconds
            heapq.heappush(self._resting, (at, next(self._numbers), job, error.forbidden))
        else:
            if error is not None:
                self._refuse(job, error)
            self._release(self._leave(job))

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
            elif self._is_kept(job):
                self._kept.append(job)
            else:
                self._ready.append(job)

    def _leave(self, job: Job) -> list[Job]:
        self._left(job)
        job.leg.end(job)
        return self._order.end(job, job.work.keys)
