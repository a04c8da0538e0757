"""Changes: events with their objects decoded, in the form in which HMS stores them."""

from __future__ import annotations

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.change import decode_change
from pysync.model.event import USER, VISITED, Kind, replicator
from pysync.model.event_objects import named_in_event
from pysync.model.names import TableName
from pysync.model.objects import OBJECTS, as_stored
from pysync.model.wire import UnreadableEvent
from tests.support import partition, table
from tests.support.events import change, create_table, event, one_of_each_kind, rename_table

EACH = one_of_each_kind()
OF_A_DATABASE = {kind for kind in EACH if "DATABASE" in kind.value or "FUNCTION" in kind.value}


def test_the_examples_cover_every_kind_that_is_replayed():
    assert EACH.keys() == OBJECTS.keys()


@pytest.mark.parametrize("kind", EACH)
def test_every_kind_knows_what_it_is_about(kind):
    found = change(kind, **EACH[kind])
    assert found.database == "db"
    assert found.table_name == (None if kind in OF_A_DATABASE else TableName("db", "t"))
    assert found.new_table_name == found.table_name
    assert "db.t" in found.keys or kind in OF_A_DATABASE


def test_keys_are_what_the_order_of_a_change_hangs_on():
    assert change(Kind.ALTER_DATABASE, **EACH[Kind.ALTER_DATABASE]).keys == {"db"}
    assert change(Kind.DROP_DATABASE, **EACH[Kind.DROP_DATABASE]).keys == {"db.*"}
    assert change(Kind.DROP_FUNCTION, **EACH[Kind.DROP_FUNCTION]).keys == {"db.f()"}
    assert change(Kind.ADD_FOREIGNKEY, **EACH[Kind.ADD_FOREIGNKEY]).keys == {"db.t", "db.p"}


@pytest.mark.parametrize("kind", sorted(set(Kind) - OBJECTS.keys() - {Kind.TABLE_CHANGED}))
def test_kinds_that_are_not_replayed_are_left_out(kind):
    assert decode_change(event(kind), 1) is None


@pytest.mark.parametrize(
    ("reported", "asked"),
    [
        ({"created": "7", "kind": "ADD_PARTITION"}, {"created": "7"}),
        ({"created": "7", "absent": "true"}, {"absent": "true"}),
    ],
)
def test_a_table_of_which_no_more_than_its_name_could_be_told_is_read_anew(reported, asked):
    names = {"database": "DB", "table": "t"}
    found = change(Kind.TABLE_CHANGED, attributes=names | reported)
    assert (found.kind, found.keys, found.event.attributes) == (Kind.REFRESH, {"db.t"}, names | asked)
    with pytest.raises(UnreadableEvent, match="has no table name"):
        decode_change(event(Kind.TABLE_CHANGED, attributes={"database": "db"}), 1)


def test_names_are_brought_to_lower_case():
    found = change(Kind.CREATE_TABLE, after=[table("Sales", "ORDERS")])
    assert (found.after[0].dbName, found.after[0].tableName, found.keys) == ("sales", "orders", {"sales.orders"})


def test_the_names_of_partitions_functions_and_databases_are_brought_to_lower_case():
    items = [
        partition(table("DB", "T"), ["Value"]),
        hive.Function(functionName="F", dbName="DB"),
        hive.Database(name="DB"),
    ]
    for item in items:
        as_stored(item)
    assert (items[0].dbName, items[0].tableName, items[0].values) == ("db", "t", ["Value"])
    assert (items[1].functionName, items[1].dbName, items[2].name) == ("f", "db", "db")


@pytest.mark.parametrize(
    ("sent", "external", "stored"),
    [
        ("EXTERNAL_TABLE", "TRUE", "EXTERNAL_TABLE"),
        ("EXTERNAL_TABLE", "true", "EXTERNAL_TABLE"),
        ("MANAGED_TABLE", "TRUE", "EXTERNAL_TABLE"),
        ("EXTERNAL_TABLE", None, "MANAGED_TABLE"),
        ("EXTERNAL_TABLE", "FALSE", "MANAGED_TABLE"),
        ("VIRTUAL_VIEW", "TRUE", "VIRTUAL_VIEW"),
        ("MATERIALIZED_VIEW", None, "MATERIALIZED_VIEW"),
    ],
)
def test_a_table_is_external_if_its_parameter_says_so(sent, external, stored):
    item = table("db", "t")
    item.tableType = sent
    item.parameters = None if external is None else {"EXTERNAL": external}
    as_stored(item)
    assert item.tableType == stored


def test_a_rename_has_two_names_and_a_place_under_each():
    found = decode_change(rename_table("DB.Old", "DB2.New"), 1)
    assert (found.table_name, found.new_table_name) == (TableName("db", "old"), TableName("db2", "new"))
    assert found.keys == {"db.old", "db2.new"}


@pytest.mark.parametrize("kind", [kind for kind in EACH if kind not in {Kind.INSERT, Kind.REFRESH}])
def test_an_event_without_its_objects_is_unreadable(kind):
    with pytest.raises(UnreadableEvent, match=kind.value):
        decode_change(event(kind), 1)


@pytest.mark.parametrize("kind", [Kind.ADD_PARTITION, Kind.DROP_PARTITION])
def test_an_event_of_no_partitions_is_about_nothing(kind):
    assert decode_change(event(kind, of=EACH[kind]["of"]), 1) is None


@pytest.mark.parametrize("kind", [Kind.ADD_PARTITION, Kind.DROP_PARTITION])
def test_a_partition_event_without_its_table_is_unreadable(kind):
    with pytest.raises(UnreadableEvent, match="has no table"):
        change(kind, **{**EACH[kind], "of": None})


def test_an_alter_of_a_partition_of_a_table_that_is_gone_is_passed_over_but_names_it():
    """It names the table."""
    late = event(Kind.ALTER_PARTITION, **{**EACH[Kind.ALTER_PARTITION], "of": None})
    assert decode_change(late, 1) is None
    assert named_in_event(late) == change(Kind.ALTER_PARTITION, **EACH[Kind.ALTER_PARTITION]).table_name


@pytest.mark.parametrize("missing", ["database", "table", "constraint"])
def test_a_dropped_constraint_without_a_name_is_unreadable(missing):
    attributes = {k: v for k, v in EACH[Kind.DROP_CONSTRAINT]["attributes"].items() if k != missing}
    with pytest.raises(UnreadableEvent, match="no table name or no name of its own"):
        change(Kind.DROP_CONSTRAINT, attributes=attributes)


def test_an_object_that_is_not_what_the_kind_says_is_unreadable():
    broken = event(Kind.CREATE_TABLE, after=[table("db", "t")])
    cut = type(broken)(**{name: getattr(broken, name) for name in broken.__dataclass_fields__} | {"after": (b"\x0b",)})
    with pytest.raises(UnreadableEvent, match="cannot decode the table"):
        decode_change(cut, 1)


def test_an_event_has_visited_its_source_and_the_clusters_before_it():
    assert create_table("db.t").visited == ("onprem",)
    assert create_table("db.t", environment={VISITED: "a,b,"}).visited == ("a", "b", "onprem")


@pytest.mark.parametrize(
    ("user", "visited"),
    [
        ("hive", ("onprem",)),
        ("pysync-east", ("east", "onprem")),
        ("pysync-east,west", ("east", "west", "onprem")),
        ("pysync-", ("onprem",)),
    ],
)
def test_where_no_context_tells_it_the_user_of_the_call_does(user, visited):
    assert create_table("db.t", attributes={USER: user}).visited == visited
    assert create_table("db.t", attributes={USER: user}, environment={VISITED: ""}).visited == visited
    assert create_table("db.t", attributes={USER: user}, environment={VISITED: "a,b"}).visited == ("a", "b", "onprem")


@given(st.lists(st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9_.-]{0,20}\Z"), min_size=1, max_size=4))
def test_the_user_who_writes_names_the_whole_way(path):
    assert create_table("db.t", attributes={USER: replicator(path)}).visited == (*path, "onprem")
