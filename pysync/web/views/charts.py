"""Charts: a series of numbers as the paths of an SVG, with the labels of its axes. Pure.

A path lies in a box of WIDTH by HEIGHT, which the page stretches to its place; so labels stand beside it, as text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import Any

from pysync.base.text import duration, number

WIDTH, HEIGHT = 1000, 100
MOST_POINTS = 288
"""What is drawn of a series: five minutes are one point of a day."""

RANGES: Mapping[str, int] = {"1h": 1, "6h": 6, "24h": 24, "30d": 720}
"""The hours that a curve may show, by the names that the page's address has for them."""
DEFAULT_RANGE = "24h"

_HEADROOM = 1.08
_GAP_STEPS = 3  # a hole of more steps than that in a series is shown as one
_LEAST = 1e-9
_STEPS = (1, 2, 5, 10)
_DAYS = 2
"""The axis of a longer curve has days, that of a shorter one the time of day."""

Point = tuple[float, float]
"""A time in seconds since 1970, and a value."""


@dataclass(frozen=True, slots=True)
class AxisTime:
    """A time below a curve, in seconds since 1970, and as text in UTC: the day, where the axis has several."""

    at: float
    text: str
    is_day: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """A curve: `line` and `area` are SVG path data, `summary` says what it shows to those who do not see it.

    `values` are the points: where each lies in the box, its time in seconds since 1970, and its value in words.
    """

    title: str
    line: str
    area: str
    top: str
    middle: str
    latest: str
    summary: str
    times: tuple[AxisTime, ...]
    is_empty: bool
    values: tuple[tuple[float, float, int, str], ...] = ()


def chart(
    title: str, points: Sequence[Point], begin: float, end: float, label: Callable[[float], str], *, step: float = 60.0
) -> Chart:
    """The curve of `points` from `begin` to `end`; `label` writes a value, `step` is the time between two of them."""
    shown = thinned([point for point in points if begin <= point[0] <= end])
    times = _times(begin, end)
    if not shown:
        return Chart(title, "", "", label(0), "", "", f"{title}: nothing is known yet.", times, is_empty=True)
    ceiling = _round_up(max(value for _, value in shown))
    apart = max(step, (end - begin) / MOST_POINTS) * _GAP_STEPS
    runs = [[_placed(point, begin, end, ceiling) for point in run] for run in _runs(shown, apart)]
    most, latest = max(value for _, value in shown), shown[-1][1]
    places = [place for run in runs for place in run]
    return Chart(
        title=title,
        line=" ".join(_line(run) for run in runs),
        area=" ".join(f"{_line(run)} L{run[-1][0]:g} {HEIGHT} L{run[0][0]:g} {HEIGHT} Z" for run in runs),
        top=label(ceiling),
        middle=label(ceiling / 2),
        latest=label(latest),
        summary=f"{title}: {label(latest)} now, {label(most)} at most in the last {_length(end - begin)}.",
        times=times,
        is_empty=False,
        values=tuple((x, y, round(at), label(value)) for (x, y), (at, value) in zip(places, shown, strict=True)),
    )


def lag_chart(history: Mapping[str, Any], now: float, hours: int = 24, *, latest: float | None = None) -> Chart:
    """Lag in seconds, of an answer of `history`; `latest` is the lag now, which the figures beside the curve show."""
    points = [(it["at"], float(it["lag_seconds"])) for it in _points(history) if it.get("lag_seconds") is not None]
    if points and latest is not None:
        points.append((now, latest))
    return chart("Lag", points, now - hours * 3600, now, duration, step=_step(history))


def rate_chart(history: Mapping[str, Any], now: float, hours: int = 24) -> Chart:
    """Operations that were applied, a minute."""
    step = _step(history)
    points = [
        # The last step may not be over; a point is there only after its first minute.
        (it["at"], it["applied"] * 60 / min(step, max(60, now - it["at"])))
        for it in _points(history)
        if it.get("applied") is not None
    ]
    return chart("Throughput", points, now - hours * 3600, now, lambda it: f"{number(it)}/min", step=step)


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """At most so many points: of neighbours the highest stays, so that no peak is lost."""
    if len(points) <= most:
        return list(points)
    *before, latest = points  # the newest is what people compare with the figures beside the curve
    share = len(before) / (most - 1)
    groups = (before[math.floor(at * share) : math.floor((at + 1) * share)] for at in range(most - 1))
    return [*(max(group, key=lambda it: it[1]) for group in groups), latest]


def _points(history: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    points: Sequence[Mapping[str, Any]] = history.get("points") or ()
    return points


def _step(history: Mapping[str, Any]) -> float:
    return float(history.get("step_seconds") or 60)


def _runs(points: Sequence[Point], apart: float) -> list[list[Point]]:
    """The points without what lies between two that are far apart: the sidecar did not run then."""
    runs = [[points[0]]]
    for before, point in pairwise(points):
        if point[0] - before[0] > apart:
            runs.append([])
        runs[-1].append(point)
    return runs


def _placed(point: Point, begin: float, end: float, ceiling: float) -> Point:
    x = (point[0] - begin) / (end - begin) * WIDTH
    return round(x, 1), round(HEIGHT - point[1] / ceiling * HEIGHT / _HEADROOM, 1)


def _line(run: Sequence[Point]) -> str:
    # A single point would be no line: it gets a width of its own.
    ends = [*run, (run[0][0] + 1, run[0][1])] if len(run) == 1 else run
    return "M" + " L".join(f"{x:g} {y:g}" for x, y in ends)


def _round_up(value: float) -> float:
    """The next number that reads well: 1, 2 or 5, with zeros; 1 for less than can be distinguished from 0."""
    if value < _LEAST:
        return 1.0
    base = 10.0 ** math.floor(math.log10(value))
    return next(base * step for step in _STEPS if base * step >= value * 0.999)


def _times(begin: float, end: float) -> tuple[AxisTime, ...]:
    """The times below a curve: at its ends, and at each quarter."""
    is_day = end - begin > _DAYS * 86400
    form = "%Y-%m-%d" if is_day else "%H:%M UTC"
    places = [begin + (end - begin) * at / 4 for at in range(5)]
    return tuple(AxisTime(at, datetime.fromtimestamp(at, timezone.utc).strftime(form), is_day) for at in places)


def _length(seconds: float) -> str:
    unit, name = _unit(seconds)
    return f"{seconds / unit:g} {name}s"


def _unit(seconds: float) -> tuple[float, str]:
    return (86400, "day") if seconds > _DAYS * 86400 else (3600, "hour") if seconds > 3600 else (60, "minute")
