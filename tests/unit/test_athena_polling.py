"""Lanes that wait for queries: one of them asks about all, whatever becomes of its call."""

from __future__ import annotations

import itertools
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest

from pysync.targets.athena import polling
from pysync.targets.athena.failures import Ending
from pysync.targets.athena.polling import Polling, QueryUnanswered
from pysync.targets.base import Unavailable

RUNNING, DONE, FAILED = Ending("RUNNING"), Ending("SUCCEEDED"), Ending("FAILED", "no", 1003, 2)
PATIENCE = 30.0
EVERY = 0.01

Look = Callable[[Sequence[str]], Mapping[str, Ending]]


def waiting(look: Look, queries: Sequence[str], seconds: float = PATIENCE) -> list[Ending]:
    """What lanes hear that wait for these queries at once."""
    found = Polling(look, EVERY)
    with ThreadPoolExecutor(len(queries)) as lanes:
        asked: list[Future[Ending]] = [lanes.submit(found.ending, query, seconds) for query in queries]
        return [it.result(PATIENCE) for it in asked]


def test_one_call_asks_about_the_queries_of_all_lanes() -> None:
    queries, asked = [f"q{number}" for number in range(20)], list[Sequence[str]]()

    def look(some: Sequence[str]) -> dict[str, Ending]:
        asked.append(some)
        ends = len(some) == len(queries)
        return dict.fromkeys(some, DONE if ends else RUNNING)

    assert waiting(look, queries) == [DONE] * 20
    assert sorted(asked[-1]) == sorted(queries)
    assert all(len(some) < len(queries) for some in asked[:-1])


def test_only_one_lane_asks_at_a_time() -> None:
    looking, most, lock = 0, 0, threading.Lock()
    looks = 0

    def look(some: Sequence[str]) -> dict[str, Ending]:
        nonlocal looking, most, looks
        with lock:
            looking, looks = looking + 1, looks + 1
            most = max(most, looking)
        found = dict.fromkeys(some, DONE if looks > 10 else RUNNING)
        with lock:
            looking -= 1
        return found

    waiting(look, [f"q{number}" for number in range(8)])
    assert most == 1


def test_each_lane_hears_of_its_own_query() -> None:
    chance = random.Random(7)
    ends = {f"q{number}": chance.choice([DONE, FAILED, Ending("CANCELLED")]) for number in range(16)}

    def look(some: Sequence[str]) -> dict[str, Ending]:
        if chance.random() < 0.2:
            raise Unavailable("throttled")
        return {query: ends[query] if chance.random() < 0.3 else RUNNING for query in some if chance.random() < 0.9}

    assert waiting(look, list(ends)) == list(ends.values())


def test_it_does_not_ask_before_it_is_time_nor_when_nobody_waits() -> None:
    now, asked = [100.0], list[float]()

    def look(some: Sequence[str]) -> dict[str, Ending]:
        asked.append(now[0])
        return dict.fromkeys(some, DONE)

    def clock() -> float:
        now[0] += EVERY / 4
        return now[0]

    found = Polling(look, EVERY, clock=clock)
    assert found.ending("q", PATIENCE) == DONE
    assert len(asked) == 1
    assert asked[0] >= 100.0 + EVERY


def test_a_look_that_hangs_holds_up_no_other_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "HANGS_SECONDS", 0.05)
    hangs, released = threading.Event(), threading.Event()

    def look(some: Sequence[str]) -> dict[str, Ending]:
        if not hangs.is_set():
            hangs.set()
            released.wait(PATIENCE)
            return dict.fromkeys(some, RUNNING)  # what was true when it was asked
        return dict.fromkeys(some, DONE)

    found = Polling(look, EVERY)
    with ThreadPoolExecutor(2) as lanes:
        first = lanes.submit(found.ending, "q1", PATIENCE)
        assert hangs.wait(PATIENCE)
        assert found.ending("q2", PATIENCE) == DONE
        released.set()
        assert first.result(PATIENCE) == DONE, "the answer that came late says less than the one before it"


def test_who_hears_nothing_for_some_time_is_told_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "SILENT_SECONDS", 0.05)

    def look(_: Sequence[str]) -> dict[str, Ending]:
        raise Unavailable("throttled", "wait")

    with pytest.raises(QueryUnanswered, match="query q1: throttled; wait"):
        Polling(look, EVERY).ending("q1", PATIENCE)


def test_so_is_who_waits_no_longer_if_the_last_look_failed() -> None:
    def look(_: Sequence[str]) -> dict[str, Ending]:
        raise Unavailable("denied")

    with pytest.raises(QueryUnanswered, match="query q1: denied"):
        Polling(look, EVERY).ending("q1", 0.1)


def test_failures_make_it_ask_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "SILENT_SECONDS", 0.5)
    looks = 0

    def look(_: Sequence[str]) -> dict[str, Ending]:
        nonlocal looks
        looks += 1
        raise Unavailable("throttled")

    with pytest.raises(QueryUnanswered):
        Polling(look, EVERY).ending("q1", PATIENCE)
    assert looks <= 8, "each pause is at least half of twice the one before: 0.01 s becomes 0.5 s within some looks"


def test_an_outage_may_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of failures: the pause between them stays what it is."""
    now, looks = [0.0], 0

    def look(some: Sequence[str]) -> dict[str, Ending]:
        nonlocal looks
        looks += 1
        if looks < 3000:
            raise Unavailable("throttled")
        return dict.fromkeys(some, DONE)

    def clock() -> float:
        now[0] += 10.0
        return now[0]

    monkeypatch.setattr(polling, "SILENT_SECONDS", 1e9)
    assert Polling(look, 1.0, clock=clock).ending("q", 1e9) == DONE


def test_a_long_time_between_two_looks_is_no_silence() -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 10.0
        return now[0]

    assert Polling(lambda some: dict.fromkeys(some, DONE), 20.0, clock=clock).ending("q", 1e6) == DONE


def test_a_query_that_does_not_end_is_given_back_as_it_is() -> None:
    def look(some: Sequence[str]) -> dict[str, Ending]:
        return dict.fromkeys(some, RUNNING)

    clock = partial(next, itertools.count(step=EVERY / 2))  # a busy machine must not let the time pass before the look
    assert Polling(look, EVERY, clock).ending("q", 10 * EVERY) == RUNNING


def test_a_machine_that_was_suspended_asks_before_it_says_that_athena_is_silent() -> None:
    times = itertools.chain([0.0] * 4, itertools.repeat(100.0))
    found = Polling(lambda some: dict.fromkeys(some, DONE), EVERY, clock=partial(next, times))
    assert found.ending("q", 1000.0) == DONE
