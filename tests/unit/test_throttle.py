"""The throttle: how many calls a target gets in a time, by the hour, and that a stop does not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pysync.base.counts import Counts
from pysync.base.throttle import Limit, Throttle
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.sidecar.wiring import open_watched
from pysync.targets.apply.changes import Changes
from tests.support import wait_until
from tests.support.drains import FaultyDrain, create, create_database
from tests.support.events import settings

NOON = datetime(2026, 1, 31, 12, 0)


class Clock:
    """Seconds and a time of day that go on together, and an event whose waits take exactly that long."""

    def __init__(self, wall: datetime = NOON) -> None:
        self.now, self.began = 0.0, wall

    def __call__(self) -> float:
        return self.now

    def wall(self) -> datetime:
        return self.began + timedelta(seconds=self.now)

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return False

    def is_set(self) -> bool:
        return False


def throttle(clock: Clock, always: float = 0.0, at: dict[tuple[int, int], float] | None = None) -> Throttle:
    return Throttle(Limit(always, at or {}), clock, clock.wall)


def run(found: Throttle, clock: Clock, *operations: int) -> None:
    """Operations of so many calls, one after the other."""
    for calls in operations:
        assert found.wait(clock)
        for _ in range(calls):
            found.spend("get_table_req")


# --- how many


@given(st.floats(0.5, 500), st.lists(st.integers(0, 40), min_size=1, max_size=60))
def test_no_more_calls_than_the_limit_and_no_longer_than_needed(rate: float, operations: list[int]) -> None:
    clock = Clock()
    found = throttle(clock, rate)
    run(found, clock, *operations)
    assert found.wait(clock)
    calls = sum(operations)
    burst = max(1.0, rate)
    assert calls <= rate * clock.now + burst + 0.01
    assert clock.now <= calls / rate + 0.01
    assert found.status()["seconds"] == pytest.approx(clock.now, abs=0.01)


def test_without_a_limit_nothing_waits() -> None:
    clock = Clock()
    found = throttle(clock)
    run(found, clock, 1000, 1000)
    assert (clock.now, found.status()) == (0.0, {"limit": None, "waiting": 0, "seconds": 0.0})


def test_time_without_calls_allows_no_more_than_a_second_of_them() -> None:
    clock = Clock()
    found = throttle(clock, 10)
    clock.now = 3600.0
    run(found, clock, *[1] * 30)
    assert clock.now == pytest.approx(3602.0, abs=0.2)


def test_the_limit_is_that_of_the_time_of_day_also_while_it_waits() -> None:
    clock = Clock(NOON.replace(hour=17, minute=59, second=50))
    found = throttle(clock, 100, {(8 * 60, 18 * 60): 1})
    run(found, clock, 1, 1000)
    assert found.status()["limit"] == 1
    assert found.wait(clock)
    assert clock.now == pytest.approx(20.0, abs=1.1), "ten calls by six, the others at the rate of the evening"
    assert found.status()["limit"] == 100


def test_what_was_done_without_a_limit_is_not_owed_later() -> None:
    clock = Clock(NOON.replace(hour=7, minute=59, second=59))
    found = throttle(clock, 0, {(8 * 60, 18 * 60): 1})
    run(found, clock, 1000)
    clock.now += 1
    assert found.wait(clock)
    assert clock.now == 1.0


@pytest.mark.parametrize(
    ("hour", "minute", "limit"), [(7, 59, 5), (8, 0, 1), (17, 59, 1), (18, 0, 5), (22, 0, 9), (1, 59, 9), (2, 0, 5)]
)
def test_a_time_of_day_begins_with_its_minute_and_may_pass_midnight(hour: int, minute: int, limit: float) -> None:
    found = Limit(5, {(480, 1080): 1, (1320, 120): 9})
    assert found.now(NOON.replace(hour=hour, minute=minute)) == limit


# --- settings


def test_the_settings_become_a_limit() -> None:
    found = settings(max_calls_per_second=200, max_calls_at={"08:00-18:00": 20, "23:30-00:15": 0})
    assert found.call_limit == Limit(200.0, {(480, 1080): 20.0, (1410, 15): 0.0})
    assert settings().call_limit == Limit()


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_calls_per_second": -1},
        {"max_calls_per_second": float("nan")},
        {"max_calls_at": {"8-18": 20}},
        {"max_calls_at": {"08:00-24:00": 20}},
        {"max_calls_at": {"08:00-08:00": 20}},
        {"max_calls_at": {"08:00-18:00": -1}},
        {"max_calls_at": {"08:00-18:00": 20, "17:59-19:00": 5}},
        {"max_calls_at": {"22:00-06:00": 20, "05:00-07:00": 5}},
    ],
)
def test_senseless_limits_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        settings(**wrong)


# --- stops


def test_a_stop_is_answered_at_once_by_all_who_wait() -> None:
    found, stop = Throttle(Limit(0.001)), threading.Event()
    for _ in range(10):
        found.spend()
    ended: list[bool] = []
    lanes = [threading.Thread(target=lambda: ended.append(found.wait(stop))) for _ in range(4)]
    for lane in lanes:
        lane.start()
    wait_until(lambda: found.status()["waiting"] == 4, what="the lanes waiting")
    found.spend()  # nobody holds a lock
    stop.set()
    for lane in lanes:
        lane.join(60)
    assert ended == [False] * 4
    assert found.status()["waiting"] == 0
    assert found.status()["seconds"] > 0


class Bench(FaultyDrain):
    """A drain whose target counts its calls, as the sidecar wires it."""

    throttle: Throttle

    def open_target(self) -> Any:
        found = getattr(self, "throttle", None) or Throttle()
        return open_watched(self.settings, Counts(), found, Changes().redefining)

    def start(self) -> Drain:
        self.throttle = Throttle(self.settings.call_limit)
        translator = Translator.of(self.settings)
        self.drain = Drain(Replayer(self.queue, self.settings, translator, throttle=self.throttle), self.open_target)
        self.drain.start()
        return self.drain


@pytest.fixture
def benches(tmp_path: Path) -> Iterator[Any]:
    made: list[Bench] = []

    def build(**values: Any) -> Bench:
        made.append(Bench(tmp_path, **values))
        made[-1].start()
        return made[-1]

    yield build
    for each in made:
        each.close()


def test_the_lanes_of_a_target_keep_to_it_together(benches: Any) -> None:
    bench = benches(max_calls_per_second=100)
    began = time.monotonic()
    bench.append(create_database(), *(create(f"db.t{number}") for number in range(100)))
    bench.finish()
    seconds = time.monotonic() - began
    assert bench.status()["throttle"]["limit"] == 100.0
    assert seconds > 1.0, "two calls a table at least, and a second's worth of them at once"
    assert len(bench.tables()) == 100


def test_pause_resume_and_stop_while_it_waits(benches: Any) -> None:
    bench = benches(max_calls_per_second=0.01)
    bench.append(create_database(), *(create(f"db.t{number}") for number in range(20)))
    wait_until(lambda: bench.status()["throttle"]["waiting"] > 0, what="a lane waiting")
    bench.drain.pause("by hand")
    wait_until(lambda: bench.status()["throttle"]["waiting"] == 0, what="the end of the wait")
    bench.wait_for_state("paused")
    bench.drain.resume()
    wait_until(lambda: bench.status()["throttle"]["waiting"] > 0, what="a lane waiting again")
    bench.restart()
    assert bench.parked() == []
