"""The metastore's objects as Glue keeps them, and back: held against the rules that the embedded Glue enforces."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pysync.lab.aws.strict import Strict
from pysync.model.names import DEFAULT_PARTITION, TableName, normalized
from pysync.targets.aws import inputs
from pysync.targets.aws.inputs import database_input, function_input, partition_input, table_input
from pysync.targets.aws.structs import database_of, function_of, partition_of, table_of
from pysync.targets.base import Rejected
from pysync.targets.diff import same
from tests.conformance.objects import function, partition, table, view
from tests.support.glue import sent

STRICT = Strict("glue", "ValidationException")
NAME = TableName("db", "t")

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

ANY = st.text(st.characters(codec="utf-8"), max_size=40) | st.text("a\n\r\t\x00é😀", max_size=400)
LINES = st.text(st.characters(codec="utf-8", min_codepoint=0x20, max_codepoint=0xD7FF), max_size=20)
NAMES = st.text("abcdefghij_ -ü日😀", min_size=1, max_size=12).map(normalized).filter(bool)


def parameters(texts: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(texts, texts, max_size=3)


def columns(names: st.SearchStrategy[str], texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.builds(hive.FieldSchema, names, texts, st.none() | texts), max_size=3)


def storages(names: st.SearchStrategy[str], texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    values = st.lists(texts, min_size=1, max_size=2)
    skew = st.builds(
        hive.SkewedInfo,
        st.lists(names, max_size=2),
        st.lists(values, max_size=2),
        st.dictionaries(values.map(tuple), texts, max_size=2),
    )
    return st.builds(
        hive.StorageDescriptor,
        cols=columns(names, texts),
        location=st.none() | texts,
        inputFormat=st.none() | texts,
        outputFormat=st.none() | texts,
        compressed=st.booleans() | st.none(),
        numBuckets=st.integers(-1, 9) | st.none(),
        serdeInfo=st.none() | st.builds(hive.SerDeInfo, st.none() | texts, st.none() | texts, parameters(texts)),
        bucketCols=st.none() | st.lists(names, max_size=2),
        sortCols=st.none() | st.lists(st.builds(hive.Order, names, st.sampled_from([0, 1])), max_size=2),
        parameters=st.none() | parameters(texts),
        skewedInfo=st.none() | skew,
        storedAsSubDirectories=st.booleans() | st.none(),
    )


def tables(names: st.SearchStrategy[str], texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.builds(
        hive.Table,
        tableName=names,
        dbName=st.just("db"),
        owner=st.none() | texts,
        lastAccessTime=st.none() | st.integers(0, 2**31 - 1),
        retention=st.integers(-1, 2**31 - 1) | st.none(),
        sd=st.none() | storages(names, texts),
        partitionKeys=st.none() | columns(names, texts),
        parameters=st.none() | parameters(texts),
        viewOriginalText=st.none() | texts,
        viewExpandedText=st.none() | texts,
        tableType=st.sampled_from([None, "", "EXTERNAL_TABLE", "MANAGED_TABLE", "VIRTUAL_VIEW"]),
    )


def outcome(translate: Any, item: Any) -> tuple[str | None, Any, list[str]]:
    """Why it is refused, or else what became of it."""
    try:
        return (None, *translate(item))
    except Rejected as error:
        return error.message, None, []


@patient
@given(tables(ANY, ANY))
def test_any_table_is_refused_with_a_reason_or_fits(definition: Any) -> None:
    before = deepcopy(definition)
    words, found, changes = outcome(table_input, definition)
    if words is None:
        STRICT.check("CreateTable", {"DatabaseName": "db", "TableInput": sent(found)})
    for line in [words or "Glue", *changes]:
        assert "\n" not in line
        assert "Glue" in line or not words
    assert definition == before


@patient
@given(st.lists(ANY, min_size=1, max_size=3), storages(ANY, ANY), parameters(ANY))
def test_any_partition_is_refused_with_a_reason_or_fits(values: list[str], storage: Any, params: Any) -> None:
    words, found, _ = outcome(partition_input, hive.Partition(values=values, sd=storage, parameters=params))
    assert words is None or "Glue" in words
    if words is None:
        request = {"DatabaseName": "db", "TableName": "t", "PartitionInput": sent(found)}
        STRICT.check("CreatePartition", request)
        assert len(found["Values"]) == len(values)


@patient
@given(tables(NAMES, LINES.filter(lambda text: not text.startswith("s3"))))
def test_what_fits_comes_back_as_it_was(definition: Any) -> None:
    """Empty and unset are one to a metastore, too; all else is as it was."""
    try:
        found, changes = table_input(definition)
    except Rejected:
        return  # a parameter without a name
    back = table_of({**found, "DatabaseName": "db"})
    reported = {change.split(":")[0] for change in changes}
    assert reported <= {"retention", "view"}
    assert comparable(back) == comparable(definition)
    again = table_of({**table_input(back)[0], "DatabaseName": "db"})
    assert same(back, again), "what came back is the same to Glue"
    assert same(again, back)


def comparable(value: Any, name: str = "") -> Any:
    """Without what is unset, with what the translation settles: the type, a negative retention, empty structs."""
    if hasattr(value, "thrift_spec"):
        fields = {key: comparable(item, key) for key, item in vars(value).items()}
        if isinstance(value, hive.Table):
            external = (value.parameters or {}).get("EXTERNAL", "").upper() == "TRUE"
            plain = "EXTERNAL_TABLE" if external else "MANAGED_TABLE"
            fields["tableType"] = value.tableType if value.tableType == "VIRTUAL_VIEW" else plain
            fields["retention"] = max(value.retention or 0, 0)
        return {key: item for key, item in fields.items() if item}
    if isinstance(value, dict):
        return dict(value)
    return [comparable(item) for item in value] if isinstance(value, (list, tuple)) else value


def test_a_rich_table_field_by_field() -> None:
    definition = table(NAME, "s3a://b/t", keys=["K"], parameters={"comment": "c", "numRows": "3"})
    definition.tableName, definition.retention, definition.lastAccessTime = "T", 5, 1_700_000_000
    definition.sd.cols[0].comment = "x" * 300
    definition.sd.numBuckets, definition.sd.bucketCols, definition.sd.sortCols = 4, ["A"], [hive.Order("B", 0)]
    definition.sd.skewedInfo = hive.SkewedInfo(["a"], [["a$b"]], {("a$b",): "s3n://b/skew"})
    definition.privileges = hive.PrincipalPrivilegeSet({"ann": []}, None, None)
    found, changes = table_input(definition)
    storage = found["StorageDescriptor"]
    assert (found["Name"], found["Owner"], found["Retention"], found["TableType"]) == ("t", "ann", 5, "EXTERNAL_TABLE")
    assert found["LastAccessTime"].timestamp() == 1_700_000_000
    assert found["PartitionKeys"] == [{"Name": "k", "Type": "string"}]
    assert found["Parameters"] == {"EXTERNAL": "TRUE", "comment": "c", "numRows": "3"}
    assert storage["Location"] == "s3://b/t"
    assert storage["SortColumns"] == [{"Column": "b", "SortOrder": 0}]
    assert storage["SkewedInfo"] == {
        "SkewedColumnNames": ["a"],
        "SkewedColumnValues": ["3$a$b"],
        "SkewedColumnValueLocationMaps": {"3$a$b": "s3://b/skew"},
    }
    assert changes == [
        "privileges: not kept, Lake Formation manages grants",
        "comment of column 'a': cut from 300 to 255 characters",
    ]


@pytest.mark.parametrize(
    ("parameters", "given_type", "expected"),
    [
        ({"EXTERNAL": "true"}, "MANAGED_TABLE", "EXTERNAL_TABLE"),
        ({}, "EXTERNAL_TABLE", "MANAGED_TABLE"),
        ({}, None, "MANAGED_TABLE"),
        ({}, "VIRTUAL_VIEW", "VIRTUAL_VIEW"),
    ],
)
def test_the_type_follows_the_parameter(parameters: dict[str, str], given_type: str | None, expected: str) -> None:
    definition = table(NAME, None, external=False, parameters=parameters)
    definition.tableType = given_type
    assert table_input(definition)[0]["TableType"] == expected


def test_icebergs_pointer_is_kept_with_glues_scheme() -> None:
    given_parameters = {
        "table_type": "ICEBERG",
        "metadata_location": "s3a://b/m/2.json",
        "previous_metadata_location": "s3n://b/m/1.json",
        "note": "s3a://b",
    }
    found, changes = table_input(table(NAME, "s3a://b/t", parameters=given_parameters))
    assert found["Parameters"] == {
        "EXTERNAL": "TRUE",
        "table_type": "ICEBERG",
        "metadata_location": "s3://b/m/2.json",
        "previous_metadata_location": "s3://b/m/1.json",
        "note": "s3a://b",
    }
    assert changes == []


def test_where_an_archived_partition_was_has_glues_scheme() -> None:
    part = partition(table(NAME, "s3a://b/t", keys=["k"]), ["1"])
    part.parameters = {"original_location": "s3a://b/t/k=1", "is_archived": "true"}
    found = partition_input(part)[0]
    assert found["Parameters"] == {"original_location": "s3://b/t/k=1", "is_archived": "true"}


def test_views_are_kept_and_said_to_be_hives() -> None:
    found, changes = table_input(view(NAME, "select 1"))
    assert (found["ViewOriginalText"], found["TableType"]) == ("select 1", "VIRTUAL_VIEW")
    assert changes == ["view: its text remains HiveQL, which Athena cannot run"]
    assert table_input(view(NAME, "/* Presto View: e30= */"))[1] == []


@pytest.mark.parametrize("values", [["", "a"], [DEFAULT_PARTITION, "a"]])
def test_an_empty_partition_value_is_the_default_one(values: list[str]) -> None:
    found, _ = partition_input(partition(table(NAME, "s3://b/t", keys=["k", "l"]), values))
    assert found["Values"] == [DEFAULT_PARTITION, "a"]
    assert partition_of({**found, "DatabaseName": "db", "TableName": "t"}).values == [DEFAULT_PARTITION, "a"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: setattr(t, "tableName", "x" * 256), "table name has 256 characters"),
        (lambda t: setattr(t.sd.cols[0], "type", "struct<\n>"), "type of column 'a' has characters"),
        (lambda t: t.parameters.update({"p": "x" * 512_001}), "parameter 'p' has 512,001 characters"),
        (lambda t: t.parameters.update({"": "x"}), "parameter key has 0 characters"),
        (lambda t: setattr(t.sd, "location", "s3://" + "x" * 2056), "location has 2,061 characters"),
        (lambda t: setattr(t.sd, "inputFormat", "x" * 129), "input format has 129"),
        (lambda t: setattr(t, "viewExpandedText", "x" * 409_601), "viewExpandedText has 409,601"),
        (lambda t: setattr(t.sd.cols[0], "name", " "), "column name has 0 characters"),
    ],
)
def test_what_glue_takes_in_no_form(change: Any, words: str) -> None:
    definition = table(NAME, "s3://b/t")
    change(definition)
    with pytest.raises(Rejected, match=words):
        table_input(definition)


DATABASES = st.builds(
    hive.Database,
    NAMES,
    st.none() | LINES,
    st.none() | LINES.filter(lambda text: not text.lower().startswith("s3")),
    parameters(LINES.filter(bool)),
    ownerName=st.none() | NAMES,
    ownerType=st.none() | st.sampled_from([1, 2, 3]),
)


@patient
@given(DATABASES)
def test_databases_come_back_with_their_owner(definition: Any) -> None:
    found, changes = database_input(definition)
    STRICT.check("CreateDatabase", {"DatabaseInput": found})
    assert changes == []
    kind = definition.ownerType or hive.PrincipalType.USER
    definition.ownerType = kind if definition.ownerName else None
    assert comparable(database_of(found)) == comparable(definition)


def test_the_owner_of_a_database_is_in_its_parameters() -> None:
    found, _ = database_input(hive.Database("d", ownerName="ann", ownerType=hive.PrincipalType.USER))
    assert found["Parameters"] == {inputs.OWNER_KEY: "ann", inputs.OWNER_TYPE_KEY: "USER"}


def test_a_long_description_is_cut_and_said_so() -> None:
    found, changes = database_input(hive.Database("d", "x" * 3000))
    assert len(found["Description"]) == 2048
    assert changes == ["description: cut from 3,000 to 2,048 characters"]


@pytest.mark.parametrize(("number", "refused"), [(1000, False), (1001, True)])
def test_a_function_has_a_thousand_resources_at_most(number: int, refused: bool) -> None:
    definition = function("db", "f")
    definition.resourceUris = [hive.ResourceUri(hive.ResourceType.JAR, f"s3://b/{it}.jar") for it in range(number)]
    if refused:
        with pytest.raises(Rejected, match=r"function db\.f has 1,001 resources; Glue accepts 1,000"):
            function_input(definition)
    else:
        assert len(function_input(definition)[0]["ResourceUris"]) == number


def test_functions_come_back() -> None:
    definition = function("db", "MyF")
    definition.resourceUris = [hive.ResourceUri(hive.ResourceType.FILE, "s3a://b/f.jar")]
    found, changes = function_input(definition)
    STRICT.check("CreateUserDefinedFunction", {"DatabaseName": "db", "FunctionInput": found})
    assert found["ResourceUris"] == [{"ResourceType": "FILE", "Uri": "s3://b/f.jar"}]
    assert changes == []
    back = function_of({**found, "DatabaseName": "db"})
    assert (back.functionName, back.className, back.ownerName) == ("myf", "com.example.F", "ann")
    assert (back.ownerType, back.functionType) == (hive.PrincipalType.USER, hive.FunctionType.JAVA)


def test_skew_is_written_empty_too() -> None:
    """AWS's client for Hive reads it without asking whether it is there, and fails with a null pointer."""
    of = table(TableName("db", "t"), "s3://b/t", keys=["k"])
    made, _ = partition_input(partition(of, ["1"]))
    empty = {"SkewedColumnNames": [], "SkewedColumnValues": [], "SkewedColumnValueLocationMaps": {}}
    assert made["StorageDescriptor"]["SkewedInfo"] == empty
    assert table_input(of)[0]["StorageDescriptor"]["SkewedInfo"] == empty


def test_a_column_keeps_the_spaces_of_its_name() -> None:
    of = table(TableName("db", "t"), "s3://b/t", cols=[" a", "a", "A "])
    made, lost = table_input(of)
    assert [it["Name"] for it in made["StorageDescriptor"]["Columns"]] == [" a", "a", "a "]
    assert lost == []


@pytest.mark.parametrize(
    "kind",
    ["uniontype<int,string>", "void", "variant", "timestamp_ntz", "interval_day_time", "array<struct<x:void>>"],
)
def test_a_type_that_athena_does_not_know_is_told(kind: str) -> None:
    item = hive.Table(dbName="d", tableName="t", sd=hive.StorageDescriptor(cols=[hive.FieldSchema("c", kind)]))
    assert table_input(item)[1] == [f"column 'c': Athena does not know the type '{kind}'"]


def test_a_field_called_as_such_a_type_is_none() -> None:
    columns = [hive.FieldSchema("void", "struct<variant:int,interval:array<string>>")]
    assert table_input(hive.Table(dbName="d", tableName="t", sd=hive.StorageDescriptor(cols=columns)))[1] == []
