"""The spool is bounded, gives its room back segment by segment, and tells of what it had to lose."""

from __future__ import annotations

import os
import resource
import shutil
import time
from pathlib import Path

import pytest

from tests.listener.driver import LEAST, MIB, Driver, Place
from tests.listener.stand import DEADLINE, SPOOL_HEADER, Event, database_in, record, records
from tests.support import wait_for_items, wait_for_value, wait_until

CHUNK = 100_000
"""Padding with which an event takes a tenth of a segment."""
SLACK = 1.5
CALM = 1.1
"""The seconds without a loss after which the log tells of the next one."""


def names(events: list[Event]) -> list[str]:
    return [name for event in events if (name := database_in(event))]


def sequences(events: list[Event]) -> list[int]:
    return [event.sequence for event in events]


def wait_for_names(place: Place, wanted: list[str]) -> None:
    place.wait_for(lambda events: names(events) == wanted, f"{wanted[:3]}… in order")


def test_a_full_spool_loses_counts_and_goes_on(place: Place) -> None:
    driver = place.driver()
    for number in range(200):
        driver.create(f"d{number}", CHUNK)
    kept = len(place.spooled())
    assert LEAST - 2 * CHUNK < place.spool_bytes() <= LEAST
    assert 100 < kept < 200
    (line,) = place.log_lines("is full")
    assert f"pysync.spool.max.bytes = {LEAST}" in line
    assert "events are lost, 1 so far" in line

    place.bridge.start()
    place.wait_for_direct()
    assert place.files() == []
    driver.create("after")
    wait_for_names(place, [*(f"d{number}" for number in range(kept)), "after"])
    assert sequences(place.bridge.events) == [*range(1, kept + 1), 201]  # the hole is as wide as what was lost
    assert f"{200 - kept} lost" in place.log_lines("takes events")[-1]


def test_a_full_spool_takes_events_again_when_there_is_room(place: Place) -> None:
    """While the sidecar is still slower than the metastore."""
    driver = place.driver()
    for number in range(200):
        driver.create(f"d{number}", CHUNK)
    kept = len(place.spooled())
    taken = 0

    def take_some(_event: Event) -> str:
        nonlocal taken
        taken += 1
        return "queued" if taken <= 25 else "failed"

    place.bridge.answer = take_some
    place.bridge.start()
    wait_for_items(lambda: place.bridge.events, 25, seconds=30, what="room for two segments")
    time.sleep(CALM)
    for number in range(10):
        driver.create(f"later{number}", CHUNK)
    assert place.log_lines("takes events again"), place.log_lines()
    place.bridge.answer = lambda _event: "queued"
    wait_for_names(place, [*(f"d{number}" for number in range(kept)), *(f"later{number}" for number in range(10))])
    place.wait_for_direct()
    assert sequences(place.bridge.events) == [*range(1, kept + 1), *range(201, 211)]


def test_a_nearly_full_spool_does_not_flood_the_log(place: Place) -> None:
    """It takes the short events and not the long ones."""
    driver = place.driver()
    for number in range(160):
        driver.create(f"d{number}", CHUNK)
    for number in range(50):
        driver.create(f"short{number}")
        driver.create(f"long{number}", 15 * CHUNK)
    kept = [database_in(event) for event in place.spooled()]
    assert kept[-1] == "short49"
    assert "long0" not in kept
    assert len(place.log_lines()) < 12, "a line or two for each second, not for each event"


def test_segments_are_filled_one_after_the_other_and_go_when_delivered(place: Place) -> None:
    driver = place.driver()
    for number in range(45):
        driver.create(f"d{number}", CHUNK)
    files = place.files()
    instance = place.spooled()[0].instance
    assert files == [f"onprem~{instance}~{number:06}.spool" for number in range(1, 6)]
    assert max((place.spool / name).stat().st_size for name in files) <= MIB
    allowed = 22
    place.bridge.answer = lambda event: "queued" if event.sequence <= allowed else "failed"
    place.bridge.start()
    place.wait_for(lambda events: len(events) == allowed, "22 events")
    wait_for_value(place.files, files[2:], what="deleting two segments")
    place.bridge.answer = lambda _event: "queued"
    place.wait_for_direct()
    assert place.files() == []
    assert sequences(place.bridge.events) == list(range(1, 46))
    place.bridge.stop()
    driver.create("next")
    driver.create("outage")
    assert len(place.spooled()) == 2
    assert place.files() == files[-1:]  # the last one serves again
    for number in range(12):
        driver.create(f"more{number}", CHUNK)
    assert place.files() == [*files[-1:], f"onprem~{instance}~000006.spool"]  # a number is never used again


def test_an_event_longer_than_a_segment(place: Place) -> None:
    driver = place.driver()
    driver.create("a")
    driver.create("long", 3 * MIB)
    driver.create("b")
    assert len(place.files()) == 3
    assert driver.create("longer_than_the_spool", 17 * MIB) < 5
    place.bridge.start()
    wait_for_names(place, ["a", "long", "b"])


@pytest.mark.parametrize("wrong", [str(LEAST - 1), "-1", "much", str(1 << 50)])
def test_a_limit_that_makes_no_sense(place: Place, wrong: str) -> None:
    driver = place.driver(spool_max_bytes=wrong)
    (line,) = place.log_lines("pysync.spool.max.bytes")
    assert f"'{wrong}' is not a number from {LEAST} to" in line
    assert "using 1073741824" in line
    for number in range(12):
        driver.create(f"d{number}", CHUNK)
    assert len(place.files()) == 1  # segments of 16 MiB


def test_a_directory_that_cannot_be_written(place: Place) -> None:
    blocked(place)
    driver = place.driver()
    assert max(driver.create(f"lost{number}") for number in range(5)) < DEADLINE
    assert len(place.log_lines("cannot be used")) == 1
    assert len(place.log_lines("cannot be written")) == 1
    place.spool.unlink()
    time.sleep(CALM)
    driver.create("kept")
    assert [event.sequence for event in place.spooled()] == [6]
    assert len(place.log_lines("takes events again")) == 1
    place.bridge.start()
    place.wait_for_direct()
    assert sequences(place.bridge.events) == [6]
    assert "5 lost" in place.log_lines("takes events")[-1]


def blocked(place: Place) -> None:
    """Nothing can be spooled: root may write everywhere, so that a file stands in the directory's place."""
    place.spool.parent.mkdir()
    place.spool.write_text("no directory")


def test_what_cannot_be_spooled_waits_for_a_sidecar_that_takes_events(place: Place) -> None:
    blocked(place)
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    for number in range(3):
        driver.create(f"d{number}")
        assert names(place.bridge.events)[-1] == f"d{number}", "the call returned before its event was safe"
    driver.storm(8, 5, "t")
    assert len(place.bridge.events) == 43
    assert len(place.log_lines("a call of the metastore waits")) == 1
    place.spool.unlink()
    time.sleep(CALM)
    driver.create("spooled")
    place.wait_for_count(44)
    assert sorted(sequences(place.bridge.events)) == list(range(1, 45))
    assert len(place.log_lines("takes events again; 0 lost")) == 1


@pytest.mark.crash
def test_what_cannot_be_spooled_waits_for_a_hung_sidecar_once(place: Place) -> None:
    """It is kept in memory meanwhile, and spooled as soon as that is possible, before anything that comes later."""
    blocked(place)
    stub = place.stub()
    driver = place.driver()
    place.wait_for_direct()
    driver.create("warm")
    stub.hang()
    assert DEADLINE <= driver.create("held") < DEADLINE + SLACK
    assert driver.create("behind") < DEADLINE
    place.spool.unlink()
    assert driver.create("later") < DEADLINE
    there = ["held", "behind", "later"]
    wait_for_value(lambda: names(place.spooled()), there, seconds=30, what="the way from memory to the spool")
    driver.create("last")
    assert names(place.spooled()) == ["held", "behind", "later", "last"]
    stub.go_on()
    place.wait_for_direct()
    wait_for_value(stub.names, ["warm", "held", "behind", "later", "last"], what="all of it")


def test_what_cannot_be_spooled_is_lost_while_the_sidecar_is_away(place: Place) -> None:
    blocked(place)
    place.bridge.start()
    driver = place.driver()
    place.wait_for_direct()
    driver.create("a")
    place.bridge.stop()
    assert max(driver.create(f"lost{number}") for number in range(5)) < DEADLINE
    place.bridge.start()
    place.wait_for_direct()
    driver.create("b")
    came = sequences(place.bridge.events)
    assert (came[0], came[-1]) == (1, 7)
    assert len(came) + int(place.log_lines("takes events;")[-1].rpartition(", ")[2].split()[0]) == 7


def test_a_directory_that_comes_late_still_gives_what_it_holds(place: Place) -> None:
    """As when the file system is mounted after the metastore's start: first what was there, then our own."""
    first = place.driver()
    first.create("earlier")
    first.kill()
    away = place.spool.with_name("away")
    place.spool.rename(away)
    place.spool.write_text("not mounted")
    driver = place.driver()
    driver.create("lost")
    place.spool.unlink()
    away.rename(place.spool)
    driver.create("own")
    place.bridge.start()
    wait_for_names(place, ["earlier", "own"])


def test_a_disk_that_takes_half_a_record(place: Place) -> None:
    """The kernel cuts the write short, as it does on a full disk; the limit is on the size of any file."""
    driver = place.driver()
    driver.create("a", CHUNK)
    whole = place.spool_bytes()
    unlimited = resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, (whole + CHUNK // 2, unlimited[1]))
    for name in ("lost1", "lost2"):
        driver.create(name, CHUNK)
    assert place.spool_bytes() == whole  # the half was cut off again
    assert len(place.log_lines("cannot be written")) == 1
    resource.prlimit(driver.process.pid, resource.RLIMIT_FSIZE, unlimited)
    driver.create("b", CHUNK)
    driver.kill()
    place.bridge.start()
    place.driver()
    wait_for_names(place, ["a", "b"])
    assert sequences(place.bridge.events) == [1, 4]


def filled(place: Place, count: int = 45) -> list[Path]:
    """The segments of a process that was killed; their events are d0, d1, …"""
    driver = place.driver()
    for number in range(count):
        driver.create(f"d{number}", CHUNK)
    driver.kill()
    return [place.spool / name for name in place.files()]


def of_another(segment: Path, instance: str, name: str) -> bytes:
    """A record like the segment's first, of another instance and of a name of two letters."""
    event = next(records(segment.read_bytes()))
    parsed = Event.parse(event)
    assert database_in(parsed) == "d0"
    changed = event.replace(parsed.instance.encode(), instance.encode() + parsed.instance[len(instance) :].encode())
    return record(changed.replace(b"d0", name.encode()))


def test_segments_and_files_of_earlier_processes_come_in_order(place: Place) -> None:
    """By the instance that wrote first; a file without a number, which is not ours, stands before any."""
    segments = filled(place)
    for age, segment in enumerate(segments):
        os.utime(segment, (2_000_000 - age, 2_000_000 - age))  # within an instance the number counts, not the time
    made = {
        "old~000010": ("s3", 1_000_000),
        "old~000002": ("s2", 3_000_000),
        "old": ("s1", 3_000_000),
        "middle": ("m1", 1_500_000),
        "young~1000000": ("y2", 3_000_000),
        "young~999999": ("y1", 2_500_000),
    }
    for name, (database, time_) in made.items():
        path = place.spool / f"onprem~{name}.spool"
        path.write_bytes(SPOOL_HEADER + of_another(segments[0], database, database))
        os.utime(path, (time_, time_))
    driver = place.driver()
    driver.create("own")
    place.bridge.start()
    own = [f"d{number}" for number in range(45)]
    wait_for_names(place, ["s1", "s2", "s3", "m1", *own, "y1", "y2", "own"])
    place.wait_for_direct()
    assert place.files() == []


def test_files_of_earlier_processes_count(place: Place) -> None:
    driver = place.driver()
    for number in range(200):
        driver.create(f"d{number}", CHUNK)
    kept = len(place.spooled())
    driver.kill()
    second = place.driver()
    second.create("lost", CHUNK)
    assert len(place.log_lines("is full")) == 2  # once of each process
    assert place.spool_bytes() <= LEAST
    place.bridge.start()
    place.wait_for(lambda events: len(events) == kept, "what fitted")
    place.wait_for_direct()
    second.create("own")
    wait_for_names(place, [*(f"d{number}" for number in range(kept)), "own"])


@pytest.mark.crash
@pytest.mark.parametrize("rest", [1, 7, 8, 9, 500, -1], ids=str)
def test_a_torn_tail_is_cut(place: Place, rest: int) -> None:
    (segment,) = filled(place, 3)
    torn = record(b"\x06\x00\x01" + b"." * 1000)[:rest]
    with segment.open("ab") as file:
        file.write(torn)
    place.bridge.start()
    place.driver()
    wait_for_names(place, ["d0", "d1", "d2"])
    place.wait_for_direct()
    assert place.files() == []
    assert len(place.log_lines("record that was cut off")) == 1


def test_a_tail_of_zeros_is_cut(place: Place) -> None:
    """A file system may have made a file longer before the power went, and not have written it."""
    (segment,) = filled(place, 2)
    with segment.open("ab") as file:
        file.write(bytes(4096))
    place.bridge.start()
    place.driver()
    wait_for_names(place, ["d0", "d1"])
    place.wait_for_direct()
    assert place.files() == []


def damaged(segment: Path, at: int, what: bytes) -> None:
    data = bytearray(segment.read_bytes())
    data[at : at + len(what)] = what
    segment.write_bytes(data)


@pytest.mark.crash
@pytest.mark.parametrize("field", ["length", "negative length", "checksum", "event"])
def test_a_damaged_record_ends_its_segment_only(place: Place, field: str) -> None:
    segments = filled(place)
    second = list(records(segments[1].read_bytes()))
    size = len(record(second[0]))
    at = len(SPOOL_HEADER) + 3 * size
    place_of = {"length": (0, b"\x7f"), "negative length": (0, b"\xff"), "checksum": (4, b"!!"), "event": (500, b"!!")}
    offset, what = place_of[field]
    damaged(segments[1], at + offset, what)
    first_lost, after = len(second) + 3, 2 * len(second)
    place.bridge.start()
    place.driver()
    came = [f"d{number}" for number in range(45) if not first_lost <= number < after]
    wait_for_names(place, came)
    place.wait_for_direct()
    assert place.files() == [segments[1].name + ".damaged"]  # kept, with what could not be told apart
    kept = place.spool / (segments[1].name + ".damaged")
    assert kept.stat().st_size == len(SPOOL_HEADER) + len(second) * size
    (line,) = place.log_lines("is damaged at byte")
    assert f"at byte {at}:" in line
    assert "1 lost" in place.log_lines("takes events")[-1]
    sequence = sequences([event for event in place.bridge.events if database_in(event)])
    assert sequence == [int(name[1:]) + 1 for name in came]


@pytest.mark.crash
def test_nobody_waits_for_the_delivery_of_a_long_spool(place: Place) -> None:
    driver = place.driver()
    driver.storm(4, 2_500, "old", 200)
    assert len(place.spooled()) == 10_000
    place.bridge.answer = lambda _event: time.sleep(0.0005) or "queued"  # 5 s at least for all of them
    place.bridge.start()
    place.wait_for(lambda events: len(events) > 200, "the beginning of the delivery")
    longest = max(driver.storm(4, 100, "new", 200))
    assert len(place.bridge.events) < 10_000, "the delivery was over before the measurement"
    assert longest < DEADLINE
    place.wait_for_direct(60)
    assert len(place.bridge.events) == 10_400
    came = names(place.bridge.events)
    for thread in range(4):
        for prefix, count in (("old", 2_500), ("new", 100)):
            mine = f"{prefix}{thread}_"
            assert [name for name in came if name.startswith(mine)] == [f"{mine}{step}" for step in range(count)]


def test_a_directory_that_is_taken_away(place: Place) -> None:
    """What lay in it is gone, and the rest goes on."""
    driver = place.driver()
    driver.create("gone")
    shutil.rmtree(place.spool)
    driver.create("open")  # the open file takes it still, and gives it
    place.bridge.start()
    place.wait_for_direct()
    place.bridge.stop()
    driver.create("kept")
    driver.create("kept2")
    assert place.spool.is_dir()
    driver.kill()
    place.bridge.start()
    place.driver()
    wait_for_names(place, ["gone", "open", "kept", "kept2"])


@pytest.mark.crash
def test_two_processes_share_a_directory(place: Place) -> None:
    first: Driver = place.driver()
    first.create("a")
    second = place.driver()
    second.create("b")
    assert len(place.files()) == 2
    place.bridge.start()
    place.wait_for(lambda events: sorted(names(events)) == ["a", "b"], "both")
    wait_until(lambda: place.files() == [], what="both files empty")
    assert len({event.instance for event in place.bridge.events}) == 2
