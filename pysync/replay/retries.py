"""Retries: which parked events of a target are tried again, and when: at the start, then at growing intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from pysync.queue import Queued
from pysync.replay.blocks import Blocks, Refusal
from pysync.replay.draft import Draft
from pysync.replay.legs import Leg
from pysync.replay.parking import Parking
from pysync.targets.settings import TargetSettings

_FIRST_SECONDS = 2.0


class Retries:
    """The time of the next retry, in seconds of a clock. With `parked_retry_seconds = 0` only the first takes place."""

    def __init__(self, settings: TargetSettings, clock: Callable[[], float]) -> None:
        self._longest = settings.parked_retry_seconds
        self._clock = clock
        self._at = -math.inf
        self._wait = 0.0
        self.begun = False

    @property
    def first(self) -> bool:
        """Whether no retry has ended since the start."""
        return not self._wait

    @property
    def due(self) -> bool:
        """Whether the next retry is due."""
        return self._clock() >= self._at

    def ended(self) -> None:
        """A retry has ended: the next interval is longer."""
        self.begun = False
        self._wait = min(2 * self._wait or _FIRST_SECONDS, self._longest or math.inf)
        self._at = self._clock() + (self._wait if self._longest else math.inf)

    def interrupted(self) -> None:
        """A retry that was under way begins anew."""
        self.begun = False

    def soon(self) -> None:
        """Something was parked. What it lacks may be on its way, such as a database whose event comes later."""
        if self._longest:
            self._wait = min(_FIRST_SECONDS, self._longest)
            self._at = min(self._at, self._clock() + self._wait)


def legs_of(
    parking: Parking,
    attempts: int,
    draft: Callable[[Sequence[Queued], Blocks], Draft],
    tell: Callable[[Sequence[Refusal]], object],
) -> Iterator[Leg]:
    """The parked events, some hundred at a time; each leg must be done before the next is taken.

    Then the events that are done are removed; `tell` gets those that were refused again.
    """
    for batch in parking.windows():
        rows = batch
        while rows:
            events = {row.position: Queued(row.position, row.data, row.first_at_ms) for row in rows}
            found = draft(list(events.values()), parking.blocks)
            parking.take(found)
            leg = Leg(found, parking.blocks, attempts, parked=True)
            last = leg.last  # a draft may end before the last of its events
            yield leg
            parking.retried([row for row in rows if row.position <= last], leg.refused)
            tell(leg.refused)
            rows = [row for row in rows if row.position > last]
