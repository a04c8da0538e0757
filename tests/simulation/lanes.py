"""Lanes without threads: works are applied one after the other, in an order that the seed decides."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from pysync.replay.lanes import Apply, Failed, Lane, Lanes, _Schedule
from pysync.replay.plan import Work
from pysync.targets.base import Target


class OneByOne(Lanes):
    """Of the works that may begin, any is the next."""

    def __init__(self, open_target: Callable[[], Target], apply: Apply, dice: random.Random) -> None:
        super().__init__(0, open_target, apply)
        self._lane = Lane(open_target)
        self._dice = dice

    def run(self, works: Sequence[Work]) -> list[Failed]:
        """Apply all works (see Lanes.run)."""
        schedule = _Schedule(works)
        ready = schedule.ready()
        while ready:
            index = ready.pop(self._dice.randrange(len(ready)))
            error: Exception | None = None
            try:
                self._apply(self._lane, works[index])
            except Exception as caught:
                error = caught
            ready += schedule.end(index, error)
        return [Failed(works[index], schedule.failed[index]) for index in sorted(schedule.failed)]
