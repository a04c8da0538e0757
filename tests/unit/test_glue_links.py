"""Resource links of Lake Formation: nothing is written through them, whatever the settings and their parameters say."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from pysync.model.names import TableName
from pysync.targets.base import Outcome, Rejected
from tests.conformance.objects import Source, function, partition, table
from tests.support.glue import Bench

REASON = "is a resource link"


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def source() -> Source:
    return Source()


def linked_database(bench: Bench, **parameters: str) -> str:
    name = f"link_{secrets.token_hex(5)}"
    leads = {"CatalogId": "210987654321", "DatabaseName": "theirs"}
    made = {"Name": name, "TargetDatabase": leads, "Parameters": parameters}
    bench.create_database(DatabaseInput=made)
    bench.restart()
    return name


def linked_table(bench: Bench, **parameters: str) -> TableName:
    name = TableName(bench.database(), "t")
    leads = {"CatalogId": "210987654321", "DatabaseName": "theirs", "Name": "t"}
    made = {"Name": "t", "TargetTable": leads, "Parameters": parameters}
    bench.create_table(DatabaseName=name.database, TableInput=made)
    bench.restart()
    return name


@pytest.mark.parametrize("on_conflict", ["adopt", "park"])
@pytest.mark.parametrize("is_marked", [False, True])
def test_nothing_is_written_to_a_linked_table(bench: Bench, source: Source, on_conflict: Any, is_marked: bool) -> None:
    wanted = table(TableName("db", "t"), "s3://b/t", keys=["k"])
    marks = source.put_table(wanted).mark.parameters() if is_marked else {}
    name = linked_table(bench, **marks)
    wanted.dbName = name.database
    target = bench.target(on_conflict=on_conflict)
    for put in (source.put_table(wanted), source.put_partitions(wanted, partition(wanted, ["1"]))):
        with pytest.raises(Rejected, match=REASON):
            target.apply(put)
    drops = (source.drop_partitions(wanted, ["1"]), source.drop_table(name))
    assert [target.apply(it) for it in drops] == [Outcome.FOREIGN, Outcome.FOREIGN]
    assert bench.writes == []


@pytest.mark.parametrize("on_conflict", ["adopt", "park", "skip"])
@pytest.mark.parametrize("is_marked", [False, True])
def test_nothing_goes_into_a_linked_database(bench: Bench, source: Source, on_conflict: Any, is_marked: bool) -> None:
    marks = source.put_database("db").mark.parameters() if is_marked else {}
    name = linked_database(bench, **marks)
    target = bench.target(on_conflict=on_conflict)
    for put in (source.put_table(table(TableName(name, "t"), "s3://b/t")), source.put_function(function(name, "f"))):
        with pytest.raises(Rejected, match=REASON):
            target.apply(put)
    assert target.apply(source.drop_database(name)) is Outcome.FOREIGN
    assert bench.writes == []


def test_a_linked_database_is_not_adopted(bench: Bench, source: Source) -> None:
    name = linked_database(bench)
    put = source.put_database(name)
    with pytest.raises(Rejected, match=REASON):
        bench.target(on_conflict="adopt").apply(put)
    assert bench.target(on_conflict="park").apply(put) is Outcome.FOREIGN
    assert bench.writes == []


def test_a_table_of_others_in_a_linked_database_is_not_adopted(bench: Bench, source: Source) -> None:
    """A link of a database shows the tables of the other account as if they were in it."""
    name = bench.database()
    bench.create_table(DatabaseName=name, TableInput={"Name": "t", "StorageDescriptor": {"Columns": []}})
    bench.update_database(
        Name=name,
        DatabaseInput={"Name": name, "TargetDatabase": {"CatalogId": "210987654321", "DatabaseName": "theirs"}},
    )
    bench.restart()
    with pytest.raises(Rejected, match=REASON):
        bench.target(on_conflict="adopt").apply(source.put_table(table(TableName(name, "t"), "s3://b/t")))
    assert bench.writes == []
