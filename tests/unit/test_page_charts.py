"""Curves: what is drawn is what was measured, and nothing is drawn where nothing was."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pysync.base.text import duration
from pysync.web.views.charts import HEIGHT, MOST_POINTS, WIDTH, chart, lag_chart, rate_chart, thinned
from tests.support.pages import NOW, a_history

DAY = 86400.0
VALUES = st.floats(0, 1e9, allow_nan=False)


def coordinates(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](\S+) (\S+)", path)]


@given(st.lists(st.tuples(st.floats(NOW - DAY, NOW), VALUES), max_size=400))
def test_a_curve_stays_in_its_box_and_runs_from_left_to_right(points: list[tuple[float, float]]) -> None:
    found = chart("Lag", sorted(points), NOW - DAY, NOW, duration)
    drawn = coordinates(found.line)
    assert found.is_empty == (not points)
    assert all(0 <= x <= WIDTH + 1 and 0 <= y <= HEIGHT for x, y in drawn)
    assert [x for x, _ in drawn] == sorted(x for x, _ in drawn)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=2000))
def test_no_peak_is_lost_where_a_curve_is_thinned(points: list[tuple[float, float]]) -> None:
    kept = thinned(points)
    assert len(kept) == min(len(points), MOST_POINTS)
    assert max((value for _, value in kept), default=0) == max((value for _, value in points), default=0)
    assert kept[-1:] == points[-1:]


def test_a_day_of_lag() -> None:
    found = lag_chart(a_history(), NOW)
    assert (found.top, found.middle) == ("1m 40s", "50.0 s")
    assert found.summary == "Lag: 850 ms now, 1m 31s at most in the last 24 hours."
    assert [it.text for it in found.times] == ["11:06 UTC", "17:06 UTC", "23:06 UTC", "05:06 UTC", "11:06 UTC"]
    assert (found.times[0].at, found.times[-1].at) == (NOW - 86400, NOW)


def test_an_hour_without_a_sidecar_is_a_hole_and_no_line() -> None:
    found = lag_chart(a_history(), NOW)
    assert found.line.count("M") == 2
    assert found.area.count("Z") == 2


def test_throughput_is_told_by_the_minute_whatever_the_step() -> None:
    points = [{"at": NOW - 30, "lag_seconds": 1.0, "applied": 10}]
    assert rate_chart({"step_seconds": 30, "points": points}, NOW).latest == "20/min"


def test_a_single_point_can_be_seen() -> None:
    drawn = coordinates(chart("Lag", [(NOW - 60, 3.0)], NOW - DAY, NOW, duration).line)
    assert len({x for x, _ in drawn}) == 2


def test_what_never_rises_lies_at_the_bottom() -> None:
    drawn = coordinates(chart("Lag", [(NOW - 120, 0.0), (NOW - 60, 0.0)], NOW - DAY, NOW, duration).line)
    assert {y for _, y in drawn} == {HEIGHT}


def test_an_older_sidecar_has_no_history() -> None:
    found = lag_chart({}, NOW)
    assert (found.is_empty, found.line, found.summary) == (True, "", "Lag: nothing is known yet.")


def test_a_point_without_a_value_is_left_out() -> None:
    points = [{"at": NOW - 60, "lag_seconds": None, "applied": None}]
    assert lag_chart({"points": points}, NOW).is_empty
    assert rate_chart({"points": points}, NOW).is_empty


def test_other_ranges_have_their_own_words() -> None:
    hour = lag_chart(a_history(hours=1), NOW, 1)
    assert [it.text for it in hour.times] == ["10:06 UTC", "10:21 UTC", "10:36 UTC", "10:51 UTC", "11:06 UTC"]
    month = lag_chart(a_history(hours=720), NOW, 720)
    assert [(it.text, it.is_day) for it in month.times[::4]] == [("2026-10-19", True), ("2026-11-18", True)]
    assert month.summary.endswith("in the last 30 days.")
    assert lag_chart(a_history(), NOW, 1).summary.endswith("in the last 60 minutes.")


def test_each_point_that_is_drawn_can_be_read() -> None:
    found = lag_chart(a_history(), NOW, latest=2.5)
    assert [(x, y) for x, y, _, _ in found.values] == coordinates(found.line)
    assert (found.values[-1][2], found.values[-1][3]) == (NOW, "2.5 s")
    assert any(label == found.summary.partition(" now, ")[2].partition(" at most")[0] for *_, label in found.values)


def test_the_throughput_of_a_step_that_is_not_over_counts_only_its_time() -> None:
    points = [{"at": NOW - 600, "lag_seconds": 1.0, "applied": 100}]
    assert rate_chart({"step_seconds": 1800, "points": points}, NOW, 720).latest == "10/min"
