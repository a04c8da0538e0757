"""Which events may be in another order than their changes, and when their tables are read."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pysync.capture import overlaps as overlaps_module
from pysync.capture.overlaps import CLOSE_SECONDS, Overlaps
from pysync.model.event import Event, Kind
from pysync.model.names import TableName
from pysync.queue import EventQueue
from tests.support import partition, table
from tests.support.events import append, create_table, database, event, one_of_each_kind, rename_table
from tests.support.model.source import Source

CALM = 2.0
LATEST = 30.0


class Clock:
    """The time at which events come."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now + 1e9

    @property
    def time_ms(self) -> int:
        return round(self.now * 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(overlaps_module, "time", found)
    return found


@pytest.fixture
def overlaps(clock: Clock) -> Overlaps:
    return Overlaps()


def of_thread(item: Event, thread: int, *, instance: str = "jvm", time_ms: int = 1000) -> Event:
    attributes = {**item.attributes, "thread": str(thread)}
    return replace(item, attributes=attributes, instance=instance, time_ms=time_ms)


def keyed(name: str = "db.t") -> Any:
    return table(*name.split("."), partition_keys=[("day", "string")])


def added(day: str, name: str = "db.t", kind: Kind = Kind.ADD_PARTITION) -> Event:
    side = "before" if kind is Kind.DROP_PARTITION else "after"
    return event(kind, of=keyed(name), **{side: [partition(keyed(name), [day])]})


def due(overlaps: Overlaps, *events: Event, after: float = 100.0, **options: Any) -> list[str]:
    """The tables that these events make due, long after them."""
    for item in events:
        overlaps.seen(item)
    return sorted(map(str, overlaps.due(overlaps_module.time.monotonic() + after, **options)))


@pytest.mark.parametrize("apart", [1.0, CLOSE_SECONDS + 1])
def test_what_came_before_a_restart_is_recalled_as_it_came(tmp_path: Path, clock: Clock, apart: float) -> None:
    """A kill must not make forget that a table has to be read."""
    with EventQueue(tmp_path, min_free_bytes=0, clock=clock.time) as queue:
        append(queue, of_thread(create_table("db.t", sequence=1), 1, time_ms=clock.time_ms))
        clock.now += apart
        append(queue, of_thread(create_table("db.t", sequence=2), 2, time_ms=clock.time_ms))
        queue.intake.append("jvm", 3, "onprem", b"not an event")
        again = Overlaps()
        again.recall(queue)
    assert due(again) == (["db.t"] if apart < CLOSE_SECONDS else [])


# --- what is suspicious


def test_a_database_or_a_function_from_two_threads_at_once(overlaps: Overlaps) -> None:
    """Else the drop that came late takes what was made after it, or a function waits for a database for ever."""
    made, gone = event(Kind.CREATE_DATABASE, after=[database("db")]), event(Kind.DROP_DATABASE, before=[database("db")])
    function = event(Kind.CREATE_FUNCTION, after=[one_of_each_kind()[Kind.CREATE_FUNCTION]["after"][0]])
    for first, second in ((made, gone), (gone, made), (function, made), (function, gone), (made, function)):
        assert due(Overlaps(), of_thread(first, 1), of_thread(second, 2)) == ["db."]
        assert due(Overlaps(), of_thread(first, 1), of_thread(second, 1)) == []
    due(overlaps, of_thread(made, 1), of_thread(gone, 2), of_thread(create_table("db.t"), 3))
    assert overlaps.lately() == [TableName("db", "t")]


def test_threads_of_two_metastores_are_two_though_they_have_one_number(overlaps: Overlaps) -> None:
    one, two = (of_thread(create_table("db.t"), 1, instance=name) for name in ("a", "b"))
    assert due(overlaps, one, two) == ["db.t"]


def test_events_that_come_far_apart_are_in_order(overlaps: Overlaps, clock: Clock) -> None:
    overlaps.seen(of_thread(create_table("db.t"), 1, time_ms=1000))
    clock.now += CLOSE_SECONDS
    assert due(overlaps, of_thread(create_table("db.t"), 2, time_ms=7000)) == []


def test_events_that_were_close_are_in_no_order_though_one_was_delivered_later(
    overlaps: Overlaps, clock: Clock
) -> None:
    """The sidecar was away between the deliveries: the drop that was committed first comes last."""
    overlaps.seen(of_thread(event(Kind.CREATE_DATABASE, after=[database("db")]), 1, time_ms=1000))
    clock.now += CLOSE_SECONDS
    gone = event(Kind.DROP_DATABASE, before=[database("db")])
    assert due(overlaps, of_thread(gone, 2, time_ms=1000)) == ["db."]


def test_an_event_that_is_older_than_the_last_one_is_not_however_late_it_comes(
    overlaps: Overlaps, clock: Clock
) -> None:
    """A spool that is delivered after another metastore's events."""
    overlaps.seen(of_thread(create_table("db.t"), 1, instance="a", time_ms=9000))
    clock.now += 3600
    assert due(overlaps, of_thread(create_table("db.t"), 1, instance="b", time_ms=8999)) == ["db.t"]


def test_two_partitions_from_two_threads_do_not_mind_each_other(overlaps: Overlaps) -> None:
    assert due(overlaps, of_thread(added("1"), 1), of_thread(added("2"), 2)) == []


@pytest.mark.parametrize("first", ["table", "partition"])
def test_a_partition_and_its_table_from_two_threads(overlaps: Overlaps, first: str) -> None:
    both = [of_thread(create_table("db.t"), 1), of_thread(added("1"), 2)]
    assert due(overlaps, *(both if first == "table" else reversed(both))) == ["db.t"]


def test_another_partition_between_hides_nothing(overlaps: Overlaps) -> None:
    """The table minds every one of its partitions, the last of which may be of its own thread."""
    events = (of_thread(added("1"), 1), of_thread(added("2"), 2), of_thread(create_table("db.t"), 2))
    assert due(Overlaps(), *events) == ["db.t"]
    events = (of_thread(added("1"), 1), of_thread(added("2"), 2), of_thread(added("1"), 2))
    assert due(overlaps, *events) == ["db.t"]


@pytest.mark.parametrize("name", ["db.old", "db.new"])
def test_a_rename_concerns_both_names(overlaps: Overlaps, name: str) -> None:
    rename = of_thread(rename_table("db.old", "db.new"), 1)
    assert due(overlaps, rename, of_thread(create_table(name), 2)) == ["db.new", "db.old"]
    assert due(Overlaps(), of_thread(create_table(name), 2), rename) == ["db.new", "db.old"]


@pytest.mark.parametrize("apart", [1.0, CLOSE_SECONDS + 1])
def test_a_partition_whose_table_was_renamed_before_its_alter_was_told(
    overlaps: Overlaps, clock: Clock, apart: float
) -> None:
    """Its event comes without the table, and what it changed is in the table of the new name."""
    item = partition(keyed("db.old"), ["1"])
    late = of_thread(event(Kind.ALTER_PARTITION, before=[item], after=[item]), 2, time_ms=2000)
    overlaps.seen(of_thread(rename_table("db.old", "db.new"), 1))
    clock.now += apart
    assert due(overlaps, late) == ["db.new", "db.old"]
    assert due(Overlaps(), late, of_thread(rename_table("db.old", "db.new"), 1)) == ["db.new", "db.old"]


def test_names_that_are_due_at_once_come_in_the_same_order_in_every_process(overlaps: Overlaps) -> None:
    for number in range(10):
        overlaps.seen(of_thread(rename_table(f"db.b{number}", f"db.a{number}"), 1))
    due_names = map(str, overlaps.due(overlaps_module.time.monotonic() + 100.0, renames=True))
    assert list(due_names) == [f"db.{letter}{number}" for number in range(10) for letter in "ab"]


def test_renames_are_told_of_when_asked_for_and_nothing_else_is(overlaps: Overlaps) -> None:
    events = (of_thread(rename_table("db.old", "db.new"), 1), of_thread(create_table("db.t"), 1))
    assert due(overlaps, *events, renames=True) == ["db.new", "db.old"]
    assert due(Overlaps(), *events) == []


def test_unreadable_objects_are_passed_over(overlaps: Overlaps) -> None:
    broken = replace(added("1"), after=(b"\x0b",))
    made = replace(event(Kind.CREATE_DATABASE, after=[database("db")]), after=(b"\x0b",))
    refresh = event(Kind.REFRESH, attributes={"database": "db", "table": "t"})
    assert due(overlaps, made, of_thread(made, 2), of_thread(broken, 1), refresh, of_thread(refresh, 2)) == []


THREADS = st.lists(st.tuples(st.binary(min_size=9, max_size=45), st.integers(0, 1)), min_size=1, max_size=4)


@hypothesis_settings(max_examples=100, deadline=None)
@given(THREADS, st.integers(0, 2**32 - 1))
def test_threads_that_share_no_table_are_never_suspicious_however_they_interleave(histories, seed):
    order, seen = random.Random(seed), Overlaps()
    threads = [
        [of_thread(own_database(item, number), number, time_ms=order.randrange(10_000)) for item in tables_of(steps)]
        for number, (steps, _) in enumerate(histories)
    ]
    while any(threads):
        seen.seen(order.choice([thread for thread in threads if thread]).pop(0))
    assert seen.due(overlaps_module.time.monotonic() + 100) == []


def tables_of(steps: bytes) -> list[Event]:
    """A history of the model, but for its databases."""
    kinds = overlaps_module._TABLES | overlaps_module._PARTITIONS
    return [item for item in Source(steps).events if item.kind in kinds]


def own_database(item: Event, number: int) -> Event:
    """The event as of another database: the model's `a` and `b` become others, of one length."""

    def renamed(raw: bytes) -> bytes:
        for name in (b"a", b"b"):
            field = b"\x0b\x00\x02\x00\x00\x00\x01"
            raw = raw.replace(field + name, field + bytes([name[0] + 2 * (number + 1)]))
        return raw

    each = {side: tuple(map(renamed, getattr(item, side))) for side in ("before", "after")}
    return replace(item, table=renamed(item.table) if item.table else None, **each)


@hypothesis_settings(max_examples=100, deadline=None)
@given(st.binary(min_size=9, max_size=60), st.integers(0, 2**32 - 1))
def test_of_two_threads_that_change_one_table_it_is_always_told(steps, seed):
    order, seen = random.Random(seed), Overlaps()
    last: dict[TableName, int] = {}
    wanted: set[TableName] = set()
    for item in tables_of(steps):
        if item.kind not in overlaps_module._TABLES:
            continue
        thread = order.randrange(2)
        for name in overlaps_module._tables(item):
            wanted |= {name} if last.setdefault(name, thread) != thread else set()
            last[name] = thread
        seen.seen(of_thread(item, thread))
    assert set(seen.due(overlaps_module.time.monotonic() + 100)) >= wanted


# --- when


def overlapping(overlaps: Overlaps, number: int = 2) -> None:
    for thread in range(number):
        overlaps.seen(of_thread(create_table("db.t"), thread))


def test_a_table_is_due_when_it_has_been_left_alone_for_a_while(overlaps: Overlaps, clock: Clock) -> None:
    overlapping(overlaps)
    assert overlaps.due(clock.now + CALM - 0.1) == []
    clock.now += 1.5
    overlapping(overlaps, 1)
    assert overlaps.due(clock.now + CALM - 0.1) == []
    assert overlaps.due(clock.now + CALM) == [TableName("db", "t")]


def test_a_table_that_is_never_left_alone_is_due_at_the_latest(overlaps: Overlaps, clock: Clock) -> None:
    begun = clock.now
    found: list[TableName] = []
    while not found:
        overlapping(overlaps)
        found = overlaps.due(clock.now)
        clock.now += 1
        assert clock.now - begun < 60, "it was never due"
    assert LATEST <= clock.now - begun <= LATEST + 2


def test_each_table_is_due_once_until_it_overlaps_again(overlaps: Overlaps, clock: Clock) -> None:
    overlapping(overlaps, 5)
    assert len(overlaps.due(clock.now + 100)) == 1
    assert overlaps.due(clock.now + 200) == []
    overlapping(overlaps)
    assert len(overlaps.due(clock.now + 100)) == 1


def test_the_latest_tables_come_first(overlaps: Overlaps) -> None:
    for name in ("db.a", "db.b", "db.c", "db.a"):
        overlaps.seen(create_table(name))
    overlaps.due(0)
    assert names(overlaps.lately()) == ["db.a", "db.c", "db.b"]
    assert names(overlaps.lately(limit=2)) == ["db.a", "db.c"]


def names(tables: Iterable[TableName]) -> list[str]:
    return list(map(str, tables))


# --- what is kept of many events


def test_what_is_remembered_is_bounded(overlaps: Overlaps, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlaps_module, "_REMEMBERED", 10)
    for number in range(50):
        overlaps.seen(create_table(f"db.t{number}"))
        clock.now += CLOSE_SECONDS
    overlaps.due(0)
    assert len(overlaps._last) == 10
    assert names(overlaps.lately(limit=1)) == ["db.t49"]


def test_many_tables_hide_no_overlap_of_two_events_that_are_close(
    overlaps: Overlaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlaps_module, "_REMEMBERED", 10)
    between = (of_thread(create_table(f"db.t{number}"), 1) for number in range(50))
    events = (of_thread(create_table("db.t"), 1), *between, of_thread(create_table("db.t"), 2))
    assert due(overlaps, *events) == ["db.t"]


def test_an_event_is_late_though_what_came_after_it_is_forgotten(
    overlaps: Overlaps, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A spool that is delivered after many events of another metastore; of its own metastore all are in order."""
    monkeypatch.setattr(overlaps_module, "_REMEMBERED", 10)
    for number in range(50):
        overlaps.seen(of_thread(create_table(f"db.t{number}"), 1, instance="a", time_ms=9000))
        clock.now += CLOSE_SECONDS
    late = (of_thread(create_table(f"db.{name}"), 1, instance=name, time_ms=8999) for name in "ab")
    assert due(overlaps, *late) == ["db.b"]


def test_overlaps_are_found_though_nobody_asks_for_them_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The healer may be held up, by a source that does not answer."""
    monkeypatch.setattr(overlaps_module, "_WAITING", 10)
    overlaps = Overlaps()
    events = [of_thread(create_table("db.t"), thread) for thread in (1, 2)]
    for item in [*events, *(create_table(f"db.t{number}") for number in range(50))]:
        overlaps.seen(item)
    assert len(overlaps._new) == 10, "the others are not kept whole"
    assert due(overlaps) == ["db.t"]


def test_one_thread_that_goes_on_is_in_order_again_once_the_other_is_long_ago(overlaps: Overlaps, clock: Clock) -> None:
    overlapping(overlaps)
    assert overlaps.due(clock.now + 100) == [TableName("db", "t")]
    for _ in range(20):
        clock.now += 1
        overlaps.seen(of_thread(create_table("db.t"), 1, time_ms=clock.time_ms))
    assert overlaps.due(clock.now + 100) == [TableName("db", "t")], "those that were close to the other's"
    for _ in range(20):
        clock.now += 1
        overlaps.seen(of_thread(create_table("db.t"), 1, time_ms=clock.time_ms))
    assert overlaps.due(clock.now + 100) == []


def test_the_last_event_of_another_thread_counts_however_many_are_between(overlaps: Overlaps, clock: Clock) -> None:
    overlaps.seen(of_thread(create_table("db.t"), 1))
    for _ in range(3):
        clock.now += 1
        overlaps.seen(of_thread(create_table("db.t"), 2))
    assert overlaps.due(clock.now + 100) == [TableName("db", "t")]
    clock.now += 1
    overlaps.seen(of_thread(create_table("db.t"), 2))
    assert overlaps.due(clock.now + 100) == [TableName("db", "t")], "4 s after the one of thread 1"


def test_what_is_unsettled_is_told_by_when_it_became_so(overlaps: Overlaps, clock: Clock) -> None:
    overlapping(overlaps)
    assert overlaps.unsettled(clock.now) == set(), "nobody has looked yet"
    assert overlaps.due(clock.now) == []
    assert overlaps.unsettled(clock.now) == {TableName("db", "t")}
    assert overlaps.unsettled(clock.now - 1) == set()
    assert len(overlaps.due(clock.now + 100)) == 1
    assert overlaps.unsettled(clock.now + 100) == set()


def test_events_that_nobody_looks_at_are_bounded_by_their_bytes(overlaps: Overlaps, clock: Clock) -> None:
    """Nothing looks while the source hangs. Before: 10,000 events, each of up to 32 MiB."""
    large = event(Kind.CREATE_TABLE, after=[table("db", "t", parameters={"padding": "-" * (1 << 20)})])
    for number in range(40):
        overlaps.seen(of_thread(large, number % 2, time_ms=clock.time_ms))
    waiting = list(vars(overlaps)["_new"])
    assert sum(it.size for _, it in waiting) <= 16 << 20
    assert len(waiting) > 10, "it looks at no more than it has to"
    clock.now += LATEST
    assert overlaps.due(clock.now) == [TableName("db", "t")], "and has forgotten nothing"
    assert vars(overlaps)["_bytes"] == 0
