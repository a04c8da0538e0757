"""Is what Glue has what an input says?"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime, timezone
from typing import Any

import pytest

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.targets.aws.translate import partition_input, table_input
from pysync.targets.glue.same import filled, same, up_to_date
from tests.conformance.objects import partition, table

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
    found["Parameters"] |= {"transient_lastDdlTime": "99", "COLUMN_STATS_ACCURATE": "{}"} | MARK.parameters()
    found["StorageDescriptor"] |= {"BucketColumns": [], "NumberOfBuckets": 0, "SkewedInfo": {}, "SchemaReference": {}}
    found["StorageDescriptor"]["Location"] += "/"
    found["StorageDescriptor"]["Columns"][0]["Comment"] = ""
    found["StorageDescriptor"]["Columns"][1]["Name"] = "B"
    return found


def test_what_glue_adds_does_not_count() -> None:
    assert same(wanted(), stored())
    assert up_to_date(wanted(), stored(), MARK)


CHANGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "owner": lambda t: t.update(Owner="bob"),
    "owner gone": lambda t: t.pop("Owner"),
    "retention": lambda t: t.update(Retention=1),
    "type": lambda t: t.update(TableType="VIRTUAL_VIEW"),
    "view": lambda t: t.update(ViewOriginalText="x"),
    "location": lambda t: t["StorageDescriptor"].update(Location="s3://b/u"),
    "column name": lambda t: t["StorageDescriptor"]["Columns"][0].update(Name="z"),
    "column type": lambda t: t["StorageDescriptor"]["Columns"][0].update(Type="bigint"),
    "column comment": lambda t: t["StorageDescriptor"]["Columns"][0].update(Comment="z"),
    "column less": lambda t: t["StorageDescriptor"]["Columns"].pop(),
    "column more": lambda t: t["StorageDescriptor"]["Columns"].append({"Name": "z"}),
    "column order": lambda t: t["StorageDescriptor"]["Columns"].reverse(),
    "keys": lambda t: t["PartitionKeys"][0].update(Type="int"),
    "format": lambda t: t["StorageDescriptor"].update(InputFormat="x.Y"),
    "serde": lambda t: t["StorageDescriptor"]["SerdeInfo"].update(SerializationLibrary="x.Y"),
    "serde parameter": lambda t: t["StorageDescriptor"]["SerdeInfo"]["Parameters"].update({"field.delim": "|"}),
    "serde parameter gone": lambda t: t["StorageDescriptor"]["SerdeInfo"].pop("Parameters"),
    "buckets": lambda t: t["StorageDescriptor"].update(NumberOfBuckets=4),
    "no buckets": lambda t: t["StorageDescriptor"].update(NumberOfBuckets=-1),
    "sorting": lambda t: t["StorageDescriptor"].update(SortColumns=[{"Column": "a", "SortOrder": 1}]),
    "skew": lambda t: t["StorageDescriptor"].update(SkewedInfo={"SkewedColumnValueLocationMaps": {"a": "b"}}),
    "compressed": lambda t: t["StorageDescriptor"].update(Compressed=True),
    "parameter": lambda t: t["Parameters"].update(comment="d"),
    "parameter empty": lambda t: t["Parameters"].update(comment=""),
    "parameter more": lambda t: t["Parameters"].update(x=""),
    "parameter less": lambda t: t["Parameters"].pop("comment"),
    "storage": lambda t: t.pop("StorageDescriptor"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("here", [True, False])
def test_every_change_counts(change: str, here: bool) -> None:
    mine, its = wanted(), stored()
    CHANGES[change](mine if here else its)
    assert not same(mine, its)


def test_statistics_count_on_either_side() -> None:
    for counted, other in ((wanted(), stored()), (stored(), wanted())):
        counted["Parameters"]["numFiles"] = "0"
        assert not same(*((counted, other) if "VersionId" in other else (other, counted)))


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        (Mark("onprem", 1, 99, 10), True),
        (Mark("onprem", 1, 99, 0), True),
        (Mark("onprem", 1, 99, 11), False),
        (Mark("other", 1, 99, 10), False),
    ],
)
def test_up_to_date_is_of_one_source_and_creation(mark: Mark, expected: bool) -> None:
    assert up_to_date(wanted(), stored(), mark) is expected


def test_partitions() -> None:
    mine = partition_input(partition(table(NAME, "s3://b/t", keys=["k"]), ["1"]))[0]
    its = {**deepcopy(mine), "DatabaseName": "db", "TableName": "t", "CreationTime": NOW}
    assert same(mine, its)
    its["Parameters"]["numFiles"] = "4"
    assert not same(mine, its)


def test_an_update_keeps_what_the_source_does_not_say() -> None:
    mine, its = wanted(), stored()
    del mine["StorageDescriptor"]["Location"]
    assert same(mine, its)
    found = filled(mine, its)
    assert (found["Description"], found["StorageDescriptor"]["Location"]) == ("by hand", "s3://b/t/")
    assert not {"VersionId", "CreateTime", "DatabaseName", "CatalogId"} & found.keys(), "what Glue refuses in an input"
    assert "Location" not in mine["StorageDescriptor"], "the input is not altered"
    assert filled(wanted(), its)["StorageDescriptor"]["Location"] == "s3://b/t"
