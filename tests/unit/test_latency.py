"""Latency: of the last 10 minutes, of the day and since the start; where changes were meanwhile; the worst objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.histogram import ERROR
from pysync.base.latency import BOUNDS, Delays, Latency, Ring, Slice, Worst

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
START = 1_000_000 * DAY
NONE = {"p50": None, "p90": None, "p99": None, "count": 0}


def one(spool: float, queue: float, target: float) -> Delays:
    """Of one change."""
    return Delays([spool], [queue], target)


def noted(*changes: tuple[float, str, Delays]) -> Latency:
    """With changes of objects: each how many seconds after the start, the object, and its delays."""
    made = Latency()
    for at, name, delays in changes:
        made.note(name, delays, START + at)
    return made


def about(seconds: float) -> Any:
    return pytest.approx(seconds, rel=ERROR + 0.001)


def test_without_changes_all_is_null() -> None:
    found = Latency().status(START)
    assert (found["recent"], found["day"], found["worst"]) == (NONE, NONE, [])
    assert found["parts"] == {part: {"p50": None, "p99": None} for part in ("spool", "queue", "target")}


def test_all_of_the_way_and_its_parts() -> None:
    found = noted((0, "db.t", one(1.0, 2.0, 4.0))).status(START)
    assert found["recent"] == {"p50": about(7), "p90": about(7), "p99": about(7), "count": 1}
    assert found["parts"]["spool"] == {"p50": about(1), "p99": about(1)}
    assert found["parts"]["queue"]["p50"] == about(2)
    assert found["parts"]["target"]["p99"] == about(4)


def test_ten_minutes_later_only_the_day_has_it_and_a_day_later_only_the_totals() -> None:
    made = noted((0, "db.t", one(0, 0, 1.0)))
    counts = [
        [made.status(START + at)[when]["count"] for when in ("recent", "day")]
        for at in (0, 9 * MINUTE, 12 * MINUTE, 23 * HOUR, 25 * HOUR)
    ]
    assert counts == [[1, 1], [1, 1], [0, 1], [0, 1], [0, 0]]
    assert made.status(START + 25 * HOUR)["since_start"]["visible"]["count"] == 1
    assert made.status(START + 25 * HOUR)["worst"] == []


@given(st.lists(st.tuples(st.floats(0, 3 * DAY), st.floats(0.001, 1e6)), max_size=50))
def test_nothing_is_lost_or_counted_twice_whenever_it_came(changes: list[tuple[float, float]]) -> None:
    made = noted(*((at, "db.t", one(0, 0, seconds)) for at, seconds in sorted(changes)))
    found = made.status(START + 3 * DAY)["since_start"]
    assert found["visible"]["count"] == found["target"]["count"] == len(changes)
    assert found["visible"]["sum"] == pytest.approx(sum(seconds for _, seconds in changes), abs=0.01)


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.floats(0, 1e5)), max_size=60))
def test_the_worst_are_the_longest_each_object_once(changes: list[tuple[str, float]]) -> None:
    made = noted(*((at * 10 * MINUTE, name, one(0, 0, it)) for at, (name, it) in enumerate(changes)))
    longest = {name: max(it for other, it in changes if other == name) for name, _ in changes}
    found = made.status(START + len(changes) * 10 * MINUTE)["worst"]
    assert len(found) == min(5, len(longest))
    assert [it["seconds"] for it in found] == [round(it, 4) for it in sorted(longest.values(), reverse=True)[:5]]
    assert len({it["object"] for it in found}) == len(found)


def test_the_buckets_are_cumulative_and_end_with_the_count() -> None:
    found = noted(*((0, "db.t", one(0, 0, 2.0**power)) for power in range(-8, 20))).status(START)
    buckets = found["since_start"]["visible"]["buckets"]
    assert [bound for bound, _ in buckets] == list(BOUNDS)
    counts = [count for _, count in buckets]
    assert counts == sorted(counts)
    assert counts[0] == 4
    assert counts[-1] == 25 <= found["since_start"]["visible"]["count"] == 28


def test_a_clock_that_is_set_back_loses_nothing_and_shows_nothing_of_the_future() -> None:
    made = noted((HOUR, "db.t", one(0, 0, 1.0)), (0, "db.t", one(0, 0, 1.0)))
    found = made.status(START)
    assert (found["recent"]["count"], found["since_start"]["visible"]["count"]) == (1, 2)


def test_threads_that_come_late_by_a_moment_do_not_push_minutes_out() -> None:
    made = noted(*((MINUTE * 5 + (-1) ** turn, "db.t", one(0, 0, 1.0)) for turn in range(100)))
    assert made.status(START + 5 * MINUTE)["recent"]["count"] == 100
    assert len(made._minutes._slices) <= 3


def test_a_year_of_changes_takes_no_more_room_than_a_day() -> None:
    made = noted(*((at * HOUR, "db.t", one(0, 0, at % 7)) for at in range(24 * 365)))
    assert len(made._minutes._slices) <= 11
    assert len(made._quarters._slices) <= 97


@given(st.lists(st.tuples(st.floats(0, 1e5), st.floats(0, 1e5)), min_size=1), st.floats(0, 1e5))
def test_changes_of_one_work_count_as_if_each_came_alone(ways: list[tuple[float, float]], target: float) -> None:
    together, alone = Latency(), noted(*((0, "db.t", one(spool, queue, target)) for spool, queue in ways))
    together.note("db.t", Delays([it for it, _ in ways], [it for _, it in ways], target), START)
    found, wanted = together.status(START), alone.status(START)
    assert found["since_start"]["visible"]["buckets"] == wanted["since_start"]["visible"]["buckets"]
    assert {**found, "since_start": 0} == {**wanted, "since_start": 0}


def totals(ring: Ring, times: Iterable[float], now: float) -> int:
    for at in times:
        ring.at(at).add("db.t", one(0, 0, 1.0), at)
    return ring.total(now).visible.count


def test_a_ring_forgets_what_is_too_old() -> None:
    assert totals(Ring(60, 2), [0, 30, 60, 90, 120], 120) == 3
    assert totals(Ring(60, 2), [0, 30, 60], 600) == 0


def test_of_the_worst_an_object_keeps_its_longest() -> None:
    made = Slice()
    for seconds in (3.0, 9.0, 1.0):
        made.blame(Worst("db.t", seconds, seconds))
    assert made.worst == [Worst("db.t", 9.0, 9.0)]
