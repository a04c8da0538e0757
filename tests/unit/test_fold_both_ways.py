"""Fold and plan, both ways: what an operation says of the states that it found, and what goes into it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.change import Change
from pysync.model.event import VISITED, Kind
from pysync.model.home import Stance
from pysync.model.mark import Mark, Writer
from pysync.model.operation import (
    DropDatabase,
    DropPartitions,
    DropTable,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    Refresh,
    RenameTable,
)
from pysync.replay.window.direction import BothWays
from pysync.replay.window.fold import DatabaseState, TableState, fold
from pysync.replay.window.plan import plan
from tests.support import partition, table
from tests.support.events import change, database, one_of_each_kind

EAST, WEST, NORTH = "east", "west", "north"
KEYS = [("day", "string")]


class Story:
    """Changes at the west, one after the other, as a target sees them."""

    def __init__(self, to: str, *, relay: bool = True) -> None:
        self._direction = BothWays(to, relay)
        self.changes: list[Change] = []

    def add(self, kind: Kind, path: str = "", **what: Any) -> None:
        environment = {VISITED: path} if path else {}
        position = len(self.changes) + 1
        found = self._direction.placed(change(kind, source=WEST, position=position, environment=environment, **what))
        assert found is not None
        self.changes.append(found)

    def alter(self, before: Any, after: Any, path: str = "") -> None:
        self.add(Kind.ALTER_TABLE, path, before=[before], after=[after])

    def drop_database(self, home: str = WEST, path: str = "", name: str = "db") -> None:
        self.add(Kind.DROP_DATABASE, path, before=[place(home, name=name)])

    def folded(self) -> list[Any]:
        return fold(self.changes)

    def only(self) -> Any:
        (state,) = self.folded()
        return state

    def positions(self) -> list[tuple[int, ...]]:
        return [tuple(it.positions) for it in self.folded()]

    def operations(self) -> list[Any]:
        return [operation for work in plan(self.folded(), Writer(5)) for operation in work.operations]


@pytest.fixture
def story() -> Story:
    """To the east."""
    return Story(EAST)


@pytest.fixture
def aside() -> Story:
    """To the north, which is the home of nothing."""
    return Story(NORTH)


def marks(home: str) -> dict[str, str]:
    return {} if home == WEST else Mark(home, 5, 7, 100).parameters()


def of(home: str = WEST, value: str = "", name: str = "db.t") -> Any:
    """A table of that home, as it is in the west."""
    return table(*name.split("."), partition_keys=KEYS, parameters={"value": value, **marks(home)})


def place(home: str = WEST, value: str = "", name: str = "db") -> Any:
    return database(name, parameters={"value": value, **marks(home)})


def values(found: Any) -> list[str | None]:
    return [it and it.parameters["value"] for it in found]


def day(value: str, number: str = "1", home: str = WEST) -> Any:
    made = partition(of(home), [number])
    made.parameters["value"] = value
    return made


# --- what was found


def test_a_request_says_every_state_that_its_table_had_before_one_of_its_changes(story):
    story.alter(of(EAST, "1"), of(EAST, "2"))
    story.alter(of(EAST, "2"), of(EAST, "3"))
    (put,) = story.operations()
    assert (type(put), put.condition.stance, values(put.condition.before)) == (PutTable, Stance.REQUEST, ["1", "2"])


def test_what_is_done_to_partitions_says_nothing_of_what_their_table_was(story):
    story.alter(of(EAST, "1"), of(EAST, "2"))
    story.add(Kind.ADD_PARTITION, of=of(EAST, "2"), after=[day("x", home=EAST)])
    story.add(Kind.DROP_PARTITION, of=of(EAST, "2"), before=[day("x", home=EAST)])
    story.alter(of(EAST, "2"), of(EAST, "3"))
    put, *_ = story.operations()
    assert values(put.condition.before) == ["1", "2"]


def test_a_table_dropped_and_made_anew_tells_what_it_was_before_each_of_both(story):
    story.alter(of(value="1"), of(value="2"))
    story.add(Kind.DROP_TABLE, before=[of(value="2")])
    story.add(Kind.CREATE_TABLE, after=[of(value="3")])
    story.alter(of(value="3"), of(value="4"))
    drop, put = story.operations()
    assert (type(drop), values(drop.condition.before)) == (DropTable, ["1", "2"])
    assert (type(put), values(put.condition.before)) == (PutTable, [None, "3"])


def test_a_database_tells_what_it_was_as_a_table_does(story):
    story.add(Kind.ALTER_DATABASE, before=[place(value="1")], after=[place(value="2")])
    story.add(Kind.DROP_DATABASE, before=[place(value="2")])
    story.add(Kind.CREATE_DATABASE, after=[place(value="3")])
    story.add(Kind.ALTER_DATABASE, before=[place(value="3")], after=[place(value="4")])
    drop, put = story.operations()
    assert (type(drop), values(drop.condition.before)) == (DropDatabase, ["1", "2"])
    assert (type(put), values(put.condition.before)) == (PutDatabase, [None, "3"])
    assert (drop.condition.stance, put.condition.stance) == (Stance.STATE, Stance.STATE)


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.booleans())
def test_whatever_becomes_of_a_table_no_state_that_it_had_is_left_out(drops: list[bool], there: bool) -> None:
    """Each step drops the table or, where it is there, alters it; where it is not it is created."""
    story, expected = Story(EAST), [[]]
    now = of(value="0") if there else None
    for number, drop in enumerate(drops, 1):
        new = of(value=str(number))
        expected[-1].append(now and now.parameters["value"])
        if now is None:
            story.add(Kind.CREATE_TABLE, after=[new])
        elif drop:
            story.add(Kind.DROP_TABLE, before=[now])
            expected.append([])
        else:
            story.alter(now, new)
        now = None if now is not None and drop else new
    state = story.only()
    assert values(state.defining) == expected[-1]
    assert values(state.dropping) == [it for before in expected[:-1] for it in before]


def test_a_blind_request_says_of_nothing_that_it_has_found_it(aside):
    """The north's own table gave way here to one of the east: what it had become meanwhile is not for it to ask."""
    aside.alter(of(NORTH, "1"), of(EAST, "2"), EAST)
    given_way = aside.changes[0].then
    assert given_way is not None
    (state,) = fold([given_way])
    assert (state.dropped.kind, state.provenance.blind, state.dropping) == (Kind.DROP_TABLE, True, [])


def test_what_was_told_to_a_target_that_does_not_ask_has_no_condition():
    changes = [
        change(Kind.ALTER_TABLE, before=[of(value="1")], after=[of(value="2")], position=1),
        change(Kind.ADD_PARTITION, of=of(), after=[day("1")], position=2),
        change(Kind.DROP_DATABASE, before=[place(name="other")], position=3),
    ]
    found = [operation for work in plan(fold(changes), Writer(5)) for operation in work.operations]
    assert [(type(it), it.condition) for it in found] == [
        (DropDatabase, None),
        (PutTable, None),
        (PutPartitions, None),
    ]


def test_partitions_are_judged_one_by_one_each_by_all_that_it_was(story):
    new = {"of": of()}
    story.add(Kind.ADD_PARTITION, **new, after=[day("1"), day("1", "2")])
    story.add(Kind.ALTER_PARTITION, **new, before=[day("1")], after=[day("2")])
    story.add(Kind.DROP_PARTITION, **new, before=[day("2"), day("7", "3")])
    put, drop = story.operations()
    assert (type(put), type(drop)) == (PutPartitions, DropPartitions)
    found = {
        names[0]: [it and it.parameters["value"] for it in states] for names, states in put.condition.parts.items()
    }
    assert found == {"1": [None, "1", "2"], "2": [None], "3": ["7"]}
    assert put.condition.parts == drop.condition.parts
    assert put.condition.before == ()


def test_a_renamed_partition_was_there_under_its_old_name_and_not_under_its_new_one(story):
    story.add(Kind.ALTER_PARTITION, of=of(), before=[day("1", "1")], after=[day("1", "2")])
    parts = story.only().parting
    assert {names: values(states) for names, states in parts.items()} == {("1",): ["1"], ("2",): [None]}


def test_partitions_of_a_table_that_was_dropped_are_asked_for_no_more(story):
    story.add(Kind.ADD_PARTITION, of=of(), after=[day("1")])
    story.add(Kind.DROP_TABLE, before=[of()])
    story.add(Kind.CREATE_TABLE, after=[of()])
    story.add(Kind.ADD_PARTITION, of=of(), after=[day("2", "2")])
    assert list(story.only().parting) == [("2",)]


def test_what_is_not_folded_says_what_it_found_too(story):
    story.add(Kind.ALTER_TABLE, before=[of(EAST, "1")], after=[of(EAST, "2", name="db.u")])
    story.add(Kind.CREATE_FUNCTION, **one_of_each_kind()[Kind.CREATE_FUNCTION])
    rename, put = story.operations()
    assert (type(rename), rename.condition.stance) == (RenameTable, Stance.REQUEST)
    assert values(rename.condition.before) == ["1"]
    assert (type(put), put.condition.stance, put.condition.before) == (PutFunction, None, (None,))


def test_the_drop_of_a_database_tells_of_the_tables_that_went_with_it(story):
    story.drop_database()
    story.changes[0].dropped_tables = [of(), of(name="db.u")]
    (drop,) = story.operations()
    assert ([it.tableName for it in drop.dropped_tables], drop.tables_alone) == (["t", "u"], False)


def test_the_drop_of_a_database_that_others_tell_of_is_of_the_tables_alone():
    story = Story(NORTH, relay=False)
    story.drop_database(EAST)
    (drop,) = story.operations()
    assert (type(drop), drop.tables_alone) == (DropDatabase, True)


def test_of_a_table_that_was_born_here_the_mark_is_of_its_event(story):
    old, new = of(), of(value="1")
    old.createTime, new.createTime = 1000, 2000
    story.add(Kind.DROP_TABLE, before=[old])
    story.add(Kind.CREATE_TABLE, after=[new])
    drop, put = story.operations()
    assert (drop.mark, put.mark) == (Mark(WEST, 5, 1, 1000), Mark(WEST, 5, 2, 2000, born=2))
    assert (drop.mark.writer, put.mark.writer) == (Writer(5), Writer(5))


def test_of_a_table_of_another_home_the_mark_stays_that_homes(story):
    replica = of(EAST)
    replica.createTime = 2000  # here; the home's own time is in its mark
    story.add(Kind.DROP_TABLE, before=[replica])
    (drop,) = story.operations()
    assert drop.mark == Mark(EAST, 5, 7, 100)


# --- what goes together


def test_changes_of_one_home_that_took_one_way_are_one(aside):
    aside.alter(of(EAST, "1"), of(EAST, "2"), EAST)
    aside.alter(of(EAST, "2"), of(EAST, "3"), EAST)
    assert aside.positions() == [(1, 2)]


def test_the_word_of_the_home_is_not_one_with_a_request(aside):
    aside.alter(of(EAST, "1"), of(EAST, "2"))
    aside.alter(of(EAST, "2"), of(EAST, "3"), EAST)
    aside.alter(of(EAST, "3"), of(EAST, "4"))
    assert aside.positions() == [(1,), (2,), (3,)]
    stances = [operation.condition.stance for operation in aside.operations()]
    assert stances == [Stance.REQUEST, Stance.STATE, Stance.REQUEST]


def test_a_request_about_a_database_is_not_one_with_the_word_of_its_home(aside):
    sides = {"before": [place(EAST)], "after": [place(EAST)]}
    aside.add(Kind.ALTER_DATABASE, **sides)
    aside.add(Kind.ALTER_DATABASE, **sides)
    aside.add(Kind.ALTER_DATABASE, EAST, **sides)
    assert aside.positions() == [(1, 2), (3,)]


def test_a_database_comes_before_what_is_done_in_it_though_that_is_closed_early(aside):
    aside.add(Kind.CREATE_DATABASE, after=[place()])
    aside.alter(of(EAST, "1"), of(EAST, "2"))
    aside.alter(of(EAST, "2"), of(EAST, "3"), EAST)
    assert aside.positions() == [(1,), (2,), (3,)]


def test_statistics_go_with_what_is_done_to_their_table_and_do_not_say_whose_it_is(story):
    statistics = {"attributes": {"database": "db", "table": "t"}}
    story.add(Kind.COLUMN_STATISTICS, **statistics)
    story.alter(of(value="1"), of(value="2"))
    story.add(Kind.COLUMN_STATISTICS, **statistics)
    put, refresh = story.operations()
    assert (type(put), put.condition.stance, values(put.condition.before)) == (PutTable, Stance.STATE, ["1"])
    assert isinstance(refresh, Refresh)


def test_the_drop_of_a_database_takes_in_what_the_same_home_did_to_its_tables(story):
    story.alter(of(), of(value="1"))
    story.drop_database()
    assert (type(story.only()), story.positions()) == (DatabaseState, [(1, 2)])


def test_the_drop_of_a_database_comes_after_what_others_did_to_its_tables(aside):
    aside.alter(of(EAST), of(EAST, "1"), EAST)
    aside.alter(of(name="db.u"), of(value="1", name="db.u"))
    aside.drop_database()
    assert [type(it) for it in aside.folded()] == [TableState, DatabaseState]
    assert aside.positions() == [(1,), (2, 3)]


def test_a_request_to_drop_a_database_comes_after_all_that_was_done_to_its_tables(story):
    """The home looks at each of them: what was done here before must be there then, if it is done at all."""
    story.alter(of(EAST), of(EAST, "1"))
    story.drop_database(EAST)
    assert story.positions() == [(1,), (2,)]


def test_the_drop_of_a_database_comes_after_the_statistics_of_its_tables(story):
    """Also if they are all that is known of a table."""
    story.add(Kind.COLUMN_STATISTICS, attributes={"database": "db", "table": "t"})
    story.drop_database()
    assert story.positions() == [(1,), (2,)]


def test_the_tables_of_other_databases_and_an_alter_of_their_own_leave_tables_open(story):
    story.alter(of(EAST), of(EAST, "1"))
    story.alter(of(name="other.t"), of(value="1", name="other.t"))
    story.add(Kind.ALTER_DATABASE, before=[place(EAST)], after=[place(EAST, "1")])
    story.drop_database(EAST, name="third")
    story.alter(of(EAST, "1"), of(EAST, "2"))
    story.alter(of(value="1", name="other.t"), of(value="2", name="other.t"))
    assert sorted(story.positions()) == [(1, 5), (2, 6), (3,), (4,)]
