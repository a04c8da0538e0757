"""`--jitter SEED`: a race shows under some seed, and a seed always gives a thread the same delays."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable

import pytest

from pysync.base.counts import Counts
from pysync.replay import lanes
from tests.support import wait_until
from tests.support.jitter import Jitter

SEEDS = range(30)


def run(jitter: Jitter, work: Callable[[], object], name: str = "worker") -> None:
    with jitter.installed():
        thread = threading.Thread(target=work, name=name)
        thread.start()
        thread.join(60)


def delays(seed: int, work: Callable[[], object], name: str = "worker", test: str = "") -> list[float]:
    seconds: list[float] = []
    jitter = Jitter(seed, sleep=seconds.append)
    jitter.test = test
    run(jitter, work, name)
    return seconds


def sees_both(seed: int) -> bool:
    """A racy test: it waits for the first list, and looks at the second. A delay lasts until it has looked."""
    first, second, looking = [], [], threading.Lock()

    def sleep(_: float) -> None:
        if first:
            with looking:
                pass

    def work() -> None:
        first.append(1)
        threading.Event().set()
        second.append(1)

    with Jitter(seed, sleep).installed():
        thread = threading.Thread(target=work)
        with looking:
            thread.start()
            wait_until(lambda: first == [1])
            seen = second == [1]
        thread.join(60)
    return seen


def test_a_race_shows_under_some_seed() -> None:
    assert not all(sees_both(seed) for seed in SEEDS)


def set_events() -> None:
    for _ in range(50):
        threading.Event().set()


def test_a_seed_always_gives_a_thread_the_same_delays() -> None:
    first = delays(1, set_events)
    assert first == delays(1, set_events)
    others = delays(2, set_events), delays(1, set_events, name="other"), delays(1, set_events, test="another")
    assert len({str(it) for it in (first, *others)}) == 4


def test_delays_are_short_but_for_some() -> None:
    seconds = delays(1, set_events)
    assert max(seconds) == 0.05
    assert all(it <= 0.003 for it in seconds if it != 0.05)


def commit() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for _ in range(50):
        connection.execute("BEGIN")
        connection.execute("COMMIT")
    connection.close()


def wait_for_condition() -> None:
    condition = threading.Condition()
    for _ in range(50):
        with condition:
            condition.wait(0)


def put_into_queue() -> None:
    jobs = lanes.SimpleQueue()
    for number in range(50):
        jobs.put(number)


def take_lock() -> None:
    counts = Counts()
    for _ in range(50):
        counts.add("a")


@pytest.mark.parametrize("work", [commit, wait_for_condition, put_into_queue, take_lock])
def test_all_places_have_delays(work: Callable[[], None]) -> None:
    assert len(delays(1, work)) > 10


def test_a_thread_that_was_there_before_and_one_after_the_end_have_none() -> None:
    seconds: list[float] = []
    jitter = Jitter(1, sleep=seconds.append)
    with jitter.installed():
        set_events()
    run_after = threading.Thread(target=set_events)
    run_after.start()
    run_after.join(60)
    assert seconds == []
