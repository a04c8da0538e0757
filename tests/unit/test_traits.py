"""Which tables a target takes by their definition, and what becomes of those that an alter moves."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pysync.model.change import decode_change
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutTable
from pysync.replay.window.policy import Policy
from pysync.replay.window.scope import changes, scope_of
from pysync.replay.window.traits import Traits, type_of
from pysync.targets.hms import HmsSettings
from tests.support import partition, table
from tests.support.delta import registered
from tests.support.events import change, event, one_of_each_kind, settings
from tests.support.refreshing import Hms, T, Target, apply

S3 = ["s3", "s3a", "s3n"]
AGENT = {"include_schemes": S3, "include_types": ["EXTERNAL_TABLE"]}
GDC = {"exclude_parameters": ["storage_handler", "table.system.ownership=gdc"]}


def made(location: str | None = "s3a://b/t", *, external: bool = True, **parameters: str) -> Any:
    found = table("db", "t", partition_keys=[("day", "string")])
    found.sd.location = location
    found.tableType = "EXTERNAL_TABLE" if external else "MANAGED_TABLE"
    found.parameters = {**({"EXTERNAL": "TRUE"} if external else {}), **parameters}
    return found


def view() -> Any:
    found = made(None, external=False)
    found.tableType = "VIRTUAL_VIEW"
    return found


def owned(owner: str | None) -> Any:
    found = made()
    found.owner = owner
    return found


def rule(item: Any, **values: Any) -> str | None:
    return Traits.of(settings(**values)).rule_against(item)


@pytest.mark.parametrize(
    ("item", "values", "against"),
    [
        (made("hdfs://nn/t"), {}, None),
        (made(), AGENT, None),
        (made("S3://b/t"), AGENT, None),
        (made("s3x://b/t"), {"include_schemes": ["s3*"]}, None),
        (made("hdfs://nn/t"), AGENT, "include_schemes does not have hdfs"),
        (made("/wh/t"), AGENT, "include_schemes does not have a location without a scheme"),
        (made("s3x://b/t"), AGENT, "include_schemes does not have s3x"),
        (made("hdfs://nn/wh/t"), {**AGENT, "locations": {"hdfs://nn/wh": "s3://b/wh"}}, None),
        (made("hdfs://nn/wh/../t"), {**AGENT, "locations": {"hdfs://nn/wh": "s3://b/wh"}}, None),
        (made(external=False), AGENT, "include_types does not have MANAGED_TABLE"),
        (view(), {"include_schemes": S3}, None),
        (view(), AGENT, "include_types does not have VIRTUAL_VIEW"),
        (made(owner="x"), GDC, None),
        (made(storage_handler="org.H"), GDC, "exclude_parameters has storage_handler"),
        (made(**{"table.system.ownership": "gdc"}), GDC, "exclude_parameters has table.system.ownership=gdc"),
        (made(**{"table.system.ownership": "hms"}), GDC, None),
        (made(a="1"), {"exclude_parameters": ["a="]}, None),
        (made(a=""), {"exclude_parameters": ["a="]}, "exclude_parameters has a="),
        (made(ab="1=2"), {"exclude_parameters": ["a? = 1=*"]}, "exclude_parameters has a?=1=*"),
        (made(), {"include_owners": ["tester"]}, None),
        (made(), {"include_owners": ["etl", "t*"]}, None),
        (made(), {"include_owners": ["Tester"]}, "include_owners does not have tester"),
        (owned(None), {"include_owners": ["etl"]}, "include_owners does not have a table without an owner"),
        (owned(None), {"include_owners": ["*"]}, None),
        (made(), {"include_formats": ["text"]}, None),
        (made(), {"include_formats": ["parquet", "orc"]}, "include_formats does not have text"),
        (made(table_type="ICEBERG"), {"include_formats": ["text"]}, "include_formats does not have iceberg"),
        (view(), {"include_formats": ["text"]}, None),
    ],
)  # fmt: skip
def test_the_rule_is_named(item: Any, values: dict[str, Any], against: str | None) -> None:
    assert rule(item, **values) == against


@given(st.text(max_size=30), st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
def test_whatever_is_in_a_table_there_is_an_answer(location: str, parameters: dict[str, str]) -> None:
    found = made(location)
    found.parameters = parameters
    assert rule(found, **AGENT, **GDC) is None or location


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [(None, "MANAGED_TABLE"), ({"EXTERNAL": "false"}, "MANAGED_TABLE"), ({"EXTERNAL": "true"}, "EXTERNAL_TABLE")],
)
def test_a_table_without_a_type_is_external_if_a_parameter_says_so(parameters: Any, expected: str) -> None:
    untyped = made()
    untyped.tableType, untyped.parameters = None, parameters
    assert type_of(untyped) == expected


def test_a_table_without_storage_is_in_no_place() -> None:
    found = made()
    found.sd = None
    assert rule(found, include_schemes=S3) is None


def scoped(kind: Kind, values: dict[str, Any], **what: Any) -> Any:
    return Policy.of(settings(**values)).scope(decode_change(event(kind, **what), 1))


OUT, IN = made("hdfs://nn/t"), made()


@pytest.mark.parametrize("kind", [Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION])
def test_partitions_go_where_their_table_goes(kind: Kind) -> None:
    what: dict[str, Any] = {"before": [], "after": []}
    for of, taken in ((OUT, False), (IN, True)):
        part = [partition(of, ["1"])]
        what["before"] = part if kind is not Kind.ADD_PARTITION else []
        what["after"] = part if kind is not Kind.DROP_PARTITION else []
        assert (scoped(kind, AGENT, of=of, **what) is not None) is taken


def test_a_create_outside_is_left_out_and_a_drop_passes() -> None:
    """A drop may be of a table that was taken before; the target drops only what pysync wrote."""
    assert scoped(Kind.CREATE_TABLE, AGENT, after=[OUT]) is None
    assert scoped(Kind.CREATE_TABLE, AGENT, after=[IN]).kind is Kind.CREATE_TABLE
    assert scoped(Kind.DROP_TABLE, AGENT, before=[OUT]).kind is Kind.DROP_TABLE


@pytest.mark.parametrize(("before", "after", "keep", "drop"), [
    (IN, IN, Kind.ALTER_TABLE, Kind.ALTER_TABLE),
    (IN, OUT, None, Kind.DROP_TABLE),
    (OUT, IN, Kind.CREATE_TABLE, Kind.CREATE_TABLE),
    (OUT, OUT, None, None),
])  # fmt: skip
def test_an_alter_that_moves_a_table(before: Any, after: Any, keep: Kind | None, drop: Kind | None) -> None:
    for rule, kind in (("keep", keep), ("drop", drop)):
        values = {**AGENT, "out_of_scope": rule}
        found = scoped(Kind.ALTER_TABLE, values, before=[before], after=[after])
        assert (found and found.kind) == kind
        if kind is Kind.CREATE_TABLE:
            assert found.whole is not None, "its partitions were there before"


def test_a_table_that_is_renamed_and_leaves_goes_under_its_old_name() -> None:
    new = made("hdfs://nn/t")
    new.tableName = "u"
    found = scoped(Kind.ALTER_TABLE, AGENT, before=[IN], after=[new])
    assert (found.kind, found.keys) == (Kind.DROP_TABLE, {"db.t"})


@pytest.mark.parametrize("kind", [it for it in one_of_each_kind() if "TABLE" not in it and "PARTITION" not in it])
def test_what_is_of_no_table_definition_is_taken_as_before(kind: Kind) -> None:
    what = one_of_each_kind()[kind]
    assert Policy.of(settings(**AGENT)).rule_against_change(change(kind, **what)) is None


def test_why_says_the_rule() -> None:
    found = change(Kind.CREATE_TABLE, after=[OUT])
    assert Policy.of(settings(**AGENT)).rule_against_change(found) == "include_schemes does not have hdfs"


@pytest.mark.parametrize(("rule", "dropped"), [("keep", []), ("drop", ["db.t"])])
def test_a_refresh_finds_a_table_that_has_left(rule: str, dropped: list[str]) -> None:
    source, target = Hms(), Target()
    source.add("db.t").sd.location = "hdfs://nn/t"
    target.has("db.t")
    apply(source, target, T, **AGENT, out_of_scope=rule)
    assert target.dropped() == dropped
    assert not any(isinstance(it, PutTable) for it in target.applied)


def test_a_refresh_drops_no_table_of_others_that_is_out_of_scope() -> None:
    source, target = Hms(), Target()
    source.add("db.t").sd.location = "hdfs://nn/t"
    target.has("db.t", source=None)
    apply(source, target, T, **AGENT, out_of_scope="drop")
    assert target.applied == []


def test_a_refresh_brings_a_table_that_has_come() -> None:
    source, target = Hms(), Target()
    found = source.add("db.t", "1")
    found.sd.location, found.tableType = "s3://b/t", "EXTERNAL_TABLE"
    apply(source, target, T, **AGENT)
    assert isinstance(target.applied[0], PutTable)
    assert not any(isinstance(it, DropTable) for it in target.applied)


def test_they_are_a_part_of_the_scope() -> None:
    old, new = scope_of(settings()), scope_of(settings(**AGENT, **GDC))
    assert len(changes(old, new)) == 3
    assert scope_of(settings(include_schemes=["s3n", "s3", "s3a", "s3"])) == scope_of(settings(include_schemes=S3))


@pytest.mark.parametrize("key", ["include_schemes", "include_types", "include_owners", "exclude_parameters"])
def test_both_ways_names_alone_decide(key: str) -> None:
    values = {key: ["VIRTUAL_VIEW"], "metastore": "thrift://a:1", "both_ways": True}
    with pytest.raises(ValidationError, match=f"does not work with {key}: use include and exclude"):
        HmsSettings(name="dr", kind="hms", **values)


def test_the_location_of_a_table_of_spark_is_where_its_files_are() -> None:
    """Spark stores an external table that Hive cannot read with a placeholder in the warehouse."""
    found = registered(TableName("db", "t"), "s3a://b/t", **{"spark.sql.sources.provider": "csv"})
    found.sd.location = "hdfs://nn/wh/db.db/t-__PLACEHOLDER__"
    assert rule(found, **AGENT) is None
    found.sd.serdeInfo.parameters["path"] = "hdfs://nn/t"
    found.sd.location = "s3a://b/wh/db.db/t-__PLACEHOLDER__"
    assert rule(found, **AGENT) == "include_schemes does not have hdfs"
