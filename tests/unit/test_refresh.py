"""Refreshes: what one comes to at a target."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException

from pysync.metastore.client import PARTITIONS_PER_CALL
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnavailable
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import (
    Operation,
    PutPartitions,
    PutTable,
    Refresh,
)
from pysync.replay.refresh import Refresher
from pysync.replay.window.translate import Translator
from pysync.targets.base import Outcome, Unavailable
from tests.support.events import settings
from tests.support.refreshing import ALL, DB, Hms, T, Target, apply, refreshing

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


@pytest.mark.parametrize("when", ["partition_names", "partitions_by_name"])
def test_of_a_table_that_is_renamed_while_it_is_read_nothing_is_taken_away(when: str) -> None:
    """A metastore then says that it has no partitions; the rename takes those at the target along."""

    class Renamed(Hms):
        def _go(self, call: str) -> None:
            if call == when:
                self.found[TableName("db", "u")] = self.found.pop(TableName("db", "t"))
                self.parts[TableName("db", "t")] = []

        def partition_names(self, of: str, name: str) -> list[str]:
            self._go("partition_names")
            return super().partition_names(of, name)

        def partitions_by_name(self, of: str, name: str, names: list[str]) -> list[Any]:
            self._go("partitions_by_name")
            return super().partitions_by_name(of, name, names)

    source, target = Renamed(), Target()
    source.add("db.t", "1", "2")
    target.has("db.t", "1", "2")
    apply(source, target, T)
    assert target.dropped() == []


def test_of_a_table_that_was_not_there_the_target_is_not_asked_for_partitions() -> None:
    class Silent(Target):
        def partitions(self, _: TableName) -> Iterator[Any]:
            raise AssertionError("a new table has none")

    source, target = Hms(), Silent()
    source.add("db.t", "1", "2")
    apply(source, target, T)
    (put,) = (it for it in target.applied if isinstance(it, PutPartitions))
    assert put.fresh


def test_of_one_that_is_there_the_target_has_to_look() -> None:
    source, target = Hms(), Target()
    source.add("db.t", "1", "2")
    target.has("db.t", "1")
    apply(source, target, T)
    (put,) = (it for it in target.applied if isinstance(it, PutPartitions))
    assert not put.fresh


def test_the_source_is_connected_to_once_for_many_and_anew_after_a_failure() -> None:
    source, opened, closed = Hms("db.t"), [], []

    class Connection(Hms):
        def __exit__(self, *_: object) -> None:
            closed.append(self)

    def connect() -> Any:
        made = Connection()
        made.found, made.bases, made.parts, made.fails = source.found, source.bases, source.parts, source.fails
        opened.append(made)
        return made

    translator = Translator.of(settings())
    refresher = Refresher(connect, translator, lambda *_: True)
    for _ in range(3):
        refresher.apply(Target(), refreshing(T, translator))
    assert (len(opened), len(closed)) == (1, 0)
    opened[0].fails = MetastoreUnavailable("cannot reach it")
    with pytest.raises(Unavailable):
        refresher.apply(Target(), refreshing(T, translator))
    refresher.apply(Target(), refreshing(T, translator))
    assert (len(opened), len(closed)) == (2, 1)
    refresher.rest()
    assert len(closed) == 2, "an idle connection is a thread of the source's"


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


def test_gone_databases_are_dropped_with_their_tables_and_those_of_others_stay() -> None:
    target = Target()
    target.has("db.t")
    target.has("gone.t")
    target.has("theirs.t", source=None)
    apply(Hms("db.t"), target, ALL)
    assert target.dropped() == ["gone.t", "gone"]


def test_without_cascade_the_tables_of_gone_databases_stay_and_their_drops_come_last() -> None:
    """The target refuses them, and the others must not wait for that."""
    target = Target()
    target.has("a.t")
    target.has("b.t")
    target.has("empty.t")
    del target.there.found[TableName("empty", "t")]
    target.has("again.old")
    apply(Hms("db.t", "again.young", created=300), target, ALL, cascade=False)
    assert target.dropped()[:2] == ["again.old", "empty"]
    assert target.dropped()[2:] == ["a", "b"]


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
    (line,) = logs
    assert (line["event"], line["target"], line["reason"]) == ("refresh_skipped", "dr", "[source] metastore is not set")


def test_the_brake_is_asked_before_anything_is_dropped() -> None:
    source, target = Hms(), Target()
    source.add("db.t", "1")
    target.has("db.t", "1", "2", "3")
    asked: list[tuple[int, int, list[str]]] = []

    def expect(drops: Sequence[Operation], refresh: Refresh) -> None:
        asked.append((sum(it.drops for it in drops), refresh.mark.position, target.dropped()))

    apply(source, target, T, expect)
    assert (asked, target.dropped()) == ([(2, 9, [])], ["db.t/2", "db.t/3"])


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


@pytest.mark.parametrize(
    ("size", "limit", "named"),
    [(PARTITIONS_PER_CALL, 10_000, 0), (PARTITIONS_PER_CALL + 1, 10_000, 1), (7, PARTITIONS_PER_CALL, 1)],
)
def test_the_partitions_of_a_small_table_are_not_asked_for_by_name(size: int, limit: int, named: int) -> None:
    """But where the metastore limits how many may be asked for otherwise."""

    class Asked(Large):
        names = 0

        def first_partitions(self, of: str, name: str, most: int) -> list[Any]:
            if most > limit:
                raise hive.MetaException(f"{most} partitions are more than {limit}")
            return self.partitions_by_name(of, name, super().partition_names(of, name)[: min(most, self.size)])

        def partition_names(self, of: str, name: str) -> list[str]:
            self.names += 1
            return super().partition_names(of, name)

    source, target = Asked(), Forgetful()
    source.size = size
    source.add("db.t", "1")
    apply(source, target, T)
    assert (target.puts, source.names) == (size, named)


# --- column statistics


def test_a_target_that_keeps_no_statistics_has_none_read_for_it() -> None:
    source, target = Hms("db.t"), Target()
    source.fails = AssertionError("nothing is to be read")
    asked = Refresh(mark=Mark("onprem", 1, 5), table=TableName("db", "t"), statistics=True)
    refresher = Refresher(lambda: source, Translator.of(settings()), lambda *_: True)
    assert refresher.apply(target, asked) == Outcome.UNCHANGED
    assert target.applied == []


def test_partitions_of_a_table_of_others_with_more_keys_are_no_partitions_of_ours() -> None:
    """Such a table stays where the settings say so; a refresh finds its partitions."""
    source, target = Hms(), Target()
    source.add("db.t", "1")
    target.has("db.t", "1", source=None)
    for part in target.there.parts[TableName("db", "t")]:
        part.values = ["1", "a"]
    apply(source, target, T, on_conflict="skip")
    assert target.dropped() == []
