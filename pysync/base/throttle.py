"""Throttle: keeps the calls to a target below so many a second, by the hour if wanted.

A call is never held up once an operation has begun, so no lock and no half-sent request waits. It is counted, and the
next operation begins when the calls so far are within the limit: a token bucket that may go into debt.

It spares a target of any kind while the sidecar applies changes. `max_rate` (`targets/aws/clients`) is another limit:
of each request to AWS in every process, a command's, too, because the quota of an account counts those as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

_EVERY_SECONDS = 1.0  # the limit may be another one by then
_LEAST_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Limit:
    """Calls a second: `always`, or what `at` says for a time of day; 0 is no limit.

    `at` has minutes since midnight, from one to before the other, by this machine's zone; a span may pass midnight.
    """

    always: float = 0.0
    at: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def now(self, moment: datetime) -> float:
        """The limit at that moment."""
        minute = moment.hour * 60 + moment.minute
        return next((calls for span, calls in self.at.items() if _is_in(minute, *span)), self.always)


class Throttle:
    """Used by all lanes of one target. `clock` returns seconds that only grow, `wall` the time of day."""

    def __init__(
        self,
        limit: Limit | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._limit = limit or Limit()
        self._clock, self._wall = clock, wall
        self._lock = threading.Lock()
        self._last = clock()
        self._tokens = 1.0
        self._waiting = 0
        self._seconds = 0.0

    def spend(self, _: str = "") -> None:
        """A call is made. Never waits."""
        with self._lock:
            self._fill()
            self._tokens -= 1

    def wait(self, stop: threading.Event) -> bool:
        """Wait until an operation may begin; False as soon as `stop` is set."""
        if not self._debt():
            return not stop.is_set()
        began = self._clock()
        with self._lock:
            self._waiting += 1
        try:
            while (seconds := self._debt()) and not stop.wait(min(seconds + _LEAST_SECONDS, _EVERY_SECONDS)):
                pass
        finally:
            with self._lock:
                self._waiting -= 1
                self._seconds += self._clock() - began
        return not stop.is_set()

    def status(self) -> dict[str, Any]:
        """As in `pysync status --json`: the limit (null: none), how many lanes wait for it, and for how long by now."""
        limit = self._limit.now(self._wall())
        with self._lock:
            return {"limit": limit or None, "waiting": self._waiting, "seconds": round(self._seconds, 3)}

    def _debt(self) -> float:
        """Seconds until the calls so far are within the limit."""
        with self._lock:
            rate = self._fill()
            return max(0.0, -self._tokens / rate) if rate else 0.0

    def _fill(self) -> float:
        """Add what the time since the last look allows, a second's worth at most; returns the limit."""
        rate, now = self._limit.now(self._wall()), self._clock()
        # Without a limit nothing is owed, also later, when there is one.
        self._tokens = min(max(1.0, rate), self._tokens + (now - self._last) * rate) if rate else 1.0
        self._last = now
        return rate


def _is_in(minute: int, first: int, last: int) -> bool:
    return first <= minute < last if first < last else minute >= first or minute < last
