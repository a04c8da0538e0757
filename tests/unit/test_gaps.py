"""What is taken for a gap, and what is not."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from pysync.capture import gaps
from pysync.capture.bridge import Reception
from pysync.capture.gaps import GapWatch
from pysync.capture.overlaps import Overlaps
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.reread import RereadRequest
from pysync.model.wire import encode, encode_event
from pysync.queue import EventQueue, QueueFailed
from tests.support.queues import Reopener, fill

NO_QUEUE = SimpleNamespace(  # it must not come to ask more of it
    notes=SimpleNamespace(get=lambda _: None), intake=SimpleNamespace(instances=list)
)
SILENCE = 15.0
TICK = 2.0


@pytest.fixture
def queue(reopen: Reopener) -> EventQueue:
    return reopen()


@pytest.fixture
def watch(queue: EventQueue) -> Iterator[GapWatch]:
    with structlog.testing.capture_logs():
        yield GapWatch(queue, SILENCE)


def told(sequence: int, waiting: int = 0, instance: str = "jvm") -> str:
    return json.dumps({"instance": instance, "sequence": sequence, "waiting": waiting})


def check(watch: GapWatch, seconds: float, *, report: str | None = None) -> int:
    """Look every other second for so long; the listener reports before each look, if it does."""
    found = 0
    for _ in range(round(seconds / TICK)):
        if report is not None:
            assert watch.report(report)
        found += watch.check(TICK)
    return found


def reasons(queue: EventQueue) -> list[str]:
    return [gap.reason for gap in queue.gaps.latest()]


# --- numbers that are missing


def test_a_number_that_stays_missing_is_a_gap_once_if_its_listener_has_nothing_left(queue, watch):
    fill(queue, 1, 2)
    fill(queue, 5, 6)
    assert check(watch, 30, report=told(6)) == 1
    assert reasons(queue) == ["events 3 to 4 of metastore jvm did not arrive"]


def test_the_last_numbers_can_be_missing_too(queue, watch):
    fill(queue, 1, 2)
    assert check(watch, 30, report=told(4)) == 1
    assert reasons(queue) == ["events 3 to 4 of metastore jvm did not arrive"]


def test_each_of_several_holes_is_a_gap_of_its_own(queue, watch):
    for number in (1, 3, 6):
        fill(queue, number, number)
    assert check(watch, 30, report=told(7)) == 3
    assert len(set(reasons(queue))) == 3


def test_nothing_is_missing_while_the_listener_has_events_waiting(queue, watch):
    fill(queue, 1, 1)
    fill(queue, 3, 3)
    assert check(watch, 60, report=told(9, waiting=1)) == 0
    assert check(watch, 30, report=told(9)) == 2


def test_what_comes_within_a_few_seconds_was_not_missing(queue, watch):
    fill(queue, 1, 1)
    fill(queue, 3, 3)
    assert check(watch, 4, report=told(3)) == 0
    fill(queue, 2, 2)
    assert check(watch, 30, report=told(3)) == 0


def test_holes_that_change_begin_their_time_anew(queue, watch):
    """As while a spool is delivered: the tail goes on and on."""
    for number in range(1, 41, 2):
        fill(queue, number, number)
        assert check(watch, TICK, report=told(number)) == 0, f"at {number}"


def test_holes_of_a_listener_that_has_ended_are_gaps_though_it_had_events_waiting(queue, watch):
    fill(queue, 1, 1)
    fill(queue, 3, 3)
    assert watch.report(told(3, waiting=2))
    assert check(watch, SILENCE + 10) == 2
    assert "event 2 of metastore jvm did not arrive" in reasons(queue)


# --- silence


def test_silence_without_a_goodbye_is_a_gap_once(queue, watch):
    fill(queue, 1, 3)
    assert check(watch, SILENCE - TICK) == 0
    assert check(watch, 100) == 1
    assert reasons(queue) == ["metastore jvm was killed or disconnected: its listener did not report a shutdown"]


def test_reports_and_events_break_the_silence(queue, watch):
    fill(queue, 1, 3)
    assert check(watch, 60, report=told(3)) == 0
    for _ in range(5):
        assert check(watch, SILENCE - TICK - 1) == 0
        watch.note_event("jvm")
    assert reasons(queue) == []


def test_after_a_goodbye_silence_is_no_gap(queue, watch):
    fill(queue, 1, 3)
    watch.goodbye("jvm", 3)
    assert check(watch, 100) == 0


def test_a_goodbye_is_not_one_if_events_came_with_higher_numbers(queue, watch):
    fill(queue, 1, 4)
    watch.goodbye("jvm", 3)
    assert check(watch, 100) == 1


def test_a_goodbye_is_remembered_by_the_next_sidecar(reopen):
    with structlog.testing.capture_logs():
        queue = reopen()
        fill(queue, 1, 3)
        GapWatch(queue, SILENCE).goodbye("jvm", 3)
        assert check(GapWatch(reopen(), SILENCE), 100) == 0


def test_a_gap_that_is_known_is_not_found_again_by_the_next_sidecar(reopen):
    with structlog.testing.capture_logs():
        queue = reopen()
        fill(queue, 1, 3)
        assert check(GapWatch(queue, SILENCE), 100) == 1
        again = reopen()
        assert check(GapWatch(again, SILENCE), 100) == 0
        assert len(again.gaps.latest()) == 1


def test_a_listener_that_is_heard_again_is_alive_and_may_fall_silent_again(queue, watch):
    """Cut off for a while: what came after that tells of another gap, at another number."""
    fill(queue, 1, 3)
    assert check(watch, 100) == 1
    fill(queue, 4, 4)
    watch.note_event("jvm")
    assert check(watch, SILENCE - TICK) == 0
    assert check(watch, 100) == 1
    assert len(queue.gaps.latest()) == 2


def test_a_pause_of_the_sidecar_itself_is_no_silence(queue, watch):
    """It was stopped (SIGSTOP, a suspended machine) for an hour: its listener could not be heard."""
    fill(queue, 1, 3)
    assert watch.check(3600) == 0
    watch.note_event("jvm")
    assert check(watch, SILENCE - TICK) == 0


def test_a_listener_that_has_told_of_itself_only_is_watched_too(queue, watch):
    """Its metastore may be killed between its first commit and the callback of it."""
    assert watch.report(told(0, instance="young"))
    assert check(watch, 100) == 1
    assert reasons(queue) == ["metastore young was killed or disconnected: its listener did not report a shutdown"]


def ended(instance: str = "jvm") -> str:
    return json.dumps({"instance": instance, "sequence": 0, "waiting": 0, "ended": True})


def test_what_a_listener_tells_of_an_earlier_one_is_a_gap_at_once(reopen):
    """The sidecar may be killed before it has been silent for long: what was answered must be on disk."""
    with structlog.testing.capture_logs():
        assert GapWatch(reopen(), SILENCE).report(ended("killed"))
        queue = reopen()
        assert reasons(queue) == ["metastore killed was killed or disconnected: its listener did not report a shutdown"]
        again = GapWatch(queue, SILENCE)
        assert again.report(ended("killed"))
        assert check(again, 100) == 0
        assert len(queue.gaps.latest()) == 1


def test_the_end_of_an_earlier_one_that_cannot_be_recorded_is_not_answered_ok(queue, watch):
    """The listener keeps its marker then, and tells of it again."""
    reception = Reception(queue.intake, watch, Overlaps())
    assert reception.report(ended("one")) == "ok"
    queue.close()
    assert reception.report(ended("two")) == "failed"


def test_an_earlier_one_that_said_goodbye_is_none(queue, watch):
    fill(queue, 1, 3)
    watch.goodbye("jvm", 3)
    assert watch.report(ended())
    assert check(watch, 100) == 0
    assert reasons(queue) == []


def test_its_silence_was_a_gap_already(queue, watch):
    fill(queue, 1, 3)
    assert check(watch, 100) == 1
    assert watch.report(ended())
    assert check(watch, 100) == 0
    assert len(queue.gaps.latest()) == 1


def test_the_end_of_an_earlier_one_does_not_hide_that_numbers_of_it_are_missing(queue, watch):
    fill(queue, 1, 2)
    assert watch.report(told(4))
    assert watch.report(ended())
    assert check(watch, 100) == 1
    assert "events 3 to 4 of metastore jvm did not arrive" in reasons(queue)


@pytest.mark.parametrize("instance", [SIDECAR, "notification-log:onprem"])
def test_what_is_no_listener_has_no_end(queue, watch, instance):
    assert watch.report(ended(instance))
    assert reasons(queue) == []


def test_all_events_of_a_listener_may_be_missing(queue, watch):
    assert check(watch, 30, report=told(2)) == 1
    assert reasons(queue) == ["events 1 to 2 of metastore jvm did not arrive"]


def test_the_sidecar_s_own_events_and_a_notification_log_have_no_listener(queue, watch):
    fill(queue, 1, 3, instance=SIDECAR)
    fill(queue, 1, 1, instance="notification-log:onprem")
    fill(queue, 7, 7, instance="notification-log:onprem")
    assert check(watch, 100) == 0


def test_made_up_listeners_take_no_more_memory_and_the_true_ones_are_still_heard(queue, watch, monkeypatch):
    monkeypatch.setattr(gaps, "_MOST_LISTENERS", 3)
    fill(queue, 1, 2, instance="known")
    assert watch.check(TICK) == 0
    assert [watch.report(told(1, instance=name)) for name in "abc"] == ["ok", "ok", ""]
    assert not watch.report(ended("d"))
    assert watch.report(told(1, instance="a"))
    assert watch.report(told(2, instance="known"))
    assert len(watch._listeners) == 3


# --- reports that are none


@given(st.one_of(st.text(), st.from_type(type(None)), st.recursive(st.none() | st.text() | st.integers(), st.lists)))
def test_what_is_no_report_is_told_so_and_changes_nothing(payload):
    watch = GapWatch(NO_QUEUE, SILENCE)
    text = payload if isinstance(payload, str) else json.dumps(payload)
    assert not watch.report(text)
    assert watch._listeners == {}


@pytest.mark.parametrize(
    "payload",
    [
        "{}",
        '{"instance": "jvm", "sequence": 1}',
        '{"instance": "jvm", "sequence": "many", "waiting": 0}',
        '{"instance": "jvm", "sequence": null, "waiting": 0}',
        '{"instance": "jvm", "sequence": 1, "waiting": []}',
        '{"instance": "jvm", "sequence": Infinity, "waiting": 0}',
        json.dumps({"instance": "x" * 201, "sequence": 0, "waiting": 0, "ended": True}),
    ],
)
def test_half_a_report_is_none(payload, tmp_path: Path):
    assert not GapWatch(NO_QUEUE, SILENCE).report(payload)


def word(sequence: int = 1, **names: Any) -> str:
    """What a listener sends of the word that the cluster east may have lost changes."""
    words = RereadRequest("", home="east", path=("east", "north")).as_function("north")
    attributes = {"user": "pysync-north"}
    event = Event(Kind.CREATE_FUNCTION, "west", "jvm", sequence, 0, attributes=attributes, after=(encode(words),))
    return base64.b64encode(encode_event(replace(event, **names))).decode()


def test_the_loss_of_another_cluster_is_a_gap_here_before_its_word_is_answered(queue, watch):
    heard: list[Event] = []

    def lost(event: Event) -> str | None:
        heard.append(event)
        return "east" if event.kind is Kind.CREATE_FUNCTION else None

    reception = Reception(queue.intake, watch, Overlaps(), [lost, lambda _: None])
    assert reception.append(word(1), word(2, kind=Kind.DROP_FUNCTION)) == "queued"
    assert len(heard) == 2
    assert reasons(queue) == ["east may have lost changes"]
    assert reception.append(word(1)) == "queued"
    assert len(queue.gaps.latest()) == 1, "the same event came again"
    assert reception.append(word(3)) == "queued"
    assert len(queue.gaps.latest()) == 2, "a later word is about another loss"


def test_a_word_whose_gap_cannot_be_recorded_is_sent_again(queue, watch, monkeypatch):
    def fails(*_: object) -> None:
        raise QueueFailed("disk")

    monkeypatch.setattr(queue.gaps, "open", fails)
    assert Reception(queue.intake, watch, Overlaps(), [lambda _: "east"]).append(word()) == "failed"


def test_listeners_that_are_not_expected_any_more_are_neither_missed_nor_a_gap(queue, watch):
    fill(queue, 1, 1)
    watch.report(told(1))
    instances = [it.instance for it in queue.intake.instances()]
    assert check(watch, TICK) == 0
    watch.retire()
    assert check(watch, SILENCE * 2) == 0
    assert (watch.roll.status([]), watch.is_settled()) == ([], True)
    assert reasons(queue) == []
    assert instances, "no listener was known"


def test_a_listener_that_is_heard_after_all_is_missed_again(queue, watch):
    watch.retire()
    assert not watch.reporting_listeners()
    watch.report(told(0))
    assert watch.reporting_listeners()
    assert check(watch, SILENCE * 2) == 1
