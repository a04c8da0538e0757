"""Tally: how much of a bootstrap one target has, by the events that brought it. Lanes write it, others read."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Count:
    """So many tables are done, and so many partitions of these and of unfinished tables.

    `left_out`: so many of the tables were not written, because they came from the target's own cluster.
    """

    tables: int = 0
    partitions: int = 0
    left_out: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.tables + other.tables, self.partitions + other.partitions, self.left_out + other.left_out)


class Tally:
    """What the refreshes of a bootstrap came to, by position: one that is done again counts once.

    `settles` is called with a position before the target's own position moves there. It must `take` the counts up to
    it.
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
        """The target is done with all events up to position `upto`; its own position is not moved yet."""
        with self._lock:
            some = any(at <= upto for at in self._counts)
        # Nearly all windows have none of a bootstrap: those must not cost a transaction.
        if some:
            self._settles(upto)

    def take(self, upto: int, after: int = 0) -> Count:
        """Return, once, the counts up to position `upto`; those up to `after` are left out, as they were counted
        before.
        """
        with self._lock:
            taken = {at: self._counts.pop(at) for at in list(self._counts) if at <= upto}
            return self._total([count for at, count in taken.items() if at > after])

    def not_taken(self) -> Count:
        """The counts that were not taken; some of them may be delivered again."""
        with self._lock:
            return self._total(list(self._counts.values()))

    def _total(self, counts: list[Count]) -> Count:
        return sum(counts, Count())
