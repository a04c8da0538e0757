"""The roll: who is to be heard of, what each has told, and when one that is silent is missed no more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from pysync.capture.roll import Roll
from pysync.model.event import Event, Kind
from pysync.queue import Entry, EventQueue
from tests.support.events import create_table

SILENCE = 15.0


class Desk:
    """A roll on a queue, with a clock of its own; `reopen` is the next sidecar."""

    def __init__(self, directory: Path) -> None:
        self.queue = EventQueue(directory, min_free_bytes=0)
        self.now = 1000.0
        self.roll = self.reopen()

    def reopen(self) -> Roll:
        self.roll = Roll(self.queue, SILENCE, clock=lambda: self.now)
        return self.roll

    def tell(self, instance: str = "jvm", *, given: int = 0, waiting: int = 0, lost: int = 0) -> None:
        self.roll.note_report(instance, "onprem", given=given, waiting=waiting, lost=lost)

    def take(self, sequence: int, instance: str = "jvm") -> None:
        event = event_of(sequence, instance)
        self.queue.intake.append_all([Entry(instance, sequence, "onprem", b"x")])
        self.roll.taken(event)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.roll.save()

    def all(self) -> list[dict[str, Any]]:
        return self.roll.status(self.queue.intake.instances())

    def states(self) -> dict[str, str]:
        return {it["instance"]: it["state"] for it in self.all()}


def event_of(sequence: int, instance: str = "jvm", *, kind: Kind = Kind.CREATE_TABLE, time_ms: int = 5000) -> Event:
    return replace(create_table("db.t", sequence=sequence), instance=instance, kind=kind, time_ms=time_ms)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    built = Desk(tmp_path)
    yield built
    built.queue.close()


def test_what_a_listener_tells_is_shown(desk: Desk) -> None:
    desk.take(1)
    desk.tell(given=9, waiting=4096, lost=2)
    (listener,) = desk.all()
    assert listener["heard_at"] == pytest.approx(time.time(), abs=60)
    assert {key: listener[key] for key in ("instance", "source", "state", "lost")} == {
        "instance": "jvm",
        "source": "onprem",
        "state": "heard",
        "lost": 2,
    }
    assert (listener["waiting_bytes"], listener["waiting_events"]) == (4096, 6)


def test_nothing_waits_any_more_once_it_says_so(desk: Desk) -> None:
    desk.tell(given=9, waiting=4096)
    desk.tell(given=9)
    (listener,) = desk.all()
    assert [listener[key] for key in ("waiting_bytes", "waiting_events", "waiting_since")] == [0, 0, None]


def test_what_waits_does_so_since_its_commit(desk: Desk) -> None:
    """The event that was refused is the oldest; of those behind it one knows that they are no older than what came."""
    desk.tell(given=9, waiting=4096)
    desk.roll.refused([event_of(1, time_ms=7000), event_of(2, time_ms=8000)])
    assert desk.all()[0]["waiting_since"] == 7.0
    desk.roll.taken(event_of(1, time_ms=7500))
    assert desk.all()[0]["waiting_since"] == 7.5


def test_one_that_falls_silent_stays_on_the_roll(desk: Desk) -> None:
    desk.tell()
    desk.wait(SILENCE + 1)
    assert desk.states() == {"jvm": "silent"}
    desk.wait(100_000)
    assert desk.states() == {"jvm": "silent"}


def test_the_next_sidecar_expects_it_and_then_misses_it(desk: Desk) -> None:
    desk.tell()
    desk.wait(1)
    desk.reopen()
    assert desk.states() == {"jvm": "expected"}
    desk.wait(SILENCE + 1)
    assert desk.states() == {"jvm": "silent"}


@pytest.mark.parametrize(
    "ends",
    [
        lambda roll: roll.taken(event_of(3, kind=Kind.GOODBYE)),
        lambda roll: roll.strike("jvm"),
    ],
    ids=["goodbye", "told of"],
)
def test_one_that_has_ended_is_missed_by_nobody(desk: Desk, ends: Callable[[Roll], object]) -> None:
    desk.tell()
    desk.wait(1)
    ends(desk.roll)
    desk.tell()  # a last report on its way
    assert desk.states() == {}
    assert desk.roll.empty_since() == pytest.approx(time.time(), abs=60)
    desk.wait(1)
    desk.reopen()
    assert desk.states() == {}


def test_one_that_a_person_removed_is_missed_until_it_reports_again(desk: Desk) -> None:
    """Before: a report did not count, so a listener that lived was not to be seen until its next event."""
    desk.tell()
    assert desk.roll.forget("jvm")
    assert not desk.roll.forget("jvm")
    assert desk.states() == {}
    desk.reopen()
    assert desk.states() == {}
    desk.tell(waiting=4096)
    assert desk.states() == {"jvm": "heard"}


def test_a_new_one_takes_the_place_of_one_that_was_silent_before(desk: Desk) -> None:
    desk.tell("killed")
    desk.wait(SILENCE + 1)
    desk.tell("next")
    desk.wait(1)
    assert desk.states() == {"next": "heard"}


def test_one_that_was_there_beside_it_does_not(desk: Desk) -> None:
    """Two metastores of one source: one of them is cut off, and its changes wait there."""
    desk.take(1, "cut off")
    desk.take(1, "other")
    desk.wait(10)
    desk.tell("other")
    desk.wait(10)
    assert desk.states() == {"cut off": "silent", "other": "heard"}
    desk.reopen()
    desk.tell("other")
    desk.wait(SILENCE + 1)
    desk.tell("other")
    desk.wait(1)
    assert desk.states() == {"cut off": "silent", "other": "heard"}


def test_nobody_fills_it_without_end(desk: Desk) -> None:
    for number in range(1100):
        desk.tell(f"made up {number}")
    assert len(desk.all()) == 1000


def logged(lines: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    return [(it["event"], it["instance"], it["log_level"]) for it in lines]


def test_that_a_listener_is_connected_lost_and_back_is_logged_once_each(desk: Desk) -> None:
    with capture_logs() as lines:
        for _ in range(3):
            desk.tell()
            desk.take(1)
        for _ in range(3):
            desk.wait(SILENCE + 1)
        for _ in range(3):
            desk.tell()
            desk.wait(1)
    assert logged(lines) == [
        ("listener_connected", "jvm", "info"),
        ("listener_lost", "jvm", "warning"),
        ("listener_connected", "jvm", "info"),
    ]
    assert [it["source"] for it in lines] == ["onprem"] * 3
    assert lines[1]["seconds"] == SILENCE + 1


def test_one_that_the_last_sidecar_knew_is_connected_or_lost_again(desk: Desk) -> None:
    desk.tell("heard")
    desk.tell("gone")
    desk.wait(1)
    desk.reopen()
    with capture_logs() as lines:
        for _ in range(2):
            desk.wait(SILENCE)
            desk.tell("heard")
    assert logged(lines) == [("listener_connected", "heard", "info"), ("listener_lost", "gone", "warning")]


def test_one_that_has_ended_is_logged_and_not_as_lost(desk: Desk) -> None:
    desk.tell()
    desk.tell("killed")
    desk.wait(SILENCE + 1)
    desk.tell("killed's next")
    with capture_logs() as lines:
        desk.roll.taken(event_of(3, kind=Kind.GOODBYE))
        desk.roll.taken(event_of(3, kind=Kind.GOODBYE))
        desk.wait(1)
    assert logged(lines) == [("listener_ended", "jvm", "info"), ("listener_replaced", "killed", "info")]


def test_made_up_listeners_beyond_the_bound_do_not_fill_the_log(desk: Desk) -> None:
    with capture_logs() as lines:
        for _ in range(2):
            for number in range(1010):
                desk.tell(f"made up {number}")
    assert len(lines) == 1000
