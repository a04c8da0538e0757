"""Histogram: durations counted in buckets that grow by a constant factor, so that any quantile is nearly exact. Pure.

There are 8 buckets from one power of two to the next. A quantile is therefore within 4.4 % (ERROR) of the exact one.
Durations up to a millisecond (2**-10 s) count as one, and those above twelve days (2**20 s) as twelve days.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log2

_PER_DOUBLING = 8
_LOWEST, _HIGHEST = -10 * _PER_DOUBLING, 20 * _PER_DOUBLING
_FACTOR = 2 ** (1 / _PER_DOUBLING)
# The bucket of a number has the durations above `_FACTOR ** (number - 1)`, up to `_FACTOR ** number`.

SHORTEST = 2.0**-10
"""Seconds; shorter durations count as this."""
LONGEST = 2.0**20
"""Seconds; longer durations count as this."""
ERROR = (_FACTOR - 1) / (_FACTOR + 1)
"""The largest relative error of a quantile between SHORTEST and LONGEST."""


class Histogram:
    """Durations in seconds. It holds at most 241 numbers, however many were added. Not for several threads."""

    __slots__ = ("_buckets", "count", "sum")

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0.0
        self._buckets: dict[int, int] = {}

    def add(self, durations: Sequence[float], times: int = 1) -> None:
        """Count durations, each so many times; a negative one counts as 0."""
        # One loop, with as few calls as can be: a backlog brings tens of thousands a second.
        buckets, total = self._buckets, 0.0
        for seconds in durations:
            at = _LOWEST
            if seconds > SHORTEST:
                at = ceil(log2(seconds) * _PER_DOUBLING) if seconds < LONGEST else _HIGHEST
            if seconds > 0:
                total += seconds
            buckets[at] = buckets.get(at, 0) + times
        self.count += len(durations) * times
        self.sum += total * times

    def take(self, other: Histogram) -> None:
        """Add all durations of another one, which stays as it is."""
        for bucket, times in other._buckets.items():
            self._buckets[bucket] = self._buckets.get(bucket, 0) + times
        self.count += other.count
        self.sum += other.sum

    def quantile(self, share: float) -> float | None:
        """The duration that this share (0 to 1) of all does not exceed, by nearest rank; None if there are none."""
        left = max(1, ceil(share * self.count))
        for bucket in sorted(self._buckets):
            left -= self._buckets[bucket]
            if left <= 0:
                return _middle(bucket)
        return None

    def up_to(self, bounds: Sequence[float]) -> list[int]:
        """How many durations do not exceed each of the bounds, which must be powers of two from SHORTEST to LONGEST."""
        limits = [ceil(log2(bound) * _PER_DOUBLING) for bound in bounds]
        return [sum(times for bucket, times in self._buckets.items() if bucket <= limit) for limit in limits]


def _middle(bucket: int) -> float:
    """The duration from which both ends of the bucket are equally far, as a share of themselves."""
    if bucket == _LOWEST:
        return SHORTEST
    return float(_FACTOR**bucket * (1 - ERROR))
