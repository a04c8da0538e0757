"""Moment: an answer that is expensive to find, given again to whoever asks within a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Moment(Generic[T]):
    """What `find` returns, found again once it is older than `seconds`. From any thread: who comes meanwhile waits.

    An error is not kept. `clock` returns seconds that only grow.
    """

    def __init__(self, find: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._find = find
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._cached: tuple[float, T] | None = None

    def __call__(self) -> T:
        """The answer, at most so old."""
        with self._lock:
            now = self._clock()
            if self._cached is None or now - self._cached[0] >= self._seconds:
                self._cached = now, self._find()
            return self._cached[1]
