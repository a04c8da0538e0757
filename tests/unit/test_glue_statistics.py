"""Column statistics at Glue: how many calls, what breaks off, and what is denied."""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from pydantic import ValidationError
from structlog.testing import capture_logs

from pysync.model.names import TableName
from pysync.model.operation import PutStatistics, RenameTable
from pysync.replay.statistics import put_statistics, wants_statistics
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.base import Outcome, OutcomeUnknown, Rejected
from tests.conformance.objects import Source, partition, table
from tests.support.glue import Bench, answered, broken_off
from tests.support.statistics import columns, of_columns, plain

LOCATION = "s3://b/t"


class World:
    """A table with a column of each type and two partitions."""

    def __init__(self, *cols: Any) -> None:
        self.bench, self.source = Bench(), Source()
        self.name = TableName(self.bench.database(), "t")
        self.target = self.bench.target(statistics="columns")
        definition = self.definition = table(self.name, LOCATION, keys=["k"])
        definition.sd.cols = list(cols) or columns()
        self.target.apply(self.source.put_table(definition))
        parts = [partition(definition, [value]) for value in ("1", "a/b")]
        self.target.apply(self.source.put_partitions(definition, *parts))
        self.bench.restart()

    def put(self, **parts: Any) -> Outcome:
        return self.target.apply(self.operation(**parts))

    def operation(self, **parts: Any) -> PutStatistics:
        """`table` is the table itself; other names are those of partitions."""
        names = {"table": "", "one": "k=1", "two": "k=a%2Fb", "gone": "k=9"}
        found = {names[it]: its for it, its in parts.items()}
        return PutStatistics(table=self.name, statistics=found, **self.source.at())

    def there(self, part: str = "") -> Any:
        found = self.target.store.column_statistics(self.target.table(self.name), [part])
        return plain(found[part])


def test_each_type_arrives_and_what_is_the_same_is_not_written_again() -> None:
    world = World()
    assert wants_statistics(world.target)
    parts = {"table": of_columns(1), "one": of_columns(2), "two": of_columns(3)}
    assert [world.put(**parts), world.put(**parts)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert [world.there(it) for it in ("", "k=1", "k=a%2Fb")] == [plain(of_columns(seed)) for seed in (1, 2, 3)]


def test_a_rename_that_is_broken_off_at_any_call_copies_them_the_next_time() -> None:
    for number in count(1):
        world = World()
        world.put(table=of_columns(1), one=of_columns(2))
        world.bench.restart()
        renamed = deepcopy(world.definition)
        renamed.tableName = "renamed"
        operation = RenameTable(table=world.name, definition=renamed, **world.source.at())
        world.bench.before = lambda at, *_, broken=number: broken_off() if at == broken else None
        with suppress(OutcomeUnknown):
            world.target.apply(operation)
        calls = len(world.bench.calls)
        world.bench.restart()
        world.target.apply(operation)
        world.name = TableName(world.name.database, "renamed")
        assert [world.there(it) for it in ("", "k=1", "k=a%2Fb")] == [plain(of_columns(1)), plain(of_columns(2)), {}]
        if calls < number:
            break
    assert number > 10


def test_without_the_setting_a_rename_says_that_they_are_lost() -> None:
    bench, source = Bench(), Source()
    old = TableName(bench.database(), "t")
    bench.target().apply(source.put_table(table(old, LOCATION)))
    bench.restart()
    operation = source.rename_table(old, table(TableName(old.database, "u"), LOCATION))
    with capture_logs() as logs:
        bench.target().apply(operation)
    assert [it["lost"] for it in logs if it["event"] == "table_copied"] == [
        "its column statistics, its versions, and Lake Formation's grants and tags"
    ]
    assert not [it for it in bench.methods if "column_statistics" in it]


def test_what_the_source_has_no_more_is_deleted() -> None:
    world = World()
    world.put(table=of_columns(1))
    world.bench.restart()
    assert world.put(table=of_columns(1, ["id"])) == Outcome.APPLIED
    assert world.there() == plain(of_columns(1, ["id"]))
    assert world.bench.writes == ["delete_column_statistics_for_table"] * 6 + ["update_column_statistics_for_table"]


def test_a_partition_that_is_gone_gets_none_and_stops_nothing() -> None:
    world = World()
    assert world.put(gone=of_columns(1), one=of_columns(1)) == Outcome.APPLIED
    assert world.there("k=1") == plain(of_columns(1))


def test_a_hundred_columns_take_four_calls() -> None:
    world = World(*(hive.FieldSchema(f"c{number}", "bigint", None) for number in range(101)))
    (one,) = of_columns(1, ["id"])
    many = [hive.ColumnStatisticsObj(f"c{number}", "bigint", one.statsData) for number in range(100)]
    world.put(table=many)
    assert world.bench.methods.count("get_column_statistics_for_table") == 2, "it has 101 columns; 100 a call"
    assert world.bench.writes == ["update_column_statistics_for_table"] * 4


def test_statistics_that_glue_cannot_hold_are_no_difference() -> None:
    world = World()
    unknown = hive.LongColumnStatsData(1, 2, -1, -1)
    odd = hive.ColumnStatisticsObj("id", "bigint", hive.ColumnStatisticsData(longStats=unknown))
    parts = {"table": [odd, *of_columns(1, ["note"])]}
    assert [world.put(**parts), world.put(**parts)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert world.there() == plain(of_columns(1, ["note"]))


@pytest.mark.parametrize("after", [True, False])
def test_wherever_it_breaks_off_it_ends_right(after: bool) -> None:
    for at in range(1, 30):
        world = World()
        world.put(table=of_columns(5), one=of_columns(5))
        world.bench.restart()
        cut = lambda number, *_, at=at: broken_off() if number == at else None  # noqa: E731
        setattr(world.bench, "after" if after else "before", cut)
        operation = world.operation(table=of_columns(1, ["id", "sum"]), one=of_columns(2))
        try:
            world.target.apply(operation)
            done = True
        except OutcomeUnknown:
            done = False
            world.bench.restart()
            world.target.apply(operation)
        world.bench.restart()
        assert world.there() == plain(of_columns(1, ["id", "sum"]))
        assert world.there("k=1") == plain(of_columns(2))
        if done:
            return
    raise AssertionError("it never came through")


@pytest.mark.parametrize("method", ["get_column_statistics_for_table", "update_column_statistics_for_table"])
def test_a_missing_right_parks_and_stops_nothing(method: str) -> None:
    """They only help planners, and the rest goes on without them."""
    world = World()
    world.bench.before = lambda _, called, __: answered("AccessDeniedException") if called == method else None
    with capture_logs() as logs:
        assert put_statistics(world.target, world.operation(table=of_columns(1)), "lake") == Outcome.UNSUPPORTED
    assert [line["event"] for line in logs] == ["statistics_omitted"]


def test_throttling_is_waited_for() -> None:
    world = World()
    world.bench.before = lambda *_: answered("ThrottlingException")
    with pytest.raises(Exception, match="because"):
        put_statistics(world.target, world.operation(table=of_columns(1)), "lake")


def test_a_column_that_glue_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    error = {"ErrorCode": "InvalidInputException", "ErrorMessage": "oops"}
    answer = {"Errors": [{"ColumnStatistics": {"ColumnName": "id"}, "Error": error}]}
    monkeypatch.setattr(world.bench, "update_column_statistics_for_table", lambda **_: answer, raising=False)
    with pytest.raises(Rejected, match="column id: InvalidInputException: oops"):
        world.put(table=of_columns(1))


def test_of_a_partition_that_is_made_anew_the_old_ones_are_gone() -> None:
    world = World()
    world.put(one=of_columns(1))
    definition = world.target.table(world.name)
    world.target.apply(world.source.drop_partitions(definition, ["1"]))
    world.target.apply(world.source.put_partitions(definition, partition(definition, ["1"])))
    assert world.there("k=1") == {}


def test_off_is_the_default() -> None:
    assert not wants_statistics(Bench().target())


def test_without_the_glue_api_there_are_none() -> None:
    values = {"name": "lake", "kind": "athena", "work_group": "w", "glue_api": "never", "statistics": "columns"}
    with pytest.raises(ValidationError, match="needs glue_api"):
        AthenaSettings(**values)
