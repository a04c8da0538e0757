"""Retries: the parked events of a target that are tried again, and when: at the start, then ever more seldom."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from pysync.queue import Queued
from pysync.replay.draft import Draft
from pysync.replay.legs import Leg
from pysync.replay.parking import Parking, Refusal
from pysync.targets.settings import TargetSettings

_FIRST_SECONDS = 2.0


class Retries:
    """The next time, by a clock in seconds; with `parked_retry_seconds = 0` there is none after the first."""

    def __init__(self, settings: TargetSettings, clock: Callable[[], float]) -> None:
        self._longest = settings.parked_retry_seconds
        self._clock = clock
        self._at = -math.inf
        self._wait = 0.0
        self.begun = False

    @property
    def first(self) -> bool:
        """Whether none has come to its end since the start."""
        return not self._wait

    @property
    def due(self) -> bool:
        """Whether it is time."""
        return self._clock() >= self._at

    def ended(self) -> None:
        """One has come to its end: the next one is later."""
        self.begun = False
        self._wait = min(2 * self._wait or _FIRST_SECONDS, self._longest or math.inf)
        self._at = self._clock() + (self._wait if self._longest else math.inf)

    def interrupted(self) -> None:
        """Whatever was begun begins anew."""
        self.begun = False

    def soon(self) -> None:
        """Something was parked: what it lacks, a database that is told of later, may be on its way."""
        if self._longest:
            self._wait = min(_FIRST_SECONDS, self._longest)
            self._at = min(self._at, self._clock() + self._wait)


def legs_of(
    parking: Parking,
    attempts: int,
    draft: Callable[[Sequence[Queued], Parking], Draft],
    tell: Callable[[Sequence[Refusal]], object],
) -> Iterator[Leg]:
    """The parked events, some hundred at a time; each leg is to be done when the next is asked for.

    What is done then is forgotten; `tell` is given what was refused again.
    """
    for batch in parking.windows():
        rows = batch
        while rows:
            events = {row.position: Queued(row.position, row.data, row.first_at_ms) for row in rows}
            leg = Leg(draft(list(events.values()), parking), parking, attempts, parked=True)
            last = leg.last  # a draft may end before the last event
            yield leg
            parking.retried([row for row in rows if row.position <= last], leg.refused)
            tell(leg.refused)
            rows = [row for row in rows if row.position > last]
