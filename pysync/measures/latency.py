"""Latency: how long changes took from their commit at the source until a target had them. From any thread."""

from __future__ import annotations

import threading
from typing import Any

from pysync.measures.histogram import Histogram
from pysync.measures.slices import Delays, Ring, Slice

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
            "parts": {part: _quantiles(its, "p50", "p99") for part, its in _parts(recent).items()},
            "worst": [{"object": it.object, "seconds": _rounded(it.seconds), "at": it.at} for it in day.worst],
            "since_start": {part: _buckets(its) for part, its in {"visible": all_.visible, **_parts(all_)}.items()},
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
    found = {name: _rounded(of.quantile(int(name[1:]) / 100)) for name in names or ("p50", "p90", "p99")}
    return found if names else {**found, "count": of.count}


def _buckets(of: Histogram) -> dict[str, Any]:
    """As Prometheus has them: for each bound how many do not exceed it."""
    counts = zip(BOUNDS, of.up_to(BOUNDS), strict=True)
    return {"count": of.count, "sum": round(of.sum, 6), "buckets": [list(it) for it in counts]}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
