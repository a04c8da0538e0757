"""Counts and rates: of many threads, and over the last minute."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from pysync.base.counts import Counts, Rate


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_known_names_are_there_from_the_start() -> None:
    made = Counts(["b", "a"])
    assert made.status() == {"a": 0, "b": 0}
    made.add("c")
    assert made.status() == {"a": 0, "b": 0, "c": 1}


def test_no_count_is_lost_between_threads() -> None:
    made = Counts()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: [made.add("x") for _ in range(1000)], range(8)))
    assert made.status() == {"x": 8000}


@given(st.lists(st.floats(0, 50), max_size=80), st.floats(0, 200))
def test_the_rate_is_that_of_the_last_minute(steps: list[float], rest: float) -> None:
    clock = Clock()
    made, seen = Rate(clock), []
    for step in steps:
        clock.now += step
        made.add()
        seen.append(int(clock.now))
    clock.now += rest
    assert made.per_second() == sum(int(clock.now) - it < 60 for it in seen) / 60
