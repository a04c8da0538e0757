"""Lanes without threads: works are applied one after the other, in an order that the seed decides."""

from __future__ import annotations

import random
from collections.abc import Callable

from pysync.replay.batch import Job
from pysync.replay.lanes import Again, Apply, Ended, Lane
from pysync.targets.base import Target
from tests.simulation.links import Link

_AGAIN_SECONDS = 1.0


class OneByOne:
    """Of the works that were begun, any is the next, when one asks what has ended; `link` tells which hang."""

    def __init__(
        self,
        count: int,
        open_target: Callable[[], Target],
        apply: Apply,
        _wake: Callable[[], object],
        *,
        dice: random.Random,
        link: Link,
    ) -> None:
        self.count = count
        self._apply = apply
        self._lane = Lane(open_target)
        self._dice = dice
        self._link = link
        self._begun: list[Job] = []

    @property
    def busy(self) -> bool:
        """Whether a work was begun that has not ended."""
        return bool(self._begun)

    @property
    def begun(self) -> int:
        """How many works are in flight."""
        return len(self._begun)

    def __enter__(self) -> OneByOne:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, job: Job) -> None:
        self._begun.append(job)

    def ended(self) -> list[Ended]:
        able = [job for job in self._begun if self._link.failing or not self._hangs(job)]
        if not able:
            return []
        job = able[self._dice.randrange(len(able))]
        self._begun.remove(job)
        if self._hangs(job):
            job.tries.count += 1
            return [(job, Again(_AGAIN_SECONDS))]
        try:
            self._apply(self._lane, job)
        except Exception as caught:
            return [(job, caught)]
        return [(job, None)]

    def _hangs(self, job: Job) -> bool:
        return not self._link.hanging.isdisjoint(job.work.keys)
