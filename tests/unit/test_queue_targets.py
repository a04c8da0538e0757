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
from pysync.queue import Depth, Entry, QueueClosed, QueueFull, targets
from tests.support.queues import fill, numbered, park, seen


@pytest.fixture
def queue(reopen):
    return reopen()


# --- targets


def test_a_renamed_target_keeps_everything_and_a_forgotten_one_nothing(queue, reopen):
    queue.register("dr")
    fill(queue, 1, 5)
    queue.advance("dr", 3, [park(2)])
    queue.pause("dr", "moves")
    for key in ("window:dr", "load:dr", "load:dr:begun"):
        queue.note(key, "x")
    queue.open_gap("new:dr:1:0", "dr is new")
    queue.rename("dr", "lake", {"act": "renamed"})
    for _ in range(2):
        assert queue.positions() == {"lake": 3}
        assert queue.paused("lake").reason == "moves"
        assert [it.position for it in queue.parked("lake")] == [2]
        assert [queue.noted(key) for key in ("window:dr", "window:lake", "load:lake:begun")] == [None, "x", "x"]
        assert [gap.key for gap in queue.open_gaps()] == ["new:lake:1:0"]
        assert [it["act"] for it in queue.acts()] == ["renamed"]
        queue = reopen()
    queue.forget("lake", {"act": "removed"})
    queue = reopen()
    assert (queue.positions(), queue.open_gaps(), queue.noted("load:lake")) == ({}, [], None)
    assert [it["act"] for it in queue.acts()] == ["removed", "renamed"]
    queue.register("lake")
    assert queue.paused("lake") is None


def test_gaps_and_notes_of_one_target_go_with_it_and_those_of_others_stay(queue):
    own, kept = ("new:dr:1:0", "scope:dr:2"), ("new:drive:1:0", "scope:drive:2", "lost:dr:1")
    notes = targets._NOTES
    queue.register("dr")
    for key in own + kept:
        queue.open_gap(key, "why")
    for note in notes:
        queue.note(note.format("dr"), note)
        queue.note(note.format("drive"), "another's")
    queue.rename("dr", "lake")
    keys = {gap.key for gap in queue.open_gaps()}
    assert keys == {"new:lake:1:0", "scope:lake:2", *kept}
    assert [queue.noted(note.format("lake")) for note in notes] == list(notes)
    assert {queue.noted(note.format("dr")) for note in notes} == {None}
    queue.forget("lake")
    assert {gap.key for gap in queue.open_gaps()} == set(kept)
    assert {queue.noted(note.format("lake")) for note in notes} == {None}
    assert {queue.noted(note.format("drive")) for note in notes} == {"another's"}


def test_whatever_is_noted_of_one_target_by_its_name_goes_with_it():
    """`verify:{}` was forgotten: a new target of an old name began with its drift."""
    of_target = re.compile(r'f"([a-z-]+):\{[a-z_.]*(?:name|target)\}')
    files = Path(pysync.__file__).parent.rglob("*.py")
    noted = {key for file in files for key in of_target.findall(file.read_text())}
    assert noted == {it.partition(":")[0] for it in (*targets._NOTES, *targets._GAPS)}


def test_only_one_that_is_known_is_renamed_and_to_a_name_that_is_not(queue):
    queue.register("dr")
    queue.register("lake")
    for old, new in (("dr", "lake"), ("nobody", "new")):
        with pytest.raises(ValueError, match=r"already has a target|has no target"):
            queue.rename(old, new)
    assert queue.positions() == {"dr": 0, "lake": 0}


def test_amended_events_have_other_bytes_also_where_they_are_parked(queue, reopen):
    queue.register("dr")
    fill(queue, 1, 3)
    queue.advance("dr", 1, [park(1)])
    queue.amend({1: b"one", 3: b"three"})
    queue = reopen()
    assert queue.parked("dr")[0].data == b"one"
    assert [it.data for it in queue.window("dr", 9, 99)][1] == b"three"


def test_a_new_target_starts_before_the_oldest_event_kept(queue, reopen):
    assert queue.register("dr") == 0
    fill(queue, 1, 9)
    queue.advance("dr", 6)
    queue.trim()
    assert queue.register("lake") == 6
    assert queue.register("dr") == 6
    queue.advance("dr", 9)
    assert seen(queue, "lake") == numbered(7, 9)
    assert queue.positions() == reopen().positions() == {"dr": 9, "lake": 6}


def test_a_window_is_bounded_and_never_empty_before_the_end(queue):
    queue.register("dr")
    for number in range(1, 6):
        queue.append("jvm", number, "onprem", bytes(100))
    assert [e.position for e in queue.window("dr", 3, 10**6)] == [1, 2, 3]
    assert [e.position for e in queue.window("dr", 9, 250)] == [1, 2]
    assert [e.position for e in queue.window("dr", 9, 200)] == [1, 2]
    assert [e.position for e in queue.window("dr", 9, 1)] == [1]
    queue.advance("dr", 5)
    assert queue.window("dr", 9, 1) == []


def test_a_position_never_moves_back_or_beyond_the_end(queue, reopen):
    queue.register("dr")
    fill(queue, 1, 4)
    queue.advance("dr", 3)
    for wrong in (2, 5):
        with pytest.raises(ValueError, match="cannot move from position"):
            queue.advance("dr", wrong, [park(1)])
    queue.advance("dr", 3)
    assert queue.parked("dr") == []
    assert reopen().positions() == {"dr": 3}


def test_depth_is_exact_after_failures_and_trims(queue, disk, reopen):
    queue.register("dr")
    assert queue.depth("dr") == Depth(0, None)
    fill(queue, 1, 3)
    disk.free = 0
    with pytest.raises(QueueFull):
        queue.append("jvm", 4, "onprem", b"4")
    disk.free, disk.now = 10**9, 2000.0
    fill(queue, 4, 6)
    queue.advance("dr", 3)
    queue.trim()
    for again in (lambda: queue, reopen):
        again = again()  # noqa: PLW2901
        assert again.depth("dr") == Depth(3, 2_000_000)


def test_an_unknown_target_is_an_error(queue):
    for use in (
        queue.depth,
        lambda t: queue.window(t, 1, 1),
        lambda t: queue.wait(t, 0),
        lambda t: queue.advance(t, 0),
    ):
        with pytest.raises(ValueError, match="no target 'dr'"):
            use("dr")


def test_trimming_waits_for_the_slowest_target(queue, reopen, monkeypatch):
    monkeypatch.setattr("pysync.queue.event_queue._TRIM_ROWS", 3)
    fill(queue, 1, 20)
    assert queue.trim() == 0  # nobody has registered
    queue.register("dr")
    queue.register("slow")
    queue.advance("dr", 20)
    queue.advance("slow", 11)
    assert queue.trim(retain_rows=4) == 7
    assert (len(queue), queue.trim(), len(queue)) == (13, 4, 9)
    assert seen(queue, "slow") == numbered(12, 20)
    queue.forget("slow")
    assert (queue.trim(), queue.positions(), len(reopen())) == (9, {"dr": 20}, 0)


def test_trimming_stops_when_its_time_is_over_and_goes_on_the_next_time(queue, monkeypatch):
    monkeypatch.setattr("pysync.queue.event_queue._TRIM_ROWS", 3)
    fill(queue, 1, 20)
    queue.register("dr")
    queue.advance("dr", 20)
    assert queue.trim(seconds=0) == 3
    assert (queue.trim(seconds=60), len(queue)) == (17, 0)


def test_a_pause_is_kept_until_it_is_lifted(queue, reopen):
    queue.register("dr")
    assert queue.paused("dr") is None
    queue.pause("dr", "the target is moved")
    queue = reopen()
    assert queue.paused("dr").reason == "the target is moved"
    queue.pause("dr", None)
    assert reopen().paused("dr") is None


def test_the_file_gives_its_space_back(queue, tmp_path, monkeypatch):
    queue.register("dr")
    for start in range(0, 4000, 1000):
        queue.append_all([Entry("jvm", n + 1, "onprem", bytes(10_000)) for n in range(start, start + 1000)])
    queue.advance("dr", 4000)
    slices = []
    give_back = queue._vacuum_slice
    monkeypatch.setattr(queue, "_vacuum_slice", lambda: slices.append(give_back()) or slices[-1])
    queue.trim()
    assert 2 < len(slices) < 20
    assert (tmp_path / "queue.db").stat().st_size < 20_000_000  # of 50


def test_a_little_unused_space_is_kept_for_what_comes_next(queue):
    queue.register("dr")
    queue.append_all([Entry("jvm", n, "onprem", bytes(10_000)) for n in range(1, 301)])
    queue.advance("dr", 300)
    before = queue._conn.execute("PRAGMA page_count").fetchone()
    assert queue.trim() == 300
    assert queue._conn.execute("PRAGMA freelist_count").fetchone()[0] > 500
    assert queue._conn.execute("PRAGMA page_count").fetchone() == before


def test_below_the_floor_all_unused_space_is_given_back(queue, disk, tmp_path):
    queue.register("dr")
    queue.append_all([Entry("jvm", n, "onprem", bytes(10_000)) for n in range(1, 301)])
    queue.advance("dr", 300)
    disk.free = 0
    queue.trim()
    assert (tmp_path / "queue.db").stat().st_size < 100_000


# --- waiting


def test_waiting_ends_with_the_event(queue):
    queue.register("dr")
    assert queue.wait("dr", 0.01) is False
    threading.Timer(0.1, fill, (queue, 1, 1)).start()
    start = time.monotonic()
    assert queue.wait("dr", 20) is True
    assert queue.wait("dr", 20) is True
    assert time.monotonic() - start < 10


def test_no_wake_up_is_lost(queue):
    queue.register("dr")
    writer = threading.Thread(daemon=True, target=fill, args=(queue, 1, 1000))
    start = time.monotonic()
    writer.start()
    position = 0
    while position < 1000:
        assert queue.wait("dr", 200)
        position = queue.window("dr", 1, 1)[-1].position
        queue.advance("dr", position)
    writer.join()
    assert time.monotonic() - start < 150


def test_a_wake_up_before_the_wait_counts(queue):
    queue.register("dr")
    queue.register("lake")
    queue.wake()
    start = time.monotonic()
    assert not queue.wait("dr", 20)
    assert not queue.wait("lake", 20)
    assert time.monotonic() - start < 5
    queue.wake("lake")
    assert not queue.wait("dr", 0.01)
    threading.Timer(0.1, queue.wake).start()
    assert not queue.wait("dr", 20)
    assert time.monotonic() - start < 10


# --- the end


def test_close_commits_what_waits_and_ends_every_wait(queue, reopen):
    queue.register("dr")
    outcomes = {"closed": 0, "queued": 0}

    def write(name):
        try:
            for number in range(1, 100_000):
                queue.append(name, number, "onprem", b"x")
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
    assert len(reopen()) == outcomes["queued"] > 0


def test_a_waiting_target_is_told_of_the_end(queue):
    queue.register("dr")
    threading.Timer(0.1, queue.close).start()
    start = time.monotonic()
    with pytest.raises(QueueClosed):
        queue.wait("dr", 20)
    assert time.monotonic() - start < 10


def test_after_the_end_everything_says_so(queue):
    queue.register("dr")
    queue.close()
    queue.close()
    uses = [
        lambda: queue.append("jvm", 1, "onprem", b""),
        lambda: queue.append_all([Entry("jvm", 1, "onprem", b"")]),
        lambda: queue.window("dr", 1, 1),
        lambda: queue.advance("dr", 0),
        lambda: queue.wait("dr", 1),
        lambda: queue.depth("dr"),
        lambda: queue.register("new"),
        lambda: queue.forget("dr"),
        queue.trim,
        queue.positions,
        queue.instances,
        lambda: queue.parked("dr"),
        lambda: queue.keep_unreadable(b"", ""),
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
