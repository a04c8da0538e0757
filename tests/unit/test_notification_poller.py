"""The poller: from a notification log into a real queue, with faults at every step."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from structlog.testing import capture_logs
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_attempt
from thrift.Thrift import TApplicationException

from pysync.capture.notifications import (
    LEFT_OUT,
    Notification,
    NotificationLogRefused,
    Poller,
    Position,
    poller,
    rows,
)
from pysync.capture.switch import note_capture
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnavailable
from pysync.model.change import decode_change
from pysync.model.event import Event, Kind
from pysync.model.wire import decode, decode_event, encode_event
from pysync.queue import EventQueue
from tests.support import table
from tests.support.events import create_table
from tests.support.notifications import MemoryLog, Source, recorded, row
from tests.support.pollers import Gaps, made, queued, sequences, turn

INSTANCE = "notification-log:onprem"


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[EventQueue]:
    with EventQueue(tmp_path, min_free_bytes=0) as opened:
        opened.target("dr").register()
        yield opened


def test_kinds_and_catalogs_that_are_not_replayed_cost_no_sequence(queue):
    source, one = MemoryLog([row(1)]), made(queue)
    turn(one, source)
    source.rows += [row(2), row(3, kind="OPEN_TXN"), row(4, catalog="spark"), row(5)]
    turn(one, source)
    assert (queued(queue), sequences(queue)) == ([2, 5], [1, 2])
    assert one.status()["counts"]["ignored"] == 2
    assert one.status()["left_out"] == {"OPEN_TXN": 1, "DROP_TABLE": 1}


def test_each_kind_that_is_left_out_is_logged_once_with_its_reason(queue):
    source, one = MemoryLog([row(1)]), made(queue)
    turn(one, source)
    source.rows += [row(number, kind=kind) for number, kind in enumerate(["OPEN_TXN", "COMMIT_TXN"] * 20, 2)]
    source.rows += [row(50 + number, catalog="spark") for number in range(9)]
    source.rows += [row(number) for number in range(42, 50)]
    with capture_logs() as logged:
        turn(one, source)
    reported = [(it["kind"], it["reason"]) for it in logged if it["event"] == "notification_left_out"]
    assert reported == [
        ("OPEN_TXN", LEFT_OUT["OPEN_TXN"]),
        ("COMMIT_TXN", LEFT_OUT["COMMIT_TXN"]),
        ("DROP_TABLE", "no target takes the catalog"),
    ]
    assert one.status()["left_out"] == {"OPEN_TXN": 20, "COMMIT_TXN": 20, "DROP_TABLE": 9}


def test_a_gap_is_reported_and_the_rest_taken(queue):
    source, gaps = MemoryLog([row(1)]), Gaps()
    turn(made(queue), source)
    source.rows = [row(5)]
    one = made(queue, gaps)
    turn(one, source)
    assert queued(queue) == [5]
    assert len(gaps) == 1
    assert "2 to 4" in gaps[0]
    turn(one, source)
    assert (len(gaps), one.status()["counts"]["gaps"]) == (1, 1)


# --- what cannot be read


def events(queue: EventQueue) -> list[Event]:
    return [decode_event(found.data) for found in queue.target("dr").window(10_000, 10**9)]


def follow(queue: EventQueue, *rows: Notification, has: Sequence[Any] = ()) -> tuple[Poller, Gaps]:
    """A poller that has taken these rows, of a source that has these objects now."""
    source, gaps = MemoryLog([row(1)]), Gaps()
    source.source.items |= Source(*has).items
    one = made(queue, gaps)
    turn(one, source)
    source.rows += rows
    turn(one, source)
    return one, gaps


SPOILED = {"message": "no message"}


def _internal_error() -> MetastoreCallFailed:
    """What a metastore that answers "Internal error" becomes."""
    error = MetastoreCallFailed("Internal error")
    error.__cause__ = TApplicationException()
    return error


def test_of_a_message_that_cannot_be_read_only_the_table_is_read_anew(queue):
    there = table("db", "t3")
    there.createTime = 17
    one, gaps = follow(queue, row(2), row(3, kind="ADD_PARTITION", table="T3", **SPOILED), row(4), has=[there])
    assert (queued(queue), sequences(queue), gaps) == ([2, 3, 4], [1, 2, 3], [])
    reported = events(queue)[1]
    assert reported.kind is Kind.TABLE_CHANGED
    assert dict(reported.attributes) == {"database": "db", "table": "t3", "created": "17", "kind": "ADD_PARTITION"}
    change = decode_change(reported, 2)
    assert (change.kind, str(change.table_name)) == (Kind.REFRESH, "db.t3")
    assert [kept.data for kept in queue.intake.unreadable()] == [b"no message"]
    assert one.status()["counts"] == {"events": 3, "ignored": 0, "unread": 1, "gaps": 0}


def test_a_table_that_is_gone_by_then_is_read_as_absent(queue):
    follow(queue, row(2, **SPOILED))
    assert dict(events(queue)[0].attributes) == {
        "database": "db",
        "table": "t2",
        "absent": "true",
        "kind": "DROP_TABLE",
    }


def test_both_names_of_a_rename_are_read_anew_if_they_can_be_told(queue):
    named = json.dumps({"db": "db", "table": "old", "tableObjBeforeJson": "?", "tableObjAfterJson": "?"})
    _, gaps = follow(queue, row(2, kind="ALTER_TABLE", table="new", message=named), row(3), has=[table("db", "new")])
    reported = [(it.attributes["table"], it.attributes.get("absent")) for it in events(queue)[:2]]
    assert reported == [("new", None), ("old", "true")]
    assert (sequences(queue), queued(queue), gaps) == ([1, 2, 3], [2, 2, 3], [])


@pytest.mark.parametrize("kind", ["ALTER_TABLE", "ADD_FOREIGNKEY"])
def test_a_message_that_may_name_another_table_is_a_gap(queue, kind):
    one, gaps = follow(queue, row(2, kind=kind, **SPOILED), row(3))
    assert queued(queue) == [3]
    assert len(gaps) == 1
    assert gaps[0].startswith(f"notification 2 ({kind} of db.t2) cannot be read")
    assert one.status()["counts"]["gaps"] == 1


@pytest.mark.parametrize("kind", ["CREATE_DATABASE", "ALTER_DATABASE", "CREATE_FUNCTION", "DROP_FUNCTION"])
def test_of_a_database_the_definition_and_functions_are_read_anew(queue, kind):
    has = [hive.Database("DB".lower()), table("db", "b"), table("db", "a")]
    _, gaps = follow(queue, row(2, kind=kind, table=None, **SPOILED), has=has)
    (reported,) = events(queue)
    assert (reported.kind, dict(reported.attributes), gaps) == (Kind.REFRESH, {"database": "db", "present": "a\nb"}, [])


def test_a_dropped_database_is_told_by_its_name_alone(queue):
    _, gaps = follow(queue, row(2, kind="DROP_DATABASE", table=None, **SPOILED))
    (reported,) = events(queue)
    assert (reported.kind, decode(hive.Database, reported.before[0]).name, gaps) == (Kind.DROP_DATABASE, "db", [])


def test_a_database_that_is_gone_by_now_needs_no_reading(queue):
    one, gaps = follow(queue, row(2, kind="ALTER_DATABASE", table=None, **SPOILED), row(3))
    assert (queued(queue), gaps, one.status()["counts"]["unread"]) == ([3], [], 1)


def test_a_database_that_the_source_cannot_show_is_a_gap(queue):
    source, gaps = MemoryLog([row(1)]), Gaps()
    one = made(queue, gaps)
    turn(one, source)
    source.source.items["db"] = hive.MetaException("it is broken")
    source.rows += [row(2, kind="ALTER_DATABASE", table=None, **SPOILED), row(3)]
    turn(one, source)
    assert (queued(queue), len(gaps)) == ([3], 1)


@pytest.mark.parametrize("error", [hive.MetaException("it is broken"), _internal_error()], ids=["declared", "internal"])
def test_a_source_that_fails_at_one_database_does_not_stop_the_log(queue, error):
    source, gaps = MemoryLog([row(1)]), Gaps()
    one = made(queue, gaps)
    turn(one, source)
    source.source.items["sales"] = error
    source.rows += [replace(recorded("2.3")[0], id=2), row(3)]
    turn(one, source)
    assert (queued(queue), len(gaps)) == ([3], 1)
    assert gaps[0].startswith("notification 2 (CREATE_DATABASE of sales) needs what the source cannot show")


def test_the_source_is_asked_once_for_what_a_page_names_often(queue):
    source, one = MemoryLog([row(1)]), made(queue)
    turn(one, source)
    inserted = json.dumps({"db": "db", "table": "t"})
    source.rows += [row(number, kind="INSERT", message=inserted) for number in range(2, 50)]
    turn(one, source)
    assert len(queued(queue)) == 48
    assert source.source.asked == ["db.t"]


def test_an_object_of_a_kind_that_is_not_known_is_read_anew(queue):
    with capture_logs() as logged:
        rows = [row(number, kind="REBUCKET_TABLE", **SPOILED) for number in (2, 3)]
        one, gaps = follow(queue, *rows, row(4, kind="NEW", database=None, table=None))
    assert [it.kind for it in events(queue)] == [Kind.TABLE_CHANGED, Kind.TABLE_CHANGED]
    assert (gaps, one.status()["left_out"], one.status()["counts"]["unread"]) == ([], {"NEW": 1}, 2)
    assert [it["event"] for it in logged].count("notification_unread") == 1, "there may be thousands"
    assert queue.intake.unreadable() == [], "nothing is wrong with such a message"


def test_an_event_that_is_too_large_for_the_queue_is_read_at_the_source(queue, monkeypatch):
    monkeypatch.setattr("pysync.queue.values.MAX_DATA", 5_000)
    big = json.dumps({"db": "db", "table": "t" * 6_000})
    _, gaps = follow(queue, row(2, message=big), row(3))
    assert (queued(queue), gaps) == ([2, 3], [])
    assert events(queue)[0].kind is Kind.TABLE_CHANGED


def test_of_a_page_only_so_much_is_made_at_once_and_its_gap_is_reported_first(queue, monkeypatch):
    """Before: 450 packed messages of a megabyte each took the sidecar to 452 MiB, and now to 335."""
    monkeypatch.setattr(rows, "_MOST_BYTES", 0)
    source, gaps = MemoryLog([row(1)]), Gaps()
    one = made(queue, gaps)
    turn(one, source)
    parts: list[tuple[int, int | None, int]] = []
    append = one._intake.append_all

    def noted(entries: Sequence[Any]) -> Any:
        parts.append((len(entries), one.status()["position"], len(gaps)))
        return append(entries)

    monkeypatch.setattr(one._intake, "append_all", noted)
    source.rows += [row(number) for number in (2, 4, 5)]
    turn(one, source)
    assert (queued(queue), sequences(queue)) == ([2, 4, 5], [1, 2, 3])
    assert parts[:3] == [(1, 1, 0), (1, 2, 1), (1, 4, 1)]
    assert [it.partition(":")[0] for it in gaps] == ["the notification log no longer holds notification 3"]


def test_a_source_that_is_away_in_between_is_asked_again(queue):
    source, gaps = MemoryLog([row(1)]), Gaps()
    one = made(queue, gaps)
    turn(one, source)
    source.source.items["db.t2"] = MetastoreUnavailable("it is away")
    source.rows += [row(2, **SPOILED), row(3)]
    with pytest.raises(MetastoreUnavailable):
        turn(one, source)
    assert (queued(queue), one.status()["position"]) == ([], 1)
    del source.source.items["db.t2"]
    turn(one, source)
    assert (queued(queue), gaps) == ([2, 3], [])


def test_a_position_that_cannot_be_read_is_a_gap(queue):
    queue.notes.put(INSTANCE, "spoiled")
    gaps = Gaps()
    turn(made(queue, gaps), MemoryLog([row(1)]))
    assert gaps == ["the position in the notification log was lost"]
    assert Position.from_json(queue.notes.get(INSTANCE) or "").last == 1


def test_the_last_ids_are_read_again_until_the_log_has_been_quiet_for_a_while(queue, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr(poller.time, "monotonic", lambda: clock[0])
    source, one = MemoryLog([row(1)]), made(queue)
    turn(one, source)
    source.rows.append(row(2))
    turn(one, source)
    clock[0] += 59
    source.rows.append(row(2, "late"))
    turn(one, source)
    assert queued(queue) == [2, 2]
    clock[0] += 61
    turn(one, source)
    asked = len(source.asked)
    turn(one, source)
    assert len(source.asked) == asked, "a quiet log is asked for its current id alone"


def test_a_created_database_is_read_at_the_source(queue):
    source, one = MemoryLog(), made(queue)
    turn(one, source)
    source.rows.append(recorded("2.3")[0])
    turn(one, source)
    assert (queued(queue), one.status()["counts"]["ignored"]) == ([], 1)
    assert source.source.asked == ["sales"]


@pytest.mark.parametrize("error", [MetastoreCallFailed("timed out"), NotificationLogRefused("Internal error")])
def test_pages_that_are_too_large_for_an_answer_become_smaller(queue, error):
    class Slow(MemoryLog):
        """Its messages are so long that it cannot answer with more than a few."""

        def after(self, id: int, limit: int = 500) -> list[Notification]:  # noqa: A002
            found = super().after(id, limit)
            if len(found) > 7:
                raise error
            return found

    source, one = Slow([row(1)]), made(queue)
    turn(one, source)
    source.rows += [row(number) for number in range(2, 60)]
    retrying = Retrying(
        retry=retry_if_exception_type(type(error)),
        before_sleep=one._waits,
        sleep=lambda _: None,
        stop=stop_after_attempt(9),
    )
    for _ in range(60):
        retrying(one._turn, source)
    assert queued(queue) == list(range(2, 60))


def test_a_refusal_is_noted_from_its_first_time_until_something_else_happens(queue):
    source, one = MemoryLog([row(1)]), made(queue)

    def tried(*errors: Exception) -> float | None:
        faults = deque(errors)

        def current() -> int:
            if faults:
                raise faults.popleft()
            return 1

        source.current = current
        kinds = (NotificationLogRefused, MetastoreUnavailable)
        retrying = Retrying(retry=retry_if_exception_type(kinds), before_sleep=one._waits, sleep=lambda _: None)
        retrying.stop = stop_after_attempt(len(errors) + 1 if len(errors) < 3 else 3)
        with suppress(RetryError):
            retrying(one._turn, source)
        return one.status()["refused_since"]

    refused = NotificationLogRefused("not allowed")
    assert tried(refused) is None, "it was read then"
    assert (since := tried(refused, refused, refused)) is not None
    assert tried(refused, refused, refused) == since
    assert tried(refused, MetastoreUnavailable("away"), MetastoreUnavailable("away")) is None


def test_two_pollers_at_once_lose_nothing(queue):
    """A queue has one owner, and that has one poller. If it had two, repeats would be the worst."""
    source, both = MemoryLog([row(1)]), [made(queue), made(queue)]
    for one in both:
        turn(one, source)
    for number in range(2, 12):
        source.rows.append(row(number))
        turn(both[number % 2], source)
    for one in both:
        turn(one, source)
    assert set(queued(queue)) == set(range(2, 12))
    assert sequences(queue) == list(range(1, len(sequences(queue)) + 1))


# --- where it begins


def test_a_log_that_is_read_for_the_first_time_beside_earlier_events_is_a_gap(queue):
    queue.intake.append("jvm", 1, "onprem", encode_event(create_table("db.t")))
    gaps = Gaps()
    turn(made(queue, gaps), MemoryLog([row(1), row(2)]))
    assert gaps == ["the notification log is read from event 2 on; earlier changes may be missing"]
    turn(made(queue, gaps), MemoryLog([row(1), row(2)]))
    assert len(gaps) == 1


def test_the_gap_is_reported_before_the_position_is_kept(queue):
    queue.intake.append("jvm", 1, "onprem", encode_event(create_table("db.t")))
    gaps = Gaps()
    gaps.raises = RuntimeError("the healer stumbled")
    with pytest.raises(RuntimeError):
        turn(made(queue, gaps), MemoryLog([row(1)]))
    assert queue.notes.get(INSTANCE) is None


def test_after_a_switch_the_log_is_read_from_its_end(queue):
    source = MemoryLog([row(1)])
    turn(made(queue), source)
    note_capture(queue, "onprem", "notification-log")
    note_capture(queue, "onprem", "listener")
    source.rows += [row(2), row(3)]
    note_capture(queue, "onprem", "notification-log")
    gaps = Gaps()
    one = made(queue, gaps)
    turn(one, source)
    assert (queued(queue), one.status()["position"], gaps) == ([], 3, [])
    source.rows.append(row(4))
    turn(one, source)
    assert queued(queue) == [4]
    assert [gap.reason.partition(":")[0] for gap in queue.gaps.latest()] == [
        "capture was switched from listener to notification-log",
        "capture was switched from notification-log to listener",
    ]
