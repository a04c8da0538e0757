"""Renamed tables in the text of views: nothing else changes, and the way back leads to the same text."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from pysync.hiveql.new_names import NewNames
from pysync.hiveql.refusal import CannotTranslate
from pysync.hiveql.renaming import with_new_names
from pysync.model.event import Kind
from pysync.model.mark import Writer
from pysync.model.names import TableName
from pysync.replay.window import view_names
from pysync.replay.window.fold import fold
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.order import Order
from pysync.replay.window.plan import plan
from pysync.replay.window.renames import Renames
from tests.support.events import change
from tests.support.hive_views import view

MAPPING = NameMapping(renames=Renames.of({"db": "lake"}, {"db.t": "lake.orders"}))


def with_names(text: str) -> str:
    return with_new_names(text, "db", "lake", NewNames(MAPPING.table, MAPPING.database))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select `u`.`a` from `db`.`u`", "select `u`.`a` from `lake`.`u`"),
        ("select `t`.`a` from `db`.`t`", "select `t`.`a` from `lake`.`orders` AS `t`"),
        ("select x.a from db.t x", "select x.a from `lake`.`orders` x"),
        ("select a from DB . U -- db.u", "select a from `lake`.`u` -- db.u"),
        ("select 'db.u', \"from db.u\" from db.u", "select 'db.u', \"from db.u\" from `lake`.`u`"),
        ("select a from u join t on u.a = t.a", "select a from u join `lake`.`orders` AS `t` on u.a = t.a"),
        ("select `db`.`u` from (select 1 as `u`) `db`", "select `db`.`u` from (select 1 as `u`) `db`"),
        ("select 'é😀', a from `db`.`u`", "select 'é😀', a from `lake`.`u`"),
        (
            "select db.f(a), `db`.`g`(other.h(db.f(b))) from db.u",
            "select `lake`.f(a), `lake`.`g`(other.h(`lake`.f(b))) from `lake`.`u`",
        ),
        ("select a from spark_catalog.db.t", "select a from spark_catalog.`lake`.`orders` AS `t`"),
        ("select a from `spark_catalog`.`db`.`u` x", "select a from `spark_catalog`.`lake`.`u` x"),
        ("select a from other.t, db.u", "select a from other.t, `lake`.`u`"),
        (
            "with t as (select 1 as a from db.t) select a from t union all select a from db.u",
            "with t as (select 1 as a from `lake`.`orders` AS `t`) select a from t union all select a from `lake`.`u`",
        ),
        (
            "select a from x.y where exists (select 1 from db.u) and b in (select c from `db`.`t` `q`)",
            "select a from x.y where exists (select 1 from `lake`.`u`) and b in (select c from `lake`.`orders` `q`)",
        ),
        (
            "select e from db.u lateral view explode(u.arr) db as e",
            "select e from `lake`.`u` lateral view explode(u.arr) db as e",
        ),
    ],
)
def test_only_names_of_tables_change(text: str, expected: str) -> None:
    assert with_names(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("select db.t.a from db.t", "called by the table's whole name"),
        ("select a from db.t tablesample(1 rows)", "a sample of a table"),
        ("create table x", "not a single query"),
        ("select a from iceberg.db.u", "'iceberg.db.u' in FROM"),
        ("select spark_catalog.db.f(a) from db.u", "the call of a function"),
        ("select from from", "cannot be read"),
    ],
)
def test_what_cannot_be_renamed_says_why(text: str, reason: str) -> None:
    with pytest.raises(CannotTranslate, match=reason):
        with_names(text)


names = st.from_regex(r"[a-z_][a-z0-9_ .`\"-]{0,8}", fullmatch=True).filter(lambda it: it == it.strip())


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@given(names, names, names, st.text("ab'\\é \n-/*`", max_size=9))
def test_the_way_back_leads_to_the_same_text(database: str, table: str, other: str, noise: str) -> None:
    literal = "'" + noise.replace("\\", "\\\\").replace("'", "\\'") + "'"
    text = f"select {literal}, x.a from {quoted(database)}.{quoted(table)} x where x.b = {literal}"
    there = {TableName.of(database, table): TableName.of(other, table + "2")}
    back = {new: old for old, new in there.items()}
    once = with_new_names(text, database, other, NewNames(lambda it: there.get(it, it)))
    assert once != text
    assert with_new_names(once, other, database, NewNames(lambda it: back.get(it, it))) == text


@given(st.text("selctfromdb.tu`'\"\\()*-/, \n", max_size=60))
def test_garbage_is_refused_or_renamed_but_never_an_error(text: str) -> None:
    with suppress(CannotTranslate):
        assert isinstance(with_names(text), str)


# --- on the way to a target


def mapped(definition: Any, mapping: NameMapping = MAPPING) -> Any:
    mapping.apply_to(definition)
    return definition


def test_the_mapping_renames_in_the_text_that_engines_run_and_in_what_was_typed() -> None:
    definition = view("select `u`.`a` from `db`.`u`", {"a": "int"}, viewOriginalText="select a from db.u")
    found = mapped(definition)
    assert (found.dbName, found.viewExpandedText) == ("lake", "select `u`.`a` from `lake`.`u`")
    assert found.viewOriginalText == "select a from `lake`.`u`"


def test_a_view_of_spark_says_in_which_database_its_names_are() -> None:
    definition = view("select a from u", {"a": "int"}, parameters={"view.catalogAndNamespace.part.1": "db"})
    found = mapped(definition)
    assert found.viewExpandedText == "select a from u"
    assert found.parameters == {"view.catalogAndNamespace.part.1": "lake"}


def test_names_without_a_database_are_those_of_the_one_that_the_view_was_made_in() -> None:
    assert mapped(view("select a from t", {"a": "int"})).viewExpandedText == with_names("select a from t")
    assert "orders" in with_names("select a from t")
    spark = NameMapping(renames=Renames.of({"other": "far"}, {"other.t": "far.orders"}))
    definition = view("select a from t", {"a": "int"}, parameters={"view.catalogAndNamespace.part.1": "other"})
    found = mapped(definition, spark)
    assert (found.dbName, found.parameters) == ("db", {"view.catalogAndNamespace.part.1": "far"})
    assert found.viewExpandedText == with_new_names("select a from t", "other", "far", NewNames(spark.table))


def test_a_materialized_view_is_renamed_too() -> None:
    definition = view("select a from db.u", {"a": "int"}, tableType="MATERIALIZED_VIEW")
    assert mapped(definition).viewExpandedText == "select a from `lake`.`u`"


@pytest.mark.parametrize("text", ["select from from", "/* Presto View: e30= */"])
def test_a_text_that_cannot_be_read_stays_and_the_log_says_so(text: str) -> None:
    with capture_logs() as logs:
        found = mapped(view(text, {"a": "int"}))
    assert found.viewExpandedText == text
    assert [(line["event"], line["view"]) for line in logs] == [("view_names_kept", "lake.v")]


def test_the_text_of_a_view_of_iceberg_stays_as_its_dialect_is_not_known() -> None:
    """Before: it was read as Hive's, in which "db.u" is a text and no name, and half of its names were changed."""
    text = 'select "a" from db.u, "db"."t"'
    with capture_logs() as logs:
        found = mapped(view(text, {"a": "int"}, parameters={"table_type": "ICEBERG-VIEW"}))
    assert found.viewExpandedText == text
    assert "a view of type 'ICEBERG-VIEW', whose dialect is not known" in logs[0]["reason"]


def test_without_sqlglot_the_text_stays_and_the_log_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pysync.hiveql.renaming", None)
    with capture_logs() as logs:
        found = mapped(view("select a from db.u", {"a": "int"}))
    assert found.viewExpandedText == "select a from db.u"
    assert "pip install" in logs[0]["reason"]


def test_without_renames_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_names, "_renamed", None)
    assert mapped(view("select from from", {"a": "int"}), NameMapping()).viewExpandedText == "select from from"


def test_what_was_typed_may_be_unreadable() -> None:
    definition = view("select a from db.u", {"a": "int"}, viewOriginalText="select from from")
    found = mapped(definition)
    assert found.viewExpandedText == "select a from `lake`.`u`"
    assert found.viewOriginalText == "select from from"


# --- the order of works


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select `t`.`a` from `db`.`t` join OTHER . `W`", {"db.t", "other.w"}),
        ("select a from u", {"db.u"}),
        ("select a from spark_catalog.other.w, `spark_catalog` . `db`.u", {"other.w", "db.u"}),
        ("", set()),
    ],
)
def test_what_a_view_may_read(text: str, names: set[str]) -> None:
    assert names <= view_names.names_in_view(view(text, {"a": "int"}))


def test_a_view_reads_what_engines_run_and_what_was_typed_only_without_that() -> None:
    both = view("select a from db.u", {"a": "int"}, viewOriginalText="select a from db.typed")
    assert view_names.names_in_view(both) >= {"db.u"}
    assert "db.typed" not in view_names.names_in_view(both)
    assert "db.typed" in view_names.names_in_view(view("", {"a": "int"}, viewOriginalText="select a from db.typed"))
    assert view_names.names_in_view(view("", {"a": "int"}, viewOriginalText="")) == frozenset()


def test_a_table_reads_nothing() -> None:
    assert view_names.names_in_view(view("select a from u", {}, tableType="EXTERNAL_TABLE")) == frozenset()


def test_a_view_waits_for_its_tables_and_they_not_for_it() -> None:
    order: Order[str] = Order()
    assert order.add("t", ["db.t"]) == set()
    assert order.add("v", ["db.v"], ["db.t", "db.unknown"]) == {"t"}
    assert order.add("t again", ["db.t"]) == {"t"}
    assert set(order.end("t", ["db.t"])) == {"v", "t again"}
    assert order.add("w", ["db.w"], ["db.t"]) == {"t again"}


def test_the_work_of_a_view_says_what_it_reads() -> None:
    definition = view("select a from db.u", {"a": "int"})
    (work,) = plan(fold([change(Kind.CREATE_TABLE, after=[definition])]), Writer(1))
    assert "db.u" in work.reads
    assert work.keys == frozenset({"db.v"})
