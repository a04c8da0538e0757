"""Renames by exact entries and by patterns: which entry wins, and which entries do not go together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.model.names import TableName
from pysync.replay.window.renames import Renames
from pysync.replay.window.translate import Translator
from pysync.targets.hms import HmsSettings
from tests.support.events import settings

PIECES = st.text("ab_", max_size=2)
NAMES = st.text("ab_", min_size=1, max_size=5)
EXACT = st.tuples(NAMES, NAMES)
PATTERNS = st.tuples(*[st.tuples(PIECES, PIECES).map("*".join)] * 2)
ENTRIES = st.lists(EXACT | PATTERNS, max_size=4).map(dict)
TABLES = st.builds(TableName, NAMES, NAMES)


def of(databases: dict[str, str] | None = None, tables: dict[str, str] | None = None) -> Renames:
    found = Renames.of(databases or {}, tables or {})
    found.check()
    return found


def table_entries(pairs: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    """Entries of `tables`, of two dicts of names without a dot."""
    each = zip(pairs.items(), others.items(), strict=False)
    return {f"{old}.{a}": f"{new}.{b}" for (old, new), (a, b) in each}


@pytest.mark.parametrize(
    ("entries", "name", "expected"),
    [
        ({"sales_*": "dr_sales_*"}, "sales_eu", "dr_sales_eu"),
        ({"sales_*": "dr_sales_*"}, "SALES_EU", "dr_sales_eu"),
        ({"Sales_*": "DR_*"}, "sales_eu", "dr_eu"),
        ({"sales_*": "dr_sales_*"}, "sales", "sales"),
        ({"sales_*": "dr_sales_*"}, "sales_", "dr_sales_"),
        ({"*_prod": "*_dr"}, "crm_prod", "crm_dr"),
        ({"*": "dr_*"}, "crm", "dr_crm"),
        ({"a_*_z": "b_*_y"}, "a_1_z", "b_1_y"),
        ({"a_*_z": "b_*_y"}, "a_z", "a_z"),
        ({"raw_*": "*"}, "raw_crm", "crm"),
        ({"raw_*": "*"}, "raw_", "raw_"),
        ({"sales_*": "dr_*", "sales_eu": "europe"}, "sales_eu", "europe"),
        ({"sales_*": "dr_*", "sales_eu_*": "eu_*"}, "sales_eu_1", "eu_1"),
        ({"sales_*": "dr_*", "sales_eu_*": "eu_*"}, "sales_us_1", "dr_us_1"),
    ],
)
def test_of_databases_the_exact_entry_wins_then_the_longest(entries: Any, name: str, expected: str) -> None:
    assert of(entries).database(name) == expected
    assert of(dict(reversed(entries.items()))).database(name) == expected


@pytest.mark.parametrize(
    ("entries", "name", "expected"),
    [
        ({"sales.*": "sales.old_*"}, "sales.orders", "sales.old_orders"),
        ({"sales.*": "archive.*"}, "sales.orders", "archive.orders"),
        ({"*.orders": "*.orders_old"}, "crm.orders", "crm.orders_old"),
        ({"a_*.t_*": "b_*.u_*"}, "a_1.t_2", "b_1.u_2"),
        ({"sales.*": "sales.old_*", "sales.orders": "x.y"}, "sales.orders", "x.y"),
        ({"ab.*": "x.*", "ab*.*": "y*.*"}, "ab.t", "x.t"),
        ({"ab.*": "x.*", "ab*.*": "y*.*"}, "abc.t", "yc.t"),
        ({"sales.*": "sales.old_*"}, "crm.orders", "dr_crm.orders"),
    ],
)
def test_an_entry_of_tables_wins_over_all_of_databases(entries: Any, name: str, expected: str) -> None:
    assert str(of({"*": "dr_*", "sales": "exact"}, entries).table(TableName.parse(name))) == expected


@pytest.mark.parametrize(
    ("databases", "tables", "reported"),
    [
        ({"a_*": "b"}, {}, "'databases a_* = b' has a '*' on one side only"),
        ({"a": "b_*"}, {}, "has a '*' on one side only"),
        ({"a**": "b_*"}, {}, "cannot read 'a**'"),
        ({"a_?": "b_?"}, {}, "cannot read 'a_?'"),
        ({"a.b": "c"}, {}, "'a.b' is not a database name"),
        ({"": "c"}, {}, "'' is not a database name"),
        ({}, {"sales.*": "all.orders"}, "has a '*' on one side only"),
        ({}, {"*.*": "x.*"}, "has a '*' on one side only"),
        ({}, {"a.*_*": "a.*"}, "cannot read 'a.*_*'"),
        ({}, {"a*": "b*"}, "'a*' is not a table name"),
    ],
)
def test_an_entry_that_cannot_be_read_is_refused(databases: Any, tables: Any, reported: str) -> None:
    with pytest.raises(UsageError) as refused:
        of(databases, tables)
    assert reported in str(refused.value)


@pytest.mark.parametrize(
    ("databases", "tables", "reported"),
    [
        ({"ab*": "x*", "*cd": "*y"}, {}, "both fit ab*cd, and neither is more specific"),
        ({"a*c": "x*", "a*b": "y*", "ab*": "z*"}, {}, "and neither is more specific"),
        ({"a_*": "x_*", "b_*": "x_*"}, {}, "would give a_* and b_* one name: x_*"),
        ({"a_*": "x_*", "a_b_*": "x_c_*"}, {}, "one name: x_c_*"),
        ({"a_*": "x_*", "sales": "x_1"}, {}, "would give sales and a_1 one name: x_1"),
        ({"a_*": "x_*", "*_b": "x_*"}, {}, "both fit a_*_b"),
        ({}, {"a.t": "x.t", "b.t": "x.t"}, "would give a.t and b.t one name: x.t"),
        ({}, {"a.*": "x.*", "b.*": "x.*"}, "would give a.* and b.* one name: x.*"),
        ({}, {"a.*": "x.*", "b.u": "x.t"}, "would give b.u and a.t one name: x.t"),
    ],
)
def test_entries_that_do_not_go_together_are_refused(databases: Any, tables: Any, reported: str) -> None:
    with pytest.raises(UsageError) as refused:
        of(databases, tables)
    assert reported in str(refused.value)
    with pytest.raises(UsageError):
        Translator.of(settings(databases=databases, tables=tables))


@pytest.mark.parametrize(
    ("databases", "tables"),
    [
        ({"a": "both", "b": "both"}, {}),  # databases are merged on purpose
        ({"a_*": "x_*", "a_b_*": "x_b_*"}, {}),  # both give a_b_1 the same name
        ({"a_*": "x_*", "a_b_*": "y_*"}, {}),
        ({"a_*": "x_*", "a_1": "x_1"}, {}),
        ({"a_*": "b_*", "b_*": "a_*"}, {}),  # they change places
        ({}, {"a.t": "a.u", "a.u": "a.t"}),
    ],
)
def test_entries_that_go_together_are_taken(databases: Any, tables: Any) -> None:
    of(databases, tables)


def test_both_ways_each_renamed_name_is_written_out() -> None:
    values = {"name": "dr", "kind": "hms", "metastore": "thrift://h:1", "both_ways": True}
    HmsSettings.model_validate({**values, "databases": {"a": "b"}})
    for renames in ({"databases": {"a_*": "b_*"}}, {"tables": {"a.*": "a.b_*"}}):
        with pytest.raises(ValueError, match=r"both_ways = true does not work with a '\*' in"):
            HmsSettings.model_validate({**values, **renames})


def checked(databases: dict[str, str], tables: dict[str, str]) -> Renames | None:
    try:
        return of(databases, tables)
    except UsageError:
        return None


@given(ENTRIES, NAMES)
def test_the_sources_of_a_database_are_those_that_get_its_name(entries: dict[str, str], name: str) -> None:
    renames = checked(entries, {})
    if renames is not None:
        assert name in renames.source_databases(renames.database(name))
        assert all(renames.database(it) == name for it in renames.source_databases(name))


@given(ENTRIES, ENTRIES, ENTRIES, TABLES)
def test_the_sources_of_a_table_are_those_that_get_its_name(one: Any, other: Any, more: Any, name: TableName) -> None:
    renames = checked(more, table_entries(one, other))
    if renames is None:
        return
    there = renames.table(name)
    assert there.database
    assert there.table
    assert renames.sources_of(there).count(name) == 1
    assert all(renames.table(it) == name for it in renames.sources_of(name))
    assert renames.leads(name.database, there.database)
    assert there.database in renames.databases_of([name.database])
    moved = there.database != renames.database(name.database)
    assert not moved or name.database in {database for database, _ in renames.moved_into(there.database)}


@given(ENTRIES)
def test_no_two_databases_that_patterns_rename_meet(entries: dict[str, str]) -> None:
    """Where a `*` stands for a text of its own: of a shorter name the texts around it may overlap."""
    renames = checked(entries, {})
    if renames is None:
        return
    names = {it.old[0].filled(text) for it in renames.settings[0].databases.patterns for text in ("z", "zz")}
    there = {name: renames.database(name) for name in names}
    assert len(set(there.values())) == len(names)
