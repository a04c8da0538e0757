"""Plan: from folded states to the works that a target is asked for."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from pysync.model.event import VISITED, Kind
from pysync.model.home import Condition
from pysync.model.locations import SourceFiles
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    Refresh,
    RenameTable,
    RequestReread,
)
from pysync.replay.window.fold import TableState, fold
from pysync.replay.window.plan import leftover, plan
from pysync.replay.window.whole import from_events, reread
from tests.support import partition, table
from tests.support.events import change, one_of_each_kind

EACH = one_of_each_kind()
OPERATION = {
    Kind.CREATE_DATABASE: PutDatabase,
    Kind.ALTER_DATABASE: PutDatabase,
    Kind.DROP_DATABASE: DropDatabase,
    Kind.CREATE_TABLE: PutTable,
    Kind.ALTER_TABLE: PutTable,
    Kind.DROP_TABLE: DropTable,
    Kind.ADD_PARTITION: PutPartitions,
    Kind.ALTER_PARTITION: PutPartitions,
    Kind.DROP_PARTITION: DropPartitions,
    Kind.INSERT: None,  # changes data only
    Kind.CREATE_FUNCTION: PutFunction,
    Kind.DROP_FUNCTION: DropFunction,
    Kind.ADD_PRIMARYKEY: PutConstraint,
    Kind.ADD_UNIQUECONSTRAINT: PutConstraint,
    Kind.ADD_NOTNULLCONSTRAINT: PutConstraint,
    Kind.ADD_DEFAULTCONSTRAINT: PutConstraint,
    Kind.ADD_CHECKCONSTRAINT: PutConstraint,
    Kind.ADD_FOREIGNKEY: PutConstraint,
    Kind.DROP_CONSTRAINT: DropConstraint,
    Kind.COLUMN_STATISTICS: Refresh,
    Kind.REFRESH: Refresh,
}
T = TableName("db", "t")
DROP_AND_CREATE = (Kind.DROP_DATABASE, Kind.CREATE_DATABASE)
PLACE = "hdfs://a/t"
PURGING = {"EXTERNAL": "TRUE", "external.table.purge": "true"}
DELETES = [
    ("true", {}, None, True),
    ("true", {}, 7, True),
    ("true", {"EXTERNAL": "FALSE"}, None, True),
    ("true", {"EXTERNAL": "TRUE"}, None, False),
    ("true", {"EXTERNAL": "true"}, 7, False),
    ("true", PURGING, None, False),
    ("true", PURGING, 7, True),
    ("true", {**PURGING, "external.table.purge": "FALSE"}, 7, False),
    ("false", PURGING, 7, False),
    ("false", {}, None, False),
    (None, {}, None, False),
]
KEYED = table("db", "t", partition_keys=[("day", "string"), ("city", "string")])


def works(*changes, epoch: int = 5):
    return plan(fold(changes), Writer(epoch))


def planned(kind: Kind, epoch: int = 5, **what):
    found = works(change(kind, **{**copy.deepcopy(EACH[kind]), **what}), epoch=epoch)
    return [operation for work in found for operation in work.operations]


def one(kind: Kind, **what):
    (operation,) = planned(kind, **what)
    return operation


@pytest.mark.parametrize("kind", EACH)
def test_every_kind_has_its_operation(kind):
    assert [type(operation) for operation in planned(kind)] == ([OPERATION[kind]] if OPERATION[kind] else [])


@pytest.mark.parametrize("kind", [kind for kind, operation in OPERATION.items() if operation])
def test_every_work_touches_what_the_change_is_about_and_stands_for_its_event(kind):
    (work,) = works(change(kind, position=9, **copy.deepcopy(EACH[kind])))
    assert work.keys == change(kind, **EACH[kind]).keys
    assert work.positions == (9,)
    assert {operation.key for operation in work.operations} <= {key.removesuffix(".*") for key in work.keys}


@pytest.mark.parametrize("kind", [kind for kind, operation in OPERATION.items() if operation])
def test_every_operation_says_where_it_comes_from_and_has_been(kind):
    operation = one(kind, environment={VISITED: "west"}, source="east", position=9)
    assert (operation.mark.source, operation.mark.epoch, operation.mark.position) == ("east", 5, 9)
    assert operation.visited == ("west", "east")


@pytest.mark.parametrize(
    "kinds",
    [
        (Kind.ALTER_DATABASE, Kind.DROP_DATABASE, Kind.CREATE_DATABASE),
        (Kind.ALTER_TABLE, Kind.DROP_TABLE, Kind.CREATE_TABLE),
        (Kind.ADD_PARTITION, Kind.COLUMN_STATISTICS),
        (Kind.ALTER_TABLE, Kind.DROP_PARTITION, Kind.COLUMN_STATISTICS),
    ],
)
def test_what_is_done_for_a_window_has_been_only_where_all_of_it_has_been(kinds):
    """Else the first of these would never come to the north."""
    been = ["west", *["west,north"] * len(kinds)]
    reported = [
        change(kind, position=at, environment={VISITED: path}, **copy.deepcopy(EACH[kind]))
        for at, (kind, path) in enumerate(zip(kinds, been, strict=False), 1)
    ]
    found = [operation for work in works(*reported) for operation in work.operations]
    assert [type(operation) for operation in found][-1] is OPERATION[kinds[-1]]
    assert {operation.visited for operation in found} == {("west", "onprem")}


def test_the_mark_tells_when_the_object_was_created_at_the_source():
    created = table("db", "t")
    created.createTime = 1234
    assert one(Kind.CREATE_TABLE, after=[created]).mark == Mark("onprem", 5, 7, 1234, born=7)
    assert one(Kind.DROP_TABLE, before=[created]).mark.created == 1234


def test_an_alter_keeps_the_time_of_the_tables_creation_whatever_the_client_sent():
    before, after = table("db", "t"), table("db", "t")
    before.createTime, after.createTime = 1234, 0
    assert one(Kind.ALTER_TABLE, before=[before], after=[after]).mark.created == 1234


@pytest.mark.parametrize("kind", [Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION])
def test_of_partitions_it_counts_when_their_table_was_created(kind):
    """EXCHANGE PARTITION brings partitions that are older than their table: they are not stale."""
    keyed = copy.deepcopy(KEYED)
    keyed.createTime = 2000
    day = partition(keyed, ["1", "x"])
    day.createTime = 1000
    sides = {name: [day] for name in ("before", "after") if name in EACH[kind]}
    assert one(kind, of=keyed, **sides).mark.created == 2000


@pytest.mark.parametrize(
    ("environment", "cascade"),
    [({}, False), ({"CASCADE": "true"}, True), ({"CASCADE": "TRUE"}, True), ({"CASCADE": "false"}, False)],
)
def test_an_alter_cascades_if_it_did_at_the_source(environment, cascade):
    before, after = table("db", "t"), table("db", "t")
    after.sd.cols = [*after.sd.cols, after.sd.cols[0]]
    assert one(Kind.ALTER_TABLE, before=[before], after=[after], environment=environment).cascade is cascade


def test_a_put_says_whether_its_window_made_the_table():
    altered = change(Kind.ALTER_TABLE, before=[table("db", "t")], after=[table("db", "t")], position=3)
    assert [op.creates for work in works(created("db.t", 2), altered) for op in work.operations] == [True]
    assert [op.creates for work in works(altered) for op in work.operations] == [False]


def test_a_put_of_an_iceberg_table_says_where_its_pointer_has_been():
    before, after = (
        table("db", "t", parameters={"table_type": "ICEBERG", "metadata_location": at}) for at in ("1", "2")
    )
    assert one(Kind.ALTER_TABLE, before=[before], after=[after]).pointers == ("1",)


def test_an_alter_of_the_same_columns_cascades_nothing_as_at_the_source():
    assert one(Kind.ALTER_TABLE, environment={"CASCADE": "true"}).cascade is False


def test_a_change_of_name_is_a_rename_and_takes_the_new_definition_along():
    operation = one(Kind.ALTER_TABLE, before=[table("db", "t")], after=[table("db", "U", parameters={"a": "1"})])
    assert isinstance(operation, RenameTable)
    assert (operation.table, operation.new_name) == (T, TableName("db", "u"))
    assert operation.definition.parameters["a"] == "1"


def test_a_change_of_database_is_a_rename_too():
    operation = one(Kind.ALTER_TABLE, after=[table("other", "t")])
    assert (type(operation), operation.new_name) == (RenameTable, TableName("other", "t"))


def test_a_name_in_another_case_is_no_rename():
    assert isinstance(one(Kind.ALTER_TABLE, before=[table("db", "t")], after=[table("DB", "T")]), PutTable)


def test_the_tables_that_a_cascaded_drop_has_not_committed_yet_are_left_to_it():
    assert planned(Kind.DROP_TABLE, attributes={"uncommitted": "true"}) == []


@pytest.mark.parametrize("kind", [Kind.ADD_PARTITION, Kind.DROP_PARTITION])
def test_other_uncommitted_changes_are_replayed(kind):
    assert len(planned(kind, attributes={"uncommitted": "true"})) == 1


def test_partitions_that_were_added_together_are_put_together():
    days = [partition(KEYED, [str(day), "x"]) for day in range(3)]
    operation = one(Kind.ADD_PARTITION, of=KEYED, after=days)
    assert (operation.table, [p.values for p in operation.partitions]) == (T, [["0", "x"], ["1", "x"], ["2", "x"]])


def test_partitions_that_were_dropped_together_are_dropped_together():
    days = [partition(KEYED, [str(day), "x"]) for day in range(2)]
    operation = one(Kind.DROP_PARTITION, of=KEYED, before=days)
    assert (operation.keys, operation.values) == (("day", "city"), (("0", "x"), ("1", "x")))


def test_a_partition_with_new_values_is_put_and_the_old_one_dropped_after_it():
    old, new = partition(KEYED, ["1", "x"]), partition(KEYED, ["2", "x"])
    put, drop = planned(Kind.ALTER_PARTITION, of=KEYED, before=[old], after=[new])
    assert (type(put), [part.values for part in put.partitions]) == (PutPartitions, [["2", "x"]])
    assert (type(drop), drop.values, drop.deleted_locations) == (DropPartitions, (("1", "x"),), ())


def test_partitions_bring_their_table_along_in_case_it_is_not_there():
    day = partition(KEYED, ["1", "x"])
    assert one(Kind.ADD_PARTITION, of=KEYED, after=[day]).definition == KEYED


def test_partitions_with_deleted_data_are_dropped_apart_from_those_with_kept_data():
    of = managed("db", "t", partition_keys=[("day", "string"), ("city", "string")])
    kept, deleted = (partition(of, [value, "x"]) for value in "12")
    deleted.sd.location = PLACE
    (work,) = works(
        change(Kind.DROP_PARTITION, of=of, before=[kept], attributes={"delete_data": "false"}, position=1),
        change(Kind.DROP_PARTITION, of=of, before=[deleted], attributes={"delete_data": "true"}, position=2),
    )
    found = [(operation.values, operation.deleted_locations) for operation in work.operations]
    assert found == [((("1", "x"),), ()), ((("2", "x"),), (PLACE,))]


@pytest.mark.parametrize("kind", [Kind.DROP_TABLE, Kind.DROP_PARTITION])
@pytest.mark.parametrize(("attribute", "parameters", "table_id", "deletes"), DELETES)
def test_a_drop_says_what_the_source_deleted(kind, attribute, parameters, table_id, deletes):
    """Only Hive 4 gives a table an id, and only Hive 4 purges external tables (tests/versions)."""
    of = managed("db", "t", partition_keys=[("day", "string")], location=PLACE)
    of.parameters, of.id = parameters, table_id
    part = partition(of, ["1"])
    part.sd.location = PLACE
    what = {"before": [of]} if kind is Kind.DROP_TABLE else {"of": of, "before": [part]}
    attributes = {} if attribute is None else {"delete_data": attribute}
    assert one(kind, attributes=attributes, **what).deleted_locations == ((PLACE,) if deletes else ())


@pytest.mark.parametrize("is_there_again", [False, True])
def test_a_dropped_database_says_where_files_of_its_tables_were_deleted_for_good(is_there_again):
    of = managed("db", "t", location=PLACE)
    reported = [change(Kind.DROP_TABLE, before=[of], attributes={"delete_data": "true"}, position=1)]
    reported += [change(Kind.CREATE_TABLE, after=[of], position=2)] if is_there_again else []
    reported.append(change(Kind.DROP_DATABASE, position=3, **EACH[Kind.DROP_DATABASE]))
    (drop,) = (it for work in works(*reported) for it in work.operations if isinstance(it, DropDatabase))
    assert drop.deleted_locations == (() if is_there_again else (PLACE,))


def test_what_is_put_brings_along_where_the_source_has_the_files_of_all_its_changes():
    files = {name: SourceFiles(f"hdfs://a/{name}") for name in ("t", "day", "u")}
    reported = [
        created("db.t", 1),
        change(Kind.ADD_PARTITION, of=KEYED, after=[partition(KEYED, ["1", "x"])], position=2),
    ]
    reported.append(renamed("db.t", "db.u", 3))
    for item, name in zip(reported, files, strict=True):
        item.sources = {name: files[name]}
    put, parts, rename = (operation for work in works(*reported) for operation in work.operations)
    assert (type(put), type(parts), type(rename)) == (PutTable, PutPartitions, RenameTable)
    assert put.sources == parts.sources == {"t": files["t"], "day": files["day"]}
    assert rename.sources == {"u": files["u"]}


def test_functions_and_constraints_are_dropped_by_name():
    assert (one(Kind.DROP_FUNCTION).database, one(Kind.DROP_FUNCTION).function) == ("db", "f")
    assert (one(Kind.DROP_CONSTRAINT).table, one(Kind.DROP_CONSTRAINT).constraint) == (T, "pk")


def test_a_constraint_is_put_with_all_its_columns():
    first = EACH[Kind.ADD_PRIMARYKEY]["after"][0]
    second = copy.copy(first)
    second.column_name = "other"
    columns = one(Kind.ADD_PRIMARYKEY, after=[first, second]).columns
    assert [column.column_name for column in columns] == ["id", "other"]


def managed(*name, **fields):
    made = table(*name, **fields)
    made.tableType, made.parameters = "MANAGED_TABLE", {}
    return made


def dropped(name, position):
    return change(Kind.DROP_TABLE, before=[table(*name.split("."))], position=position)


def created(name, position):
    return change(Kind.CREATE_TABLE, after=[table(*name.split("."))], position=position)


def renamed(old, new, position):
    before, after = table(*old.split(".")), table(*new.split("."))
    return change(Kind.ALTER_TABLE, before=[before], after=[after], position=position)


def test_a_table_is_born_where_it_was_created_or_renamed_not_where_it_was_altered():
    altered = change(Kind.ALTER_TABLE, before=[table("db", "t")], after=[table("db", "t")], position=3)
    (work,) = works(created("db.t", 2), altered)
    assert [(op.mark.position, op.mark.born) for op in work.operations] == [(3, 2)]
    assert [op.mark.born for work in works(altered) for op in work.operations] == [0]
    assert [op.mark.born for work in works(renamed("db.t", "db.u", 4)) for op in work.operations] == [4]


def test_a_dropped_database_is_born_anew_where_it_was_created_again():
    gone, anew = (change(kind, position=at, **EACH[kind]) for at, kind in enumerate(DROP_AND_CREATE, 2))
    altered = change(Kind.ALTER_DATABASE, position=4, **EACH[Kind.ALTER_DATABASE])
    assert [op.mark.born for work in works(altered) for op in work.operations] == [0]
    (work,) = works(gone, anew)
    assert [(type(op), op.mark.born) for op in work.operations] == [(DropDatabase, 0), (PutDatabase, 3)]
    assert (work.keys, work.positions) == ({"db.*"}, (2, 3))


def test_of_a_rename_into_what_is_gone_the_old_name_is_left_to_drop():
    rename = one(Kind.ALTER_TABLE, after=[table("gone", "t")], environment={VISITED: "west"})
    left = leftover(rename)
    assert (type(left), left.table, left.mark, left.deleted_locations) == (DropTable, T, rename.mark, ())
    assert left.visited == ("west", "onprem")
    assert leftover(one(Kind.CREATE_TABLE)) is None


def test_of_a_rename_into_what_is_gone_both_ways_the_home_is_asked_for_the_old_name():
    rename = one(Kind.ALTER_TABLE, after=[table("gone", "t")], environment={VISITED: "west"})
    asked = leftover(replace(rename, condition=Condition(chain_length=2)))
    assert (type(asked), asked.database, asked.table) == (RequestReread, T.database, T.table)
    assert (asked.home, asked.chain_length, asked.visited) == ("onprem", 3, ("west", "onprem"))


def test_a_refresh_asks_for_what_its_event_says():
    place = {"database": "db", "table": "t", "source_database": "there", "source_table": "s"}
    what = {"partitions": "day=1\nday=2", "present": "a\nb", "created": "1234", "former": "[]"}
    asked = one(Kind.REFRESH, attributes=place | what | {"absent": "true", "bootstrap": "true"})
    assert (asked.database, asked.table) == ("db", T)
    assert (asked.source_database, asked.source_table) == ("there", TableName("there", "s"))
    assert (asked.partitions, asked.present) == (("day=1", "day=2"), ("a", "b"))
    assert (asked.absent, asked.created, asked.former, asked.bootstrap) == (True, 1234, "[]", True)


def test_a_request_to_send_an_object_again_is_a_refresh_that_says_so():
    what = {"reread": "true", "home": "west", "chain_length": "2", "function": "f", "replaced": "[1]", "event_id": "12"}
    asked = one(Kind.REFRESH, attributes={"database": "db"} | what)
    assert (asked.reread, asked.home, asked.chain_length, asked.function) == (True, "west", 2, "f")
    assert (asked.replaced, asked.event_id) == ("[1]", 12)


def test_a_refresh_that_says_only_a_name_asks_for_all_of_that_name_at_the_source():
    whole = one(Kind.REFRESH, attributes={"database": "db", "table": "t"})
    assert (whole.source_database, whole.source_table) == ("db", T)
    assert (whole.partitions, whole.present, whole.absent, whole.bootstrap) == ((), (), False, False)
    assert (whole.created, whole.former, whole.statistics) == (0, "", False)
    assert (whole.reread, whole.home, whole.chain_length, whole.function) == (False, "", 0, "")
    assert (whole.replaced, whole.event_id) == ("", 0)
    of_database = one(Kind.REFRESH, attributes={"database": "db"})
    assert (of_database.source_database, of_database.source_table, of_database.table) == ("db", None, None)


def test_a_mark_knows_who_writes_it():
    writer = Writer(5, life=3, target="dr")
    for kind in (Kind.CREATE_DATABASE, Kind.CREATE_TABLE, Kind.CREATE_FUNCTION):
        (work,) = plan(fold([change(kind, **copy.deepcopy(EACH[kind]))]), writer)
        mark = work.operations[0].mark
        assert (mark.writer, mark.life, mark.target) == (writer, 3, "dr")


def test_the_first_event_of_a_queue_may_make_a_table():
    assert one(Kind.CREATE_TABLE, position=1).creates


def test_without_a_source_to_read_a_put_creates_its_table_as_the_event_has_it():
    (put,) = from_events(one(Kind.ALTER_TABLE))
    assert (put.table, put.creates, put.is_current) == (T, True, True)


def test_without_a_source_to_read_a_rename_creates_the_table_under_its_new_name():
    rename = one(Kind.ALTER_TABLE, after=[table("db", "u")], environment={VISITED: "west"})
    (put,) = from_events(rename)
    assert (put.table, put.definition, put.mark, put.visited) == (
        TableName("db", "u"),
        rename.definition,
        rename.mark,
        rename.visited,
    )


def test_without_a_source_to_read_partitions_create_the_table_that_they_need():
    parts = one(Kind.ADD_PARTITION)
    put, then = from_events(parts)
    assert (put.table, put.definition, put.mark, then) == (T, parts.definition, parts.mark, parts)


@pytest.mark.parametrize("kind", [Kind.DROP_TABLE, Kind.DROP_PARTITION, Kind.CREATE_DATABASE, Kind.CREATE_FUNCTION])
def test_what_does_not_tell_its_table_creates_none(kind):
    assert from_events(one(kind)) == ()


@pytest.mark.parametrize(("new", "of"), [("db.t", Kind.ADD_PARTITION), ("other.u", Kind.ALTER_TABLE)])
def test_a_table_that_the_target_lacks_is_read_whole_under_the_name_that_it_gets(new, of):
    name = TableName.parse(new)
    after = {"after": [table(*new.split("."))]} if of is Kind.ALTER_TABLE else {}
    operation = one(of, environment={VISITED: "west"}, **after)
    asked = reread(operation, lambda there, mark: TableName(f"of_{there.database}", f"{there.table}_{mark.position}"))
    assert (asked.source_database, asked.source_table) == (
        f"of_{name.database}",
        TableName(f"of_{name.database}", f"{name.table}_7"),
    )
    assert (asked.database, asked.table, asked.needed) == (name.database, name, False)
    assert (asked.created, asked.mark, asked.visited) == (operation.mark.created, operation.mark, operation.visited)


def test_there_is_no_table_to_read_for_a_database_or_a_function():
    for kind in (Kind.CREATE_DATABASE, Kind.CREATE_FUNCTION):
        assert reread(one(kind), lambda name, _: name) is None


def test_what_has_become_nothing_is_left_out():
    assert plan([TableState(name=T, keys=frozenset({"db.t"}), positions=[1])], Writer(5)) == []


def test_planning_twice_gives_the_same():
    for kind in EACH:
        assert planned(kind) == planned(kind)


def test_statistics_come_last_those_of_the_table_itself_before_those_of_partitions():
    names = {"database": "db", "table": "t"}
    reported = [
        change(Kind.COLUMN_STATISTICS, position=1, attributes=names | {"partitions": "day=1/city=a\nday=2/city=b"}),
        change(Kind.COLUMN_STATISTICS, position=2, attributes=names),
        change(Kind.ADD_PARTITION, position=3, of=KEYED, after=[partition(KEYED, ["1", "a"])]),
    ]
    (work,) = works(*reported)
    put, whole, parts = work.operations
    assert isinstance(put, PutPartitions)
    assert isinstance(whole, Refresh)
    assert isinstance(parts, Refresh)
    assert (whole.statistics, whole.partitions, whole.key) == (True, (), "db.t")
    assert (parts.statistics, parts.partitions) == (True, ("day=1/city=a", "day=2/city=b"))
    assert (whole.mark.position, work.positions) == (2, (1, 2, 3))
