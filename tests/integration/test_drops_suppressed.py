"""`drops = "suppress"` on real servers: drops of tables, partitions and databases stay here, all else goes there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_until

KEYS = [("day", "string")]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("suppress"), options='drops = "suppress"\n') as running:
        running.target.start()
        running.source.start()
        running.start_sidecar()
        yield running


@pytest.fixture
def source(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.source.uri)) as metastore:
        yield metastore


@pytest.fixture
def target(stage: Stage) -> Iterator[Metastore]:
    with closing(Metastore(stage.target.uri)) as metastore:
        yield metastore


def has_caught_up(stage: Stage, source: Metastore, target: Metastore) -> None:
    """Wait until a change made now is at the target, and the window that it came in done: so is all before it."""
    marker = new_database(source, "marker")
    wait_until(lambda: target.database(marker) is not None, seconds=30, what=f"the arrival of {marker}")
    wait_until(lambda: stage.status()["targets"][0]["queued"] == 0, seconds=30, what="the end of the window")


def test_dropped_tables_partitions_and_databases_stay_at_the_target(
    stage: Stage, source: Metastore, target: Metastore
) -> None:
    kept = new_database(source, "kept")
    source.call(lambda c: c.create_table(table(kept, "whole", partition_keys=KEYS)))
    source.call(lambda c: c.create_table(table(kept, "gone")))
    whole = source.table(kept, "whole")
    for day in ("1", "2"):
        source.call(lambda c, day=day: c.add_partition(partition(whole, [day])))
    source.call(lambda c: c.drop_partition(kept, "whole", ["1"], True))
    source.call(lambda c: c.drop_table(kept, "gone", True))
    has_caught_up(stage, source, target)
    assert sorted(target.tables(kept)) == ["gone", "whole"]
    assert target.partition_names(kept, "whole") == ["day=1", "day=2"]

    source.call(lambda c: c.drop_database(kept, True, True))
    has_caught_up(stage, source, target)
    assert target.database(kept) is not None
    assert sorted(target.tables(kept)) == ["gone", "whole"]


def test_everything_else_goes_through(stage: Stage, source: Metastore, target: Metastore) -> None:
    name = new_database(source, "else")
    source.call(lambda c: c.create_table(table(name, "old", partition_keys=KEYS)))
    source.call(lambda c: c.add_partition(partition(source.table(name, "old"), ["1"])))
    renamed = source.table(name, "old")
    renamed.tableName = "new"
    renamed.sd.cols.append(hive.FieldSchema("more", "string", None))
    source.call(lambda c: c.alter_table(name, "old", renamed))
    function = hive.Function("f", name, "org.example.F", "me", hive.PrincipalType.USER, 0, hive.FunctionType.JAVA, [])
    source.call(lambda c: c.create_function(function))
    source.call(lambda c: c.drop_function(name, "f"))
    has_caught_up(stage, source, target)
    assert target.tables(name) == ["new"]
    assert [column.name for column in target.table(name, "new").sd.cols] == ["id", "more"]
    assert target.partition_names(name, "new") == ["day=1"]
    assert target.functions(name) == [], "the drop of a function is not among those that are suppressed"


@pytest.mark.parametrize(
    ("keys", "columns"),
    [
        pytest.param(KEYS, [("id", "bigint"), ("name", "string")], id="more columns"),
        pytest.param(KEYS, [("other", "int")], id="other columns"),
        pytest.param([("region", "int"), ("day", "string")], [("id", "bigint")], id="other partition keys"),
        pytest.param([], [("id", "bigint")], id="no partition keys any more"),
    ],
)
def test_a_table_dropped_and_created_anew_ends_with_its_new_definition(
    stage: Stage, source: Metastore, target: Metastore, keys: list[tuple[str, str]], columns: list[tuple[str, str]]
) -> None:
    name = new_database(source, "anew")
    source.call(lambda c: c.create_table(table(name, "t", partition_keys=KEYS)))
    source.call(lambda c: c.add_partition(partition(source.table(name, "t"), ["1"])))
    has_caught_up(stage, source, target)
    source.call(lambda c: c.drop_table(name, "t", True))
    anew = table(name, "t", partition_keys=keys)
    anew.sd.cols = [hive.FieldSchema(column, kind, None) for column, kind in columns]
    source.call(lambda c: c.create_table(anew))
    has_caught_up(stage, source, target)
    there = target.table(name, "t")
    assert [(column.name, column.type) for column in there.sd.cols] == columns
    assert [(key.name, key.type) for key in there.partitionKeys] == keys
    assert stage.status()["targets"][0]["parked"] == 0
