"""Ranges of the history: where they begin and end, and which objects their events touched."""

from __future__ import annotations

import pytest

from pysync.base.errors import PysyncError
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.wire import encode_event
from pysync.replay.window.translate import Translator
from pysync.resync import ranges
from pysync.resync.ranges import HistoryGone, Range, counted, range_of, shown_name, touched
from tests.support.events import create_table, event, one_of_each_kind, rename_table, settings

DAY = 86_400.0


@pytest.fixture
def queue(reopen):
    opened = reopen()
    opened.target("dr").register()
    return opened


def put(queue, *events):
    for found in events:
        data = found if isinstance(found, bytes) else encode_event(found)
        queue.intake.append("jvm", queue.last + 1, "onprem", data)


def policy(**values):
    return Translator.of(settings(**values)).policy


def names(queue, found=None, **values):
    wanted = found or Range(queue.first, queue.last)
    return [[shown_name(name) for name in it.names] for it in touched(queue, policy(**values), wanted)]


def refresh(**attributes):
    return event(Kind.REFRESH, attributes=attributes)


# --- where it begins and ends


def test_positions_are_taken_as_they_are_and_the_end_is_the_newest_event(queue):
    put(queue, *(create_table(f"db.t{number}") for number in range(9)))
    assert range_of(queue, {"from": 3}) == Range(3, 9)
    assert range_of(queue, {"from": 3, "to": 5, "source_table": "DB.T1"}) == Range(3, 5, TableName("db", "t1"))
    assert range_of(queue, {"from": 9, "to": 4000}) == Range(9, 9)


def test_times_are_those_of_arrival_and_both_ends_belong_to_it(queue, disk):
    for number in range(5):
        disk.now = 1000.0 + number
        put(queue, create_table(f"db.t{number}"))
    assert range_of(queue, {"from_time": 1001.0}) == Range(2, 5)
    assert range_of(queue, {"from_time": 1000.5, "to_time": 1003.0}) == Range(2, 4)
    assert range_of(queue, {"from_time": 0.0, "to": 2}) == Range(1, 2), "nothing was before the first event"
    with pytest.raises(PysyncError, match="no event has come since"):
        range_of(queue, {"from_time": 1004.5})
    with pytest.raises(PysyncError, match="no event came between the two"):
        range_of(queue, {"from_time": 1002.5, "to_time": 1002.7})


def test_what_is_no_longer_kept_is_refused_with_where_the_history_begins(queue, disk):
    put(queue, create_table("db.a"), create_table("db.b"))
    disk.now += DAY
    put(queue, create_table("db.c"))
    queue.target("dr").advance(2)
    queue.trim()
    for reported in ({"from": 2}, {"from_time": 1000.0}, {"from_time": 1000.0 + DAY - 1}):
        with pytest.raises(PysyncError, match="does not reach back so far: it begins with event 3") as caught:
            range_of(queue, reported)
        assert "--from 3" in str(caught.value)
    assert range_of(queue, {"from_time": 1000.0 + DAY}) == range_of(queue, {"from": 3}) == Range(3, 3)


def test_an_empty_history_has_no_range(queue):
    for reported in ({"from": 1}, {"from_time": 0.0}):
        with pytest.raises(PysyncError, match="no event has come since"):
            range_of(queue, reported)
    put(queue, create_table("db.a"))
    queue.target("dr").advance(1)
    queue.trim()
    with pytest.raises(PysyncError, match="the queue holds no event"):
        range_of(queue, {"from": 1})


@pytest.mark.parametrize(
    "reported",
    [
        {},
        {"from": 0},
        {"from": True},
        {"from": "1"},
        {"from_time": -1.0},
        {"from_time": float("nan")},
        {"from_time": "2h"},
        {"from_time": 10**300},
        {"from": 1, "to": -5},
        {"from": 1, "to_time": []},
        {"from": 1, "source_table": "no table"},
    ],
)
def test_senseless_arguments_are_refused(queue, reported):
    put(queue, create_table("db.a"))
    with pytest.raises(PysyncError) as caught:
        range_of(queue, reported)
    assert "\n" not in caught.value.message


# --- what was touched


def test_every_kind_of_event_touches_what_it_is_about(queue):
    kinds = one_of_each_kind()
    put(queue, *(event(kind, **what) for kind, what in kinds.items()))
    found = dict(zip(kinds, names(queue), strict=True))
    of_database = {Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.DROP_DATABASE}
    for kind, objects in found.items():
        wanted = {"db"} if kind in of_database or kind.value.endswith("_FUNCTION") else {"db.t"}
        assert wanted <= set(objects), kind
        assert set(objects) <= wanted | {"db.p"}, kind


def test_a_rename_touches_both_names(queue):
    put(queue, rename_table("db.a", "other.b"))
    assert names(queue) == [["db.a", "other.b"]]
    assert names(queue, include=["other"]) == [["other.b"]]


def test_refreshes_of_other_targets_and_what_names_no_object_touch_nothing(queue):
    put(
        queue,
        refresh(database="db", table="t", targets="lake\nother"),
        refresh(database="db", table="t", targets="lake\ndr"),
        refresh(database="db", present="t"),
        refresh(present="db"),
        refresh(former="[]", targets="dr", upto="0"),
        event(Kind.GOODBYE),
    )
    assert names(queue) == [[], ["db.t"], ["db"], [], [], []]


def test_one_table_alone(queue):
    put(queue, create_table("db.a"), create_table("db.b"), rename_table("db.b", "db.a"))
    assert names(queue, Range(1, 3, TableName("db", "a"))) == [["db.a"], [], ["db.a"]]


def test_an_unreadable_event_is_told(queue):
    put(queue, b"no event", create_table("db.a"))
    found = list(touched(queue, policy(), Range(1, 2)))
    assert [(it.position, it.names, it.readable) for it in found] == [
        (1, (), False),
        (2, (TableName("db", "a"),), True),
    ]


def test_a_range_whose_events_go_meanwhile_is_told(queue, monkeypatch):
    monkeypatch.setattr(ranges, "_CHUNK", 2)
    put(queue, *(create_table(f"db.t{number}") for number in range(6)))
    queue.target("dr").advance(6)
    found = touched(queue, policy(), Range(1, 6))
    assert next(found).position == 1
    queue.trim(retain_rows=1)
    assert next(found).position == 2
    with pytest.raises(HistoryGone, match="from position 3 on"):
        next(found)


# --- the counts of a dry run


def test_counts_come_in_parts(queue, monkeypatch):
    put(queue, *(create_table(f"db.t{number % 2}") for number in range(7)), b"no event")
    whole = counted(queue, policy(), {"from": 2})
    assert whole == {
        "first": 2,
        "last": 8,
        "events": 7,
        "objects": {"db.t1": 3, "db.t0": 3},
        "unreadable": 1,
        "next": None,
    }
    monkeypatch.setattr(ranges, "_SECONDS", -1.0)
    sizes, at, objects = [], 2, 0
    while at is not None:
        part = counted(queue, policy(), {"from": at, "to": 8})
        sizes.append(part["events"])
        objects, at = objects + sum(part["objects"].values()), part["next"]
    assert (sizes, objects) == ([1] * 7, 6)
