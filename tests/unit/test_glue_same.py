"""Is what Glue has what is wanted? Both as a Glue store gives them: by `as_stored`, and read."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timezone
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.targets.apply.judge_one_way import up_to_date
from pysync.targets.aws.inputs import table_input
from pysync.targets.aws.structs import table_of
from pysync.targets.diff import differences, same
from pysync.targets.store import Store
from tests.conformance.objects import function, partition, table
from tests.support.glue import Bench

NAME = TableName("db", "t")
MARK = Mark("onprem", 1, 5, 10)
NOW = datetime.now(timezone.utc)


def wanted() -> dict[str, Any]:
    return table_input(table(NAME, "s3://b/t", keys=["k"], parameters={"comment": "c"}))[0]


def stored() -> dict[str, Any]:
    """As Glue gives it back, with all that it or others add."""
    found = deepcopy(wanted())
    found |= {"DatabaseName": "db", "CatalogId": "1", "VersionId": "7", "CreateTime": NOW, "UpdateTime": NOW}
    found |= {"CreatedBy": "arn", "IsRegisteredWithLakeFormation": False, "Retention": 0, "LastAccessTime": NOW}
    found |= {"Description": "by hand", "ViewExpandedText": ""}
    found["Parameters"] |= {"pysync.parameters": '{"parameters":["comment"]}', "projection.enabled": "true"}
    found["Parameters"] |= {"transient_lastDdlTime": "99", "COLUMN_STATS_ACCURATE": "{}"} | MARK.parameters()
    found["StorageDescriptor"] |= {"BucketColumns": [], "NumberOfBuckets": 0, "SkewedInfo": {}, "SchemaReference": {}}
    found["StorageDescriptor"]["Location"] += "/"
    found["StorageDescriptor"]["Columns"][0]["Comment"] = ""
    found["StorageDescriptor"]["Columns"][1]["Name"] = "B"
    return found


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def store(bench: Bench) -> Store:
    return bench.target().store


def kept(store: Store, fields: dict[str, Any]) -> Any:
    """What the store would keep of the table that these fields describe."""
    return store.as_stored(table_of({**fields, "DatabaseName": "db"}))


def read(bench: Bench, store: Store, found: dict[str, Any]) -> Any:
    """The table that the store reads where Glue answers this."""
    bench.get_table = lambda **_: {"Table": found}
    return store.table(NAME)


def test_what_glue_adds_does_not_count(bench: Bench, store: Store) -> None:
    mine, its = kept(store, wanted()), read(bench, store, stored())
    assert same(mine, its)
    assert differences(mine, its) == []
    assert up_to_date(mine, its, MARK)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "owner": lambda t: t.update(Owner="bob"),
    "owner gone": lambda t: t.pop("Owner"),
    "retention": lambda t: t.update(Retention=1),
    "type": lambda t: t.update(TableType="VIRTUAL_VIEW"),
    "view": lambda t: t.update(ViewOriginalText="x"),
    "view expanded": lambda t: t.update(ViewExpandedText="x"),
    "location": lambda t: t["StorageDescriptor"].update(Location="s3://b/u"),
    "column name": lambda t: t["StorageDescriptor"]["Columns"][0].update(Name="z"),
    "column type": lambda t: t["StorageDescriptor"]["Columns"][0].update(Type="bigint"),
    "column type gone": lambda t: t["StorageDescriptor"]["Columns"][0].pop("Type"),
    "column comment": lambda t: t["StorageDescriptor"]["Columns"][0].update(Comment="z"),
    "column less": lambda t: t["StorageDescriptor"]["Columns"].pop(),
    "column more": lambda t: t["StorageDescriptor"]["Columns"].append({"Name": "z"}),
    "column order": lambda t: t["StorageDescriptor"]["Columns"].reverse(),
    "keys": lambda t: t["PartitionKeys"][0].update(Type="int"),
    "format": lambda t: t["StorageDescriptor"].update(InputFormat="x.Y"),
    "format gone": lambda t: t["StorageDescriptor"].pop("InputFormat"),
    "output format gone": lambda t: t["StorageDescriptor"].pop("OutputFormat"),
    "serde": lambda t: t["StorageDescriptor"]["SerdeInfo"].update(SerializationLibrary="x.Y"),
    "serde gone": lambda t: t["StorageDescriptor"]["SerdeInfo"].pop("SerializationLibrary"),
    "serde name": lambda t: t["StorageDescriptor"]["SerdeInfo"].update(Name="x"),
    "serde parameter": lambda t: t["StorageDescriptor"]["SerdeInfo"]["Parameters"].update({"field.delim": "|"}),
    "serde parameter gone": lambda t: t["StorageDescriptor"]["SerdeInfo"].pop("Parameters"),
    "buckets": lambda t: t["StorageDescriptor"].update(NumberOfBuckets=4),
    "no buckets": lambda t: t["StorageDescriptor"].update(NumberOfBuckets=-1),
    "sorting": lambda t: t["StorageDescriptor"].update(SortColumns=[{"Column": "a", "SortOrder": 1}]),
    "skew": lambda t: t["StorageDescriptor"].update(SkewedInfo={"SkewedColumnValueLocationMaps": {"a": "b"}}),
    "compressed": lambda t: t["StorageDescriptor"].update(Compressed=True),
    "parameter": lambda t: t["Parameters"].update(comment="d"),
    "parameter empty": lambda t: t["Parameters"].update(comment=""),
    "parameter less": lambda t: t["Parameters"].pop("comment"),
    "storage": lambda t: t.pop("StorageDescriptor"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("here", [True, False])
def test_every_change_counts(bench: Bench, store: Store, change: str, here: bool) -> None:
    mine, its = wanted(), stored()
    CHANGES[change](mine if here else its)
    one, other = kept(store, mine), read(bench, store, its)
    assert not same(one, other)
    assert differences(one, other), "and is told of"


def test_a_parameter_more_counts_at_the_source_alone(bench: Bench, store: Store) -> None:
    mine, its = wanted(), stored()
    its["Parameters"]["classification"] = "csv"
    its["StorageDescriptor"]["Parameters"] = {"CrawlerSchemaSerializerVersion": "1.0"}
    assert same(kept(store, mine), read(bench, store, its))
    mine["Parameters"]["x"] = "1"
    assert len(differences(kept(store, mine), read(bench, store, its))) == 1


@pytest.mark.parametrize("here", [True, False])
def test_statistics_count_on_either_side(bench: Bench, store: Store, here: bool) -> None:
    mine, its = wanted(), stored()
    (mine if here else its)["Parameters"]["numFiles"] = "0"
    assert not same(kept(store, mine), read(bench, store, its))


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (Mark("onprem", 1, 99, 10), True),
        (Mark("onprem", 1, 99, 0), True),
        (Mark("onprem", 1, 99, 11), False),
        (Mark("other", 1, 99, 10), False),
    ],
)
def test_up_to_date_is_of_one_source_and_creation(bench: Bench, store: Store, mark: Mark, expected: bool) -> None:
    assert up_to_date(kept(store, wanted()), read(bench, store, stored()), mark) is expected


def test_partitions(bench: Bench, store: Store) -> None:
    of = table(NAME, "s3://b/t", keys=["k"])
    mine = store.as_stored(partition(of, ["1"]), of)
    its = {**deepcopy(mine.handle.fields), "DatabaseName": "db", "TableName": "t", "CreationTime": NOW}
    bench.batch_get_partition = lambda **_: {"Partitions": [its]}
    (there,) = store.partitions_of(of, [["1"]])
    assert same(mine, there)
    its["Parameters"]["numFiles"] = "4"
    (there,) = store.partitions_of(of, [["1"]])
    assert not same(mine, there)


def test_the_owner_of_a_database_counts_and_what_was_put_there_by_hand_does_not(bench: Bench, store: Store) -> None:
    owned = hive.Database("db", ownerName="ann", ownerType=hive.PrincipalType.USER)
    for there, equal in ((owned, True), (hive.Database("db"), False)):
        found = {**store.as_stored(there).handle.fields, "Description": "by hand", "LocationUri": "s3://b/by-hand"}
        bench.get_database = lambda found=found, **_: {"Database": found}
        read_there = store.database("db")
        assert same(store.as_stored(owned), read_there) is equal
        assert same(store.as_stored(hive.Database("db")), read_there) is not equal
        assert not same(store.as_stored(hive.Database("db", description="another")), read_there)


@pytest.mark.parametrize("field", ["className", "ownerName"])
def test_what_a_function_has_no_more_counts(bench: Bench, store: Store, field: str) -> None:
    mine = function("db", "f")
    found = {**store.as_stored(mine).handle.fields, "DatabaseName": "db"}
    bench.get_user_defined_function = lambda **_: {"UserDefinedFunction": found}
    assert same(store.as_stored(mine), store.function("db", "f"))
    setattr(mine, field, "another")
    assert not same(store.as_stored(mine), store.function("db", "f"))
    if field == "ownerName":  # Glue takes none without a class
        mine.ownerName = None
        assert not same(store.as_stored(mine), store.function("db", "f"))


def test_an_update_keeps_what_the_source_does_not_say(bench: Bench, store: Store) -> None:
    fields, updates = wanted(), list[dict[str, Any]]()
    del fields["StorageDescriptor"]["Location"]
    bench.update_table = lambda **arguments: updates.append(arguments)
    silent = kept(store, fields)
    for mine in (silent, kept(store, wanted())):
        its = read(bench, store, stored())
        assert same(mine, its)
        assert store.alter_table(mine, its)
    found, other = (update["TableInput"] for update in updates)
    assert (found["Description"], found["StorageDescriptor"]["Location"]) == ("by hand", "s3://b/t/")
    assert not {"VersionId", "CreateTime", "DatabaseName", "CatalogId"} & found.keys(), "what Glue refuses in an input"
    assert "Location" not in silent.handle.fields["StorageDescriptor"], "what is wanted is not altered"
    assert other["StorageDescriptor"]["Location"] == "s3://b/t"
