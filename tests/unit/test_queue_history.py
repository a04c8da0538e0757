"""How long events stay that every target has: for history, and never at the cost of what is still needed."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.queue import Entry, EventQueue, History
from pysync.queue.history import Ripe, history_since
from tests.support.queues import Disk, Reopener, fill, numbered, seen

DAY = 86_400.0


@pytest.fixture
def queue(reopen):
    opened = reopen()
    opened.target("dr").register()
    return opened


def kept(queue: EventQueue) -> list[int]:
    """The positions of all events that are there."""
    return [event.position for event in queue.events(0, 10_000, 10**9)]


def append(queue: EventQueue, count: int) -> None:
    """So many more, in one transaction."""
    numbers = range(queue.last + 1, queue.last + 1 + count)
    queue.intake.append_all([Entry("jvm", number, "onprem", b"%d" % number) for number in numbers])


def large(queue: EventQueue, count: int) -> None:
    """So many events of some size, with which every target is done."""
    numbers = range(queue.last + 1, queue.last + 1 + count)
    queue.intake.append_all([Entry("jvm", number, "onprem", bytes(10_000)) for number in numbers])
    for target in queue.positions():
        queue.target(target).advance(queue.last)


def add(queue: EventQueue, count: int) -> None:
    """So many more, with which every target is done."""
    append(queue, count)
    for target in queue.positions():
        queue.target(target).advance(queue.last)


def test_without_it_nothing_is_kept(queue, disk):
    add(queue, 5)
    disk.now += 1
    assert (queue.trim(retain_seconds=0), kept(queue)) == (5, [])


def test_events_stay_as_long_as_it_says_also_over_a_restart(queue, disk, reopen):
    add(queue, 3)
    disk.now += DAY
    add(queue, 2)
    disk.now += DAY / 2
    assert queue.trim(retain_seconds=2 * DAY) == 0
    queue = reopen()
    assert queue.trim(retain_seconds=2 * DAY) == 0
    assert kept(queue) == [1, 2, 3, 4, 5]
    disk.now += DAY / 2
    assert queue.trim(retain_seconds=2 * DAY) == 3
    assert kept(queue) == [4, 5]
    disk.now += DAY
    assert (queue.trim(retain_seconds=2 * DAY), kept(reopen())) == (2, [])


def test_what_a_target_needs_stays_however_old_it_is(queue, disk):
    queue.target("slow").register()
    fill(queue, 1, 9)
    queue.target("dr").advance(9)
    queue.target("slow").advance(4)
    disk.now += 100 * DAY
    assert queue.trim(retain_seconds=DAY) == 4
    assert seen(queue, "slow") == numbered(5, 9)


def test_it_is_trimmed_in_slices(queue, disk, monkeypatch):
    monkeypatch.setattr("pysync.queue.event_queue._TRIM_ROWS", 3)
    add(queue, 10)
    disk.now += DAY
    add(queue, 1)
    assert queue.trim(retain_seconds=DAY, seconds=0) == 3
    assert queue.trim(retain_seconds=DAY) == 7
    assert kept(queue) == [11]


def test_no_more_is_read_than_up_to_the_first_that_is_too_young():
    read = []
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.create_function("noted", 1, lambda at: read.append(at) or at)
        connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
        connection.execute("CREATE TABLE queued (_id INTEGER PRIMARY KEY, timestamp FLOAT)")
        connection.executemany("INSERT INTO queued VALUES (?, ?)", [(n, 0.0 if n < 4 else DAY) for n in range(1, 1001)])
        connection.execute("CREATE VIEW events AS SELECT _id, noted(timestamp) AS timestamp FROM queued")
        ripe = Ripe("events", last=1000, now_ms=round(DAY * 1000), retain_ms=round(DAY * 1000))
        assert ripe.upto(connection, 1, 1000) == 3
    assert len(read) <= 5


# --- clocks


def test_a_clock_that_is_set_back_makes_nothing_go_early_nor_stay_for_ever(queue, disk, reopen):
    disk.now += 1000 * DAY
    add(queue, 3)
    disk.now -= 1000 * DAY
    add(queue, 2)
    assert queue.trim(retain_seconds=DAY) == 0
    disk.now += DAY / 2
    add(queue, 1)
    queue = reopen()
    assert queue.trim(retain_seconds=DAY) == 0
    disk.now += DAY / 2
    assert queue.trim(retain_seconds=DAY) == 5
    assert kept(queue) == [6]


def test_a_clock_that_is_set_back_twice(queue, disk):
    disk.now += 1000 * DAY
    add(queue, 3)
    disk.now -= 400 * DAY
    assert queue.trim(retain_seconds=DAY) == 0
    disk.now -= 400 * DAY
    assert queue.trim(retain_seconds=DAY) == 0
    disk.now += DAY
    assert (queue.trim(retain_seconds=DAY), kept(queue)) == (3, [])


@settings(deadline=None, max_examples=25)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 5)),
            st.tuples(st.sampled_from(["dr", "slow"]), st.integers(1, 6)),
            st.tuples(st.just("clock"), st.integers(-20, 20)),
            st.tuples(st.just("trim"), st.sampled_from([0, 1, 5])),
            st.tuples(st.just("reopen"), st.none()),
        ),
        max_size=25,
    )
)
def test_whatever_the_clock_does_no_event_goes_that_a_target_still_needs(steps):
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk()
        reopen = Reopener(Path(directory), disk)
        queue = reopen()
        for target in ("dr", "slow"):
            queue.target(target).register()
        for what, amount in steps:
            if what == "append":
                append(queue, amount)
            elif what == "clock":
                disk.now += amount
            elif what == "trim":
                queue.trim(retain_seconds=amount)
            elif what == "reopen":
                queue = reopen()
            else:
                queue.target(what).advance(min(queue.last, queue.target(what).position() + amount))
            for target, position in queue.positions().items():
                assert seen(queue, target) == numbered(position + 1, queue.last)
        done = min(queue.positions().values())
        for _ in range(3):
            queue.trim(retain_seconds=5)
            disk.now += 5
        assert kept(queue) == list(range(done + 1, queue.last + 1)), "it was kept for more than twice the time"
        reopen.close()


# --- room


def test_history_gives_way_to_what_is_to_come_and_only_as_far_as_it_must(queue, disk, monkeypatch):
    monkeypatch.setattr("pysync.queue.event_queue._TRIM_ROWS", 3)
    add(queue, 20)
    disk.free = 1_240_000  # less than a quarter above the floor
    given_back = []

    def give_back() -> bool:
        given_back.append(1)
        disk.free += 10_000
        return False

    monkeypatch.setattr(queue, "_vacuum_slice", give_back)
    assert queue.trim(retain_seconds=DAY) == 3
    assert kept(queue) == list(range(4, 21))
    disk.free = 0
    monkeypatch.setattr(queue, "_vacuum_slice", lambda: False)
    assert (queue.trim(retain_seconds=DAY), kept(queue)) == (17, [])


@pytest.mark.parametrize("slice_rows", [7, 2000])
def test_history_has_a_size_and_the_oldest_goes_first(queue, disk, monkeypatch, slice_rows):
    monkeypatch.setattr("pysync.queue.event_queue._TRIM_ROWS", slice_rows)
    large(queue, 100)
    most = queue.history().size // 2
    removed = queue.trim(retain_seconds=DAY, retain_bytes=most)
    assert 45 <= removed <= 60
    assert kept(queue) == list(range(removed + 1, 101))
    assert most * 0.8 < queue.history().size <= most
    assert queue.trim(retain_seconds=DAY, retain_bytes=most) == 0


def test_what_a_target_needs_is_no_history_however_large_it_is(queue):
    large(queue, 40)
    queue.target("slow").register()
    large(queue, 40)
    assert (queue.trim(retain_seconds=DAY, retain_bytes=1), kept(queue)) == (80, [])
    queue.intake.append_all([Entry("jvm", number, "onprem", bytes(10_000)) for number in range(81, 121)])
    queue.target("dr").advance(120)
    assert (queue.trim(retain_seconds=DAY, retain_bytes=1), len(kept(queue))) == (0, 40)


def test_what_is_held_stays_until_it_is_let_go_or_the_disk_is_tight(queue, disk, reopen):
    add(queue, 10)
    assert queue.retain("replay", 4)
    assert (queue.trim(), kept(queue)) == (3, list(range(4, 11)))
    assert not queue.retain("replay", 3), "it is gone already"
    assert queue.retain("other", 8)
    queue.release("replay")
    queue.release("replay")
    assert (queue.trim(retain_seconds=DAY, retain_bytes=1), kept(queue)) == (4, [8, 9, 10])
    disk.free = 1_240_000
    assert (queue.trim(), kept(queue)) == (3, [])
    assert queue.retain("replay", queue.last + 1)


# --- what it is to others


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(-1, 51))
def test_the_first_event_since_a_time_is_found(times, wanted):
    times.sort()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE events (_id INTEGER PRIMARY KEY, timestamp FLOAT)")
        connection.executemany("INSERT INTO events VALUES (?, ?)", enumerate(map(float, times), 7))
        found = history_since(connection, "events", range(7, 7 + len(times)), wanted * 1000)
    assert found == 7 + sum(at < wanted for at in times)


def test_a_time_is_found_in_what_is_kept_whatever_the_clock_did(queue, disk):
    assert queue.since(0) == 1
    for step in (DAY, -DAY / 2, DAY):
        disk.now += step
        add(queue, 3)
    queue.trim(retain_rows=7)
    assert queue.since(0) == queue.first == 3
    assert queue.since(round(disk.now * 1000)) == 7
    assert queue.since(round(disk.now * 1000) + 1) == queue.last + 1 == 10


def test_a_new_target_does_not_get_it(queue):
    add(queue, 5)
    fill(queue, 6, 7)
    queue.trim(retain_seconds=DAY)
    assert queue.target("lake").register() == 5
    assert seen(queue, "lake") == numbered(6, 7)


def test_it_is_counted(queue, disk, reopen):
    assert queue.history() == History(0, 0, None)
    queue.intake.append_all([Entry("jvm", number, "onprem", bytes(10_000)) for number in range(1, 41)])
    assert queue.history() == History(0, 0, None)
    queue.target("dr").advance(30)
    disk.now += DAY
    found = queue.history()
    assert (found.events, found.oldest_ms) == (30, 1_000_000)
    assert 300_000 <= found.size < 600_000
    queue.trim(retain_seconds=2 * DAY)
    assert reopen().history().events == 30
