"""Curves: a point a minute for each target, and what `history` answers."""

from __future__ import annotations

from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.sidecar.history import Curves

MINUTE = 60.0


class Stand:
    def __init__(self) -> None:
        self.asked = 0
        self.target = {"name": "dr", "lag_seconds": 1.5, "counts": {"applied": 10, "stale": 3}, "parked": 2}
        self.curves = Curves(["dr", "lake"], self.status)

    def status(self) -> dict[str, Any]:
        self.asked += 1
        return {"targets": [self.target, {**self.target, "name": "lake", "counts": {}}]}

    def points(self, **request: Any) -> list[dict[str, Any]]:
        return self.curves.history({"target": "dr", **request})["points"]


@pytest.fixture
def stand() -> Stand:
    made = Stand()
    made.curves.sample(0.0)
    return made


def test_a_point_a_minute_with_what_was_applied_in_it(stand: Stand) -> None:
    for at in (1.0, 59.9, MINUTE, MINUTE + 1):
        stand.curves.sample(at)
    stand.target = {**stand.target, "counts": {"applied": 14}, "lag_seconds": 0.0, "parked": 0}
    stand.curves.sample(2 * MINUTE)
    assert stand.points() == [
        {"at": MINUTE, "lag_seconds": 1.5, "applied": 10, "parked": 2},
        {"at": 2 * MINUTE, "lag_seconds": 0.0, "applied": 4, "parked": 0},
    ]
    assert stand.asked == 2
    assert [it["applied"] for it in stand.points(target="lake")] == [0, 0]


def test_it_holds_a_day_and_answers_for_some_hours(stand: Stand) -> None:
    for minute in range(1, 2000):
        stand.curves.sample(minute * MINUTE)
    assert len(stand.points()) == 1440
    assert stand.points()[-1]["at"] == 1999 * MINUTE
    assert len(stand.points(hours=2)) == 120
    assert stand.curves.history({"target": "dr"})["step_seconds"] == 60


def test_a_clock_that_is_set_back_does_not_stop_it(stand: Stand) -> None:
    stand.curves.sample(10 * MINUTE)
    stand.curves.sample(5 * MINUTE)
    stand.curves.sample(6 * MINUTE)
    assert [it["at"] for it in stand.points()] == [10 * MINUTE, 5 * MINUTE, 6 * MINUTE]


def test_a_status_that_fails_costs_a_point_and_no_more(stand: Stand) -> None:
    good, stand.target = stand.target, {}
    stand.curves = Curves(["dr"], lambda: {"targets": [stand.target]} if stand.target else {})
    stand.curves.sample(0.0)
    stand.curves.sample(MINUTE)
    stand.target = good
    stand.curves.sample(2 * MINUTE)
    assert [it["at"] for it in stand.points()] == [2 * MINUTE]


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"target": "dx"}, "no target 'dx'"),
        ({}, "no target"),
        ({"target": "dr", "hours": 0}, "not 0"),
        ({"target": "dr", "hours": 25}, "from 1 to 24"),
        ({"target": "dr", "hours": True}, "not true"),
        ({"target": "dr", "hours": "x" * 500}, "whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(stand: Stand, request_: dict[str, Any], said: str) -> None:
    with pytest.raises(PysyncError, match=said) as error:
        stand.curves.history(request_)
    assert len(str(error.value)) < 300
