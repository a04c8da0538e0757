"""Clocks: how far the clock of a listener is from ours, whatever its reports took on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.capture.clocks import Clocks
from pysync.capture.gaps import GapWatch
from pysync.queue import EventQueue

NOW = 1_800_000_000.0


class Ours:
    """Our clock, and a listener whose clock is `offset` seconds ahead."""

    def __init__(self, offset: float = 0.0) -> None:
        self.now, self.offset = NOW, offset
        self.clocks = Clocks(lambda: self.now)

    def report(self, way: float, instance: str = "jvm") -> None:
        sent = round((self.now + self.offset) * 1000)
        self.now += way
        self.clocks.add_report(instance, sent)


@given(st.floats(-1e6, 1e6), st.lists(st.floats(0, 10), min_size=1, max_size=30))
def test_the_offset_is_wrong_by_no_more_than_the_fastest_report_took(offset: float, ways: list[float]) -> None:
    ours = Ours(offset)
    for way in ways:
        ours.report(way)
    found = ours.clocks.offset("jvm")
    assert found is not None
    assert offset - min(ways) - 0.002 <= found <= offset + 0.002


def test_of_a_listener_that_has_not_told_nothing_is_known() -> None:
    assert Clocks().offset("old") is None


def test_a_clock_that_is_set_is_followed() -> None:
    ours = Ours(100.0)
    ours.report(0.0)
    ours.offset = -3.0
    for _ in range(30):
        ours.report(0.0)
    assert ours.clocks.offset("jvm") == pytest.approx(-3.0, abs=0.001)


def test_who_makes_names_up_takes_no_more_room() -> None:
    ours = Ours()
    for number in range(3000):
        ours.report(0.0, f"jvm{number}")
    assert len(ours.clocks._seen) == 1000
    assert ours.clocks.offset("jvm2999") is not None


@pytest.mark.parametrize("now", ["12", -1, 2**60, True, None, 1.5])
def test_a_time_that_is_none_spoils_the_report(tmp_path: Path, now: object) -> None:
    with EventQueue(tmp_path, min_free_bytes=0) as queue:
        reported = {"instance": "jvm", "source": "onprem", "sequence": 1, "lost": 0, "waiting": 0}
        watch = GapWatch(queue, 15.0)
        assert watch.report(json.dumps(reported))
        assert not watch.report(json.dumps({**reported, "now": now}))
        assert watch.clocks.offset("jvm") is None
        assert watch.report(json.dumps({**reported, "now": 1_800_000_000_000}))
        assert watch.clocks.offset("jvm") is not None
