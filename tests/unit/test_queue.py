"""What the queue promises those who append."""

from __future__ import annotations

import sqlite3
import threading
import time

import persistqueue
import pytest

from pysync.queue import Entry, EventQueue, QueueClosed, Queued, QueueFailed, QueueFull
from pysync.queue.group_commit import GroupCommit
from tests.support import wait_until
from tests.support.queues import fill, numbered, park, seen


@pytest.fixture
def queue(reopen):
    return reopen()


# --- appending


def test_an_event_is_kept_byte_for_byte(queue, reopen, disk):
    queue.target("dr").register()
    disk.now = 1234.567
    assert queue.intake.append("jvm", 1, "onprem", bytes(range(256)))
    assert queue.intake.append("jvm", 2, "onprem", b"")
    expected = [Queued(1, bytes(range(256)), 1234567), Queued(2, b"", 1234567)]
    assert queue.target("dr").window(10, 10**6) == expected
    assert reopen().target("dr").window(10, 10**6) == expected


def test_a_repeated_event_is_recognised(queue, reopen):
    assert queue.intake.append("jvm", 1, "onprem", b"a") is True
    assert queue.intake.append("jvm", 1, "onprem", b"a") is False
    assert queue.intake.append("other", 1, "onprem", b"a") is True
    assert queue.intake.append_all([Entry("jvm", n, "onprem", b"a") for n in (1, 2, 3, 2)]) == [
        False,
        True,
        True,
        False,
    ]
    assert queue.size == 4
    assert reopen().intake.append("jvm", 3, "onprem", b"a") is False


def test_a_repeated_event_is_recognised_after_it_was_trimmed(queue, reopen):
    queue.target("dr").register()
    fill(queue, 1, 5)
    queue.target("dr").advance(5)
    assert queue.trim() == 5
    for again in (lambda: queue, reopen):
        again = again()  # noqa: PLW2901
        assert again.intake.append("jvm", 3, "onprem", b"3") is False
        assert (again.size, seen(again, "dr")) == (0, [])
    assert reopen().intake.append("jvm", 6, "onprem", b"6") is True
    assert seen(reopen(), "dr") == [(6, b"6")]  # positions go on after everything was trimmed


def test_instances_tell_what_is_missing(queue, reopen, disk):
    fill(queue, 2, 3)
    disk.now += 5
    fill(queue, 6, 6)
    fill(queue, 1, 2, instance="other")
    for again in (lambda: queue, reopen):
        again = again()  # noqa: PLW2901
        first, second = sorted(again.intake.instances(), key=lambda i: i.instance)
        assert (first.instance, first.source, first.received, first.highest) == ("jvm", "onprem", 3, 6)
        assert first.missing == ((1, 1), (4, 5))
        assert (first.first_at_ms, first.last_at_ms) == (1_000_000, 1_005_000)
        assert (second.received, second.missing) == (2, ())
    disk.now += 5
    again = reopen()
    fill(again, 7, 7)
    assert [(it.first_at_ms, it.last_at_ms) for it in again.intake.instances() if it.instance == "jvm"] == [
        (1_000_000, 1_010_000)
    ]


@pytest.mark.parametrize("entry", [("", 1), ("jvm", 0), ("jvm", 2**63), ("\ud800", 1)])
def test_an_impossible_event_is_refused_alone(queue, entry):
    with pytest.raises(ValueError):  # noqa: PT011 - also UnicodeEncodeError
        queue.intake.append(*entry, "onprem", b"x")
    assert queue.intake.append("jvm", 1, "onprem", b"x")


def test_an_event_that_is_too_large_is_refused_alone(queue, monkeypatch):
    monkeypatch.setattr("pysync.queue.values.MAX_DATA", 10)
    with pytest.raises(ValueError, match="11 bytes; the maximum is 10"):
        queue.intake.append("jvm", 1, "onprem", bytes(11))
    assert queue.intake.append("jvm", 1, "onprem", bytes(10))


def test_sixteen_writers_keep_their_order(queue):
    queue.target("dr").register()

    def write(name):
        for number in range(1, 101):
            assert queue.intake.append(name, number, "onprem", f"{name}:{number}".encode())

    threads = [threading.Thread(daemon=True, target=write, args=(f"w{n}",)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = queue.target("dr").window(10_000, 10**9)
    assert [event.position for event in events] == list(range(1, 1601))
    for n in range(16):
        own = [event.data for event in events if event.data.startswith(b"w%d:" % n)]
        assert own == [b"w%d:%d" % (n, number) for number in range(1, 101)]


def test_two_that_send_the_same_event_at_once_queue_it_once(queue):
    answers = []
    for number in range(1, 51):
        threads = [
            threading.Thread(
                daemon=True, target=lambda n=number: answers.append(queue.intake.append("jvm", n, "onprem", b"x"))
            )
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (answers.count(True), queue.size) == (50, 50)


# --- group commit


def test_who_waits_is_committed_together_and_errors_reach_all():
    gate, busy, batches = threading.Semaphore(0), threading.Event(), []

    def commit(rows):
        busy.set()
        gate.acquire()
        batches.append(list(rows))
        if "bad" in rows:
            raise QueueFull("none", hint="free some")
        return [row.upper() for row in rows]

    group, results = GroupCommit(commit, limit=3), {}

    def submit(name):
        try:
            results[name] = group.submit([name])
        except QueueFull as error:
            results[name] = error

    threads = []
    for waiting, name in enumerate(("first", "a", "bad", "b", "last")):
        threads.append(threading.Thread(daemon=True, target=submit, args=(name,)))
        threads[-1].start()
        busy.wait()
        while len(group._waiting) < waiting:
            time.sleep(0.001)
    gate.release(9)
    for thread in threads:
        thread.join()
    group.close()
    assert batches == [["first"], ["a", "bad", "b"], ["last"]]
    assert (results["first"], results["last"]) == (["FIRST"], ["LAST"])
    errors = [results[name] for name in ("a", "bad", "b")]
    assert all(isinstance(error, QueueFull) and error.hint == "free some" for error in errors)
    assert len(set(map(id, errors))) == 3


def test_closing_waits_for_the_answers_of_all_who_came_before_and_refuses_others():
    gate, busy, answers = threading.Event(), threading.Event(), []

    def commit(rows):
        busy.set()
        gate.wait()
        return rows

    group = GroupCommit(commit)
    threads = [threading.Thread(daemon=True, target=lambda n=n: answers.extend(group.submit([n]))) for n in (1, 2)]
    threads[0].start()
    busy.wait()
    threads[1].start()
    wait_until(lambda: len(group._waiting) == 1)
    closing = threading.Thread(daemon=True, target=group.close)
    closing.start()
    wait_until(lambda: group._closed)
    with pytest.raises(QueueClosed, match="the queue is closed; pysync is stopping"):
        group.submit([3])
    closing.join(0.1)
    assert closing.is_alive()
    gate.set()
    for thread in (closing, *threads):
        thread.join(60)
    assert sorted(answers) == [1, 2]
    assert not closing.is_alive()
    group.close()


def test_closing_waits_for_the_batch_that_is_being_committed():
    gate, busy, closed = threading.Event(), threading.Event(), threading.Event()

    def commit(rows):
        busy.set()
        gate.wait()
        return rows

    group = GroupCommit(commit)
    threads = [threading.Thread(daemon=True, target=lambda: group.submit([1]))]
    threads[0].start()
    busy.wait()
    threads.append(threading.Thread(daemon=True, target=lambda: (group.close(), closed.set())))
    threads[1].start()
    assert not closed.wait(0.2), "nobody else waits, but the batch is not on disk"
    gate.set()
    for thread in threads:
        thread.join(60)
    assert closed.is_set()


def test_a_batch_that_fails_leaves_nothing_behind(queue, reopen, monkeypatch):
    fill(queue, 1, 1)
    queue._file._conn.execute("CREATE TRIGGER no BEFORE INSERT ON instances BEGIN SELECT RAISE(ABORT, 'disk I/O'); END")
    with pytest.raises(QueueFailed, match="disk I/O"):
        queue.intake.append_all([Entry("jvm", n, "onprem", b"x") for n in (2, 3)])
    assert (queue.size, queue.intake.instances()[0].highest) == (1, 1)
    queue._file._conn.execute("DROP TRIGGER no")
    queue.target("dr").register()
    assert queue.intake.append("jvm", 3, "onprem", b"3")
    assert [position for position, _ in seen(queue, "dr")] == [1, 2]  # and no gap
    assert reopen().size == 2


# --- a disk that is full


def test_below_the_floor_events_are_refused_and_draining_goes_on(queue, disk):
    queue.target("dr").register()
    fill(queue, 1, 3)
    disk.free = 10**6
    with pytest.raises(QueueFull, match=r"queue.min_free_mb.*; free some"):
        queue.intake.append("jvm", 4, "onprem", b"4")
    with pytest.raises(QueueFull):
        queue.intake.keep_unreadable(b"?", "garbage")
    assert queue.intake.append("jvm", 3, "onprem", b"3") is False  # needs no room
    assert seen(queue, "dr") == numbered(1, 3)
    queue.target("dr").advance(2, [park(2)])
    assert queue.trim() == 2
    disk.free = 10**9
    assert queue.intake.append("jvm", 4, "onprem", b"4")


def test_how_much_is_left_and_how_much_has_to_be_is_told_in_mebibytes(tmp_path):
    left = [50 * 2**20]
    with EventQueue(tmp_path, min_free_bytes=40 * 2**20, free_bytes=lambda _: left[0]) as queue:
        assert queue.intake.append("jvm", 1, "onprem", b"1")
        left[0] = 30 * 2**20
        with pytest.raises(QueueFull, match=r"^only 30 MiB are free on .*, queue.min_free_mb is 40"):
            queue.intake.append("jvm", 2, "onprem", b"2")


def test_an_event_may_take_all_that_is_left_above_the_floor_and_no_more(queue, disk):
    disk.free = 10**6 + 10
    with pytest.raises(QueueFull):
        queue.intake.append("jvm", 1, "onprem", bytes(11))
    assert queue.intake.append("jvm", 1, "onprem", bytes(10))


def test_no_space_in_sqlite_is_full_and_half_done_is_nothing(queue, reopen):
    fill(queue, 1, 2)
    pages = queue._file._conn.execute("PRAGMA page_count").fetchone()[0]
    queue._file._conn.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(QueueFull):
        queue.intake.append_all([Entry("jvm", n, "onprem", bytes(9000)) for n in (3, 4, 5)])
    assert (queue.size, queue.intake.instances()[0].received) == (2, 2)
    queue._file._conn.execute("PRAGMA max_page_count = 1000000")
    assert queue.intake.append("jvm", 3, "onprem", b"3")
    assert reopen().size == 3


def test_a_disk_that_does_not_answer_is_a_failure(queue, disk):
    def broken(_):
        raise OSError(5, "Input/output error")

    queue.room.measure = broken
    with pytest.raises(QueueFailed, match="Input/output error"):
        queue.intake.append("jvm", 1, "onprem", b"x")


# --- persist-queue


class AsBytes:
    """A serializer of persist-queue."""

    loads = dumps = staticmethod(bytes)


def test_any_persist_queue_reads_the_file(queue, tmp_path):
    fill(queue, 1, 3)
    expected = [event.data for event in queue.events(0, 10, 10**6)]
    queue.close()
    reader = persistqueue.SQLiteQueue(str(tmp_path), name="events", serializer=AsBytes, db_file_name="queue.db")
    assert (reader.qsize(), [reader.get(block=False) for _ in expected]) == (3, expected)
    reader.close()


def test_nothing_on_disk_is_pickle(queue, tmp_path):
    fill(queue, 1, 1)
    queue.close()
    connection = sqlite3.connect(tmp_path / "queue.db")
    assert connection.execute("SELECT _id, data, typeof(data) FROM queue_events").fetchall() == [(1, b"1", "blob")]
    connection.close()
