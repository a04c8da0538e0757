"""GOODBYE is said by a process that ends in order while nobody is at work in it, and by no other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.listener.driver import Place
from tests.listener.stand import DEADLINE, Event, Stand, silent_server
from tests.support import process_is_gone, wait_for_value, wait_until

HOOK = 2.0
"""The longest, besides the deadline, that the end of a process waits, in seconds."""
SLACK = 6.0
"""For the end of a JVM on a busy machine."""


def kinds(events: list[Event]) -> list[str]:
    return [event.kind for event in events]


@pytest.fixture
def own(tmp_path: Path, jar: Path) -> Iterator[Stand]:
    """A metastore of the test's own, with a sidecar."""
    stand = Stand(tmp_path / "stand", jar)
    stand.bridge.start()
    stand.server.start()
    stand.settle()
    yield stand
    stand.close()


def test_a_metastore_that_is_stopped(own: Stand) -> None:
    """The threads of its open connections wait for calls; that is no work."""
    with own.metastore as metastore:
        metastore.databases()
        own.create("one")
        pid = own.server.pid
        began = time.monotonic()
        own.server.stop()
        assert time.monotonic() - began < HOOK + DEADLINE + SLACK
    assert process_is_gone(pid)
    last = own.bridge.events[-1]
    assert kinds(own.bridge.events) == ["CREATE_DATABASE", "GOODBYE"]
    assert [event.sequence for event in own.bridge.events] == [1, 2]
    assert (last.version, last.source, last.instance) == (1, "onprem", own.bridge.events[0].instance)
    assert (last.before, last.after, last.table, last.environment) == ([], [], None, {})
    assert set(last.attributes) == {"thread"}


@pytest.mark.crash
def test_a_metastore_that_is_killed(own: Stand) -> None:
    own.create("one")
    own.server.kill()
    own.server.start()
    own.settle()
    own.create("two")
    wait_for_value(lambda: kinds(own.bridge.events), ["CREATE_DATABASE", "CREATE_DATABASE"], what="both")


@pytest.mark.crash
def test_a_metastore_whose_sidecar_is_away(own: Stand) -> None:
    """The GOODBYE lies in the spool, after the events, and the next process brings it."""
    own.bridge.stop()
    own.create("one")
    own.server.stop()
    assert own.spooled() == 2
    own.bridge.start()
    own.server.start()
    wait_until(lambda: kinds(own.bridge.events) == ["CREATE_DATABASE", "GOODBYE"], what="the GOODBYE")


def test_none_while_a_handler_works(place: Place) -> None:
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    driver.create("one")
    assert driver.ask("busy") == "busy"
    began = time.monotonic()
    driver.terminate()
    took = time.monotonic() - began
    assert 1.5 < took < HOOK + DEADLINE + SLACK
    assert kinds(place.bridge.events) == ["CREATE_DATABASE"]


def test_none_where_something_has_changed_lately(place: Place) -> None:
    """Clients are at work: a call that begins after the last look may commit, and never come to its callback."""
    place.bridge.start()
    driver = place.driver(idle_ms="600000")
    place.wait_for_direct()
    driver.create("one")
    driver.terminate()
    assert kinds(place.bridge.events) == ["CREATE_DATABASE"]
    assert len(place.markers()) == 1, "the next process finds that this one said no goodbye"


def test_where_nothing_has_ever_changed(place: Place) -> None:
    place.bridge.start()
    driver = place.driver(idle_ms="600000")
    place.wait_for_direct()
    driver.terminate()
    assert kinds(place.bridge.events) == ["GOODBYE"]


def test_a_handler_that_ends_in_time(place: Place) -> None:
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    driver.ask("busy")
    began = time.monotonic()
    driver.process.terminate()
    time.sleep(0.3)
    assert place.bridge.events == []
    assert driver.ask("free") == "free"
    driver.process.wait(60)
    assert time.monotonic() - began < HOOK + DEADLINE + SLACK
    assert kinds(place.bridge.events) == ["GOODBYE"]


def test_an_event_after_it_has_a_later_number(place: Place) -> None:
    """As of a client whose call comes while the process ends: it is with the sidecar, or in the spool for the next."""
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    assert driver.ask("late", "one") == "late"
    driver.terminate()
    safe = {event.sequence: event.kind for event in (*place.bridge.events, *place.spooled())}
    assert list(safe.items()) == [(1, "GOODBYE"), (2, "CREATE_DATABASE")]


def test_a_sidecar_that_hangs_holds_the_end_no_longer_than_the_deadline(place: Place) -> None:
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    place.bridge.stop()
    with silent_server(place.bridge.port):
        began = time.monotonic()
        driver.terminate()
        assert time.monotonic() - began < HOOK + DEADLINE + SLACK
    assert kinds(place.spooled()) == ["GOODBYE"]


def test_a_full_spool_says_none(place: Place) -> None:
    """Its number would be missing anyhow, and with it the proof that nothing is."""
    driver = place.driver()
    for number in range(20):
        driver.create(f"d{number}", 1 << 20)
    assert place.log_lines("is full")
    last = place.spooled()[-1].sequence
    driver.terminate()
    waiting = place.spooled()
    assert [event.kind for event in waiting if event.sequence > last] in ([], ["GOODBYE"])
    assert last < 20
