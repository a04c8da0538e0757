"""Clocks: how far the clock of each listener's host is from ours, by what its reports say.

A report says when it was sent, by the listener's clock. What is missing to the time at which it came is the offset of
the clocks and the time on the way. The time on the way is never negative, so of the last reports the one that was
fastest is the nearest to the truth: the offset is wrong by no more than that one took, mostly under a millisecond.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_REPORTS = 30  # a minute of them: a clock that is set is followed within that
MOST_LISTENERS = 1000
"""Whose reports are kept: whoever has the token can make names up."""


class Clocks:
    """The offsets by the listeners' instances, from any thread. `clock` returns seconds since 1970."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()
        self._offsets: dict[str, float] = {}

    def add_report(self, instance: str, sent_ms: int) -> None:
        """A report has come that was sent at `sent_ms`, in milliseconds since 1970 by the listener's clock."""
        offset = sent_ms / 1000 - self._clock()
        with self._lock:
            seen = self._seen.setdefault(instance, deque(maxlen=_REPORTS))
            seen.append(offset)
            self._seen.move_to_end(instance)
            self._offsets[instance] = max(seen)
            if len(self._seen) > MOST_LISTENERS:
                del self._offsets[self._seen.popitem(last=False)[0]]

    def offset(self, instance: str) -> float | None:
        """How many seconds the listener's clock is ahead of ours; None if it has not reported it."""
        return self._offsets.get(instance)  # without the lock: it is asked for every event
