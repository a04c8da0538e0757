"""Damage in the queue's file: noticed where it is read, set aside, a gap; and nothing else stops."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from pysync.queue import DataVersion, Entry, EventQueue, QueueDamaged, QueueFailed, Removal, Resync, database
from tests.support.queues import fill, numbered, park, seen

SEALED = {
    "meta": "UPDATE meta SET value = '99' WHERE key = 'note:living'",
    "targets": "UPDATE targets SET position = 4 WHERE target = 'dr'",
    "instances": "UPDATE instances SET seen = '[[1,9]]'",
    "parked": "UPDATE parked SET data = x'33'",
    "finished": "UPDATE finished SET positions = '[3]'",
    "gaps": "UPDATE gaps SET closed_at_ms = 1",
    "removals": "UPDATE removals SET state = 'drop'",
    "resyncs": "UPDATE resyncs SET upto = 1",
    "data_versions": "UPDATE data_versions SET directory = '/'",
}


@pytest.fixture
def queue(reopen):
    queue = reopen()
    queue.target("dr").register()
    fill(queue, 1, 5)
    return queue


def edit(directory, *statements):
    """As damage does it: without the triggers that keep the seals."""
    connection = sqlite3.connect(directory / "queue.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def reasons(queue):
    return [gap.reason for gap in queue.gaps.unclosed()]


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE queue_events SET data = x'37' WHERE _id = 3",
        "UPDATE queue_events SET data = NULL WHERE _id = 3",
        "UPDATE queue_events SET data = CAST(x'ff' AS TEXT) WHERE _id = 3",
        "UPDATE queue_events SET timestamp = 1 WHERE _id = 3",
        "UPDATE queue_events SET timestamp = 'no' WHERE _id = 3",
        "UPDATE queue_events SET crc = NULL WHERE _id = 3",
        "UPDATE queue_events SET (data, crc) = (SELECT data, crc FROM queue_events WHERE _id = 4) WHERE _id = 3",
        "DELETE FROM queue_events WHERE _id = 3",
    ],
)
def test_an_event_that_is_not_as_it_was_written_is_set_aside_and_a_gap(queue, reopen, tmp_path, damage):
    queue.close()
    edit(tmp_path, damage)
    queue = reopen()
    assert seen(queue, "dr") == numbered(1, 2)
    queue.target("dr").advance(2)
    expected = [(3, b""), *numbered(4, 5)]
    assert seen(queue, "dr") == expected
    assert reasons(queue) == ["event 3 of the queue was damaged and has been set aside"]
    assert len(queue.intake.unreadable()) == 1
    queue = reopen()
    assert seen(queue, "dr") == expected
    assert len(queue.gaps.unclosed()) == len(queue.intake.unreadable()) == 1
    queue.target("dr").advance(5)
    assert queue.trim() == 5


def test_two_events_that_changed_places_are_both_set_aside(queue, reopen, tmp_path):
    queue.close()
    edit(
        tmp_path,
        "UPDATE queue_events SET _id = 99 WHERE _id = 3",
        "UPDATE queue_events SET _id = 3 WHERE _id = 4",
        "UPDATE queue_events SET _id = 4 WHERE _id = 99",
        "UPDATE sqlite_sequence SET seq = 5 WHERE name = 'queue_events'",
    )
    queue = reopen()
    queue.target("dr").advance(2)
    assert [queue.events(at, 1, 10)[0].data for at in (2, 3, 4)] == [b"", b"", b"5"]


def test_what_is_kept_beside_the_events_is_sealed_whoever_writes_it(queue, reopen):
    queue.target("dr").advance(3, [park(2), park(3)])
    queue.target("dr").parked.update(queue.target("dr").parked.events())
    queue.amend({2: b"other"})
    queue.target("dr").pause("by hand")
    queue.target("dr").removals.change([Removal("db.t", "table", "held", "too many", 2, 1, lasting=True)])
    queue.target("dr").removals.change([Removal("db.t", "table", "keep", "a person has kept it", 3, 2)])
    begun = Resync("views", "a table was redefined", "{}", 7)
    for resync in (begun, replace(begun, queued=2, cursor=("db", "t"), upto=4)):
        queue.target("dr").resyncs.put(resync)
    queue.notes.put("living", "77")
    queue.gaps.open("a", "b")
    queue.gaps.healed_by(["a"], 4)
    queue.gaps.close_passed()
    queue.target("dr").rename("lake")
    queue = reopen()
    assert [it.key for it in queue.gaps.latest()] == ["a"]
    assert queue.intake.unreadable() == []
    assert [(it.object, it.state) for it in queue.target("lake").removals.all()] == [("db.t", "keep")]
    assert [it.data for it in queue.target("lake").parked.events()] == [b"other", b"x"]
    assert queue.target("lake").resyncs.all() == [replace(begun, queued=2, cursor=("db", "t"), upto=4)]
    assert queue.events(1, 1, 100)[0].data == b"other"


@pytest.mark.parametrize("table", SEALED)
def test_a_row_of_a_small_table_that_is_damaged_is_set_aside(queue, reopen, tmp_path, table):
    queue.target("dr").advance(2, [park(2)], {4})
    queue.target("dr").removals.change([Removal("db.t", "table", "keep", "a person has kept it", 2, 1)])
    queue.target("dr").resyncs.put(Resync("views", "a table was redefined", "{}", 7))
    queue.target("dr").data_versions.note([DataVersion("file:/t/pysync-1", "file:/t", "db", "t", "", 7, 0)])
    queue.notes.put("living", "77")
    queue.gaps.open("ended:old:3", "it ended")
    queue.close()
    edit(tmp_path, SEALED[table])
    queue = reopen()
    assert f"a row of the queue's table {table} was damaged and has been set aside" in reasons(queue)
    assert len(queue.intake.unreadable()) == 1
    queue.target("dr").register()
    assert queue.intake.append("jvm", 6, "onprem", b"6")
    assert seen(queue, "dr")[-1] == (6, b"6")
    assert len(reopen().intake.unreadable()) == 1


def test_without_its_epoch_a_queue_begins_a_new_one(queue, reopen, tmp_path):
    old = queue.epoch
    queue.close()
    edit(tmp_path, "UPDATE meta SET value = '7' WHERE key = 'epoch'")
    queue = reopen()
    assert queue.epoch > old
    assert reopen().epoch == queue.epoch


def test_a_file_that_contradicts_itself_is_refused(queue, reopen, tmp_path):
    queue.close()
    edit(tmp_path, "UPDATE sqlite_sequence SET seq = 3 WHERE name = 'queue_events'")
    with pytest.raises(QueueDamaged, match="its last event is 5, but its counter is at 3"):
        reopen()
    edit(tmp_path, "DELETE FROM queue_events", "UPDATE sqlite_sequence SET seq = 9 WHERE name = 'queue_events'")
    with pytest.raises(QueueDamaged, match=r"it holds events 10 to 9, but its targets are at \[0\]"):
        reopen()


# --- what SQLite rolls back without a word


def copy(tmp_path, name):
    """The files of a queue that is open, as a kill leaves them."""
    directory = tmp_path / name
    directory.mkdir()
    for file in tmp_path.iterdir():
        if file.is_file():
            shutil.copy(file, directory)
    return directory


def opened(directory):
    return EventQueue(directory, min_free_bytes=0, lock_timeout=0)


def test_what_was_answered_and_is_not_there_any_more_is_a_gap_and_a_new_epoch(queue, tmp_path):
    for name, cut in {"sound": 0, "tail": 100, "all": None}.items():
        directory = copy(tmp_path, name)
        log = directory / "queue.db-wal"
        if cut is None:
            log.unlink()
        else:
            log.write_bytes(log.read_bytes()[: log.stat().st_size - cut])
        with opened(directory) as again:
            reported = reasons(again)
            assert again.epoch > queue.epoch if cut != 0 else again.epoch == queue.epoch
        with opened(directory) as twice:
            assert reasons(twice) == reported
        assert [("has confirmed events up to 5, but its last" in it) for it in reported] == ([] if cut == 0 else [True])


@pytest.mark.parametrize("damage", ["UPDATE queue_events SET data = x'37' WHERE _id = 1", SEALED["targets"], None])
def test_a_gap_by_damage_is_logged_as_every_other(queue, tmp_path, damage):
    directory = copy(tmp_path, "damaged")
    if damage is None:
        (directory / "queue.db-wal").unlink()
    else:
        edit(directory, damage)
    with capture_logs() as lines, opened(directory) as again:
        again.target("dr").register()
        again.target("dr").window(10, 10**6)
        reported = reasons(again)
    assert reported
    for event in ("queue_damaged", "gap_opened"):
        assert [it["reason"] for it in lines if it["event"] == event] == reported


def test_a_gap_that_was_recorded_and_is_lost_is_one_again(queue, tmp_path):
    before = copy(tmp_path, "before")
    queue.gaps.open("ended:jvm:5", "it ended")
    shutil.copy(tmp_path / "answered", before)
    with opened(before) as again:
        assert len(again.gaps.unclosed()) == 1


@pytest.mark.parametrize("content", [b"", b"\0" * 28, b"x" * 28])
def test_a_file_of_answers_that_is_not_whole_says_nothing(queue, tmp_path, content):
    directory = copy(tmp_path, "again")
    (directory / "answered").write_bytes(content)
    with opened(directory) as again:
        assert (again.last, reasons(again)) == (5, [])


# --- an event that comes again


def entry(sequence, data, instance="jvm"):
    return Entry(instance, sequence, "onprem", data, firm=True)


def test_an_event_that_comes_again_with_other_bytes_is_a_gap(reopen):
    queue = reopen()
    queue.target("dr").register()
    assert queue.intake.append_all([entry(n, b"%d" % n) for n in (1, 2, 3, 7, 8)]) == [True] * 5
    queue.target("dr").advance(5)
    queue.trim()
    queue = reopen()
    assert queue.intake.append_all([entry(n, b"%d" % n) for n in (8, 2, 4)]) == [False, False, True]
    assert reasons(queue) == []
    with capture_logs() as lines:
        again = [entry(7, b"true"), entry(4, b"4"), entry(5, b"5"), entry(5, b"other")]
        assert queue.intake.append_all(again) == [False, False, True, False]
    assert reasons(queue) == ["event 7 of metastore jvm arrived again with different content"]
    assert [it["reason"] for it in lines if it["event"] == "gap_opened"] == reasons(queue)
    assert [(it["instance"], it["sequence"]) for it in lines if it["event"] == "event_differs"] == [("jvm", 7)]
    assert queue.intake.append_all([entry(4, b"other"), entry(3, b"other", "new")]) == [False, True]
    assert len(queue.gaps.unclosed()) == 2


def test_the_newest_numbers_of_a_listener_are_remembered(reopen, monkeypatch):
    monkeypatch.setattr("pysync.queue.digests.KEEP", 10)
    queue = reopen()
    for start in range(1, 41, 4):
        queue.intake.append_all([entry(n, b"%d" % n) for n in range(start, start + 4)])
    assert queue.intake.append_all([entry(n, b"%d" % n) for n in (40, 29, 33)]) == [False] * 3
    assert queue.gaps.unclosed() == []
    assert queue.intake.append_all([entry(5, b"5")]) == [False]
    assert [gap.key for gap in queue.gaps.unclosed()] == ["differs:jvm:5"]


def test_a_file_of_another_format_is_refused_in_one_line(queue, reopen, tmp_path, monkeypatch):
    queue.close()
    monkeypatch.setattr(database, "VERSION", 1)
    with pytest.raises(
        QueueFailed, match="has queue format 5, this pysync reads format 1; another version of pysync wrote"
    ):
        reopen()
