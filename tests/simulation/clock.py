"""The clock of a simulated world."""

from __future__ import annotations

from dataclasses import dataclass

_SECONDS = 1000.0
_BEHIND = -1_700_000_000.0


@dataclass(slots=True)
class Clock:
    """Seconds that only grow, and the time of day, which may jump. Nobody waits for either."""

    seconds: float = _SECONDS
    behind: float = _BEHIND

    def begin(self) -> None:
        """Another world begins, at the time at which each begins."""
        self.seconds, self.behind = _SECONDS, _BEHIND

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
