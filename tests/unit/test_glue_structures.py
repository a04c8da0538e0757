"""Glue gets each structure that a reader looks up without asking whether it is there: held in moto."""

from __future__ import annotations

from typing import Any

import pytest

from pysync.model.names import TableName
from pysync.targets.aws.inputs import database_input, function_input, partition_input, table_input
from tests.conformance.objects import Source, function, partition, table
from tests.support.events import database
from tests.support.glue import Bench
from tests.support.glue_structures import STRUCTURES, bare, missing


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def name(bench: Bench) -> TableName:
    return TableName(bench.database(), "t")


def table_at(bench: Bench, name: TableName) -> Any:
    return bench.get_table(DatabaseName=name.database, Name=name.table)["Table"]


def partition_at(bench: Bench, name: TableName) -> Any:
    (found,) = bench.get_partitions(DatabaseName=name.database, TableName=name.table)["Partitions"]
    return found


@pytest.mark.parametrize("kind", ["table", "view"])
def test_a_bare_table_has_them(bench: Bench, name: TableName, kind: str) -> None:
    target, source = bench.target(views="off") if kind == "view" else bench.target(), Source()
    target.apply(source.put_table(bare(kind, name)))
    assert missing({**table_at(bench, name), "Parameters": {}}, kind, exact=True) == []
    assert table_at(bench, name)["Parameters"] is not None  # the mark


def test_a_bare_table_that_is_altered_has_them(bench: Bench, name: TableName) -> None:
    target, source = bench.target(), Source()
    target.apply(source.put_table(table(name, "s3://b/t", external=False, parameters={"comment": "x"})))
    target.apply(source.put_table(bare("table", name)))
    assert missing({**table_at(bench, name), "Parameters": {}}, "table", exact=True) == []


@pytest.mark.parametrize("altered", [False, True])
def test_a_bare_partition_has_them(bench: Bench, name: TableName, altered: bool) -> None:
    target, source, of = bench.target(), Source(), table(name, "s3://b/t", keys=["k"])
    target.apply(source.put_table(of))
    if altered:
        target.apply(source.put_partitions(of, partition(of, ["1"])))
    target.apply(source.put_partitions(of, bare("partition", name)))
    assert missing(partition_at(bench, name), "partition", exact=True) == []


def test_bare_databases_and_functions_have_them(bench: Bench, name: TableName) -> None:
    target, source = bench.target(), Source()
    target.apply(source.put_database(f"{name.database}_too"))
    found = bench.get_database(Name=f"{name.database}_too")["Database"]
    assert missing({**found, "Parameters": {}}, "database", exact=True) == []
    made, _ = function_input(bare("function", name))
    assert missing(made, "function", exact=True) == []


def test_what_a_source_has_is_not_replaced_by_what_is_empty() -> None:
    name = TableName("db", "t")
    of = table(name, "s3://b/t", keys=["k"], parameters={"comment": "x"})
    for item, made in ((of, table_input(of)[0]), (of, partition_input(partition(of, ["1"]))[0])):
        storage = made["StorageDescriptor"]
        assert storage["SerdeInfo"]["Parameters"] == item.sd.serdeInfo.parameters
        assert [it["Name"] for it in storage["Columns"]] == ["a", "b"]
    assert table_input(of)[0]["PartitionKeys"] == [{"Name": "k", "Type": "string"}]
    assert database_input(database("db", parameters={"a": "1"}))[0]["Parameters"]["a"] == "1"
    assert function_input(function("db", "f"))[0]["OwnerName"] == "ann"


def test_each_row_says_who_needs_it_and_where_that_is_seen() -> None:
    assert len(STRUCTURES) >= 50
    assert all(it.reader and it.source for it in STRUCTURES)
    assert len({(it.kind, it.path) for it in STRUCTURES}) == len(STRUCTURES)
