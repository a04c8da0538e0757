"""Slices: durations by when they ended, so that the last minutes or the last day can be told. Pure, of bounded size."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pysync.measures.histogram import Histogram

_MOST_WORST = 5


class Delays(NamedTuple):
    """Where the changes of one work were until the target had them, in seconds: each 0 or more."""

    spool: Sequence[float]  # of each change: from its commit until it was on disk in the queue
    queue: Sequence[float]  # of each change: from then until the work began
    target: float  # of all: from then until the work was done, with all tries


class Worst(NamedTuple):
    """The longest that a change of an object took, and when that was, in seconds since 1970."""

    object: str
    seconds: float
    at: float


@dataclass(slots=True)
class Slice:
    """What ended within one stretch of time: `visible` is all of the way, the others are its parts."""

    number: int = 0
    visible: Histogram = field(default_factory=Histogram)
    spool: Histogram = field(default_factory=Histogram)
    queue: Histogram = field(default_factory=Histogram)
    target: Histogram = field(default_factory=Histogram)
    _worst: dict[str, Worst] = field(default_factory=dict)

    def add(self, name: str, delays: Delays, now: float) -> None:
        """Changes of an object, one at least, have become visible."""
        visible = [spool + queue + delays.target for spool, queue in zip(delays.spool, delays.queue, strict=True)]
        self.visible.add(visible)
        self.spool.add(delays.spool)
        self.queue.add(delays.queue)
        self.target.add([delays.target], len(visible))
        self.blame(Worst(name, max(visible), now))

    def blame(self, found: Worst) -> None:
        """Note the object if it is among the worst."""
        known = self._worst.get(found.object)
        if known is not None and known.seconds >= found.seconds:
            return
        self._worst[found.object] = found
        if len(self._worst) > _MOST_WORST:
            del self._worst[min(self._worst.values(), key=lambda it: it.seconds).object]

    def take(self, other: Slice) -> None:
        """Add all that another one has, which stays as it is."""
        self.visible.take(other.visible)
        self.spool.take(other.spool)
        self.queue.take(other.queue)
        self.target.take(other.target)
        for it in other._worst.values():
            self.blame(it)

    @property
    def worst(self) -> list[Worst]:
        """The objects whose changes took longest, at most 5, each once, the longest first."""
        return sorted(self._worst.values(), key=lambda it: -it.seconds)


class Ring:
    """The last slices of so many `seconds` each; older ones are forgotten."""

    def __init__(self, seconds: int, count: int) -> None:
        self._seconds = seconds
        self._count = count
        self._slices: deque[Slice] = deque(maxlen=count)

    def at(self, now: float) -> Slice:
        """The slice of that time, in seconds since 1970."""
        number = int(now // self._seconds)
        # A time just before the last slice is another thread's that came late; one far before it, a clock set back.
        if not self._slices or not 0 <= self._slices[-1].number - number <= 1:
            self._slices.append(Slice(number))
        return self._slices[-1]

    def total(self, now: float) -> Slice:
        """All of the slices that are not too old at that time, in a new one."""
        found, number = Slice(), now // self._seconds
        for it in self._slices:
            if number - self._count < it.number <= number + 1:
                found.take(it)
        return found
