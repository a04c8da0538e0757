"""Are two definitions the same, but for what the server sets?"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.definition import PURGE
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.targets.apply.judge_one_way import up_to_date
from pysync.targets.diff import differences, path_of, same, same_location
from tests.conformance.objects import function, partition, table

NAME = TableName("db", "t")
MARK = Mark("onprem", 1, 5, 10)


def wanted() -> Any:
    return table(NAME, "hdfs://nn/w/t", keys=["k"], parameters={"comment": "c"})


def stored() -> Any:
    """As HMS gives it back."""
    found = wanted()
    found.createTime, found.lastAccessTime, found.retention, found.temporary = 99, 0, 0, False
    found.rewriteEnabled = False
    found.sd.compressed, found.sd.numBuckets, found.sd.bucketCols, found.sd.sortCols = False, 0, [], []
    found.sd.parameters, found.sd.skewedInfo = {}, hive.SkewedInfo([], [], {})
    found.sd.storedAsSubDirectories = False
    found.parameters |= {"transient_lastDdlTime": "99", "COLUMN_STATS_ACCURATE": "{}"} | MARK.parameters()
    return found


def test_what_the_server_sets_does_not_count() -> None:
    assert same(wanted(), stored())
    full = deepcopy(stored())
    full.createTime, full.parameters["transient_lastDdlTime"] = 5, "5"
    full.privileges = hive.PrincipalPrivilegeSet({}, {}, {})
    assert same(full, stored())


@pytest.mark.parametrize("key", ["numFiles", "totalSize", "numRows", "rawDataSize"])
def test_statistics_that_only_the_server_has_count(key: str) -> None:
    """It has counted the files of a directory that was there; to a planner it is empty."""
    counted = stored()
    counted.parameters[key] = "0"
    assert not same(wanted(), counted)
    assert differences(wanted(), counted) == [f"parameters.{key}: '0' instead of nothing"]


@pytest.mark.parametrize("kept", ['{"BASIC_STATS":"true"}', "{}"])
def test_which_columns_have_statistics_is_no_difference(kept: str) -> None:
    """ANALYZE writes it without an event where the metastore is Hive 2.3."""
    of_columns = f'{{"COLUMN_STATS":{{"id":"true"}},{kept[1:]}'.replace(",}", "}")
    analyzed, other = wanted(), stored()
    analyzed.parameters["COLUMN_STATS_ACCURATE"] = of_columns
    other.parameters["COLUMN_STATS_ACCURATE"] = kept
    assert same(analyzed, other)
    assert differences(analyzed, other) == []
    other.parameters["COLUMN_STATS_ACCURATE"] = '{"BASIC_STATS":"false"}'
    assert same(analyzed, other) == (kept == "{}")


CHANGES = {
    "owner": lambda t: setattr(t, "owner", "bob"),
    "retention": lambda t: setattr(t, "retention", 1),
    "type": lambda t: setattr(t, "tableType", "MANAGED_TABLE"),
    "location": lambda t: setattr(t.sd, "location", "hdfs://nn/w/u"),
    "column name": lambda t: setattr(t.sd.cols[0], "name", "z"),
    "column type": lambda t: setattr(t.sd.cols[0], "type", "bigint"),
    "column comment": lambda t: setattr(t.sd.cols[0], "comment", "z"),
    "column less": lambda t: t.sd.cols.pop(),
    "column more": lambda t: t.sd.cols.append(hive.FieldSchema("z", "int", "")),
    "column order": lambda t: t.sd.cols.reverse(),
    "keys": lambda t: setattr(t.partitionKeys[0], "type", "int"),
    "format": lambda t: setattr(t.sd, "inputFormat", "x.Y"),
    "serde": lambda t: setattr(t.sd.serdeInfo, "serializationLib", "x.Y"),
    "serde parameter": lambda t: t.sd.serdeInfo.parameters.update({"field.delim": "|"}),
    "serde parameter less": lambda t: t.sd.serdeInfo.parameters.clear(),
    "buckets": lambda t: setattr(t.sd, "numBuckets", 4),
    "skew": lambda t: setattr(t.sd, "skewedInfo", hive.SkewedInfo(["a"], [["1"]], {})),
    "parameter": lambda t: t.parameters.update({"comment": "d"}),
    "parameter more": lambda t: t.parameters.update({"x": "y"}),
    "parameter less": lambda t: t.parameters.pop("comment"),
    "given statistics": lambda t: t.parameters.update({"numFiles": "2"}),
    "view text": lambda t: setattr(t, "viewExpandedText", "select 1"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_counts(change: Any) -> None:
    definition = wanted()
    change(definition)
    assert not same(definition, stored())


def test_partitions_and_functions() -> None:
    one, two = partition(wanted(), ["1"]), partition(wanted(), ["1"])
    two.createTime, two.parameters["transient_lastDdlTime"] = 7, "7"
    assert same(one, two)
    two.sd.location += "x"
    assert not same(one, two)
    assert same(function("db", "f"), function("db", "f"))
    assert not same(function("db", "f"), function("db", "f", "other"))


def test_hive_4_makes_managed_tables_external() -> None:
    definition, translated = wanted(), stored()
    definition.tableType = "MANAGED_TABLE"
    del definition.parameters["EXTERNAL"]
    assert not same(definition, translated)
    translated.parameters |= {"TRANSLATED_TO_EXTERNAL": "TRUE", "external.table.purge": "TRUE"}
    assert same(definition, translated)


def test_what_hive_4_added_to_a_managed_table_differs_once_the_table_is_external() -> None:
    """Else the purge stays, and a drop at the target deletes what the source keeps."""
    external, translated = wanted(), stored()
    translated.id, translated.parameters["EXTERNAL"] = 7, "TRUE"
    translated.parameters |= {"TRANSLATED_TO_EXTERNAL": "TRUE", PURGE: "TRUE"}
    assert differences(external, translated) == [
        "parameters.TRANSLATED_TO_EXTERNAL: 'TRUE' instead of nothing",
        f"parameters.{PURGE}: 'TRUE' instead of nothing",
    ]


@pytest.mark.parametrize(("table_id", "differs"), [(None, False), (7, True)], ids=["2.3 and 3.1", "4"])
def test_a_purge_counts_where_it_has_an_effect(table_id: int | None, differs: bool) -> None:
    """An older Hive ignores it, so it may stay there; only Hive 4 gives tables an id."""
    purging = stored()
    purging.id, purging.parameters[PURGE] = table_id, "TRUE"
    expected = [f"parameters.{PURGE}: 'TRUE' instead of nothing"] if differs else []
    assert differences(wanted(), purging) == expected
    assert same(wanted(), purging) is not differs
    asked = wanted()
    asked.parameters[PURGE] = "TRUE"
    assert same(asked, purging)
    assert not same(asked, stored())


def test_up_to_date_also_asks_whose_it_is() -> None:
    assert up_to_date(wanted(), stored(), MARK)
    assert up_to_date(wanted(), stored(), Mark("onprem", 1, 99, 10))
    assert up_to_date(wanted(), stored(), Mark("onprem", 1, 99, 0))
    assert not up_to_date(wanted(), stored(), Mark("onprem", 1, 99, 11))
    assert not up_to_date(wanted(), stored(), Mark("other", 1, 5, 10))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("file:/a/b", "file:///a/b", True),
        ("file:/a/b/", "file:/a/b", True),
        ("/a/b", "hdfs://nn/a/b", True),
        ("/a/b", "s3a://bucket/a/b", True),
        ("hdfs://nn/a/b", "/a/b", False),
        ("hdfs:///a/b", "hdfs://nn/a/b", True),
        ("hdfs://nn/a/b", "hdfs://mm/a/b", False),
        ("hdfs://nn/a/b", "s3://nn/a/b", False),
        ("hdfs://nn/a/b", "hdfs://nn/a/c", False),
        ("hdfs://nn/a b/k=1%2F2", "hdfs://nn/a b/k=1%2F2", True),
        ("hdfs://nn/a#b?c", "hdfs://nn/a#b?d", False),
        (None, "hdfs://nn/a", True),
        ("", None, True),
        ("hdfs://nn/a", None, False),
    ],
)
def test_locations(one: str | None, other: str | None, expected: bool) -> None:
    assert same_location(one, other) is expected


def test_path_of() -> None:
    assert path_of("hdfs://nn:8020/a/b/") == path_of("/a/b") == path_of("file:///a/b") == "/a/b"
    assert path_of(None) == ""


def test_columns_that_differ_by_a_space_are_two() -> None:
    """A metastore trims names of databases and tables, but not those of columns."""
    one, other = (table(TableName("db", "t"), "s3://b/t", cols=[f"{name}:int"]) for name in (" a", "A"))
    assert not same(one, other)
