"""Refreshes: asking for them."""

from __future__ import annotations

import itertools

from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from pysync.resync.refreshes import Refreshes
from pysync.resync.wanted import everything
from pysync.resync.wanted import table as table_refresh
from tests.support.queues import Reopener
from tests.support.refreshing import DB, Hms, T


def test_positions_and_numbers_go_on_after_a_restart(reopen: Reopener) -> None:
    first = Refreshes(reopen(), "onprem")
    assert first.upto == 0
    assert first.ask([T, T]) == 2
    queue = reopen()
    again = Refreshes(queue, "onprem")
    assert again.upto == 2, "those in the queue may not be done yet"
    assert again.ask([T]) == 3
    (instance,) = queue.intake.instances()
    assert (instance.instance, instance.received, instance.highest, instance.missing) == (SIDECAR, 3, 3, ())


def test_what_is_asked_for_is_an_event_of_the_source(reopen: Reopener) -> None:
    queue = reopen()
    queue.target("dr").register()
    Refreshes(queue, "onprem").ask([T, DB])
    events = asked(queue)
    assert [(it.kind, it.source, it.instance, dict(it.attributes)) for it in events] == [
        (Kind.REFRESH, "onprem", SIDECAR, T),
        (Kind.REFRESH, "onprem", SIDECAR, DB),
    ]


def asked(queue: EventQueue) -> list[Event]:
    return [decode_event(item.data) for item in queue.target("dr").window(1000, 10**9)]


def test_to_ask_for_nothing_is_nothing(reopen: Reopener) -> None:
    queue = reopen()
    assert Refreshes(queue, "onprem").ask([]) == 0
    assert queue.intake.instances() == []


def test_everything_is_the_databases_then_the_latest_tables_then_each_database_whole() -> None:
    """Whole: with all of its tables, also those that came as the latest before."""
    source = Hms("db.a", "db.b", "other.c")
    came = itertools.count(7)
    found = list(everything(source, lambda: next(came), [TableName("db", "b"), TableName("db", "gone")]))
    assert found == [
        {"present": "db\ndefault\nother", "upto": "7", "whole": "true"},
        {"database": "db", "table": "b", "created": "100"},
        {"database": "db", "table": "gone", "absent": "true"},
        {"database": "db", "present": "a\nb", "upto": "8", "whole": "true"},
        {"database": "db", "table": "a", "created": "100"},
        {"database": "db", "table": "b", "created": "100"},
        {"database": "default", "present": "", "upto": "9", "whole": "true"},
        {"database": "other", "present": "c", "upto": "10", "whole": "true"},
        {"database": "other", "table": "c", "created": "100"},
    ]


def test_a_table_tells_whether_it_was_there() -> None:
    source = Hms("db.t")
    assert table_refresh(source, TableName("db", "t")) == {**T, "created": "100"}
    assert table_refresh(source, TableName("db", "u")) == {**T, "table": "u", "absent": "true"}
