"""Tally: how much of a bootstrap one target has, by the events that brought it. Lanes write it, others read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Count:
    """So many tables are done, so many partitions of them and of those in hand."""

    tables: int = 0
    partitions: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.tables + other.tables, self.partitions + other.partitions)


class Tally:
    """What the refreshes of a bootstrap came to, each by its position: one that is done again counts once.

    `settles` is called before the target's position moves, with that position, and is to `take` what came of it.
    """

    def __init__(self, settles: Callable[[int], object] | None = None) -> None:
        self._settles = settles or self.take
        self._lock = threading.Lock()
        self._counts: dict[int, Count] = {}

    def note(self, position: int, count: Count) -> None:
        """The refresh at `position` has come so far."""
        with self._lock:
            self._counts[position] = count

    def settle(self, upto: int) -> None:
        """The target is done with all events up to position `upto`, which nobody has noted yet."""
        with self._lock:
            some = any(at <= upto for at in self._counts)
        if some:
            self._settles(upto)

    def take(self, upto: int, after: int = 0) -> Count:
        """What came of those up to position `upto`, told once; those up to `after` do not count (any more)."""
        with self._lock:
            taken = {at: self._counts.pop(at) for at in list(self._counts) if at <= upto}
            return self._total([count for at, count in taken.items() if at > after])

    def ahead(self) -> Count:
        """What has come of those that were not taken; some may be done again."""
        with self._lock:
            return self._total(list(self._counts.values()))

    def _total(self, counts: list[Count]) -> Count:
        return sum(counts, Count())
