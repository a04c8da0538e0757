"""The clock of a simulated world, and how pysync is made to look at it."""

from __future__ import annotations

import sys
import time as real_time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

_ROOMS = ("pysync.capture.", "pysync.queue.", "pysync.replay.")


@dataclass(slots=True)
class Clock:
    """Seconds that only grow, and the time of day, which may jump. Nobody waits for either."""

    seconds: float = 1000.0
    behind: float = -1_700_000_000.0

    def monotonic(self) -> float:
        return self.seconds

    def time(self) -> float:
        return self.seconds - self.behind

    def time_ns(self) -> int:
        return int(self.time() * 1e9)

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def jump(self, seconds: float) -> None:
        """Set the time of day forward or back."""
        self.behind -= seconds


@contextmanager
def looked_at(clock: Clock) -> Iterator[None]:
    """Have the modules of pysync that decide something by the time look at this clock for it."""
    modules: list[Any] = [it for name, it in list(sys.modules.items()) if name.startswith(_ROOMS)]
    changed = [it for it in modules if getattr(it, "time", None) is real_time]
    for module in changed:
        module.time = clock
    try:
        yield
    finally:
        for module in changed:
            module.time = real_time
