"""Catalogs of Hive 3 and later: names of databases that say their catalog, from an event to a target's call."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.config import read_config
from pysync.model import idl
from pysync.model.catalogs import catalog_of, database_in, is_default_database, name_in_catalog, qualify, unqualified
from pysync.model.change import decode_change
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.wire import decode, decode_event, encode, encode_event
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.policy import Policy
from pysync.replay.window.translate import Translator
from pysync.replay.window.view_names import names_in_view
from pysync.targets.hms import HmsSettings
from tests.support import partition, table
from tests.support.events import create_table, event, one_of_each_kind, settings

WORDS = st.text("abcdefghij0123456789_", min_size=1, max_size=12)
EACH = one_of_each_kind()
FIELDS = {hive.Database: ("name",), hive.SQLForeignKey: ("fktable_db", "pktable_db")}


def objects() -> list[Any]:
    """One object of each struct that events have."""
    items = [it for what in EACH.values() for it in (*what.get("before", ()), *what.get("after", ()))]
    return list({type(it): it for it in items}.values())


def databases(item: Any) -> list[str]:
    names = FIELDS.get(type(item), ("dbName",) if hasattr(item, "dbName") else ("table_db",))
    return [getattr(item, name) for name in names]


def in_spark(item: Any) -> Any:
    """A copy; a constraint says its catalog, other objects are as those of a client that does not."""
    own = copy(item)
    if getattr(item, "catName", None):
        own.catName = "spark"
    return own


@given(catalog=WORDS, database=WORDS)
def test_the_name_of_a_database_says_its_catalog(catalog: str, database: str) -> None:
    name = database_in(catalog, database)
    if catalog == "hive":
        assert (name, catalog_of(name)) == (database, None)
    else:
        assert (catalog_of(name), name_in_catalog(name)) == (catalog, database)
    assert database_in(catalog, name) == name, "twice is once"
    assert TableName.parse(f"{name}.t") == TableName(name, "t")


@pytest.mark.parametrize("name", ["", "db", "@", "@#", "@#db", "db@spark#t", "@spark"])
def test_other_names_say_no_catalog(name: str) -> None:
    assert (catalog_of(name), name_in_catalog(name)) == (None, name)


def test_each_catalog_has_a_default_database() -> None:
    assert [is_default_database(it) for it in ("default", "@spark#default", "db", "@default#db")] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("item", objects(), ids=lambda it: type(it).__name__)
def test_an_object_of_a_catalog_goes_out_as_it_came_in(item: Any) -> None:
    item, plain = copy(item), encode(item)
    catalog = "catalogName" if isinstance(item, hive.Database) else "catName"
    setattr(item, catalog, "spark")
    sent = encode(item)
    ours = qualify(decode(type(item), sent))
    assert {catalog_of(name) for name in databases(ours)} == {"spark"}
    assert getattr(ours, catalog, None) in (None, "hive"), "only the name says it"
    assert encode(unqualified(ours)) == sent
    assert {catalog_of(name) for name in databases(ours)} == {"spark"}, "the object itself is not changed"
    setattr(item, catalog, "hive")
    of_hive = qualify(decode(type(item), encode(item)))
    assert unqualified(of_hive) is of_hive
    assert {catalog_of(name) for name in databases(of_hive)} == {None}
    assert encode(of_hive) == plain


def test_requests_carry_the_catalog_of_what_is_in_them() -> None:
    of = table("@spark#db", "t", partition_keys=[("day", "string")])
    request = unqualified(hive.AddPartitionsRequest("@spark#db", "t", [partition(of, ["1"])], True, False))
    assert (request.dbName, request.catName) == ("db", "spark")
    assert [(it.dbName, it.catName) for it in request.parts] == [("db", "spark")]
    column = idl.SQLNotNullConstraint(catName="hive", table_db="@spark#db", table_name="t", column_name="c")
    (sent,) = unqualified(idl.constraint_request(idl.SQLNotNullConstraint, [column])).columns
    assert (sent.table_db, sent.catName) == ("db", "spark")
    statistics = hive.ColumnStatistics(hive.ColumnStatisticsDesc(True, "@spark#db", "t"), [])
    (of_table,) = unqualified(hive.SetPartitionsStatsRequest([statistics])).colStats
    assert (of_table.statsDesc.dbName, of_table.statsDesc.catName) == ("db", "spark")
    children = unqualified(hive.ForeignKeysRequest(None, None, "@spark#db", "t"))
    assert (children.parent_db_name, children.foreign_db_name, children.catName) == (None, "db", "spark")


@pytest.mark.parametrize("kind", EACH)
def test_an_event_of_a_catalog_names_it_wherever_it_names_a_database(kind: Kind) -> None:
    what = {
        key: [in_spark(it) for it in items] if key in ("before", "after") else items
        for key, items in EACH[kind].items()
    }
    raw = event(kind, catalog="spark", **what)
    there = decode_event(encode_event(raw))
    change = decode_change(there, 1)
    assert change is not None
    names = {change.database, *(it.partition(".")[0] for it in change.keys)} - {""}
    assert {catalog_of(name) for name in names} == {"spark"}
    again = decode_change(decode_event(encode_event(there)), 1)
    assert again is not None
    assert (again.keys, again.after) == (change.keys, change.after), "twice is once"


def test_an_event_of_hive_is_decoded_as_it_is() -> None:
    for catalog in (None, "", "hive", "HIVE"):
        raw = create_table("db.t", catalog=catalog)
        assert decode_event(encode_event(raw)) == replace(raw, catalog=catalog)


# --- scope


@pytest.mark.parametrize(
    ("values", "taken"),
    [
        ({}, {"db.t"}),
        ({"include": ["*"]}, {"db.t"}),
        ({"include": ["@spark#*"]}, {"@spark#db.t"}),
        ({"include": ["@spark#db.t"]}, {"@spark#db.t"}),
        ({"include": ["*", "@SPARK#d*.t*"]}, {"db.t", "@spark#db.t"}),
        ({"include": ["*", "@spark#*", "@trino#*"]}, {"db.t", "@spark#db.t", "@trino#db.t"}),
        ({"include": ["*", "@spark#*"], "exclude": ["*"]}, {"@spark#db.t"}),
        ({"include": ["*", "@spark#*"], "exclude": ["@spark#db"]}, {"db.t"}),
        ({"policy": "@spark#db.['t.*']"}, {"@spark#db.t"}),
        ({"policy": "db.['t.*']"}, {"db.t"}),
    ],
)
def test_a_target_takes_the_catalogs_that_it_names(values: dict[str, Any], taken: set[str]) -> None:
    policy = Policy.of(settings(**values))
    names = ("db.t", "@spark#db.t", "@trino#db.t")
    assert {it for it in names if policy.takes_table(TableName.parse(it))} == taken
    assert {it for it in names if policy.takes_database(it.removesuffix(".t"))} == taken
    for name in names:
        rule = policy.rule_against(TableName.parse(name))
        assert (rule is None) is (name in taken), rule


def test_events_of_a_catalog_are_looked_at_if_a_setting_names_it() -> None:
    policy = Policy.of(settings(include=["db", "@spark#db.t"], exclude=["@trino#*"]))
    takes = {it: policy.takes_catalog(create_table("db.t", catalog=it)) for it in (None, "HIVE", "Spark", "trino")}
    assert takes == {None: True, "HIVE": True, "Spark": True, "trino": False}


def test_a_catalog_that_no_setting_names_is_said_to_be_out_of_scope() -> None:
    rule = Policy.of(settings()).rule_against(TableName("@spark#db", "t"))
    assert rule == "it is of another catalog than hive, and no include names it"


# --- names at the target


@pytest.mark.parametrize(
    ("databases", "name", "there"),
    [
        ({"*": "dr_*"}, "db.t", "dr_db.t"),
        ({"*": "dr_*"}, "@spark#db.t", "@spark#db.t"),
        ({"@spark#*": "spark_*"}, "@spark#db.t", "spark_db.t"),
        ({"@spark#*": "spark_*"}, "@trino#db.t", "@trino#db.t"),
        ({"@spark#*": "@dr#*"}, "@spark#db.t", "@dr#db.t"),
        ({"@spark#db": "sales", "*": "dr_*"}, "@spark#db.t", "sales.t"),
    ],
)
def test_databases_of_a_catalog_are_renamed_by_entries_that_name_it(
    databases: dict[str, str], name: str, there: str
) -> None:
    mapping = NameMapping.of(settings(include=["*", "@spark#*", "@trino#*"], databases=databases))
    old, new = TableName.parse(name), TableName.parse(there)
    assert mapping.table(old) == new
    assert old in mapping.sources_of(new)
    assert mapping.source_of(mapping.order_key(old)) == old


def test_two_catalogs_that_fall_into_one_are_refused() -> None:
    with pytest.raises(UsageError, match="one name"):
        Translator.of(settings(include=["@*"], databases={"@spark#*": "other_*", "@trino#*": "other_*"}))


def test_a_table_without_a_right_to_its_name_has_a_key_of_its_own() -> None:
    mapping = NameMapping.of(settings(include=["*", "@spark#*"], databases={"@spark#db": "spark_db"}))
    keys = [mapping.order_key(TableName(it, "t")) for it in ("@spark#db", "spark_db")]
    assert len(set(keys)) == 2
    assert [mapping.source_of(key).database for key in keys] == ["@spark#db", "spark_db"]


def test_an_event_of_a_catalog_arrives_under_its_name_at_the_target() -> None:
    translator = Translator.of(settings(include=["*", "@spark#*"], databases={"@spark#*": "spark_*"}))
    change = translator.translate(encode_event(create_table("db.t", catalog="spark")), 1)
    assert change is not None
    assert (change.table_name, change.after[0].dbName) == (TableName("spark_db", "t"), "spark_db")
    assert change.origin is not None
    assert change.origin.new == "@spark#db.t"


def view_of(text: str) -> Any:
    view = table("db", "v")
    view.tableType, view.viewExpandedText, view.viewOriginalText = "VIRTUAL_VIEW", text, text
    return view


def test_a_view_of_a_catalog_reads_the_tables_of_its_own_catalog() -> None:
    view = view_of("select a from `db`.`t`")
    translator = Translator.of(settings(include=["*", "@spark#*"], databases={"@spark#*": "spark_*", "db": "plain"}))
    for catalog, there in ((None, "plain"), ("spark", "spark_db")):
        data = encode_event(event(Kind.CREATE_TABLE, after=[view], catalog=catalog))
        change = translator.translate(data, 1)
        assert change is not None
        assert f"{there}`.`t`" in change.after[0].viewExpandedText
        names = {it.partition(".")[0] for it in names_in_view(change.after[0])}
        assert there in names


def test_a_view_that_stays_in_a_catalog_names_no_catalog_in_its_text() -> None:
    view = view_of("select a from `db`.`t`")
    translator = Translator.of(settings(include=["@spark#*"], databases={"@spark#db": "@dr#copy"}))
    change = translator.translate(encode_event(event(Kind.CREATE_TABLE, after=[view], catalog="spark")), 1)
    assert change is not None
    assert "`copy`.`t`" in change.after[0].viewExpandedText
    assert "@" not in change.after[0].viewExpandedText
    assert "@dr#copy.t" in names_in_view(change.after[0])


# --- settings


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"catalogs": ["hive"]}, "catalog other than hive"),
        ({"catalogs": ["@spark#"]}, "catalog other than hive"),
        ({"catalogs": ["spark"], "both_ways": True}, "both_ways"),
        ({"catalogs": ["spark"], "drops": "trash"}, "trash"),
    ],
)
def test_settings_that_do_not_go_with_catalogs_are_refused(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HmsSettings.model_validate({"name": "dr", "kind": "hms", "metastore": "thrift://a:9083", **values})


def test_the_source_lists_the_catalogs_that_any_target_takes() -> None:
    target = '[[targets]]\nname = "{}"\nkind = "hms"\nmetastore = "thrift://{}:9083"\ninclude = {}\n'
    text = '[source]\nname = "a"\nmetastore = "thrift://a:9083"\n'
    text += target.format("b", "b", '["*", "@trino#db"]') + target.format("c", "c", '["@spark#*", "@trino#x.*"]')
    access = read_config(text, Path("pysync.toml")).source_access()
    assert access is not None
    assert access.catalogs == ("spark", "trino")
