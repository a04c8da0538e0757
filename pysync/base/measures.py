"""Measures: what pysync measures of its own work: durations, rates and counts. Numbers and clocks only."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil, log2
from typing import Any, NamedTuple

# Calls to a target: how many there were, by name and error, and how many a second there may be.


# --- Counts: how often what was done, by name; and how much is done in a second. From any thread

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


# --- Throttle: keeps the calls to a target below so many a second, by the hour if wanted.
#
# A call is never held up once an operation has begun, so no lock and no half-sent request waits. It is counted, and
# the next operation begins when the calls so far are within the limit: a token bucket that may go into debt.

_EVERY_SECONDS = 1.0  # the limit may be another one by then
_LEAST_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Limit:
    """Calls a second: `always`, or what `at` says for a time of day; 0 is no limit.

    `at` has minutes since midnight, from one to before the other, by this machine's zone; a span may pass midnight.
    """

    always: float = 0.0
    at: Mapping[tuple[int, int], float] = field(default_factory=dict)

    def now(self, moment: datetime) -> float:
        """The limit at that moment."""
        minute = moment.hour * 60 + moment.minute
        return next((calls for span, calls in self.at.items() if _is_in(minute, *span)), self.always)


class Throttle:
    """Used by all lanes of one target. `clock` returns seconds that only grow, `wall` the time of day."""

    def __init__(
        self,
        limit: Limit | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = datetime.now,
    ) -> None:
        self._limit = limit or Limit()
        self._clock, self._wall = clock, wall
        self._lock = threading.Lock()
        self._last = clock()
        self._tokens = 1.0
        self._waiting = 0
        self._seconds = 0.0

    def spend(self, _: str = "") -> None:
        """A call is made. Never waits."""
        with self._lock:
            self._fill()
            self._tokens -= 1

    def wait(self, stop: threading.Event) -> bool:
        """Wait until an operation may begin; False as soon as `stop` is set."""
        if not self._debt():
            return not stop.is_set()
        began = self._clock()
        with self._lock:
            self._waiting += 1
        try:
            while (seconds := self._debt()) and not stop.wait(min(seconds + _LEAST_SECONDS, _EVERY_SECONDS)):
                pass
        finally:
            with self._lock:
                self._waiting -= 1
                self._seconds += self._clock() - began
        return not stop.is_set()

    def status(self) -> dict[str, Any]:
        """As in `pysync status --json`: the limit (null: none), how many lanes wait for it, and for how long by now."""
        limit = self._limit.now(self._wall())
        with self._lock:
            return {"limit": limit or None, "waiting": self._waiting, "seconds": round(self._seconds, 3)}

    def _debt(self) -> float:
        """Seconds until the calls so far are within the limit."""
        with self._lock:
            rate = self._fill()
            return max(0.0, -self._tokens / rate) if rate else 0.0

    def _fill(self) -> float:
        """Add what the time since the last look allows, a second's worth at most; returns the limit."""
        rate, now = self._limit.now(self._wall()), self._clock()
        # Without a limit nothing is owed, also later, when there is one.
        self._tokens = min(max(1.0, rate), self._tokens + (now - self._last) * rate) if rate else 1.0
        self._last = now
        return rate


def _is_in(minute: int, first: int, last: int) -> bool:
    return first <= minute < last if first < last else minute >= first or minute < last


# Latencies: histograms, of slices of time, and the objects whose changes took longest.


# --- Histogram: durations counted in buckets that grow by a constant factor, so that any quantile is nearly exact.
# Pure.
#
# There are 8 buckets from one power of two to the next. A quantile is therefore within 4.4 % (ERROR) of the exact
# one. Durations up to a millisecond (2**-10 s) count as one, and those above twelve days (2**20 s) as twelve days.

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


# --- Slices: durations by when they ended, so that the last minutes or the last day is known. Pure, of bounded
# size

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


# --- Latency: how long changes took from their commit at the source until a target had them. From any thread

BOUNDS = tuple(2.0**power for power in (*range(-5, 9), 10, 12, 14, 16))
"""The upper bounds of the buckets that the status shows, in seconds: 31 ms to 18 hours."""

_MINUTE = 60
_MINUTES = 11  # the minute that is not over, and ten before it
_QUARTER = 15 * _MINUTE
_QUARTERS = 97


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
