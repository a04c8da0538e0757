"""Calls to a target: how many there were, by name and error, and how many a second there may be."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

# --- Counts: how often what was done, by name; and how much is done in a second. From any thread

_RATE_SECONDS = 60


class Counts:
    """Numbers by name, since the start. The names that are `known` are there from the start, with 0."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = dict.fromkeys(known, 0)

    def add(self, name: str) -> None:
        """Count one more."""
        with self._lock:
            self._numbers[name] = self._numbers.get(name, 0) + 1

    def status(self) -> dict[str, int]:
        """The numbers, sorted by name."""
        with self._lock:
            return dict(sorted(self._numbers.items()))


class Rate:
    """How often something happened a second, over the last minute. `clock` returns seconds that only grow."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seconds = [0] * _RATE_SECONDS
        self._last = int(clock())

    def add(self) -> None:
        """It has happened once more."""
        with self._lock:
            self._seconds[self._now() % _RATE_SECONDS] += 1

    def per_second(self) -> float:
        """The mean over the last minute."""
        with self._lock:
            self._now()
            return sum(self._seconds) / _RATE_SECONDS

    def _now(self) -> int:
        """The second that it is; forgets those of more than a minute ago."""
        now = int(self._clock())
        for second in range(max(self._last, now - _RATE_SECONDS) + 1, now + 1):
            self._seconds[second % _RATE_SECONDS] = 0
        self._last = now
        return now


# --- Throttle: keeps the calls to a target below so many a second, by the hour if wanted.
#
# A call is never held up once an operation has begun, so no lock and no half-sent request waits. It is counted, and
# the next operation begins when the calls so far are within the limit: a token bucket that may go into debt.

_LOOK_SECONDS = 1.0  # the limit may be another one by then
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
            while (seconds := self._debt()) and not stop.wait(min(seconds + _LEAST_SECONDS, _LOOK_SECONDS)):
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
