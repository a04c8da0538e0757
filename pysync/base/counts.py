"""Counts: how often what was done, by name; and how much is done in a second. From any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable

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
