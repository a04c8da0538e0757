"""What a power cut leaves of the spool: all of it after a moment; or at once, where that is asked for."""

from __future__ import annotations

import time

import pytest

from tests.listener.driver import Driver, Place
from tests.listener.stand import database_in
from tests.support import wait_until
from tests.support.powercut import LoopDisk

pytestmark = pytest.mark.crash

_THREADS, _STEPS = 4, 25
_MOMENT = 1.0
"""Seconds in which what waits is on disk: ten times as long as it needs, for a busy machine."""


def cut(disk: LoopDisk, driver: Driver) -> None:
    """The machine of the metastore loses its power, and is there again."""
    disk.cut()
    driver.kill()
    disk.restore()


def spooled(place: Place) -> list[str]:
    return [database_in(event) for event in place.spooled()]


def test_every_event_is_on_disk_when_its_call_returns_where_that_is_asked_for(place: Place, disk: LoopDisk) -> None:
    driver = place.driver(synchronous="true")
    driver.storm(_THREADS, _STEPS, "t")
    cut(disk, driver)
    assert len(spooled(place)) == _THREADS * _STEPS
    place.bridge.start()
    place.driver()
    place.wait_for_count(_THREADS * _STEPS)


def test_so_it_is_while_what_another_process_left_is_delivered(place: Place, disk: LoopDisk) -> None:
    first = place.driver()
    first.storm(1, 20, "left")
    first.kill()
    place.bridge.answer = lambda _event: time.sleep(0.15) or "queued"
    place.bridge.start()
    driver = place.driver(synchronous="true")
    place.wait_for_count(3)
    driver.create("own")
    came = [database_in(event) for event in place.bridge.events]
    cut(disk, driver)
    assert "own" not in came, "the delivery was over before: this proves nothing"
    assert "own" in spooled(place)


def test_what_waits_for_the_sidecar_is_on_disk_after_a_moment(place: Place, disk: LoopDisk) -> None:
    driver = place.driver()
    driver.storm(_THREADS, _STEPS, "t")
    time.sleep(_MOMENT)
    driver.create("too_late")
    cut(disk, driver)
    kept = [name for name in spooled(place) if name != "too_late"]
    assert len(kept) == _THREADS * _STEPS
    for thread in range(_THREADS):
        assert [it for it in kept if it.startswith(f"t{thread}_")] == [f"t{thread}_{step}" for step in range(_STEPS)]


def test_the_next_process_tells_of_one_that_had_no_moment(place: Place, disk: LoopDisk) -> None:
    """The event of the last instant may be gone; that something may be is told, and the sidecar compares."""
    driver = place.driver()
    (instance,) = place.markers()
    driver.create("perhaps_gone")
    cut(disk, driver)
    place.bridge.start()
    place.driver()
    wait_until(
        lambda: any(f'"{instance}"' in text and '"ended": true' in text for text in list(place.bridge.reports)),
        seconds=30,
        what=f"a report of the end of {instance}",
    )
