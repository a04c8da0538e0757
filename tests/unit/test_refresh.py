"""Refreshes: asking for them, and what one comes to at a target."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException

from pysync.capture.refreshes import INSTANCE, Refreshes, everything
from pysync.capture.refreshes import table as table_refresh
from pysync.metastore import PARTITIONS_PER_CALL, MetastoreCallFailed, MetastoreUnavailable
from pysync.model.event import Event, Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, DropPartitions, DropTable, Operation, PutPartitions, PutTable, Refresh
from pysync.model.wire import decode_event, encode_event
from pysync.queue import EventQueue
from pysync.replay.fold import fold
from pysync.replay.lanes import Stopped
from pysync.replay.plan import plan
from pysync.replay.refresh import Refresher
from pysync.replay.translate import Translator
from pysync.targets.base import Outcome, Unavailable
from tests.support import partition, table
from tests.support.events import database, event, settings
from tests.support.queues import Reopener
from tests.support.targets import FakeTarget


class Hms:
    """Databases and tables in dicts, read as a Metastore is, and as a target is."""

    uri = "thrift://fake"

    def __init__(self, *names: str, created: int = 100) -> None:
        self.bases: dict[str, Any] = {"default": database("default")}
        self.found: dict[TableName, Any] = {}
        self.parts: dict[TableName, list[Any]] = {}
        self.fails: Exception | None = None
        for name in names:
            self.add(name, created=created)

    def add(self, name: str, *days: str, created: int = 100, parameters: dict[str, str] | None = None) -> Any:
        which = TableName(*name.split("."))
        self.bases.setdefault(which.database, database(which.database, parameters=dict(parameters or {})))
        keys = [("day", "string")] if days else []
        made = table(which.database, which.table, partition_keys=keys, parameters=parameters)
        made.createTime = created
        self.found[which] = made
        self.parts[which] = [partition(made, [day]) for day in days]
        return made

    def __enter__(self) -> Hms:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def databases(self) -> list[str]:
        return sorted(self.bases)

    def database(self, name: str) -> Any | None:
        return self.bases.get(name)

    def tables(self, of: str) -> list[str]:
        return sorted(name.table for name in self.found if name.database == of)

    def tables_by_name(self, of: str, names: list[str]) -> list[Any]:
        return [self.found[TableName(of, name)] for name in names if TableName(of, name) in self.found]

    def table(self, of: str, name: str) -> Any | None:
        if self.fails is not None:
            raise self.fails
        return self.found.get(TableName(of, name))

    def partition_names(self, of: str, name: str) -> list[str]:
        return [f"day={it.values[0]}" for it in self.parts[TableName(of, name)]]

    def partitions_by_name(self, of: str, name: str, names: list[str]) -> list[Any]:
        return [it for it in self.parts[TableName(of, name)] if f"day={it.values[0]}" in names]

    def functions(self, _: str) -> list[Any]:
        return []


class Target(FakeTarget):
    """A target that has what another Hms has, and records what is applied; `source` marks what came from where."""

    def __init__(self, there: Hms | None = None) -> None:
        super().__init__()
        self.there = there or Hms()

    def has(self, name: str, *days: str, source: str | None = "onprem", created: int = 100, position: int = 1) -> None:
        mark = Mark(source, 5, position, created).parameters() if source else {}
        self.there.add(name, *days, created=999, parameters=mark)

    def databases(self) -> list[str]:
        return self.there.databases()

    def database(self, name: str) -> Any | None:
        return self.there.database(name)

    def tables(self, of: str) -> list[str]:
        return self.there.tables(of)

    def table(self, name: TableName) -> Any | None:
        return self.there.table(name.database, name.table)

    def partitions(self, name: TableName) -> Iterator[Any]:
        return iter(self.there.parts.get(name, []))

    def dropped(self) -> list[str]:
        """What was dropped, in order."""
        found = []
        for it in self.applied:
            if isinstance(it, DropPartitions):
                found += [f"{it.table}/{values[0]}" for values in it.values]
            elif isinstance(it, (DropTable, DropDatabase)):
                found.append(it.key)
        return found


def refreshing(names: dict[str, str], translator: Translator, position: int = 9) -> Operation:
    change = translator.translate(encode_event(event(Kind.REFRESH, attributes=names)), position)
    assert change is not None, f"{names} is not in scope"
    (work,) = plan(fold([change]), 5)
    (operation,) = work.operations
    return operation


def apply(source: Hms, target: Target, names: dict[str, str], allow: Any = None, **values: Any) -> Outcome:
    translator = Translator.of(settings(**values))
    refresh = refreshing(names, translator)
    assert isinstance(refresh, Refresh)
    return Refresher(lambda: source, translator, allow or (lambda *_: True)).apply(target, refresh)


ALL = {"present": "default\ndb"}
DB = {"database": "db", "present": "t"}
T = {"database": "db", "table": "t"}


# --- tables


def test_a_table_is_put_as_the_source_has_it_with_its_partitions() -> None:
    source, target = Hms(), Target()
    source.add("db.t", "1", "2")
    apply(source, target, T)
    assert [type(it) for it in target.applied] == [PutTable, PutPartitions]
    assert target.positions() == [9, 9]


def test_partitions_that_the_source_has_no_more_are_dropped() -> None:
    source, target = Hms(), Target()
    source.add("db.t", "1")
    target.has("db.t", "1", "2", "3")
    apply(source, target, T)
    assert target.dropped() == ["db.t/2", "db.t/3"]


def test_only_the_partitions_that_are_named_are_looked_at() -> None:
    source, target = Hms(), Target()
    source.add("db.t", "1", "2")
    target.has("db.t", "1", "3", "4")
    apply(source, target, {**T, "partitions": "day=2\nday=3"})
    (put,) = (it for it in target.applied if isinstance(it, PutPartitions))
    assert [it.values for it in put.partitions] == [["2"]]
    assert target.dropped() == ["db.t/3"]


def test_a_table_that_was_gone_when_it_was_asked_for_and_still_is_is_dropped() -> None:
    target = Target()
    target.has("db.t")
    apply(Hms(), target, {**T, "absent": "true"})
    assert target.dropped() == ["db.t"]


def test_a_table_that_went_later_is_left_to_its_event() -> None:
    """Which may be a rename that keeps its partitions."""
    target = Target()
    target.has("db.t", "1", created=100)
    assert apply(Hms(), target, {**T, "created": "100"}) is Outcome.UNCHANGED
    assert target.applied == []


def test_a_table_that_is_another_by_now_is_left_to_its_events() -> None:
    target = Target()
    target.has("db.t", "1", created=100)
    apply(Hms("db.t", created=200), target, {**T, "created": "100"})
    assert target.applied == []


def test_one_whose_drop_was_missed_goes_though_there_is_another_by_now() -> None:
    target = Target()
    target.has("db.t", "1", created=50)
    apply(Hms("db.t", created=200), target, {**T, "created": "100"})
    assert target.dropped() == ["db.t"]


def test_what_came_from_the_target_does_not_go_back_there() -> None:
    source, target = Hms(), Target()
    source.add("db.t", parameters=Mark("dr", 5, 3).parameters())
    apply(source, target, T)
    assert target.applied == []


def test_what_came_from_elsewhere_tells_where_it_has_been() -> None:
    source, target = Hms(), Target()
    source.add("db.t", parameters=Mark("east", 5, 3).parameters())
    apply(source, target, T)
    assert target.applied[0].visited == ("east", "onprem")


# --- databases


def test_tables_that_are_gone_at_the_source_are_dropped() -> None:
    target = Target()
    target.has("db.t")
    target.has("db.gone")
    apply(Hms("db.t"), target, DB)
    assert target.dropped() == ["db.gone"]


@pytest.mark.parametrize("source", [None, "elsewhere"])
def test_tables_of_others_are_never_dropped(source: str | None) -> None:
    target = Target()
    target.has("db.t")
    target.has("db.theirs", source=source)
    apply(Hms("db.t"), target, DB)
    assert target.dropped() == []


def test_a_table_that_was_there_when_it_was_asked_for_is_not_dropped() -> None:
    """It may have been renamed since: of that an event tells."""
    target = Target()
    target.has("db.t", "1")
    apply(Hms("db.new"), target, DB)
    assert target.dropped() == []


def test_a_table_created_after_the_listing_is_not_dropped() -> None:
    target = Target()
    target.has("db.new", created=200, position=8)
    apply(Hms("db.t", "db.new", created=200), target, DB)
    assert target.dropped() == []


def test_an_older_one_of_its_name_is_dropped() -> None:
    """Its drop was missed; that of the new one's create is still to come."""
    target = Target()
    target.has("db.new", created=50)
    apply(Hms("db.t", "db.new", created=200), target, DB)
    assert target.dropped() == ["db.new"]


def test_a_table_that_belongs_here_from_another_database_is_not_dropped() -> None:
    target = Target()
    target.has("db.t")
    target.has("db.moved")
    target.has("db.joined")
    source = Hms("db.t", "far.away", "joint.joined")
    apply(source, target, DB, tables={"far.away": "db.moved"}, databases={"joint": "db"})
    assert target.dropped() == []


def test_with_drops_suppressed_nothing_is_dropped() -> None:
    target = Target()
    target.has("db.gone", "1")
    target.has("lost.t")
    for names in (DB, ALL, {**T, "table": "gone", "absent": "true"}):
        apply(Hms("db.t"), target, names, drops="suppress")
    assert target.dropped() == []


def test_databases_that_are_gone_are_dropped_with_their_tables_and_those_of_others_stay() -> None:
    target = Target()
    target.has("db.t")
    target.has("gone.t")
    target.has("theirs.t", source=None)
    apply(Hms("db.t"), target, ALL)
    assert target.dropped() == ["gone.t", "gone"]


def test_a_database_that_was_made_anew_since_is_emptied_of_what_was_before() -> None:
    target = Target()
    target.has("db.t")
    target.has("again.old")
    target.has("again.young", created=300, position=8)
    apply(Hms("db.t", "again.young", created=300), target, ALL)
    assert target.dropped() == ["again.old"]


def test_a_renamed_database_is_known_by_its_own_name() -> None:
    target = Target()
    target.has("copy.t")
    apply(Hms("db.t"), target, ALL, databases={"db": "copy"})
    assert target.dropped() == []


# --- errors, and the brake


def test_a_source_that_cannot_be_read_is_waited_for() -> None:
    source = Hms("db.t")
    source.fails = MetastoreUnavailable("cannot reach it")
    with pytest.raises(Unavailable, match="thrift://fake"):
        apply(source, Target(), T)


def test_an_object_that_goes_while_it_is_read_is_tried_again() -> None:
    source = Hms("db.t")
    source.fails = hive.NoSuchObjectException("db.t")
    with pytest.raises(Unavailable):
        apply(source, Target(), T)


def test_an_object_that_the_source_itself_cannot_read_holds_up_nothing_else() -> None:
    """It is tried a few times and parked, as what nobody has classified."""
    source = Hms("db.t")
    source.fails = MetastoreCallFailed("failed in get_table_req")
    source.fails.__cause__ = TApplicationException(6, "Internal error")
    with pytest.raises(MetastoreCallFailed):
        apply(source, Target(), T)
    source.fails = hive.MetaException("a bad row")
    with pytest.raises(hive.MetaException):
        apply(source, Target(), T)


def test_without_the_source_s_address_nothing_is_done() -> None:
    translator = Translator.of(settings())
    with structlog.testing.capture_logs() as logs:
        refresher = Refresher(None, translator, lambda *_: True)
        assert refresher.apply(Target(), refreshing(T, translator)) is Outcome.UNCHANGED
    assert "[source] metastore" in logs[0]["event"]


def test_the_brake_is_asked_before_anything_is_dropped() -> None:
    source, target = Hms(), Target()
    source.add("db.t", "1")
    target.has("db.t", "1", "2", "3")
    asked: list[tuple[int, int]] = []

    def allow(drops: int, position: int) -> bool:
        asked.append((drops, position))
        return False

    with pytest.raises(Stopped):
        apply(source, target, T, allow)
    assert (asked, target.dropped()) == ([(2, 9)], [])


class Counted(hive.Partition):  # type: ignore[misc]
    """A partition that tells how many of it there are."""

    alive = 0
    most = 0

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        Counted.alive += 1
        Counted.most = max(Counted.most, Counted.alive)

    def __del__(self) -> None:
        Counted.alive -= 1


class Large(Hms):
    """A table of 100,000 partitions, each made when it is asked for."""

    size = 100_000

    def partition_names(self, _: str, __: str) -> list[str]:
        return [f"day={number}" for number in range(self.size)]

    def partitions_by_name(self, of: str, name: str, names: list[str]) -> list[Any]:
        storage = self.found[TableName(of, name)].sd
        return [Counted(values=[it[4:]], dbName=of, tableName=name, sd=storage, parameters={}) for it in names]


class Forgetful(Target):
    """Keeps nothing of what it is given."""

    puts = 0

    def apply(self, operation: Operation) -> Outcome:
        self.puts += len(operation.partitions) if isinstance(operation, PutPartitions) else 0
        return Outcome.UNCHANGED


def test_of_a_table_with_100_000_partitions_a_few_are_in_memory_at_once() -> None:
    source, target = Large(), Forgetful()
    source.add("db.t", "1")
    gc.collect()
    Counted.most = Counted.alive
    before = Counted.alive
    apply(source, target, T)
    assert target.puts == Large.size
    assert Counted.most - before <= 3 * PARTITIONS_PER_CALL


# --- asking


def test_positions_and_numbers_go_on_after_a_restart(reopen: Reopener) -> None:
    first = Refreshes(reopen(), "onprem")
    assert first.upto == 0
    assert first.ask([T, T]) == 2
    queue = reopen()
    again = Refreshes(queue, "onprem")
    assert again.upto == 2, "those in the queue may not be done yet"
    assert again.ask([T]) == 3
    (instance,) = queue.instances()
    assert (instance.instance, instance.received, instance.highest, instance.missing) == (INSTANCE, 3, 3, ())


def test_what_is_asked_for_is_an_event_of_the_source(reopen: Reopener) -> None:
    queue = reopen()
    queue.register("dr")
    Refreshes(queue, "onprem").ask([T, DB])
    events = asked(queue)
    assert [(it.kind, it.source, it.instance, dict(it.attributes)) for it in events] == [
        (Kind.REFRESH, "onprem", INSTANCE, T),
        (Kind.REFRESH, "onprem", INSTANCE, DB),
    ]


def asked(queue: EventQueue) -> list[Event]:
    return [decode_event(item.data) for item in queue.window("dr", 1000, 10**9)]


def test_to_ask_for_nothing_is_nothing(reopen: Reopener) -> None:
    queue = reopen()
    assert Refreshes(queue, "onprem").ask([]) == 0
    assert queue.instances() == []


def test_everything_is_the_databases_then_the_latest_tables_then_each_database_with_all_of_its_tables() -> None:
    source = Hms("db.a", "db.b", "other.c")
    found = list(everything(source, [TableName("db", "b"), TableName("db", "gone")]))
    assert found == [
        {"present": "db\ndefault\nother", "whole": "true"},
        {"database": "db", "table": "b", "created": "100"},
        {"database": "db", "table": "gone", "absent": "true"},
        {"database": "db", "present": "a\nb", "whole": "true"},
        {"database": "db", "table": "a", "created": "100"},
        {"database": "db", "table": "b", "created": "100"},
        {"database": "default", "present": "", "whole": "true"},
        {"database": "other", "present": "c", "whole": "true"},
        {"database": "other", "table": "c", "created": "100"},
    ]


def test_a_table_tells_whether_it_was_there() -> None:
    source = Hms("db.t")
    assert table_refresh(source, TableName("db", "t")) == {**T, "created": "100"}
    assert table_refresh(source, TableName("db", "u")) == {**T, "table": "u", "absent": "true"}
