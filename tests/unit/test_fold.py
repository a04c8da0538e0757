"""Fold: what is left of a window, rule by rule; that it adds up is for test_properties to show."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from pysync.model.change import Change
from pysync.model.event import VISITED, Kind
from pysync.model.names import TableName
from pysync.replay.window.fold import DatabaseState, Gone, TableState, fold
from tests.support import partition, storage, table
from tests.support.events import change, database, one_of_each_kind

EACH = one_of_each_kind()
KEYS = [("day", "string")]
PLACE = "hdfs://a/t/day=1"
A, B = [("id", "bigint")], [("id", "bigint"), ("more", "string")]


class Story:
    """Changes that follow one another; each method adds one."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def add(self, kind: Kind, **what: Any) -> None:
        self.changes.append(change(kind, position=len(self.changes) + 1, **what))

    def create(self, name: str = "db.t", cols=A) -> None:
        self.add(Kind.CREATE_TABLE, after=[keyed(name, cols)])

    def alter(self, old: str = "db.t", new: str | None = None, before=A, after=A, **what: Any) -> None:
        self.add(Kind.ALTER_TABLE, before=[keyed(old, before)], after=[keyed(new or old, after)], **what)

    def drop(self, name: str = "db.t", **what: Any) -> None:
        self.add(Kind.DROP_TABLE, before=[keyed(name)], **what)

    def put(self, *days: str, name: str = "db.t", **what: Any) -> None:
        of = keyed(name)
        self.add(Kind.ADD_PARTITION, of=of, after=[partition(of, [day]) for day in days], **what)

    def lose(self, *days: str, name: str = "db.t", external: bool = True, **what: Any) -> None:
        of = keyed(name)
        of.parameters = {"EXTERNAL": "TRUE"} if external else {}
        before = [partition(of, [day]) for day in days]
        for part in before:
            part.sd.location = PLACE
        self.add(Kind.DROP_PARTITION, of=of, before=before, **what)

    def move(self, old: str, new: str) -> None:
        of = keyed("db.t")
        sides = {"before": [partition(of, [old])], "after": [partition(of, [new])]}
        self.add(Kind.ALTER_PARTITION, of=of, **sides)

    def database(self, kind: Kind, name: str = "db") -> None:
        what = {"before": [database(name)]} if kind is not Kind.CREATE_DATABASE else {}
        after = {"after": [database(name)]} if kind is not Kind.DROP_DATABASE else {}
        self.add(kind, **what, **after)

    def folded(self) -> list[Any]:
        return fold(self.changes)

    def only(self) -> Any:
        (state,) = self.folded()
        return state


def keyed(name: str, cols=A) -> Any:
    made = table(*name.split("."), partition_keys=KEYS)
    made.sd = storage(cols)
    return made


@pytest.fixture
def story() -> Story:
    return Story()


def brief(state: TableState) -> tuple[int | None, list[tuple[int, bool]], dict[str, bool]]:
    """The position of the drop, those of the definitions with their cascade, and which partitions are there."""
    parts = {values[0]: not isinstance(part, Gone) for values, part in state.partitions.items()}
    definitions = [(item.position, cascade) for item, cascade in state.definitions]
    return state.dropped.position if state.dropped else None, definitions, parts


def test_nothing_comes_of_nothing():
    assert fold([]) == []


def test_create_and_drop_are_a_drop(story):
    """The drop stays: the target may have the table from an earlier try."""
    story.create()
    story.put("1")
    story.drop()
    assert brief(story.only()) == (3, [], {})


def test_drop_and_create_are_told_from_an_alter(story):
    story.alter()
    story.put("1")
    story.drop()
    story.create()
    story.put("2")
    story.alter()
    state = story.only()
    assert brief(state) == (3, [(6, False)], {"2": True})
    assert (state.born, state.positions) == (4, [1, 2, 3, 4, 5, 6])


def test_an_alter_after_a_drop_does_not_tell_when_the_table_was_born(story):
    """The new create came out of order, or never; the old one was of another table."""
    story.create()
    story.drop()
    story.alter()
    state = story.only()
    assert (brief(state), state.born) == ((2, [(3, False)], {}), 0)


def test_an_alter_after_a_drop_does_not_tell_when_the_database_was_born(story):
    for kind in (Kind.CREATE_DATABASE, Kind.DROP_DATABASE, Kind.ALTER_DATABASE):
        story.database(kind)
    state = story.only()
    assert (state.dropped.position, state.defined.position, state.born) == (2, 3, 0)


def test_many_alters_are_the_last(story):
    for _ in range(9):
        story.alter()
    assert brief(story.only()) == (None, [(9, False)], {})


def test_partitions_are_one_map_of_what_is_there_and_what_is_gone(story):
    story.put("1", "2")
    story.put("3")
    story.lose("1", external=False, attributes={"delete_data": "true"})
    story.lose("4")
    story.put("4")
    story.lose("2")
    state = story.only()
    assert brief(state) == (None, [], {"1": False, "2": False, "3": True, "4": True})
    assert (state.partitions[("1",)], state.partitions[("2",)]) == (Gone(PLACE), Gone(""))


def test_a_renamed_partition_is_a_new_one_and_an_old_one_gone(story):
    story.put("1")
    story.move("1", "2")
    story.move("2", "3")
    assert brief(story.only())[2] == {"1": False, "2": False, "3": True}


def test_partitions_that_were_put_and_renamed_keep_their_order(story):
    story.put("1", "2", "3")
    story.move("2", "2")
    story.move("1", "4")
    assert brief(story.only())[2] == {"1": False, "2": True, "3": True, "4": True}


def test_a_partition_that_was_altered_is_not_gone(story):
    story.move("1", "1")
    assert brief(story.only())[2] == {"1": True}


def test_an_exchanged_partition_goes_from_one_table_to_the_other(story):
    story.put("1", name="db.to")
    story.lose("1", name="db.from")
    found = {str(state.name): brief(state)[2] for state in story.folded()}
    assert found == {"db.to": {"1": True}, "db.from": {"1": False}}


def iceberg(at: str) -> Any:
    made = keyed("db.t")
    made.parameters |= {"table_type": "iceberg", "metadata_location": at}
    return made


def test_where_the_pointer_of_an_iceberg_table_has_been(story):
    for before, after in (("1", "2"), ("2", "3")):
        story.add(Kind.ALTER_TABLE, before=[iceberg(before)], after=[iceberg(after)])
    assert list(story.only().pointers) == ["1", "2"]
    story.alter()
    assert list(story.only().pointers) == ["1", "2"], "this one is not Iceberg's"
    story.drop()
    assert list(story.only().pointers) == []


def test_cascaded_columns_reach_partitions_of_the_window_but_not_those_that_are_gone(story):
    story.put("1", "2")
    story.lose("2")
    story.alter(after=B, environment={"CASCADE": "true"})
    state = story.only()
    assert brief(state) == (None, [(3, True)], {"1": True, "2": False})
    assert [column.name for column in state.partitions[("1",)].sd.cols] == ["id", "more"]


def test_columns_that_are_not_cascaded_stay_off_the_partitions(story):
    story.put("1")
    story.alter(after=B)
    state = story.only()
    assert brief(state)[1] == [(2, False)]
    assert [column.name for column in state.partitions[("1",)].sd.cols] == ["id"]


def test_a_create_after_a_drop_that_is_suppressed_keeps_partitions_of_the_same_keys(story):
    """Of other types, too: these are altered, and the partitions stay."""
    story.put("1")
    typed, other = keyed("db.t"), keyed("db.t")
    typed.partitionKeys[0].type, other.partitionKeys[0].name = "int", "month"
    story.add(Kind.CREATE_TABLE, after=[typed])
    assert list(story.only().partitions) == [("1",)]
    assert story.only().described.partitionKeys[0].type == "int"
    story.add(Kind.CREATE_TABLE, after=[other])
    assert story.only().partitions == {}


def test_a_cascade_is_put_by_itself_where_the_columns_change_once_more(story):
    """Partitions that the window does not know of shall have the columns of the cascade, not the last ones."""
    story.alter(after=B, environment={"CASCADE": "true"})
    story.alter(before=B, after=A)
    story.alter()
    assert brief(story.only())[1] == [(1, True), (3, False)]


def test_columns_that_change_twice_without_a_cascade_are_put_once(story):
    story.alter(after=B)
    story.alter(before=B, after=A)
    assert brief(story.only())[1] == [(2, False)]


def test_columns_of_a_table_that_had_no_storage_before_its_alter_are_not_cascaded(story):
    bare = keyed("db.t")
    bare.sd = None
    story.add(Kind.ALTER_TABLE, before=[bare], after=[keyed("db.t")], environment={"CASCADE": "true"})
    assert brief(story.only())[1] == [(1, False)]


def test_partitions_are_put_with_their_table_as_it_was_told_last(story):
    story.put("1")
    story.alter(after=B)
    assert [column.name for column in story.only().described.sd.cols] == ["id", "more"]
    story.put("2")
    assert [column.name for column in story.only().described.sd.cols] == ["id"]


def test_a_cascade_stays_one_where_only_something_else_changes_after_it(story):
    story.alter(after=B, environment={"CASCADE": "true"})
    story.alter(before=B, after=B)
    assert brief(story.only())[1] == [(2, True)]


def test_the_last_cascade_counts(story):
    story.alter(after=B, environment={"CASCADE": "true"})
    story.alter(before=B, after=A)
    story.alter(before=A, after=B, environment={"CASCADE": "true"})
    assert brief(story.only())[1] == [(3, True)]


def test_an_insert_changes_nothing(story):
    story.add(Kind.INSERT, **EACH[Kind.INSERT])
    assert story.folded() == []


@pytest.mark.parametrize("kind", [Kind.ALTER_TABLE, Kind.ALTER_PARTITION])
def test_a_truncate_is_an_alter(story, kind):
    story.add(kind, **copy.deepcopy(EACH[kind]), attributes={"truncate": "true"})
    assert len(story.folded()) == 1


def test_drops_that_are_not_committed_yet_are_left_to_the_database(story):
    story.create()
    story.drop(attributes={"uncommitted": "true"})
    assert brief(story.only()) == (None, [(1, False)], {})


def test_other_uncommitted_changes_count(story):
    """Hive 4.0.0 tells of the partitions it adds while its transaction is open."""
    story.put("1", attributes={"uncommitted": "true"})
    story.lose("2", attributes={"uncommitted": "true"})
    assert brief(story.only())[2] == {"1": True, "2": False}


def test_the_drop_of_a_database_takes_in_what_was_done_to_its_tables(story):
    story.database(Kind.CREATE_DATABASE)
    story.create("db.t")
    story.create("other.t")
    story.put("1", name="db.u")
    story.database(Kind.DROP_DATABASE)
    story.database(Kind.CREATE_DATABASE)
    story.create("db.t")
    of_database, of_other, of_table = story.folded()
    assert isinstance(of_database, DatabaseState)
    assert (of_database.dropped.position, of_database.defined.position, of_database.born) == (5, 6, 6)
    assert sorted(of_database.positions) == [1, 2, 4, 5, 6]
    assert (str(of_other.name), of_other.positions) == ("other.t", [3])
    assert (str(of_table.name), of_table.positions, of_table.dropped) == ("db.t", [7], None)


def test_without_cascade_a_database_leaves_its_tables_to_events_of_their_own(story):
    story.database(Kind.CREATE_DATABASE)
    story.create("db.t")
    story.create("other.t")
    story.drop("db.t")
    story.put("1", name="db.u")
    story.drop("db.v", attributes={"uncommitted": "true"})
    story.database(Kind.DROP_DATABASE)
    story.database(Kind.CREATE_DATABASE)
    story.create("db.t")
    made, old, part, anew, other, new = fold(story.changes, cascade=False)
    assert (made.dropped, made.defined.position, made.positions) == (None, 1, [1])
    assert (str(old.name), old.dropped.position, old.definitions, old.positions) == ("db.t", 4, [], [2, 4])
    assert (str(part.name), part.dropped, part.positions) == ("db.u", None, [5])
    assert (anew.dropped.position, anew.defined.position, anew.positions) == (7, 8, [7, 8])
    assert (str(other.name), str(new.name), new.dropped, new.positions) == ("other.t", "db.t", None, [9])


def test_a_database_that_is_created_and_dropped_is_a_drop(story):
    story.database(Kind.CREATE_DATABASE)
    story.database(Kind.DROP_DATABASE)
    state = story.only()
    assert (state.dropped.position, state.defined) == (2, None)


def test_a_database_comes_before_its_tables(story):
    story.create("db.t")
    story.database(Kind.ALTER_DATABASE)
    assert [type(state) for state in story.folded()] == [DatabaseState, TableState]


def test_a_rename_parts_what_was_before_it_from_what_is_after_under_both_names(story):
    story.create("db.old")
    story.put("1", name="db.new")
    story.create("db.apart")
    story.alter("db.old", "db.new")
    story.put("2", name="db.new")
    story.create("db.old")
    story.alter("db.apart")
    found = [(item.position,) if isinstance(item, Change) else tuple(item.positions) for item in story.folded()]
    assert found == [(1,), (2,), (4,), (3, 7), (5,), (6,)]


def test_a_name_in_another_case_is_no_rename(story):
    story.add(Kind.ALTER_TABLE, before=[table("db", "t")], after=[table("DB", "T")])
    assert isinstance(story.only(), TableState)


def test_a_foreign_key_comes_after_both_of_its_tables_and_before_their_next_changes(story):
    story.create("db.t")
    story.create("db.p")
    story.add(Kind.ADD_FOREIGNKEY, **EACH[Kind.ADD_FOREIGNKEY])
    story.drop("db.p")
    found = [item if isinstance(item, Change) else item.name for item in story.folded()]
    assert found == [TableName("db", "t"), TableName("db", "p"), story.changes[2], TableName("db", "p")]


def test_a_function_comes_after_its_database(story):
    story.add(Kind.CREATE_FUNCTION, **EACH[Kind.CREATE_FUNCTION])
    story.database(Kind.ALTER_DATABASE)
    story.add(Kind.DROP_FUNCTION, **EACH[Kind.DROP_FUNCTION])
    assert [item.kind if isinstance(item, Change) else type(item) for item in story.folded()] == [
        Kind.CREATE_FUNCTION,
        DatabaseState,
        Kind.DROP_FUNCTION,
    ]


def test_a_state_has_been_only_where_all_of_its_changes_have_been(story):
    """Else a change would not be sent on to where only another one of its window has been."""
    for been in ("west,north", "north", "north,west"):
        story.alter(environment={VISITED: been})
    assert story.only().visited == ("north", "onprem")


def test_a_create_after_a_drop_that_is_suppressed_keeps_the_old_tables_partitions(story):
    story.put("1")
    story.create()
    state = story.only()
    assert (brief(state), state.born) == ((None, [(2, False)], {"1": True}), 0)


def test_a_create_after_a_drop_that_is_suppressed_is_not_the_birth_of_the_old_table(story):
    story.alter()
    story.create()
    state = story.only()
    assert (brief(state), state.born) == ((None, [(2, False)], {}), 0)


def test_a_create_with_other_keys_after_a_suppressed_drop_lets_old_partitions_go(story):
    """Other partition keys, or none."""
    story.put("1")
    story.add(Kind.CREATE_TABLE, after=[table("db", "t")])
    assert brief(story.only()) == (None, [(2, False)], {})
    story.put("1")
    bare = keyed("db.t")
    bare.partitionKeys = None
    story.add(Kind.CREATE_TABLE, after=[bare])
    assert brief(story.only())[2] == {}


def count(story: Story, *partitions: str, name: str = "t") -> None:
    names = {"partitions": "\n".join(partitions)} if partitions else {}
    story.add(Kind.COLUMN_STATISTICS, attributes={"database": "db", "table": name, **names})


def test_statistics_are_noted_once_for_each_partition_and_for_the_table_itself():
    story = Story()
    count(story, "day=1", "day=2")
    story.put("1", "2")
    count(story, "day=2", "day=3")
    count(story)
    (state,) = fold(story.changes)
    assert isinstance(state, TableState)
    assert list(state.statistics) == ["day=1", "day=2", "day=3", ""]
    assert state.counted is story.changes[-1]
    assert state.positions == [1, 2, 3, 4]


def test_statistics_of_a_table_that_was_dropped_are_forgotten():
    story = Story()
    count(story)
    story.drop()
    story.create()
    (state,) = fold(story.changes)
    assert isinstance(state, TableState)
    assert not state.statistics
