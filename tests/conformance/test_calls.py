"""How many calls each operation costs: what takes one more takes longer for every table there is."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.targets.base import Outcome
from tests.conformance.harness import BOTH_WAYS, TargetHarness
from tests.conformance.objects import Source, function, partition, table, view

Step = tuple[str, Operation, Outcome]

KINDS = {"hms": 0, "faulty": 0, "glue": 1, "athena": 2, "spark": 3}
"""The column of each kind in the table below."""

# Calls of thrift, of the Glue API, of that and statements (a statement was two then: its result was read, too), and of
# Spark's catalog. So many were made before there were stores. Partitions are 500; at Athena 230, at Spark 130.
MOST: Mapping[str, tuple[int, int, int, int]] = {
    "create database": (2, 2, 5, 2),
    "same database": (1, 1, 2, 1),
    "alter database": (2, 2, 5, 2),
    "create table": (3, 2, 8, 3),
    "same table": (1, 1, 2, 1),
    "alter table": (2, 2, 4, 2),
    "rename table": (3, 6, 6, 3),
    "same rename": (2, 2, 2, 2),
    "drop table": (2, 2, 5, 2),
    "drop no table": (1, 1, 1, 1),
    "create view": (2, 2, 5, 2),
    "create partitioned table": (2, 2, 8, 2),
    "add to a new table": (2, 3, 8, 2),
    "add partitions": (3, 7, 14, 11),
    "same partitions": (2, 2, 2, 6),
    "alter partitions": (3, 7, 7, 8),
    "cascade": (5, 9, 12, 2),
    "same cascade": (4, 3, 5, 1),
    "drop partitions": (3, 22, 21, 12),
    "rename with partitions": (6, 11, 11, 8),
    "drop partitioned table": (2, 2, 5, 2),
    "create function": (3, 3, 3, 3),
    "same function": (2, 2, 2, 2),
    "alter function": (3, 3, 3, 3),
    "alter its resources": (4, 3, 3, 4),
    "drop function": (3, 3, 3, 3),
    "drop no function": (1, 1, 1, 1),
    "create another table": (3, 2, 8, 3),
    "drop database": (8, 4, 8, 8),
    "drop no database": (1, 1, 1, 1),
}

MORE_BOTH_WAYS = {"alter function": 1, "drop database": 2}
"""A function is dropped and created, and a database gets the births that the drop knows: so other clusters hear."""

_DONE, _SAME = Outcome.APPLIED, Outcome.UNCHANGED


def steps(harness: TargetHarness, source: Source) -> list[Step]:
    """What is counted, in an order in which each is possible: its name, the operation, and what comes of it."""
    database = harness.new_database()
    place = harness.location(database)
    create = source.put_database(database, place)
    alter = source.put_database(database, place, parameters={"x": "y"})
    return [
        ("create database", create, _DONE),
        ("same database", create, _SAME),
        ("alter database", alter, _DONE),
        *_tables(source, TableName(database, "t"), f"{place}/t"),
        *_partitions(harness, source, TableName(database, "p"), f"{place}/p"),
        *(_functions(source, database) if "functions" in harness.features else ()),
        *_drop_database(source, database, place),
    ]


def _tables(source: Source, name: TableName, place: str) -> list[Step]:
    new = TableName(name.database, "t_new")
    plain, wide = table(name, place), table(name, place, cols=("a:int", "b:string", "c:date"))
    create, alter = source.put_table(plain), source.put_table(wide)
    rename = source.rename_table(name, table(new, f"{place}_new", cols=("a:int", "b:string", "c:date")))
    query = source.put_table(view(TableName(name.database, "v"), "select 1 a, '' b"))
    return [
        ("create table", create, _DONE),
        ("same table", create, _SAME),
        ("alter table", alter, _DONE),
        ("rename table", rename, _DONE),
        ("same rename", rename, _SAME),
        ("drop table", source.drop_table(new), _DONE),
        ("drop no table", source.drop_table(new), _SAME),
        ("create view", query, _DONE),
    ]


def _partitions(harness: TargetHarness, source: Source, name: TableName, place: str) -> list[Step]:
    of, new = table(name, place, keys=["k"]), table(TableName(name.database, "p_new"), f"{place}_new", keys=["k"])
    wide = table(name, place, keys=["k"], cols=("a:int", "b:string", "c:date"))
    new.sd.cols = wide.sd.cols
    numbers = [f"{number:03}" for number in range(getattr(harness, "many", 500))]
    parts = [partition(of, [number]) for number in numbers]
    create = source.put_table(of)
    put, fresh = source.put_partitions(of, *parts[10:]), replace(source.put_partitions(of, *parts[:10]), fresh=True)
    changed = deepcopy(parts)
    for part in changed:
        part.parameters["x"] = "y"
    cascade = source.put_table(wide, cascade=True)
    return [
        ("create partitioned table", create, _DONE),
        ("add to a new table", fresh, _DONE),
        ("add partitions", put, _DONE),
        ("same partitions", put, _SAME),
        ("alter partitions", source.put_partitions(of, *changed), _DONE),
        ("cascade", cascade, _DONE),
        ("same cascade", cascade, _SAME),
        ("drop partitions", source.drop_partitions(of, *([number] for number in numbers[10:])), _DONE),
        ("rename with partitions", source.rename_table(name, new), _DONE),
        ("drop partitioned table", source.drop_table(TableName.of(new.dbName, new.tableName)), _DONE),
    ]


def _functions(source: Source, database: str) -> list[Step]:
    create, alter = source.put_function(function(database, "f")), source.put_function(function(database, "f", "x.G"))
    moved = function(database, "f", "x.G")
    moved.resourceUris = [hive.ResourceUri(hive.ResourceType.JAR, "s3://jars/a.jar")]
    return [
        ("create function", create, _DONE),
        ("same function", create, _SAME),
        ("alter function", alter, _DONE),
        ("alter its resources", source.put_function(moved), _DONE),
        ("drop function", source.drop_function(database, "f"), _DONE),
        ("drop no function", source.drop_function(database, "f"), _SAME),
    ]


def _drop_database(source: Source, database: str, place: str) -> list[Step]:
    put = source.put_table(table(TableName(database, "u"), f"{place}/u"))
    drop = source.drop_database(database)
    return [
        ("create another table", put, _DONE),
        ("drop database", drop, _DONE),
        ("drop no database", drop, _SAME),
    ]


def counted(harness: TargetHarness) -> dict[str, Counter[str]]:
    """The calls of each step, by their names."""
    target, found = harness.open(), {}
    for what, operation, outcome in steps(harness, Source()):
        harness.calls.clear()
        assert target.apply(operation) is outcome, what
        found[what] = Counter(harness.calls)
    return found


def test_a_store_tells_of_every_call_that_it_makes(harness: TargetHarness) -> None:
    if harness.kind not in KINDS:
        pytest.skip("a kind need not tell")
    reported: list[str] = []
    target = harness.open()
    target.store.observe_calls(reported.append)
    for what, operation, outcome in steps(harness, Source()):
        harness.calls.clear()
        reported.clear()
        assert target.apply(operation) is outcome, what
        # A request of AWS is told with its service, and a statement that is waited for with each look at it.
        assert not Counter(harness.calls) - Counter(it.rpartition(".")[2] for it in reported), what


def test_no_operation_costs_more_calls(harness: TargetHarness) -> None:
    if harness.kind not in KINDS:
        pytest.skip("nobody has said how many calls this kind may make")
    if os.environ.get("PYSYNC_TEST_HIVE"):
        pytest.skip("other Hives count files: alters follow")
    column = KINDS[harness.kind]
    more = MORE_BOTH_WAYS if BOTH_WAYS in harness.features else {}
    most = {what: row[column] + more.get(what, 0) for what, row in MOST.items()}
    too_many = {what: dict(calls) for what, calls in counted(harness).items() if calls.total() > most[what]}
    assert too_many == {}, {what: most[what] for what in too_many}
