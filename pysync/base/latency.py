"""Latency: how long changes took from their commit at the source until a target had them.

Durations are counted in slices of time, by when they ended, so that the last minutes and the last day are known. A
slice also has the objects whose changes took longest. Of bounded size.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pysync.base.histogram import Histogram

_MOST_WORST = 5

BOUNDS = tuple(2.0**power for power in (*range(-5, 9), 10, 12, 14, 16))
"""The upper bounds of the buckets that the status shows, in seconds: 31 ms to 18 hours."""

_MINUTE = 60
_MINUTES = 11  # the minute that is not over, and ten before it
_QUARTER = 15 * _MINUTE
_QUARTERS = 97


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

    def blame(self, worst: Worst) -> None:
        """Note the object if it is among the worst."""
        known = self._worst.get(worst.object)
        if known is not None and known.seconds >= worst.seconds:
            return
        self._worst[worst.object] = worst
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
        total, number = Slice(), now // self._seconds
        for it in self._slices:
            if number - self._count < it.number <= number + 1:
                total.take(it)
        return total


class Latency:
    """The latencies of one target: of the last 10 minutes, of the last 24 hours, and since the start.

    It holds at most 110 slices, each of a bounded size. A minute that is over is added to its quarter of an hour; so
    the edges of the 10 minutes and the 24 hours are exact to a minute and to a quarter.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minutes = Ring(_MINUTE, _MINUTES)
        self._quarters = Ring(_QUARTER, _QUARTERS)
        self._past = Slice()  # all minutes that are over
        self._open = Slice()  # the minute that is not

    def note(self, name: str, delays: Delays, now: float) -> None:
        """The target has these changes of an object, one at least, since `now`, in seconds since 1970."""
        with self._lock:
            self._turn(now)
            self._open.add(name, delays, now)

    def recall(self, slowest: Iterable[Worst]) -> None:
        """Know again what was slow before the start."""
        with self._lock:
            for it in sorted(slowest, key=lambda it: it.at):
                self._quarters.at(it.at).blame(it)

    def status(self, now: float) -> dict[str, Any]:
        """As in `pysync status --json`; durations are seconds, null where there are none."""
        with self._lock:
            self._turn(now)
            recent, day, all_ = self._minutes.total(now), self._quarters.total(now), Slice()
            for it in (self._past, self._open):
                all_.take(it)
            day.take(self._open)
        return {
            "recent": _quantiles(recent.visible),
            "day": _quantiles(day.visible),
            "parts": {part: _quantiles(durations, "p50", "p99") for part, durations in _parts(recent).items()},
            "worst": [{"object": it.object, "seconds": _rounded(it.seconds), "at": it.at} for it in day.worst],
            "since_start": {
                part: _buckets(durations) for part, durations in {"visible": all_.visible, **_parts(all_)}.items()
            },
        }

    def _turn(self, now: float) -> None:
        """Begin the minute of that time; what is in the one before goes where it is kept for longer."""
        current = self._minutes.at(now)
        if current is not self._open:
            self._quarters.at(self._open.number * _MINUTE).take(self._open)
            self._past.take(self._open)
            self._open = current


def _parts(of: Slice) -> dict[str, Histogram]:
    return {"spool": of.spool, "queue": of.queue, "target": of.target}


def _quantiles(of: Histogram, *names: str) -> dict[str, Any]:
    """`p50` and so on; with `count` where no names are given."""
    quantiles = {name: _rounded(of.quantile(int(name[1:]) / 100)) for name in names or ("p50", "p90", "p99")}
    return quantiles if names else {**quantiles, "count": of.count}


def _buckets(of: Histogram) -> dict[str, Any]:
    """As Prometheus has them: for each bound how many do not exceed it."""
    counts = zip(BOUNDS, of.up_to(BOUNDS), strict=True)
    return {"count": of.count, "sum": round(of.sum, 6), "buckets": [list(it) for it in counts]}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
