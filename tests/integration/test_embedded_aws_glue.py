"""The embedded Glue, asked with plain boto3: it refuses what Glue refuses, and pages, counts and folds as Glue does."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from pysync.lab.aws import EmbeddedAws

pytestmark = pytest.mark.smoke

LONG_NAME = "n" * 256
EMOJI = "\U0001f41d bee"


@pytest.fixture(scope="module")
def aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(athena=False) as server:
        yield server


@pytest.fixture(scope="module")
def glue(aws: EmbeddedAws) -> Any:
    # The server is to refuse, not the client before it.
    return aws.client("glue", parameter_validation=False)


@pytest.fixture
def database(glue: Any) -> str:
    name = f"db_{uuid.uuid4().hex[:12]}"
    glue.create_database(DatabaseInput={"Name": name})
    return name


def storage(**members: Any) -> dict[str, Any]:
    return {"Columns": [{"Name": "x", "Type": "int"}], "Location": "s3://bucket/t", **members}


def table_input(name: str = "t", **members: Any) -> dict[str, Any]:
    return {"Name": name, "StorageDescriptor": storage(), "TableType": "EXTERNAL_TABLE", **members}


def partitioned(glue: Any, database: str, keys: int = 1, name: str = "p") -> dict[str, str]:
    """Create a partitioned table, and say what the calls about its partitions begin with."""
    columns = [{"Name": f"k{number}", "Type": "string"} for number in range(keys)]
    glue.create_table(DatabaseName=database, TableInput=table_input(name, PartitionKeys=columns))
    return {"DatabaseName": database, "TableName": name}


def refusal(call: Callable[..., Any], **request: Any) -> tuple[str, str]:
    """The code and the message with which a call is refused."""
    with pytest.raises(ClientError) as refused:
        call(**request)
    error = refused.value.response["Error"]
    return error["Code"], error["Message"]


def values(glue: Any, where: dict[str, str], **request: Any) -> list[list[str]]:
    found = glue.get_paginator("get_partitions").paginate(**where, **request)
    return [part["Values"] for page in found for part in page["Partitions"]]


BROKEN_TABLES = {
    "long name": ({"Name": LONG_NAME}, "tableInput.name", "length less than or equal to 255"),
    "empty name": ({"Name": ""}, "tableInput.name", "length greater than or equal to 1"),
    "newline in name": ({"Name": "a\nb"}, "tableInput.name", "regular expression pattern"),
    "empty owner": ({"Owner": ""}, "tableInput.owner", "length greater than or equal to 1"),
    "negative retention": ({"Retention": -1}, "tableInput.retention", "value greater than or equal to 0"),
    "long description": ({"Description": "d" * 2049}, "tableInput.description", "less than or equal to 2048"),
    "long table type": ({"TableType": "T" * 256}, "tableInput.tableType", "less than or equal to 255"),
    "long view text": ({"ViewOriginalText": "v" * 409_601}, "tableInput.viewOriginalText", "409600"),
    "long key": ({"Parameters": {"k" * 256: "v"}}, "tableInput.parameters.key", "less than or equal to 255"),
    "long value": ({"Parameters": {"k": "v" * 512_001}}, "tableInput.parameters.k.member", "512000"),
    "long comment": (
        {"StorageDescriptor": storage(Columns=[{"Name": "x", "Comment": "c" * 256}])},
        "tableInput.storageDescriptor.columns.1.member.comment",
        "less than or equal to 255",
    ),
    "newline in comment": (
        {"StorageDescriptor": storage(Columns=[{"Name": "a"}, {"Name": "b", "Comment": "one\ntwo"}])},
        "tableInput.storageDescriptor.columns.2.member.comment",
        "regular expression pattern",
    ),
    "long type": (
        {"PartitionKeys": [{"Name": "p", "Type": "t" * 131_073}]},
        "tableInput.partitionKeys.1.member.type",
        "131072",
    ),
    "long location": ({"StorageDescriptor": storage(Location="s" * 2057)}, "storageDescriptor.location", "2056"),
    "long format": ({"StorageDescriptor": storage(InputFormat="f" * 129)}, "storageDescriptor.inputFormat", "128"),
    "empty serde name": (
        {"StorageDescriptor": storage(SerdeInfo={"Name": ""})},
        "storageDescriptor.serdeInfo.name",
        "greater than or equal to 1",
    ),
    "sort order": (
        {"StorageDescriptor": storage(SortColumns=[{"Column": "x", "SortOrder": 2}])},
        "storageDescriptor.sortColumns.1.member.sortOrder",
        "value less than or equal to 1",
    ),
    "column without name": (
        {"StorageDescriptor": storage(Columns=[{"Type": "int"}])},
        "columns.1.member.name",
        "must not be null",
    ),
}


@pytest.mark.parametrize("case", BROKEN_TABLES)
def test_a_table_beyond_the_limits_of_the_model_is_refused(glue: Any, database: str, case: str) -> None:
    members, where, rule = BROKEN_TABLES[case]
    code, message = refusal(glue.create_table, DatabaseName=database, TableInput=table_input(**members))
    assert code == "ValidationException"
    assert message.startswith("1 validation error detected: Value ")
    assert where in message
    assert rule in message
    assert glue.get_tables(DatabaseName=database)["TableList"] == []


AT_THE_LIMIT = {
    "name": {"Name": "n" * 255},
    "tab and emoji in a comment": {
        "StorageDescriptor": storage(Columns=[{"Name": "x", "Comment": f"\t{EMOJI}"}, {"Name": "y", "Comment": ""}])
    },
    "newline in a description": {"Description": "one\r\ntwo"},
    "value": {"Parameters": {"k" * 255: "v" * 512_000, "empty": "", "lines": "a\nb\0c"}},
    "type": {"PartitionKeys": [{"Name": "p", "Type": "t" * 131_072}]},
    "buckets": {"StorageDescriptor": storage(NumberOfBuckets=-1)},
    "types and columns that Athena cannot read": {
        "StorageDescriptor": storage(Columns=[{"Name": "x", "Type": "decimal(24, 16)"}, {"Name": "x", "Type": "?"}])
    },
}


@pytest.mark.parametrize("case", AT_THE_LIMIT)
def test_a_table_at_the_limits_is_left_as_it_was_given(glue: Any, database: str, case: str) -> None:
    wanted = table_input(**AT_THE_LIMIT[case])
    glue.create_table(DatabaseName=database, TableInput=wanted)
    found = glue.get_table(DatabaseName=database, Name=wanted["Name"])["Table"]
    assert {name: found[name] for name in wanted} == wanted


def test_all_that_is_wrong_is_said_at_once(glue: Any, database: str) -> None:
    broken = table_input(LONG_NAME, Retention=-1, Owner="")
    _, message = refusal(glue.create_table, DatabaseName=database, TableInput=broken)
    assert message.startswith("3 validation errors detected: ")


BATCHES = {
    "create 101": ("batch_create_partition", "PartitionInputList", 101, lambda value: {"Values": [value]}, 100),
    "delete 26": ("batch_delete_partition", "PartitionsToDelete", 26, lambda value: {"Values": [value]}, 25),
    "update 101": (
        "batch_update_partition",
        "Entries",
        101,
        lambda value: {"PartitionValueList": [value], "PartitionInput": {"Values": [value]}},
        100,
    ),
    "get 1001": ("batch_get_partition", "PartitionsToGet", 1001, lambda value: {"Values": [value]}, 1000),
}


@pytest.mark.parametrize("case", BATCHES)
def test_a_batch_has_a_largest_size(glue: Any, database: str, case: str) -> None:
    operation, member, count, item, most = BATCHES[case]
    where = partitioned(glue, database)
    items = [item(str(number)) for number in range(count)]
    code, message = refusal(getattr(glue, operation), **where, **{member: items})
    assert code == "ValidationException"
    assert f"length less than or equal to {most}" in message
    getattr(glue, operation)(**where, **{member: items[:-1]})


def test_tables_are_deleted_in_batches_of_100(glue: Any, database: str) -> None:
    names = [f"t{number}" for number in range(101)]
    code, _ = refusal(glue.batch_delete_table, DatabaseName=database, TablesToDelete=names)
    assert code == "ValidationException"
    glue.create_table(DatabaseName=database, TableInput=table_input("t1"))
    answer = glue.batch_delete_table(DatabaseName=database, TablesToDelete=["T1", "t2"])
    assert [(e["TableName"], e["ErrorDetail"]["ErrorCode"]) for e in answer["Errors"]] == [
        ("t2", "EntityNotFoundException")
    ]
    assert glue.get_tables(DatabaseName=database)["TableList"] == []


@pytest.mark.parametrize("value", ["", "v" * 1025])
def test_a_partition_value_has_1_to_1024_characters(glue: Any, database: str, value: str) -> None:
    where = partitioned(glue, database)
    code, message = refusal(glue.create_partition, **where, PartitionInput={"Values": [value]})
    assert code == "ValidationException"
    assert "partitionInput.values.1.member" in message


@pytest.mark.parametrize("given", [[], ["a"], ["a", "b", "c"]])
def test_a_partition_has_as_many_values_as_the_table_has_keys(glue: Any, database: str, given: list[str]) -> None:
    where = partitioned(glue, database, keys=2)
    calls = [
        (glue.create_partition, {"PartitionInput": {"Values": given}}),
        (glue.get_partition, {"PartitionValues": given}),
        (glue.delete_partition, {"PartitionValues": given}),
        (glue.batch_create_partition, {"PartitionInputList": [{"Values": ["a", "b"]}, {"Values": given}]}),
        (glue.batch_delete_partition, {"PartitionsToDelete": [{"Values": given}]}),
    ]
    for call, request in calls:
        code, message = refusal(call, **where, **request)
        assert (code, "number of partition keys" in message) == ("InvalidInputException", True), request
    assert values(glue, where) == []


def test_names_are_kept_and_found_in_lower_case(glue: Any) -> None:
    name = f"Mixed_{uuid.uuid4().hex[:8]}"
    glue.create_database(DatabaseInput={"Name": name})
    assert glue.get_database(Name=name.upper())["Database"]["Name"] == name.lower()
    assert refusal(glue.create_database, DatabaseInput={"Name": name.lower()})[0] == "AlreadyExistsException"
    glue.create_table(DatabaseName=name, TableInput=table_input("Tab"))
    assert refusal(glue.create_table, DatabaseName=name, TableInput=table_input("TAB"))[0] == "AlreadyExistsException"
    found = glue.get_table(DatabaseName=name.lower(), Name="TAB")["Table"]
    assert (found["DatabaseName"], found["Name"]) == (name.lower(), "tab")
    glue.update_table(DatabaseName=name, TableInput=table_input("tAb", Description="new"))
    assert glue.get_table(DatabaseName=name, Name="tab")["Table"]["Description"] == "new"
    glue.delete_table(DatabaseName=name, Name="TaB")
    glue.delete_database(Name=name.upper())
    assert refusal(glue.get_database, Name=name)[0] == "EntityNotFoundException"


def test_an_update_replaces_all_and_counts_versions_from_0(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput=table_input(Owner="me", Parameters={"a": "1"}))
    first = glue.get_table(DatabaseName=database, Name="t")["Table"]
    glue.update_table(DatabaseName=database, TableInput=table_input(Parameters={"b": "2"}))
    second = glue.get_table(DatabaseName=database, Name="t")["Table"]
    assert (first["VersionId"], second["VersionId"]) == ("0", "1")
    assert second["Parameters"] == {"b": "2"}
    assert "Owner" not in second
    assert first["UpdateTime"] < second["UpdateTime"]
    assert first["CreateTime"] == second["CreateTime"]


def test_an_update_of_a_stale_version_is_refused(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput=table_input())
    glue.update_table(DatabaseName=database, TableInput=table_input(Owner="first"), VersionId="0")
    stale = {"DatabaseName": database, "TableInput": table_input(Owner="second"), "VersionId": "0"}
    assert refusal(glue.update_table, **stale) == (
        "ConcurrentModificationException",
        "Update table failed due to concurrent modifications.",
    )
    assert glue.get_table(DatabaseName=database, Name="t")["Table"]["Owner"] == "first"
    glue.update_table(**{**stale, "VersionId": "1"})


def test_versions_are_archived_unless_that_is_skipped(glue: Any, database: str) -> None:
    glue.create_table(DatabaseName=database, TableInput=table_input(Owner="a"))
    glue.update_table(DatabaseName=database, TableInput=table_input(Owner="b"))
    glue.update_table(DatabaseName=database, TableInput=table_input(Owner="c"), SkipArchive=True)
    where = {"DatabaseName": database, "TableName": "t"}
    found = glue.get_table_versions(**where)["TableVersions"]
    assert [(version["VersionId"], version["Table"]["Owner"]) for version in found] == [("2", "c"), ("0", "a")]
    assert refusal(glue.get_table_version, **where, VersionId="1")[0] == "EntityNotFoundException"
    assert glue.get_table_version(**where)["TableVersion"]["VersionId"] == "2"
    assert refusal(glue.delete_table_version, **where, VersionId="2")[0] == "InvalidInputException"
    answer = glue.batch_delete_table_version(**where, VersionIds=["0", "1"])
    assert [error["VersionId"] for error in answer["Errors"]] == ["1"]
    assert len(glue.get_table_versions(**where)["TableVersions"]) == 1


def test_long_answers_come_in_pages(glue: Any, database: str) -> None:
    where = partitioned(glue, database)
    wanted = [[f"v{number:04}"] for number in range(250)]
    for start in range(0, 250, 100):
        batch = [{"Values": value} for value in wanted[start : start + 100]]
        assert "Errors" not in glue.batch_create_partition(**where, PartitionInputList=batch)
    first = glue.get_partitions(**where, MaxResults=100)
    assert len(first["Partitions"]) == 100
    assert sorted(values(glue, where, PaginationConfig={"PageSize": 100})) == wanted
    assert len(glue.get_partitions(**where)["Partitions"]) == 250
    assert refusal(glue.get_partitions, **where, NextToken="nonsense")[0] == "InvalidInputException"
    assert refusal(glue.get_partitions, **where, MaxResults=1001)[0] == "ValidationException"


def test_tables_come_100_at_a_time_and_by_expression(glue: Any, database: str) -> None:
    for number in range(101):
        glue.create_table(DatabaseName=database, TableInput=table_input(f"t{number:03}"))
    first = glue.get_tables(DatabaseName=database)
    second = glue.get_tables(DatabaseName=database, NextToken=first["NextToken"])
    assert (len(first["TableList"]), len(second["TableList"])) == (100, 1)
    assert "NextToken" not in second
    assert refusal(glue.get_tables, DatabaseName=database, MaxResults=101)[0] == "ValidationException"
    found = glue.get_tables(DatabaseName=database, Expression="t00.")["TableList"]
    assert [table["Name"] for table in found] == [f"t00{number}" for number in range(10)]
    assert glue.get_tables(DatabaseName=database, Expression="t00")["TableList"] == []


def test_the_segments_are_the_whole_once(glue: Any, database: str) -> None:
    where = partitioned(glue, database)
    batch = [{"Values": [f"v{number}"]} for number in range(100)]
    glue.batch_create_partition(**where, PartitionInputList=batch)
    parts = [values(glue, where, Segment={"SegmentNumber": n, "TotalSegments": 5}) for n in range(5)]
    assert sorted(value for part in parts for value in part) == sorted(item["Values"] for item in batch)
    assert all(parts)
    beyond = {"SegmentNumber": 5, "TotalSegments": 5}
    assert refusal(glue.get_partitions, **where, Segment=beyond)[0] == "InvalidInputException"
    too_many = {"SegmentNumber": 0, "TotalSegments": 11}
    assert refusal(glue.get_partitions, **where, Segment=too_many)[0] == "ValidationException"


def test_a_batch_succeeds_in_part(glue: Any, database: str) -> None:
    where = partitioned(glue, database)
    glue.create_partition(**where, PartitionInput={"Values": ["a"]})
    created = glue.batch_create_partition(**where, PartitionInputList=[{"Values": ["a"]}, {"Values": ["b"]}])
    assert [(e["PartitionValues"], e["ErrorDetail"]["ErrorCode"]) for e in created["Errors"]] == [
        (["a"], "AlreadyExistsException")
    ]
    deleted = glue.batch_delete_partition(**where, PartitionsToDelete=[{"Values": ["x"]}, {"Values": ["a"]}])
    assert [(e["PartitionValues"], e["ErrorDetail"]["ErrorCode"]) for e in deleted["Errors"]] == [
        (["x"], "EntityNotFoundException")
    ]
    assert values(glue, where) == [["b"]]
