"""The spool's own disk hangs: a call of the metastore waits for the deadline, once, and its start no longer.

On file systems that hang indeed, where this user may mount one; and, everywhere, with the spool held fast in the JVM.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.listener.driver import Driver, Place
from tests.listener.stand import DEADLINE, Stand, database_in
from tests.support import wait_for_value, wait_until
from tests.support.hung_disk import frozen, silent_fuse
from tests.support.powercut import LoopDisk
from tests.support.tmpfs import CannotMount

pytestmark = pytest.mark.crash

SLACK = 1.5
_START = 10.0
"""Seconds in which a JVM with the listener starts on a busy machine; the hung disk held it until it was let go."""
_METASTORE_START = 60.0
_MANY = 400
"""More events than are kept in memory."""


def names(place: Place) -> list[str]:
    return [database_in(event) for event in list(place.bridge.events) if event.kind == "CREATE_DATABASE"]


def wait_for_names(place: Place, wanted: list[str]) -> None:
    wait_for_value(lambda: names(place), wanted, seconds=30, what="all in order")


def hold_once(driver: Driver) -> list[str]:
    """Events while the disk hangs; the first call waits for the deadline, the next ones for nothing. Their names."""
    assert DEADLINE * 0.9 <= driver.create("first") < DEADLINE + SLACK
    assert max(driver.create(f"then{number}") for number in range(20)) < DEADLINE * 0.8
    return ["first", *(f"then{number}" for number in range(20))]


@pytest.mark.parametrize(
    ("sidecar", "synchronous"),
    [
        ("lives", "false"),
        pytest.param("lives", "true", marks=pytest.mark.crash),
        pytest.param("is away", "false", marks=pytest.mark.crash),
        ("is away", "true"),
    ],
)
def test_a_spool_that_hangs_holds_a_call_once(place: Place, sidecar: str, synchronous: str) -> None:
    """Everywhere: what the spool does for anybody does not end."""
    if sidecar == "lives":
        place.bridge.start()
    driver = place.driver(synchronous=synchronous)
    driver.create("before")
    if sidecar == "lives":
        place.wait_for_direct()
    assert driver.ask("seize") == "seized"
    came = hold_once(driver)
    assert len(place.log_lines("a call of the metastore waited")) == 1
    assert driver.ask("release") == "released"
    driver.create("after")
    if sidecar == "is away":
        place.bridge.start()
    wait_for_names(place, ["before", *came, "after"])
    assert [event.sequence for event in place.bridge.events] == list(range(1, 24))


def test_what_waits_for_a_hung_spool_is_bounded_and_counted(place: Place) -> None:
    driver = place.driver()
    driver.ask("seize")
    driver.create("first")
    assert max(driver.storm(1, _MANY, "t")) < DEADLINE
    driver.ask("release")
    wait_until(lambda: len(place.spooled()) == 256, what="what was held")
    time.sleep(1.1)  # after which the log tells of the end of the trouble
    driver.create("after")
    place.bridge.start()
    place.wait_for_direct()
    sequences = [event.sequence for event in place.bridge.events]
    assert sequences == [*range(1, 257), _MANY + 2]
    assert f"{_MANY + 1 - 256} lost" in place.log_lines("takes events;")[-1]
    wait_until(lambda: f'"lost": {_MANY + 1 - 256}' in place.bridge.reports[-1], what="a report of what is lost")


@pytest.mark.crash
def test_fifty_threads_wait_for_a_hung_spool_once(place: Place) -> None:
    driver = place.driver()
    driver.storm(50, 1, "warm")
    driver.ask("seize")
    assert max(driver.storm(50, 1, "first")) < DEADLINE + SLACK
    assert max(driver.storm(50, 2, "then")) < DEADLINE
    driver.ask("release")
    place.bridge.start()
    place.wait_for_direct()
    assert sorted(event.sequence for event in place.bridge.events) == list(range(1, 201))


@pytest.mark.crash
def test_the_end_of_a_process_waits_for_a_hung_spool_no_longer_than_it_says(place: Place) -> None:
    """And leaves its marker: the next one tells that it did not say goodbye."""
    driver = place.driver()
    driver.ask("seize")
    began = time.monotonic()
    driver.terminate()
    assert time.monotonic() - began < DEADLINE + 2 + SLACK
    assert len(place.markers()) == 1


def test_a_file_system_that_never_answers(place: Place) -> None:
    """From before the start of the process on; then it fails, and what came meanwhile is safe all the same."""
    with ExitStack() as stack:
        try:
            stack.enter_context(silent_fuse(place.spool))
        except CannotMount as error:
            pytest.skip(str(error))
        began = time.monotonic()
        driver = place.driver()
        assert time.monotonic() - began < DEADLINE + _START
        came = hold_once(driver)
    wait_until(lambda: [database_in(event) for event in place.spooled()] == came, seconds=30, what="the spool")
    place.bridge.start()
    wait_for_names(place, came)


@pytest.mark.crash
@pytest.mark.parametrize("sidecar", ["lives", "is away"])
def test_a_frozen_disk(place: Place, disk: LoopDisk, sidecar: str) -> None:
    if sidecar == "lives":
        place.bridge.start()
    driver = place.driver()
    driver.create("before")
    if sidecar == "lives":
        place.wait_for_direct()
    with frozen(disk.directory):
        came = hold_once(driver)
    driver.create("after")
    if sidecar == "is away":
        place.bridge.start()
    wait_for_names(place, ["before", *came, "after"])


@pytest.mark.crash
def test_a_process_starts_on_a_frozen_disk(place: Place, disk: LoopDisk) -> None:
    driver = place.driver()
    driver.create("left")
    driver.kill()
    with frozen(disk.directory):
        began = time.monotonic()
        driver = place.driver()
        assert time.monotonic() - began < DEADLINE + _START
        came = hold_once(driver)
    place.bridge.start()
    wait_for_names(place, ["left", *came])


@pytest.mark.crash
def test_a_metastore_on_a_disk_that_freezes(tmp_path: Path, jar: Path) -> None:
    """Hive itself: its start, and its DDL, with a sidecar that lives."""
    try:
        disk = LoopDisk(tmp_path / "disk.img", tmp_path / "disk", 64)
    except CannotMount as error:
        pytest.skip(str(error))
    stand = Stand(tmp_path / "stand", jar, {"pysync.spool.dir": str(disk.directory / "spool")})
    with closing(disk), closing(stand):
        stand.bridge.start()
        with frozen(disk.directory):
            began = time.monotonic()
            stand.server.start()
            started = time.monotonic() - began
            took = [stand.create(f"d{number}") for number in range(3)]
        assert started < DEADLINE + _METASTORE_START
        assert took[0] < DEADLINE + SLACK
        assert max(took[1:]) < DEADLINE * 0.8
        for number in range(3):
            stand.bridge.wait_for(f"d{number}", ["CREATE_DATABASE"])
