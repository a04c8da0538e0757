"""Roll calls: when a listener's report proves that everything of before has been counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from pysync.capture.gaps import GapWatch
from pysync.capture.roll_calls import RollCalls
from pysync.queue import EventQueue
from tests.support.queues import Reopener, fill


class Listener:
    """As Reporter.java: it asks what it has heard, then how many events there are, and then reports."""

    def __init__(self, instance: str = "jvm") -> None:
        self.instance, self.heard, self.given = instance, "", 0

    def begin(self) -> str:
        reported = {"instance": self.instance, "sequence": self.given, "waiting": 0, "heard": self.heard}
        return json.dumps(reported)

    def end(self, answer: str) -> None:
        self.heard = answer.split(" ")[1] if " " in answer else ""

    def report(self, calls: RollCalls) -> str:
        payload = self.begin()
        answer = calls.answer_report(self.instance, self.given, json.loads(payload))
        self.end(answer)
        return answer


def test_a_call_is_over_with_the_second_report_after_it() -> None:
    calls, listener = RollCalls(), Listener()
    listener.report(calls)
    call = calls.begin()
    listener.given = 7
    assert listener.report(calls).endswith(" soon")
    found = calls.answered("jvm")
    assert found is not None
    assert found.call < call, "it may have been sent before the call"
    assert not listener.report(calls).endswith(" soon")
    found = calls.answered("jvm")
    assert found is not None
    assert (found.call, found.sequence) == (call, 7)


def test_what_another_process_called_has_not_been_heard() -> None:
    listener = Listener()
    former = RollCalls()
    former.begin()
    listener.report(former)
    calls = RollCalls()
    call = calls.begin()
    listener.report(calls)
    found = calls.answered("jvm")
    assert found is not None
    assert found.call < call


@pytest.mark.parametrize("heard", [None, 3, ["a"], True])
def test_a_report_without_the_roll_call_that_was_heard_is_no_answer_to_one(heard: object) -> None:
    calls = RollCalls()
    calls.begin()
    assert calls.answer_report("jvm", 4, {"waiting": 0, **({} if heard is None else {"heard": heard})}) == "ok"
    assert calls.answered("jvm") is None


def test_a_report_of_what_waits_says_nothing_of_what_has_come() -> None:
    calls = RollCalls()
    assert calls.answer_report("jvm", 4, {"waiting": 12}) == "ok"
    assert calls.answered("jvm") is None


@given(st.lists(st.sampled_from(["change", "send", "arrive", "answer"]), max_size=80), st.integers(0, 79))
def test_however_long_reports_take_all_changes_of_before_are_counted(steps: list[str], begins_at: int) -> None:
    """`given` at the begin of the call is at most what the first report says that has heard of it."""
    calls, listener = RollCalls(), Listener()
    payload = answer = None
    call, before = None, 0
    for number, step in enumerate(steps):
        if number == begins_at:
            call, before = calls.begin(), listener.given
        if step == "change":
            listener.given += 1
        elif step == "send" and payload is None and answer is None:
            payload = listener.begin()
        elif step == "arrive" and payload is not None:
            reported = json.loads(payload)
            payload, answer = None, calls.answer_report("jvm", reported["sequence"], reported)
        elif step == "answer" and answer is not None:
            listener.end(answer)
            answer = None
        found = calls.answered("jvm")
        if call is not None and found is not None and found.call >= call:
            assert found.sequence >= before


# --- with the queue


@pytest.fixture
def queue(reopen: Reopener) -> EventQueue:
    return reopen()


@pytest.fixture
def watch(queue: EventQueue) -> Iterator[GapWatch]:
    with structlog.testing.capture_logs():
        yield GapWatch(queue, 15.0)


def report(watch: GapWatch, listener: Listener) -> None:
    listener.end(watch.report(listener.begin()))


def test_all_has_come_when_every_number_of_before_is_in_the_queue(queue: EventQueue, watch: GapWatch) -> None:
    listener = Listener()
    fill(queue, 1, 2)
    call = watch.calls.begin()
    listener.given = 4
    report(watch, listener)
    assert not watch.has_come("jvm", call)
    report(watch, listener)
    assert not watch.has_come("jvm", call), "3 and 4 are on their way"
    fill(queue, 4, 4)
    assert not watch.has_come("jvm", call), "3 is on its way"
    fill(queue, 3, 3)
    assert watch.has_come("jvm", call)
    fill(queue, 6, 6)
    assert watch.has_come("jvm", call), "5 came later"


def test_a_number_that_never_comes_has_come_once_it_is_a_gap(queue: EventQueue, watch: GapWatch) -> None:
    listener = Listener()
    fill(queue, 1, 2)
    listener.given = 3
    call = watch.calls.begin()
    for _ in range(2):
        report(watch, listener)
    assert not watch.has_come("jvm", call)
    for _ in range(10):
        report(watch, listener)
        watch.check(2.0)
    assert watch.has_come("jvm", call)
    assert [gap.key for gap in queue.gaps.unclosed()] == ["missing:jvm:3-3"]


def test_a_listener_that_never_changed_anything_has_nothing_to_come(watch: GapWatch, tmp_path: Path) -> None:
    listener = Listener()
    call = watch.calls.begin()
    for _ in range(2):
        report(watch, listener)
    assert watch.has_come("jvm", call)
