"""What a target of kind spark makes of Hive's structs, and back."""

from __future__ import annotations

import json
from copy import deepcopy
from urllib.parse import urlsplit

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import PysyncError
from pysync.metastore.errors import MetastoreCallFailed
from pysync.model.names import TableName, partition_name
from pysync.targets.base import Rejected
from pysync.targets.diff import differences, same
from pysync.targets.spark import forms, locations
from pysync.targets.spark.errors import Cause, hive_error
from pysync.targets.spark.schema import schema
from pysync.targets.spark.stored import as_stored
from tests.conformance.objects import function, partition, table

NAME = TableName("db", "t")
PLACE = "hdfs://nn:8020/w/t"
PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1).map(lambda text: f"/w/{text}")
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1)


@given(st.sampled_from(["", "file:", "hdfs://nn:8020", "s3a://bucket-1"]), PATHS)
def test_a_location_survives_as_a_uri_that_has_no_odd_character_in_it(scheme: str, path: str) -> None:
    uri = locations.uri(scheme + path)
    assert uri is not None
    assert uri.isascii()
    assert not set(uri) & set(' "<>\\^`{|}\n?#')
    assert locations.location(uri) == scheme + path


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("file:///w/t/", "file:/w/t"),
        ("file:/w//t///", "file:/w/t"),
        ("hdfs://nn:8020//w", "hdfs://nn:8020/w"),
        ("s3a://bucket/", "s3a://bucket/"),
        ("s3a://bucket", "s3a://bucket"),
        ("/", "/"),
        (None, None),
    ],
)
def test_a_location_comes_back_without_slashes_that_are_too_many(written: str | None, plain: str | None) -> None:
    assert locations.plain(written) == plain


def test_an_authority_is_no_part_of_the_path() -> None:
    uri = locations.uri("hdfs://nn:8020/a b")
    assert urlsplit(uri).netloc == "nn:8020"
    assert locations.uri(None) is None
    assert locations.location(None) is None


@given(st.lists(st.tuples(VALUES, st.one_of(st.none(), st.text())), max_size=5))
def test_a_schema_has_the_types_word_for_word(columns: list[tuple[str, str | None]]) -> None:
    fields = [hive.FieldSchema(f"c{at}", kind, comment) for at, (kind, comment) in enumerate(columns)]
    found = json.loads(schema(fields))["fields"]
    assert [field["name"] for field in found] == [field.name for field in fields]
    assert [field["metadata"]["__CHAR_VARCHAR_TYPE_STRING"] for field in found] == [kind for kind, _ in columns]
    assert [field["metadata"].get("comment") for field in found] == [comment for _, comment in columns]


@given(st.lists(VALUES, min_size=1, max_size=3))
def test_a_partition_comes_back_as_it_is_kept(values: list[str]) -> None:
    of = table(NAME, PLACE, keys=[f"k{at}" for at in range(len(values))])
    wanted = as_stored(partition(of, values, location="hdfs://nn/elsewhere"))
    keys = [key.name for key in of.partitionKeys]
    form = json.loads(json.dumps(forms.partition_form(wanted, keys)))
    there = forms.partition({**form, "createTime": 7000}, of)
    assert there.values == wanted.values
    assert (there.createTime, there.sd.cols) == (7, of.sd.cols)
    assert differences(wanted, there) == []
    assert forms.spec(partition_name(keys, wanted.values), keys) == form["spec"]
    assert forms.name(there, of) == partition_name(keys, values)


@given(st.dictionaries(VALUES, st.text(), max_size=4), st.one_of(st.none(), st.just("ann")))
def test_a_database_comes_back(parameters: dict[str, str], owner: str | None) -> None:
    parameters.pop("owner", None)
    wanted = hive.Database("Db", "it's", "file:/w/a b", parameters, None, owner, hive.PrincipalType.USER)
    form = json.loads(json.dumps(forms.database_form(as_stored(wanted), "file:/default")))
    there = forms.database(form)
    assert (there.name, there.locationUri, there.parameters) == ("db", "file:/w/a b", parameters)
    assert there.ownerName == owner
    assert differences(as_stored(wanted), there) == []
    assert forms.database_form(hive.Database("d"), "file:/default")["locationUri"] == "file:/default"


def test_what_spark_has_no_place_for_is_left_out_of_a_copy() -> None:
    wanted = table(NAME, "file:///w//t/", keys=["k"], parameters={"numRows": "7", "EXTERNAL": "true", "x": "y"})
    wanted.retention, wanted.ownerType = 5, hive.PrincipalType.ROLE
    wanted.sd.parameters, wanted.sd.compressed, wanted.sd.storedAsSubDirectories = {"a": "b"}, True, True
    wanted.sd.skewedInfo = hive.SkewedInfo(["a"], [["1"]], {})
    before = deepcopy(wanted)
    found = as_stored(wanted)
    assert wanted == before
    assert found.parameters == {"EXTERNAL": "TRUE", "x": "y"}
    assert found.sd.location == "file:/w/t"
    left_out = (found.retention, found.ownerType, found.sd.parameters, found.sd.skewedInfo, found.sd.compressed)
    assert left_out == (None,) * 5
    assert found.sd.serdeInfo.parameters == {"field.delim": ",", "serialization.format": "1"}


@pytest.mark.parametrize(
    ("count", "columns", "orders", "expected"),
    [
        (4, ["A"], [hive.Order("B", 1)], (4, ["a"], ["b"])),
        (4, ["a"], [hive.Order("b", 1), hive.Order("a", 0)], (4, ["a"], [])),
        (0, [], [], None),
        (-1, None, None, None),
    ],
)
def test_buckets_are_kept_and_their_order_if_it_goes_up(count, columns, orders, expected) -> None:
    wanted = table(NAME, PLACE)
    wanted.sd.numBuckets, wanted.sd.bucketCols, wanted.sd.sortCols = count, columns, orders
    form = forms.bucket_form(as_stored(wanted).sd)
    assert (form and tuple(form.values())) == expected


def test_views_have_a_query_and_no_storage_and_tables_no_query() -> None:
    seen = table(NAME, None, external=False)
    seen.tableType, seen.viewOriginalText, seen.viewExpandedText = "VIRTUAL_VIEW", "select 1", "select 1"
    assert as_stored(seen).viewExpandedText == "select 1"
    assert as_stored(seen).sd.serdeInfo is None
    stored = table(NAME, PLACE)
    stored.viewOriginalText = "left over"
    assert as_stored(stored).viewOriginalText is None


@pytest.mark.parametrize("kind", ["MATERIALIZED_VIEW", "INDEX_TABLE", None])
def test_other_kinds_of_tables_are_refused(kind: str | None) -> None:
    wanted = table(NAME, PLACE)
    wanted.tableType = kind
    with pytest.raises(Rejected, match=r"table db\.t: Spark's catalog does not support the type "):
        as_stored(wanted)


def test_formats_are_the_same_or_not() -> None:
    of = as_stored(table(NAME, PLACE, keys=["k"]))
    same_one, other, moved = (as_stored(partition(of, ["1"])) for _ in range(3))
    other.sd.serdeInfo.parameters["field.delim"] = "\t"
    moved.sd.location = "hdfs://elsewhere/"
    assert [forms.same_format(it.sd, of.sd) for it in (same_one, other, moved)] == [True, False, True]


def test_a_function_comes_back() -> None:
    wanted = function("db", "F")
    wanted.resourceUris = [hive.ResourceUri(hive.ResourceType.JAR, "hdfs://nn/f.jar")]
    class_name, resources = forms.function_form(wanted)
    assert resources == [("jar", "hdfs://nn/f.jar")]
    there = forms.function("db", "F", class_name, [{"kind": kind, "uri": uri} for kind, uri in resources])
    assert same(as_stored(wanted), there)


HIVE = "org.apache.hadoop.hive.ql.metadata.HiveException"
API = "org.apache.hadoop.hive.metastore.api."


@pytest.mark.parametrize(
    ("causes", "kind", "words"),
    [
        ([Cause(HIVE, "Unable to alter"), Cause(API + "InvalidOperationException", "types\na,b")],
         hive.InvalidOperationException, "types a,b"),
        ([Cause(HIVE, "x"), Cause(API + "MetaException", "ConnectException: refused")], hive.MetaException, "refused"),
        ([Cause(HIVE, ""), Cause(API + "MetaException", "ClassNotFoundException Class org.example.Odd not found")],
         hive.InvalidObjectException, "Odd"),
        ([Cause(HIVE, "x"), Cause("org.apache.thrift.transport.TTransportException", "")], MetastoreCallFailed, "x"),
        ([Cause("org.apache.spark.sql.catalyst.analysis.NoSuchDatabaseException", "[SCHEMA_NOT_FOUND] db")],
         hive.NoSuchObjectException, "db"),
        ([Cause("org.apache.spark.sql.AnalysisException", "[SCHEMA_ALREADY_EXISTS] db")],
         hive.AlreadyExistsException, "db"),
        ([Cause(HIVE, ""), Cause("java.lang.ClassNotFoundException", "org.example.Odd")],
         hive.InvalidObjectException, r"org\.example\.Odd"),
        ([Cause("java.lang.NullPointerException", "")], PysyncError, "createTable: java.lang.NullPointerException"),
    ],
)  # fmt: skip
def test_errors_of_java_are_those_of_a_metastore(causes: list[Cause], kind: type[Exception], words: str) -> None:
    error = hive_error(causes, "createTable")
    assert type(error) is kind
    with pytest.raises(kind, match=words):
        raise error
    assert "\n" not in str(error)
