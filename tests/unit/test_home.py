"""Home: whose an object is, and what a change of it is to another cluster."""

from __future__ import annotations

import threading
from collections.abc import Sized
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.lab.faulty import FaultySettings
from pysync.model.event import VISITED, Kind
from pysync.model.home import Provenance, Stance, home_of, since, stance
from pysync.model.mark import Mark
from pysync.model.wire import encode
from pysync.replay.window.direction import BothWays, Direction, DroppedTables
from tests.support import partition, table
from tests.support.events import change, database, settings

EAST, WEST, NORTH = "east", "west", "north"


@pytest.mark.parametrize(
    ("home", "visited", "target", "expected"),
    [
        (EAST, [EAST], WEST, Stance.STATE),  # the home's own change
        (EAST, [EAST, WEST], NORTH, Stance.STATE),  # and as it is passed on
        (EAST, [EAST, WEST], EAST, None),  # it never goes back
        (EAST, [EAST, WEST, NORTH], EAST, None),
        (EAST, [EAST, WEST], WEST, None),
        (EAST, [WEST], EAST, Stance.REQUEST),  # of a replica, to the home
        (EAST, [WEST], NORTH, Stance.REQUEST),  # and by way of another replica
        (EAST, [WEST, NORTH], EAST, Stance.REQUEST),
        (EAST, [WEST, NORTH], WEST, None),  # round, and not by the home
        (EAST, [WEST, EAST], WEST, Stance.ECHO),  # the home has said yes
        (EAST, [WEST, NORTH, EAST], WEST, Stance.ECHO),
        (EAST, [WEST, NORTH, EAST], NORTH, Stance.ECHO),
        (EAST, [WEST, NORTH, EAST, WEST], NORTH, Stance.ECHO),  # and passes it on to who asked on the way
        (EAST, [WEST, NORTH, EAST, WEST, NORTH], EAST, None),
        (EAST, [EAST, EAST], WEST, Stance.STATE),  # a function is touched at its home
    ],
)
def test_what_a_change_is(home: str, visited: list[str], target: str, expected: Stance | None) -> None:
    assert stance(home, visited, target) is expected


paths = st.lists(st.sampled_from([EAST, WEST, NORTH]), min_size=1, max_size=6)


@given(st.sampled_from([EAST, WEST, NORTH]), paths)
def test_the_home_is_asked_until_it_has_had_it_and_never_again(home: str, visited: list[str]) -> None:
    assert (stance(home, visited, home) is None) == (home in visited)


@given(st.sampled_from([EAST, WEST, NORTH]), st.sampled_from([EAST, WEST, NORTH]), paths)
def test_what_the_home_said_goes_to_each_but_once(home: str, target: str, visited: list[str]) -> None:
    path = [home, *[name for name in visited if name != home]]
    assert (stance(home, path, target) is None) == (target in path)


def replica(home: str = EAST, **fields: Any) -> Any:
    return table("db", "t", partition_keys=[("day", "string")], parameters=Mark(home, 5, 7, 100).parameters() | fields)


def own(**fields: Any) -> Any:
    return table("db", "t", partition_keys=[("day", "string")], parameters=fields)


def test_without_a_mark_or_with_its_own_an_object_is_at_home() -> None:
    assert home_of({}, WEST) == WEST
    assert home_of(replica(WEST).parameters, WEST) == WEST
    assert home_of(replica().parameters, WEST) == EAST


def placed(kind: Kind, *, relay: bool = True, to: str = EAST, path: str = "", **what: Any) -> Any:
    environment = {VISITED: path} if path else {}
    return BothWays(to, relay).placed(change(kind, source=WEST, environment=environment, **what))


def stance_of(kind: Kind, **what: Any) -> Stance | None:
    found = placed(kind, **what)
    return found and found.provenance.stance


def test_only_a_target_both_ways_asks_whose_a_change_is() -> None:
    assert Direction.of(settings(name=EAST)) == Direction(EAST)
    assert Direction(EAST).placed(found := change(Kind.DROP_TABLE, source=WEST, before=[replica()])) is found
    wanted = {"kind": "faulty", "both_ways": True, "on_conflict": "adopt"}
    assert Direction.of(FaultySettings(name=EAST, **wanted)) == BothWays(EAST, relays=True)
    assert Direction.of(FaultySettings(name="dr", cluster=EAST, relay=False, **wanted)) == BothWays(EAST, relays=False)


def test_a_clients_change_of_a_replica_is_a_request() -> None:
    day = partition(replica(), ["1"])
    assert stance_of(Kind.ALTER_TABLE, before=[replica()], after=[replica(x="1")]) is Stance.REQUEST
    assert stance_of(Kind.DROP_TABLE, before=[replica()]) is Stance.REQUEST
    assert stance_of(Kind.ADD_PARTITION, of=replica(), after=[day]) is Stance.REQUEST
    assert stance_of(Kind.DROP_PARTITION, of=replica(), before=[day]) is Stance.REQUEST


def test_the_mark_that_goes_on_is_the_homes() -> None:
    found = placed(Kind.ALTER_TABLE, to=NORTH, path=EAST, before=[replica()], after=[replica(x="1")])
    assert (found.provenance.stance, found.provenance.home) == (Stance.STATE, EAST)
    assert found.provenance.mark == Mark(EAST, 5, 7, 100)


def test_what_is_born_here_is_told_as_its_homes_word() -> None:
    found = placed(Kind.CREATE_TABLE, after=[own()])
    assert (found.provenance.stance, found.provenance.home, found.provenance.mark) == (Stance.STATE, WEST, None)


def test_an_echo_is_left_out() -> None:
    assert placed(Kind.ALTER_TABLE, path=EAST, before=[replica()], after=[replica(x="1")]) is None


def test_a_database_with_a_mark_came_from_there_though_the_call_did_not_say_so() -> None:
    came = database("db", parameters=Mark(EAST, 5, 7).parameters())
    assert placed(Kind.CREATE_DATABASE, after=[came]) is None
    assert placed(Kind.CREATE_DATABASE, to=NORTH, after=[came]).provenance.stance is Stance.STATE


def test_without_relay_a_target_gets_what_one_of_the_two_is_the_home_of() -> None:
    assert placed(Kind.ALTER_TABLE, relay=False, to=NORTH, before=[replica()], after=[replica(x="1")]) is None
    assert stance_of(Kind.DROP_TABLE, relay=False, to=EAST, before=[replica()]) is Stance.REQUEST
    assert stance_of(Kind.DROP_TABLE, relay=False, to=NORTH, before=[own()]) is Stance.STATE


def test_a_table_that_gave_way_to_anothers_is_a_drop_of_the_sources_own() -> None:
    found = placed(Kind.ALTER_TABLE, path=EAST, before=[own()], after=[replica()])
    assert (found.kind, found.provenance.stance, found.provenance.home) == (Kind.DROP_TABLE, Stance.STATE, WEST)


def test_a_name_that_a_third_clusters_table_has_no_more_may_be_wanted_by_the_target() -> None:
    found = placed(Kind.DROP_TABLE, relay=False, to=NORTH, before=[replica()])
    assert (found.provenance.stance, found.provenance.home, found.provenance.blind) == (Stance.REQUEST, NORTH, True)


def test_the_targets_own_table_that_gave_way_has_to_be_told_anew() -> None:
    found = placed(Kind.ALTER_TABLE, to=NORTH, path=EAST, relay=False, before=[replica(NORTH)], after=[replica()])
    assert (found.kind, found.provenance.home, found.provenance.blind) == (Kind.DROP_TABLE, NORTH, True)
    passed_on = placed(Kind.ALTER_TABLE, to=NORTH, path=EAST, before=[own()], after=[replica()])
    assert (passed_on.provenance.home, passed_on.then.provenance.home, passed_on.then.kind) == (
        EAST,
        WEST,
        Kind.DROP_TABLE,
    )


def test_functions_and_constraints_are_judged_where_their_place_is_seen() -> None:
    found = placed(Kind.DROP_CONSTRAINT, attributes={"database": "db", "table": "t", "constraint": "pk"})
    assert found.provenance.stance is None


def gone(name: str, position: int, of: str = "db") -> Any:
    return change(Kind.DROP_TABLE, before=[table(of, name)], position=position, attributes={"uncommitted": "true"})


def dropped(position: int, name: str = "db") -> Any:
    return change(Kind.DROP_DATABASE, before=[database(name)], position=position)


def test_the_tables_that_went_with_a_database_are_given_to_its_drop() -> None:
    reported = DroppedTables()
    events = [gone("a", 1), gone("x", 2, of="other"), dropped(3), gone("b", 4), dropped(5)]
    for event in events:
        reported.note(event)
    assert [it.tableName for it in events[2].dropped_tables] == ["a"]
    assert [it.tableName for it in events[4].dropped_tables] == ["b"]
    again = dropped(5)
    reported.note(again)
    assert [it.tableName for it in again.dropped_tables] == ["b"]


def test_tables_that_went_with_a_database_are_bounded_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    one = len(encode(table("db", "t1")))
    monkeypatch.setattr("pysync.replay.window.direction._MOST_DROPPED_BYTES", 3 * one)
    reported = DroppedTables()
    for position in range(1, 9):
        reported.note(gone(f"t{position}", position))
        reported.note(gone(f"t{position}", position))  # a window may be translated more than once
    last = dropped(9)
    reported.note(last)
    assert last.dropped_tables == [table("db", name) for name in ("t6", "t7", "t8")], "as they were"


def test_drops_of_databases_are_not_remembered() -> None:
    reported = DroppedTables()
    for position in range(1, 100):
        reported.note(dropped(position, f"db{position}"))
    assert [it for it in vars(reported).values() if isinstance(it, Sized) and len(it)] == []


def test_a_plan_may_be_made_while_tables_go_with_their_database() -> None:
    """By another thread than the drain's."""
    reported, ended = DroppedTables(), threading.Event()

    def drain() -> None:
        for position in range(1, 3000):
            reported.note(gone("a", position))
        ended.set()

    thread = threading.Thread(target=drain)
    thread.start()
    while not ended.is_set():
        reported.note(dropped(3000))
    thread.join()


def test_a_change_that_is_no_drop_is_neither_told_nor_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pysync.replay.window.direction._MOST_DROPPED", 2)
    reported = DroppedTables()
    day = change(Kind.ADD_PARTITION, of=own(), after=[partition(own(), ["1"])], attributes={"uncommitted": "true"})
    altered = change(Kind.ALTER_TABLE, before=[own()], after=[own()], position=9)
    last = dropped(8)
    for event in (day, gone("a", 1), gone("b", 2), gone("c", 3), last, altered):
        reported.note(event)
    assert [it.tableName for it in last.dropped_tables] == ["b", "c"], "the oldest are forgotten"
    assert altered.dropped_tables == []


def test_who_had_a_table_that_gave_way_is_told_whose_it_was() -> None:
    was, gave_way = replica(NORTH), {"before": [replica(NORTH)], "after": [replica()]}
    mark = Mark.read(was.parameters)
    to_its_home = placed(Kind.ALTER_TABLE, to=NORTH, path=EAST, relay=False, **gave_way)
    assert to_its_home.provenance == Provenance(Stance.REQUEST, NORTH, (EAST, WEST), mark, blind=True)
    elsewhere = placed(Kind.ALTER_TABLE, to="south", path=EAST, **gave_way)
    assert elsewhere.then.provenance == Provenance(Stance.STATE, NORTH, (NORTH, WEST), mark)
    own_one = placed(Kind.ALTER_TABLE, to=NORTH, path=EAST, before=[own()], after=[replica()])
    assert own_one.then.provenance == Provenance(Stance.STATE, WEST, (WEST,), None)


def test_a_rename_that_comes_back_as_a_create_is_compared_whole() -> None:
    came_back, new = [replica()], [own()]
    assert str(placed(Kind.CREATE_TABLE, to=NORTH, path="north,east", after=came_back).whole) == "db.t"
    assert placed(Kind.CREATE_TABLE, to=NORTH, path="east", after=came_back).whole is None
    assert placed(Kind.CREATE_TABLE, to=NORTH, after=new).whole is None


def test_the_word_of_a_home_is_on_its_way_since_it_was_last_there() -> None:
    assert since("east", ("east", "west", "east", "north")) == ("east", "north")
    assert since("south", ("east", "west")) == ("east", "west")


def test_a_change_does_not_go_round_for_ever_whatever_others_take_for_its_home() -> None:
    once = ("east", "west", "north")
    assert stance("north", once, "east") is Stance.ECHO
    assert stance("north", once * 3, "east") is Stance.ECHO
    assert stance("north", once * 4, "east") is None
    assert stance("south", once * 4, "east") is None
