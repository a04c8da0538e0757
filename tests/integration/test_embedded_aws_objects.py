"""The embedded Glue's databases, partitions and functions, and S3 beside it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from pysync.lab.aws import EmbeddedAws

pytestmark = pytest.mark.smoke


@pytest.fixture(scope="module")
def aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws(athena=False) as server:
        yield server


@pytest.fixture(scope="module")
def glue(aws: EmbeddedAws) -> Any:
    return aws.client("glue", parameter_validation=False)


@pytest.fixture
def database(glue: Any) -> str:
    name = f"db_{uuid.uuid4().hex[:12]}"
    glue.create_database(DatabaseInput={"Name": name, "Parameters": {"a": "1"}, "LocationUri": "s3://b/db"})
    return name


@pytest.fixture
def partitions(glue: Any, database: str) -> dict[str, str]:
    """A table with the key `p`, and partitions `a` and `b` of it."""
    keys = [{"Name": "p", "Type": "int"}]
    columns = {"Columns": [{"Name": "x", "Type": "int"}]}
    glue.create_table(
        DatabaseName=database, TableInput={"Name": "t", "PartitionKeys": keys, "StorageDescriptor": columns}
    )
    where = {"DatabaseName": database, "TableName": "t"}
    for value in ("a", "b"):
        storage = {**columns, "Location": f"s3://b/{value}"}
        part = {"Values": [value], "StorageDescriptor": storage, "Parameters": {"of": value}}
        glue.create_partition(**where, PartitionInput=part)
    return where


def code(call: Any, **request: Any) -> str:
    """The code with which a call is refused."""
    with pytest.raises(ClientError) as refused:
        call(**request)
    found: str = refused.value.response["Error"]["Code"]
    return found


def contents(glue: Any, where: dict[str, str]) -> dict[str, dict[str, str]]:
    """The parameters of each partition, by its value."""
    parts = glue.get_partitions(**where)["Partitions"]
    return {part["Values"][0]: part.get("Parameters", {}) for part in parts}


def test_a_database_is_updated_and_listed(glue: Any, database: str) -> None:
    glue.update_database(Name=database.upper(), DatabaseInput={"Name": database, "Description": "new"})
    found = glue.get_database(Name=database)["Database"]
    assert (found["Name"], found["Description"]) == (database, "new")
    assert "LocationUri" not in found, "an update replaces all"
    pages = glue.get_paginator("get_databases").paginate(PaginationConfig={"PageSize": 1})
    assert database in [item["Name"] for page in pages for item in page["DatabaseList"]]
    renamed = {"Name": f"{database}_2"}
    assert code(glue.update_database, Name=database, DatabaseInput=renamed) == "InvalidInputException"
    assert code(glue.update_database, Name="none", DatabaseInput={"Name": "none"}) == "EntityNotFoundException"


def test_a_database_goes_with_all_that_is_in_it(glue: Any, database: str, partitions: dict[str, str]) -> None:
    function = {"FunctionName": "f", "ClassName": "c"}
    glue.create_user_defined_function(DatabaseName=database, FunctionInput=function)
    glue.delete_database(Name=database)
    glue.create_database(DatabaseInput={"Name": database})
    assert glue.get_tables(DatabaseName=database)["TableList"] == []
    assert code(glue.get_partitions, **partitions) == "EntityNotFoundException"
    assert glue.get_user_defined_functions(DatabaseName=database, Pattern=".*")["UserDefinedFunctions"] == []


def test_a_partition_keeps_what_it_was_given(glue: Any, partitions: dict[str, str]) -> None:
    found = glue.get_partition(**partitions, PartitionValues=["a"])["Partition"]
    assert (found["Parameters"], found["StorageDescriptor"]["Location"]) == ({"of": "a"}, "s3://b/a")
    assert found["StorageDescriptor"]["Columns"] == [{"Name": "x", "Type": "int"}]
    bare = glue.get_partitions(**partitions, ExcludeColumnSchema=True)["Partitions"]
    assert [part["StorageDescriptor"] for part in bare] == [{"Location": "s3://b/a"}, {"Location": "s3://b/b"}]
    glue.create_partition(**partitions, PartitionInput={"Values": ["__HIVE_DEFAULT_PARTITION__"]})
    wanted = [{"Values": [value]} for value in ("b", "none", "__HIVE_DEFAULT_PARTITION__")]
    several = glue.batch_get_partition(**partitions, PartitionsToGet=wanted)["Partitions"]
    assert [part["Values"] for part in several] == [["b"], ["__HIVE_DEFAULT_PARTITION__"]]


def test_a_partition_is_replaced(glue: Any, partitions: dict[str, str]) -> None:
    before = glue.get_partition(**partitions, PartitionValues=["a"])["Partition"]["CreationTime"]
    new = {"Values": ["a"], "Parameters": {"new": "1"}}
    glue.update_partition(**partitions, PartitionValueList=["a"], PartitionInput=new)
    assert contents(glue, partitions) == {"a": {"new": "1"}, "b": {"of": "b"}}
    after = glue.get_partition(**partitions, PartitionValues=["a"])["Partition"]
    assert "StorageDescriptor" not in after, "an update replaces all"
    assert after["CreationTime"] == before
    missing = {"PartitionValueList": ["x"], "PartitionInput": {"Values": ["x"]}}
    assert code(glue.update_partition, **partitions, **missing) == "EntityNotFoundException"


def test_a_partition_gets_other_values_unless_they_are_taken(glue: Any, partitions: dict[str, str]) -> None:
    entries = [
        {"PartitionValueList": ["a"], "PartitionInput": {"Values": ["b"], "Parameters": {"lost": "1"}}},
        {"PartitionValueList": ["b"], "PartitionInput": {"Values": ["c"], "Parameters": {"of": "c"}}},
        {"PartitionValueList": ["x"], "PartitionInput": {"Values": ["x"]}},
    ]
    errors = glue.batch_update_partition(**partitions, Entries=entries)["Errors"]
    assert [(e["PartitionValueList"], e["ErrorDetail"]["ErrorCode"]) for e in errors] == [
        (["a"], "AlreadyExistsException"),
        (["x"], "EntityNotFoundException"),
    ]
    assert contents(glue, partitions) == {"a": {"of": "a"}, "c": {"of": "c"}}


def test_an_expression_selects_partitions(glue: Any, database: str) -> None:
    keys = [{"Name": "year", "Type": "int"}, {"Name": "kind", "Type": "string"}]
    glue.create_table(DatabaseName=database, TableInput={"Name": "e", "PartitionKeys": keys})
    where = {"DatabaseName": database, "TableName": "e"}
    items = [{"Values": [year, kind]} for year in ("2025", "2026") for kind in ("x", "y")]
    glue.batch_create_partition(**where, PartitionInputList=items)
    found = glue.get_partitions(**where, Expression="year > 2025 AND kind = 'y'")["Partitions"]
    assert [part["Values"] for part in found] == [["2026", "y"]]


def test_functions_are_made_changed_and_dropped(glue: Any, database: str) -> None:
    uris = [{"ResourceType": "JAR", "Uri": "s3://b/f.jar"}]
    function = {"FunctionName": "area", "ClassName": "a.Area", "OwnerName": "me", "OwnerType": "USER"}
    glue.create_user_defined_function(DatabaseName=database, FunctionInput={**function, "ResourceUris": uris})
    found = glue.get_user_defined_function(DatabaseName=database, FunctionName="area")["UserDefinedFunction"]
    assert {name: found[name] for name in function} == function
    assert (found["ResourceUris"], found["DatabaseName"]) == (uris, database)
    same = {"DatabaseName": database, "FunctionInput": function}
    assert code(glue.create_user_defined_function, **same) == "AlreadyExistsException"
    changed = {"FunctionName": "area", "ClassName": "b.Area"}
    glue.update_user_defined_function(DatabaseName=database, FunctionName="area", FunctionInput=changed)
    found = glue.get_user_defined_function(DatabaseName=database, FunctionName="area")["UserDefinedFunction"]
    assert found["ClassName"] == "b.Area"
    assert "ResourceUris" not in found, "an update replaces all"
    glue.delete_user_defined_function(DatabaseName=database, FunctionName="area")
    where = {"DatabaseName": database, "FunctionName": "area"}
    assert code(glue.get_user_defined_function, **where) == "EntityNotFoundException"
    assert code(glue.delete_user_defined_function, **where) == "EntityNotFoundException"
    assert code(glue.update_user_defined_function, **where, FunctionInput=changed) == "EntityNotFoundException"


def test_functions_are_found_by_pattern_and_in_pages(glue: Any, database: str) -> None:
    for number in range(12):
        function = {"FunctionName": f"f{number:02}", "ClassName": "c"}
        glue.create_user_defined_function(DatabaseName=database, FunctionInput=function)

    def found(**request: Any) -> list[str]:
        pages = glue.get_paginator("get_user_defined_functions").paginate(DatabaseName=database, **request)
        return [item["FunctionName"] for page in pages for item in page["UserDefinedFunctions"]]

    assert found(Pattern="f0[12]") == ["f01", "f02"]
    assert found(Pattern=".*", PaginationConfig={"PageSize": 5}) == [f"f{number:02}" for number in range(12)]
    assert code(glue.get_user_defined_functions, DatabaseName=database, Pattern="(") == "InvalidInputException"
    assert code(glue.get_user_defined_functions, DatabaseName="none", Pattern=".*") == "EntityNotFoundException"
    assert code(glue.get_user_defined_functions, DatabaseName=database) == "ValidationException"


MISSING = {
    "table of no database": ("create_table", {"DatabaseName": "none", "TableInput": {"Name": "t"}}),
    "partition of no table": ("create_partition", {"TableName": "none", "PartitionInput": {"Values": ["a"]}}),
    "function of no database": (
        "create_user_defined_function",
        {"DatabaseName": "none", "FunctionInput": {"FunctionName": "f"}},
    ),
    "update of no table": ("update_table", {"TableInput": {"Name": "none"}}),
    "delete of no table": ("delete_table", {"Name": "none"}),
    "no partition": ("delete_partition", {"TableName": "t", "PartitionValues": ["none"]}),
}


@pytest.mark.parametrize("case", MISSING)
def test_what_is_not_there_is_not_found(glue: Any, database: str, partitions: dict[str, str], case: str) -> None:
    operation, request = MISSING[case]
    assert code(getattr(glue, operation), **{"DatabaseName": database, **request}) == "EntityNotFoundException"


def test_another_account_and_unknown_calls_are_refused(glue: Any, database: str) -> None:
    assert glue.get_database(Name=database, CatalogId="123456789012")["Database"]["Name"] == database
    assert code(glue.get_database, Name=database, CatalogId="999999999999") == "AccessDeniedException"
    assert code(glue.get_crawlers) == "UnknownOperationException"


def test_a_table_without_an_input_is_refused(glue: Any, database: str) -> None:
    assert code(glue.create_table, DatabaseName=database) == "InvalidInputException"
    assert code(glue.create_table, DatabaseName=database, TableInput={}) == "ValidationException"


def test_objects_of_s3_are_kept(aws: EmbeddedAws) -> None:
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="bucket")
    s3.put_object(Bucket="bucket", Key="a b/ü%.bin", Body=b"x" * 100_000, Metadata={"under_score": "1"})
    found = s3.get_object(Bucket="bucket", Key="a b/ü%.bin")
    assert found["Body"].read() == b"x" * 100_000
    assert found["Metadata"] == {"under_score": "1"}
    assert [item["Key"] for item in s3.list_objects_v2(Bucket="bucket")["Contents"]] == ["a b/ü%.bin"]
    assert code(s3.get_object, Bucket="bucket", Key="none") == "NoSuchKey"


def test_the_caller_is_the_account_of_the_catalog(aws: EmbeddedAws, glue: Any, database: str) -> None:
    account = aws.client("sts").get_caller_identity()["Account"]
    assert glue.get_database(Name=database)["Database"]["CatalogId"] == account
