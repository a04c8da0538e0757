"""What the queue promises those who drain, trim and wait, and how it ends."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pysync
from pysync.model.mark import Writer
from pysync.queue import Depth, Entry, Pause, QueueClosed, QueueFull, note_of
from tests.support.queues import fill, numbered, park, seen


@pytest.fixture
def queue(reopen):
    return reopen()


# --- targets


def test_a_renamed_target_keeps_everything_and_a_forgotten_one_nothing(queue, reopen):
    queue.target("dr").register()
    fill(queue, 1, 5)
    queue.target("dr").advance(3, [park(2)], {5})
    queue.target("dr").pause("moves")
    for what in ("window", "load:begun"):
        queue.notes.put(note_of("dr", what), "x")
    queue.gaps.open("new:dr:1:0", "dr is new")
    queue.target("dr").rename("lake", {"act": "renamed"})
    for _ in range(2):
        assert queue.positions() == {"lake": 3}
        assert queue.target("lake").paused().reason == "moves"
        assert queue.target("lake").finished() == {5}
        assert [it.position for it in queue.target("lake").parked.events()] == [2]
        keys = note_of("dr", "window"), note_of("lake", "window"), note_of("lake", "load:begun")
        assert [queue.notes.get(key) for key in keys] == [None, "x", "x"]
        assert [gap.key for gap in queue.gaps.unclosed()] == ["new:lake:1:0"]
        assert [it["act"] for it in queue.notes.acts()] == ["renamed"]
        queue = reopen()
    queue.target("lake").forget({"act": "removed"})
    queue = reopen()
    assert (queue.positions(), queue.gaps.unclosed(), queue.notes.get(note_of("lake", "load:begun"))) == ({}, [], None)
    assert [it["act"] for it in queue.notes.acts()] == ["removed", "renamed"]
    queue.target("lake").register()
    assert (queue.target("lake").paused(), queue.target("lake").finished()) == (None, set())


def test_gaps_and_notes_of_one_target_go_with_it_and_those_of_others_stay(queue):
    own, kept = ("new:dr:1:0", "scope:dr:2"), ("new:drive:1:0", "scope:drive:2", "lost:dr:1")
    notes = ("views", "load:begun")
    queue.target("dr").register()
    for key in own + kept:
        queue.gaps.open(key, "why")
    for note in notes:
        queue.notes.put(note_of("dr", note), note)
        queue.notes.put(note_of("drive", note), "another's")
    queue.target("dr").rename("lake")
    keys = {gap.key for gap in queue.gaps.unclosed()}
    assert keys == {"new:lake:1:0", "scope:lake:2", *kept}
    assert [queue.notes.get(note_of("lake", note)) for note in notes] == list(notes)
    assert {queue.notes.get(note_of("dr", note)) for note in notes} == {None}
    queue.target("lake").forget()
    assert {gap.key for gap in queue.gaps.unclosed()} == set(kept)
    assert {queue.notes.get(note_of("lake", note)) for note in notes} == {None}
    assert {queue.notes.get(note_of("drive", note)) for note in notes} == {"another's"}


def test_nobody_makes_the_key_of_a_note_of_a_target_by_hand():
    """Such a note would stay: a new target of an old name would begin with its drift."""
    of_target = re.compile(r'f"([a-z-]+):\{[a-z_.]*(?:name|target)\}')
    files = Path(pysync.__file__).parent.rglob("*.py")
    assert {key for file in files for key in of_target.findall(file.read_text())} == {"target"}


def test_only_one_that_is_known_is_renamed_and_to_a_name_that_is_not(queue):
    queue.target("dr").register()
    queue.target("lake").register()
    for old, new in (("dr", "lake"), ("nobody", "new")):
        with pytest.raises(ValueError, match=r"already has a target|has no target"):
            queue.target(old).rename(new)
    assert queue.positions() == {"dr": 0, "lake": 0}


def test_amended_events_have_other_bytes_also_where_they_are_parked(queue, reopen):
    queue.target("dr").register()
    fill(queue, 1, 3)
    queue.target("dr").advance(1, [park(1)])
    queue.amend({1: b"one", 3: b"three"})
    queue = reopen()
    assert queue.target("dr").parked.events()[0].data == b"one"
    assert [it.data for it in queue.target("dr").window(9, 99)][1] == b"three"


def test_a_new_target_starts_before_the_oldest_event_kept(queue, reopen):
    assert queue.target("dr").register() == 0
    fill(queue, 1, 9)
    queue.target("dr").advance(6)
    queue.trim()
    assert queue.target("lake").register() == 6
    assert queue.target("dr").register() == 6
    queue.target("dr").advance(9)
    assert seen(queue, "lake") == numbered(7, 9)
    assert queue.positions() == reopen().positions() == {"dr": 9, "lake": 6}


def test_a_window_is_bounded_and_never_empty_before_the_end(queue):
    queue.target("dr").register()
    for number in range(1, 6):
        queue.intake.append("jvm", number, "onprem", bytes(100))
    assert [e.position for e in queue.target("dr").window(3, 10**6)] == [1, 2, 3]
    assert [e.position for e in queue.target("dr").window(9, 250)] == [1, 2]
    assert [e.position for e in queue.target("dr").window(9, 200)] == [1, 2]
    assert [e.position for e in queue.target("dr").window(9, 1)] == [1]
    queue.target("dr").advance(5)
    assert queue.target("dr").window(9, 1) == []


def test_a_position_never_moves_back_or_beyond_the_end(queue, reopen):
    queue.target("dr").register()
    fill(queue, 1, 4)
    queue.target("dr").advance(3)
    for wrong in (2, 5):
        with pytest.raises(ValueError, match="cannot move from position"):
            queue.target("dr").advance(wrong, [park(1)])
    queue.target("dr").advance(3)
    assert queue.target("dr").parked.events() == []
    assert reopen().positions() == {"dr": 3}


def test_what_is_finished_behind_a_position_is_known_until_it_is_passed(queue, reopen):
    for name in ("dr", "lake"):
        queue.target(name).register()
    fill(queue, 1, 9)
    queue.target("dr").advance(0, finished={4, 2})
    queue.target("dr").advance(1, finished={9, 7, 1})
    assert [reopen().target(name).finished() for name in ("dr", "lake")] == [{2, 4, 7, 9}, set()]
    queue = reopen()
    for position, left in ((3, {2, 4, 7, 9}), (4, {7, 9}), (9, set())):
        queue.target("dr").advance(position)
        assert queue.target("dr").finished() == left
    with pytest.raises(ValueError, match="cannot be done with event 10 of 9"):
        queue.target("dr").advance(9, finished={10})


def test_depth_is_exact_after_failures_and_trims(queue, disk, reopen):
    queue.target("dr").register()
    assert queue.target("dr").depth() == Depth(0, None)
    fill(queue, 1, 3)
    disk.free = 0
    with pytest.raises(QueueFull):
        queue.intake.append("jvm", 4, "onprem", b"4")
    disk.free, disk.now = 10**9, 2000.0
    fill(queue, 4, 6)
    queue.target("dr").advance(3)
    queue.trim()
    for again in (lambda: queue, reopen):
        again = again()  # noqa: PLW2901
        assert again.target("dr").depth() == Depth(3, 2_000_000)


def test_an_unknown_target_is_an_error(queue):
    for use in (
        lambda t: queue.target(t).position(),
        lambda t: queue.target(t).depth(),
        lambda t: queue.target(t).window(1, 1),
        lambda t: queue.target(t).wait(0),
        lambda t: queue.target(t).advance(0),
    ):
        with pytest.raises(ValueError, match="no target 'dr'"):
            use("dr")
    assert queue.target("dr").paused() is None


def test_marks_of_a_target_name_it_and_the_queues_other_targets(queue, reopen):
    for name in ("dr", "lake"):
        queue.target(name).register()
    fill(queue, 1, 2)
    first, queue = queue.writer("dr"), reopen()
    second = queue.writer("dr")
    assert second == Writer(queue.epoch, second.life, {first.life: 2}, "dr", frozenset({"lake"}))
    assert second.life != first.life


def test_trimming_waits_for_the_slowest_target(queue, reopen, monkeypatch):
    monkeypatch.setattr("pysync.queue.event_queue._TRIM_ROWS", 3)
    fill(queue, 1, 20)
    assert queue.trim() == 0  # nobody has registered
    queue.target("dr").register()
    queue.target("slow").register()
    queue.target("dr").advance(20)
    queue.target("slow").advance(11)
    assert queue.trim(retain_rows=4) == 7
    assert (queue.size, queue.trim(), queue.size) == (13, 4, 9)
    assert seen(queue, "slow") == numbered(12, 20)
    queue.target("slow").forget()
    assert (queue.trim(), queue.positions(), reopen().size) == (9, {"dr": 20}, 0)


def test_trimming_stops_when_its_time_is_over_and_goes_on_the_next_time(queue, monkeypatch):
    monkeypatch.setattr("pysync.queue.event_queue._TRIM_ROWS", 3)
    fill(queue, 1, 20)
    queue.target("dr").register()
    queue.target("dr").advance(20)
    assert queue.trim(seconds=0) == 3
    assert (queue.trim(seconds=60), queue.size) == (17, 0)


def test_a_pause_is_kept_until_it_is_lifted(queue, reopen, disk):
    queue.target("dr").register()
    assert queue.target("dr").paused() is None
    disk.now = 1500.0
    queue.target("dr").pause("the target is moved")
    disk.now = 2000.0
    for _ in range(2):
        assert queue.target("dr").paused() == Pause("the target is moved", 1_500_000)
        queue = reopen()
    queue.target("dr").pause(None)
    assert reopen().target("dr").paused() is None


def test_the_file_gives_its_space_back(queue, tmp_path, monkeypatch):
    queue.target("dr").register()
    for start in range(0, 4000, 1000):
        queue.intake.append_all([Entry("jvm", n + 1, "onprem", bytes(10_000)) for n in range(start, start + 1000)])
    queue.target("dr").advance(4000)
    slices = []
    give_back = queue._vacuum_slice
    monkeypatch.setattr(queue, "_vacuum_slice", lambda: slices.append(give_back()) or slices[-1])
    queue.trim()
    assert 2 < len(slices) < 20
    assert (tmp_path / "queue.db").stat().st_size < 20_000_000  # of 50


def test_a_little_unused_space_is_kept_for_what_comes_next(queue):
    queue.target("dr").register()
    queue.intake.append_all([Entry("jvm", n, "onprem", bytes(10_000)) for n in range(1, 301)])
    queue.target("dr").advance(300)
    before = queue._file._conn.execute("PRAGMA page_count").fetchone()
    assert queue.trim() == 300
    assert queue._file._conn.execute("PRAGMA freelist_count").fetchone()[0] > 500
    assert queue._file._conn.execute("PRAGMA page_count").fetchone() == before


def test_below_the_floor_all_unused_space_is_given_back(queue, disk, tmp_path):
    queue.target("dr").register()
    queue.intake.append_all([Entry("jvm", n, "onprem", bytes(10_000)) for n in range(1, 301)])
    queue.target("dr").advance(300)
    disk.free = 0
    queue.trim()
    assert (tmp_path / "queue.db").stat().st_size < 100_000


# --- waiting


def test_no_wake_up_is_lost(queue):
    queue.target("dr").register()
    writer = threading.Thread(daemon=True, target=fill, args=(queue, 1, 1000))
    start = time.monotonic()
    writer.start()
    position = 0
    while position < 1000:
        assert queue.target("dr").wait(200)
        position = queue.target("dr").window(1, 1)[-1].position
        queue.target("dr").advance(position)
    writer.join()
    assert time.monotonic() - start < 150


def test_a_wake_up_counts_once(queue):
    queue.target("dr").register()
    queue.target("dr").wake()
    assert not queue.target("dr").wait(20)
    start = time.monotonic()
    assert not queue.target("dr").wait(0.2)
    assert time.monotonic() - start >= 0.19


def test_a_wake_up_before_the_wait_counts(queue):
    queue.target("dr").register()
    queue.target("lake").register()
    queue.target("dr").wake()
    queue.target("lake").wake()
    start = time.monotonic()
    assert not queue.target("dr").wait(20)
    assert not queue.target("lake").wait(20)
    assert time.monotonic() - start < 19
    queue.target("lake").wake()
    assert not queue.target("dr").wait(0.01)
    threading.Timer(0.1, queue.target("dr").wake).start()
    assert not queue.target("dr").wait(20)
    assert time.monotonic() - start < 19


# --- the end


def test_close_commits_what_waits_and_ends_every_wait(queue, reopen):
    queue.target("dr").register()
    outcomes = {"closed": 0, "queued": 0}

    def write(name):
        try:
            for number in range(1, 100_000):
                queue.intake.append(name, number, "onprem", b"x")
                outcomes["queued"] += 1
        except QueueClosed:
            outcomes["closed"] += 1

    threads = [threading.Thread(daemon=True, target=write, args=(str(n),)) for n in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    closers = [threading.Thread(daemon=True, target=queue.close) for _ in range(3)]
    for thread in closers:
        thread.start()
    for thread in threads + closers:
        thread.join(60)
    assert outcomes["closed"] == 6
    assert reopen().size == outcomes["queued"] > 0


def test_a_waiting_target_is_told_of_the_end(queue):
    queue.target("dr").register()
    threading.Timer(0.1, queue.close).start()
    start = time.monotonic()
    with pytest.raises(QueueClosed):
        queue.target("dr").wait(20)
    assert time.monotonic() - start < 19


def test_after_the_end_everything_says_so(queue):
    queue.target("dr").register()
    queue.close()
    queue.close()
    uses = [
        lambda: queue.intake.append("jvm", 1, "onprem", b""),
        lambda: queue.intake.append_all([Entry("jvm", 1, "onprem", b"")]),
        lambda: queue.target("dr").window(1, 1),
        lambda: queue.target("dr").advance(0),
        lambda: queue.target("dr").wait(1),
        lambda: queue.target("dr").depth(),
        lambda: queue.target("new").register(),
        lambda: queue.target("dr").forget(),
        queue.trim,
        queue.positions,
        queue.intake.instances,
        queue.target("dr").parked.events,
        lambda: queue.intake.keep_unreadable(b"", ""),
    ]
    for use in uses:
        with pytest.raises(QueueClosed):
            use()


@pytest.mark.parametrize("end", ["queue.close()", "del queue", "", "threading.Thread(target=queue.close).start()"])
def test_the_process_ends_without_noise(tmp_path, end):
    code = f"import sys, threading, pysync.queue as q; queue = q.EventQueue(sys.argv[1], min_free_bytes=0); {end}"
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", code, tmp_path],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
