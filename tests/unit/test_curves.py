"""Curves: a point a minute for each target in the journal, what `history` answers, and the day's slowest tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.base.latency import Delays, Latency
from pysync.journal import Journal
from pysync.sidecar.curves import Curves

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
BEGIN = 1_795_000_200.0  # at the beginning of a minute


class Stand:
    """A sidecar's journal and curves; `begin` is a restart."""

    def __init__(self, file: Path) -> None:
        self.now, self.is_full = BEGIN, False
        self.file = file
        self.target: dict[str, Any] = {"name": "dr", "lag_seconds": 1.5, "counts": {"applied": 10}, "parked": 2}
        self.begin()

    def begin(self) -> None:
        bounds: dict[str, Any] = {"keep": 1e12, "max_bytes": 10**9}
        self.journal = Journal(self.file, **bounds, is_tight=lambda: self.is_full, clock=lambda: self.now)
        self.latencies = {"dr": Latency(), "lake": Latency()}
        drains: Any = {
            name: SimpleNamespace(progress=SimpleNamespace(latency=it)) for name, it in self.latencies.items()
        }
        self.curves = Curves(drains, self.status, self.journal, lambda: self.now)
        self.curves.sample(self.now)

    def status(self) -> dict[str, Any]:
        targets = [self.target, {**self.target, "name": "lake", "counts": {}}]
        return {"targets": [{**it, "latency": self.latencies[it["name"]].status(self.now)} for it in targets]}

    def pass_(self, seconds: float = MINUTE) -> None:
        self.now += seconds
        self.curves.sample(self.now)
        self.journal.write()

    def points(self, **request: Any) -> list[dict[str, Any]]:
        points: list[dict[str, Any]] = self.curves.history({"target": "dr", **request})["points"]
        return points

    def worst(self, target: str = "dr") -> list[str]:
        return [it["object"] for it in self.latencies[target].status(self.now)["worst"]]


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path / "journal.db")
    yield made
    made.journal.close()


def test_a_point_a_minute_with_what_was_applied_in_it(stand: Stand) -> None:
    stand.pass_(59.9)
    assert stand.points() == []
    stand.pass_(0.1)
    stand.target |= {"counts": {"applied": 14}, "lag_seconds": 0.0, "parked": 0}
    stand.pass_()
    assert stand.points() == [
        {"at": BEGIN + MINUTE, "lag_seconds": 1.5, "applied": 10, "parked": 2},
        {"at": BEGIN + 2 * MINUTE, "lag_seconds": 0.0, "applied": 4, "parked": 0},
    ]
    assert [it["applied"] for it in stand.points(target="lake")] == [0, 0]


def test_curves_go_on_after_a_restart(stand: Stand) -> None:
    stand.pass_()
    stand.journal.close()
    stand.target["counts"] = {"applied": 3}
    stand.begin()
    stand.pass_()
    assert [it["applied"] for it in stand.points()] == [10, 3]


def test_a_month_is_told_by_half_hours_that_lose_no_peak(stand: Stand) -> None:
    stand.pass_(MINUTE)
    stand.target["lag_seconds"] = 90.0
    stand.pass_(MINUTE)
    stand.target["lag_seconds"] = 0.0
    stand.target["counts"] = {"applied": 17}
    stand.pass_(MINUTE)
    (point,) = stand.points(hours=720)
    assert (point["lag_seconds"], point["applied"]) == (90.0, 17)
    assert 0 <= stand.now - point["at"] < 1800
    assert stand.curves.history({"target": "dr", "hours": 24})["step_seconds"] == 60
    assert stand.curves.history({"target": "dr", "hours": 25})["step_seconds"] == 1800


def test_old_points_are_removed(stand: Stand) -> None:
    stand.pass_()
    stand.pass_(2 * HOUR)
    assert (len(stand.points(hours=1)), len(stand.points(hours=24))) == (1, 2)
    stand.pass_(2 * DAY)
    assert (len(stand.points(hours=24)), len(stand.points(hours=720))) == (1, 3)
    stand.pass_(31 * DAY)
    assert len(stand.points(hours=720)) == 1


def test_the_slowest_tables_of_the_day_are_known_after_a_restart(stand: Stand) -> None:
    stand.latencies["dr"].note("db.slow", Delays([1.0], [2.0], 300.0), stand.now)
    stand.latencies["dr"].note("db.quick", Delays([0.1], [0.1], 0.1), stand.now)
    stand.pass_()
    stand.journal.close()
    stand.begin()
    assert (stand.worst(), stand.worst("lake")) == (["db.slow", "db.quick"], [])
    stand.latencies["dr"].note("db.new", Delays([1.0], [2.0], 100.0), stand.now)
    assert stand.worst() == ["db.slow", "db.new", "db.quick"]
    stand.pass_(25 * HOUR)
    assert stand.worst() == []


def test_a_target_that_is_renamed_keeps_its_curve(stand: Stand) -> None:
    stand.pass_()
    stand.journal.rename_target("dr", "lake")
    assert [it["applied"] for it in stand.points(target="lake")] == [10]


def test_points_wait_while_the_disk_is_full(stand: Stand) -> None:
    stand.is_full = True
    with pytest.raises(PysyncError, match="nearly full"):
        stand.pass_()
    assert stand.points() == []
    stand.is_full = False
    stand.pass_()
    assert [it["at"] - BEGIN for it in stand.points()] == [MINUTE, 2 * MINUTE]


def test_a_clock_that_is_set_back_does_not_stop_it(stand: Stand) -> None:
    for seconds in (10 * MINUTE, -5 * MINUTE, MINUTE):
        stand.pass_(seconds)
    assert [it["at"] - BEGIN for it in stand.points()] == [5 * MINUTE, 6 * MINUTE, 10 * MINUTE]


def test_a_status_that_fails_costs_a_point_and_no_more(stand: Stand) -> None:
    good, stand.target = stand.target, {"name": "dr"}
    stand.pass_()
    stand.target = good
    stand.pass_()
    assert [it["at"] - BEGIN for it in stand.points()] == [2 * MINUTE]


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"target": "dx"}, "no target 'dx'"),
        ({}, "no target"),
        ({"target": "dr", "hours": 0}, "not 0"),
        ({"target": "dr", "hours": 721}, "from 1 to 720"),
        ({"target": "dr", "hours": True}, "not true"),
        ({"target": "dr", "hours": "x" * 500}, "whole number"),
    ],
)
def test_what_makes_no_sense_is_refused(stand: Stand, request_: dict[str, Any], text: str) -> None:
    with pytest.raises(PysyncError, match=text) as error:
        stand.curves.history(request_)
    assert len(str(error.value)) < 300
