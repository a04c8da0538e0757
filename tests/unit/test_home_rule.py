"""Judging: what becomes of an operation at a target with `both_ways`, by homes and by what it asks for."""

from __future__ import annotations

from typing import Any

import pytest

from pysync.model.home import Condition, Stance
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable, PutPartitions, PutTable
from pysync.targets.apply.home_rule import HomeRule
from pysync.targets.apply.judge import Verdict
from tests.support import partition, table
from tests.support.events import database

EAST, NORTH, WEST = "east", "north", "west"
T = TableName("db", "t")


def same(wanted: Any, there: Any) -> bool:
    return bool(wanted.parameters["value"] == there.parameters["value"])


def at(cluster: str, on_conflict: Any = "adopt", *, relay: bool = True) -> HomeRule:
    return HomeRule(cluster, on_conflict, same, relay)


def table_of_home(home: str | None, value: str = "1", position: int = 7, created: int = 100) -> Any:
    """A table of that home as it is at a target that is not it; None: it is at home there."""
    marks = {} if home is None else Mark(home, 5, position, created).parameters()
    return table("db", "t", partition_keys=[("day", "string")], parameters={"value": value, **marks})


def put(home: str, condition: Condition | None, *, visited: tuple[str, ...] = (), position: int = 7) -> PutTable:
    definition = table_of_home(None)
    mark = Mark(home, 5, position, 100)
    return PutTable(table=T, definition=definition, mark=mark, visited=visited or (home,), condition=condition)


def drop(home: str, condition: Condition | None, position: int = 7) -> DropTable:
    return DropTable(table=T, mark=Mark(home, 5, position, 100), visited=(home,), condition=condition)


STATE, ECHO, REQUEST = Condition(Stance.STATE), Condition(Stance.ECHO), Condition(Stance.REQUEST)


def saw(*values: str | None, stance: Stance = Stance.REQUEST) -> Condition:
    return Condition(stance, [None if value is None else table_of_home(None, value) for value in values])


# --- the home's word


@pytest.mark.parametrize(
    ("there", "verdict"),
    [
        (None, Verdict.DO),
        (table_of_home(WEST, "x", position=6), Verdict.DO),
        (table_of_home(WEST, "x", position=7), Verdict.DO),
        (table_of_home(WEST, "x", position=8), Verdict.STALE),
    ],
)
def test_the_homes_word_counts_whatever_the_replica_became(there: Any, verdict: Verdict) -> None:
    assert at(EAST).put(put(WEST, STATE), table_of_home(None), there) is verdict


@pytest.mark.parametrize(("policy", "verdict"), [("adopt", "DO"), ("skip", "FOREIGN"), ("park", "PARK")])
def test_a_table_of_the_smaller_name_takes_the_place_of_anothers_as_the_policy_says(policy: str, verdict: str) -> None:
    for there in (table_of_home(None, "x"), table_of_home(NORTH, "x")):
        assert at(WEST, policy).put(put(EAST, STATE), table_of_home(None), there).name == verdict
        assert at(WEST, policy).put(put(EAST, STATE), table_of_home(None, "x"), there) is Verdict.DO


def test_a_table_of_the_greater_name_gives_way_to_the_one_that_was_born_here() -> None:
    judge = at(EAST)
    assert judge.put(put(WEST, STATE), table_of_home(None, "x"), table_of_home(None, "y")) is Verdict.CONFLICT
    assert judge.put(put(WEST, STATE), table_of_home(None, "x"), table_of_home(None, "x")) is Verdict.UNCHANGED


def test_two_born_the_same_are_a_conflict_if_each_may_have_partitions_of_its_own() -> None:
    born, same_one = put(WEST, saw(None, stance=Stance.STATE)), table_of_home(None, "x")
    assert at(EAST).put(born, table_of_home(None, "x"), same_one) is Verdict.CONFLICT
    for it in (born.definition, same_one):
        it.partitionKeys = []
    assert at(EAST).put(born, it, same_one) is Verdict.UNCHANGED


def test_a_table_of_the_greater_name_does_not_take_one_whose_home_is_a_third_cluster() -> None:
    for value in "xy":
        assert at(EAST).put(put(WEST, STATE), table_of_home(None, "x"), table_of_home(NORTH, value)) is Verdict.CONFLICT


def test_who_passes_a_table_on_has_nothing_of_its_own_under_the_name_any_more() -> None:
    passed_on = put(WEST, STATE, visited=(WEST, NORTH))
    assert at(EAST).put(passed_on, table_of_home(None, "x"), table_of_home(NORTH, "y")) is Verdict.DO


# --- requests and echoes


@pytest.mark.parametrize(
    ("seen", "there", "verdict"),
    [
        (["1"], "1", Verdict.DO),
        (["0", "1"], "1", Verdict.DO),
        ([None], None, Verdict.DO),
        (["1"], "wanted", Verdict.UNCHANGED),
        ([], "wanted", Verdict.UNCHANGED),
        (["1"], "2", Verdict.CONFLICT),
        ([None], "2", Verdict.CONFLICT),
        ([], "2", Verdict.CONFLICT),
        (["1"], None, Verdict.CONFLICT),
    ],
)
def test_the_home_does_what_it_is_asked_if_it_has_what_the_replica_had(
    seen: list[str | None], there: str | None, verdict: Verdict
) -> None:
    has = None if there is None else table_of_home(None, there)
    assert at(EAST).put(put(EAST, saw(*seen)), table_of_home(None, "wanted"), has) is verdict


def test_a_request_for_what_is_made_anew_finds_it_absent() -> None:
    anew = Condition(Stance.REQUEST, [table_of_home(None, "1")], may_be_absent=True)
    assert at(EAST).put(put(EAST, anew), table_of_home(None, "wanted"), None) is Verdict.DO
    assert at(EAST).put(put(EAST, anew), table_of_home(None, "wanted"), table_of_home(None, "2")) is Verdict.CONFLICT


def test_a_request_done_already_on_its_way_is_a_conflict_so_that_its_home_hears_it() -> None:
    there = table_of_home(EAST, "wanted")
    assert at(NORTH).put(put(EAST, saw("1"), visited=(WEST,)), table_of_home(None, "wanted"), there) is Verdict.CONFLICT
    assert at(NORTH).put(put(EAST, saw(), visited=(WEST,)), table_of_home(None, "wanted"), there) is Verdict.UNCHANGED


@pytest.mark.parametrize(
    ("there", "verdict"),
    [("wanted", Verdict.UNCHANGED), ("1", Verdict.DO), ("2", Verdict.STALE), (None, Verdict.STALE)],
)
def test_an_echo_is_done_where_nothing_newer_was_done(there: str | None, verdict: Verdict) -> None:
    has = None if there is None else table_of_home(EAST, there)
    assert at(WEST).put(put(EAST, saw("1", stance=Stance.ECHO)), table_of_home(None, "wanted"), has) is verdict


def test_an_echo_that_changes_nothing_still_takes_a_table_born_here_to_its_home() -> None:
    echo = saw("1", stance=Stance.ECHO)
    assert at(WEST).put(put(EAST, echo), table_of_home(None, "wanted"), table_of_home(None, "wanted")) is Verdict.DO
    assert (
        at(EAST).put(put(WEST, echo), table_of_home(None, "wanted"), table_of_home(None, "wanted")) is Verdict.UNCHANGED
    )


def test_what_was_read_at_the_source_is_a_request_at_its_home_and_a_state_elsewhere() -> None:
    """Elsewhere it is taken as the home's word."""
    assert at(EAST).condition_of(put(EAST, None)).stance is Stance.REQUEST
    assert at(EAST).condition_of(put(WEST, None)).stance is Stance.STATE
    assert at(EAST).condition_of(put(WEST, Condition(None))).stance is Stance.STATE
    assert at(EAST).condition_of(put(EAST, ECHO)) is ECHO


def test_a_request_is_on_its_way_until_it_is_at_the_home() -> None:
    assert at(NORTH).is_unseen_request(put(EAST, REQUEST))
    assert not at(EAST).is_unseen_request(put(EAST, REQUEST))
    assert not at(NORTH).is_unseen_request(put(EAST, STATE))


# --- drops


@pytest.mark.parametrize(
    ("there", "verdict"),
    [
        (None, Verdict.UNCHANGED),
        (table_of_home(WEST), Verdict.DO),
        (table_of_home(WEST, created=101), Verdict.STALE),  # born there after the drop
        (table_of_home(None), Verdict.FOREIGN),
        (table_of_home(NORTH), Verdict.FOREIGN),
    ],
)
@pytest.mark.parametrize("stance", [Stance.STATE, Stance.ECHO])
def test_the_home_drops_only_what_is_its_own(there: Any, stance: Stance, verdict: Verdict) -> None:
    assert at(EAST).drop(drop(WEST, Condition(stance)), there) is verdict


def test_a_request_drops_only_what_it_saw() -> None:
    judge = at(EAST)
    assert judge.drop(drop(EAST, saw("1")), table_of_home(None, "1")) is Verdict.DO
    assert judge.drop(drop(EAST, saw("1")), table_of_home(None, "2")) is Verdict.CONFLICT
    assert judge.drop(drop(EAST, saw("1")), None) is Verdict.UNCHANGED
    assert judge.drop(drop(EAST, saw("1")), table_of_home(WEST, "1")) is Verdict.FOREIGN


# --- what is written


def test_a_table_carries_the_mark_of_its_home_and_none_at_home() -> None:
    assert at(WEST).mark(put(EAST, STATE), None) == Mark(EAST, 5, 7, 100)
    assert at(EAST).mark(put(EAST, REQUEST), None) is None
    assert at(EAST).mark(put(EAST, REQUEST), table_of_home(None)) is None
    assert at(WEST).mark(put(EAST, STATE), table_of_home(None)) == Mark(EAST, 5, 7, 100), "the one born here gives way"
    assert at(EAST).mark(put(WEST, STATE), table_of_home(None)) is None, "the one born here stays"


def test_a_request_leaves_the_mark_that_is_there() -> None:
    there = table_of_home(EAST, position=3)
    assert at(NORTH).mark(put(EAST, REQUEST), there) == Mark(EAST, 5, 3, 100)
    assert at(NORTH).mark(put(EAST, STATE), there) == Mark(EAST, 5, 7, 100)


# --- parts


def partitions(home: str, condition: Condition, visited: tuple[str, ...]) -> PutPartitions:
    mark = Mark(home, 5, 7, 100)
    return PutPartitions(
        table=T, definition=table_of_home(None), partitions=(), mark=mark, visited=visited, condition=condition
    )


@pytest.mark.parametrize(
    ("place", "stance", "verdict"),
    [
        (table_of_home(WEST), Stance.STATE, Verdict.DO),
        (table_of_home(WEST, created=101), Stance.STATE, Verdict.STALE),  # of a table of that name that is no more
        (table_of_home(WEST, created=101), Stance.ECHO, Verdict.STALE),
        (table_of_home(WEST, created=101), Stance.REQUEST, Verdict.DO),  # each is looked at by itself
        (table_of_home(NORTH), Stance.STATE, Verdict.FOREIGN),
        (table_of_home(NORTH), Stance.ECHO, Verdict.DO),
        (table_of_home(None), Stance.STATE, Verdict.DO),
    ],
)
def test_partitions_are_judged_by_the_home_of_their_table(place: Any, stance: Stance, verdict: Verdict) -> None:
    assert at(EAST).parts(partitions(WEST, Condition(stance), (WEST,)), place) is verdict


@pytest.mark.parametrize(
    ("seen", "there", "verdict"),
    [
        (["1"], "1", Verdict.DO),
        ([None], None, Verdict.DO),
        (["1"], "2", Verdict.CONFLICT),
        (["1"], "wanted", Verdict.UNCHANGED),
        (None, "2", Verdict.CONFLICT),
    ],
)
def test_a_request_asks_of_each_partition_what_that_was(
    seen: list[str | None] | None, there: str | None, verdict: Verdict
) -> None:
    def day(value: str) -> Any:
        made = partition(table_of_home(None), ["1"])
        made.parameters["value"] = value
        return made

    known = [table_of_home(None, "other")]
    parts = {("2",): known} if seen is None else {("2",): known, ("1",): [it and day(it) for it in seen]}
    asked = Condition(Stance.REQUEST, (), parts)
    has = there and day(there)
    assert at(EAST).part(partitions(EAST, asked, (WEST,)), table_of_home(None), day("wanted"), has) is verdict


def test_what_is_neither_there_nor_wanted_is_no_conflict() -> None:
    for asked in (saw("1"), STATE):
        assert at(EAST).part(partitions(EAST, asked, (WEST,)), table_of_home(None), None, None) is Verdict.UNCHANGED


def test_the_homes_word_about_a_partition_asks_for_nothing() -> None:
    day = partition(table_of_home(WEST), ["1"])
    assert at(EAST).part(partitions(WEST, STATE, (WEST,)), table_of_home(WEST), day, None) is Verdict.DO


@pytest.mark.parametrize(
    ("place", "visited", "relay", "expected"),
    [
        (database("db", parameters={}), (WEST,), True, Stance.REQUEST),  # at home here
        (database("db", parameters={}), (WEST, EAST), True, None),
        (database("db", parameters=Mark(WEST, 5, 7).parameters()), (WEST,), True, Stance.STATE),
        (database("db", parameters=Mark(NORTH, 5, 7).parameters()), (WEST,), True, Stance.REQUEST),
        (database("db", parameters=Mark(NORTH, 5, 7).parameters()), (WEST,), False, None),  # north tells it itself
        (database("db", parameters=Mark(NORTH, 5, 7).parameters()), (WEST, NORTH), False, Stance.STATE),
        (database("db", parameters={}), (WEST,), False, Stance.REQUEST),
        (database("default", parameters=Mark(WEST, 5, 7).parameters()), (WEST,), True, Stance.REQUEST),
        (database("default", parameters={}), ("a", WEST), True, Stance.STATE),  # the smallest name is its home
    ],
)
def test_a_function_is_judged_by_the_home_of_its_database(
    place: Any, visited: tuple[str, ...], relay: bool, expected: Stance | None
) -> None:
    operation = partitions(visited[0], Condition(None), visited)
    assert at(EAST, relay=relay).stance(operation, place) is expected
    assert (at(EAST, relay=relay).parts(operation, place) is Verdict.STALE) == (expected is None)


def test_a_function_that_is_there_already_is_no_conflict_at_the_home_of_its_database() -> None:
    """But elsewhere it is, so that the home hears of it."""
    operation = partitions(WEST, Condition(None, [table_of_home(None, "1")]), (WEST,))
    wanted, there = table_of_home(None, "2"), table_of_home(None, "2")
    assert at(EAST).part(operation, database("db", parameters={}), wanted, there) is Verdict.UNCHANGED
    replica = database("db", parameters=Mark(NORTH, 5, 7).parameters())
    assert at(EAST).part(operation, replica, wanted, there) is Verdict.CONFLICT


def test_for_functions_the_smaller_is_the_home_of_a_database_born_at_both_ends() -> None:
    place = database("db", parameters={})
    for text, cluster, expected in ((EAST, WEST, Stance.STATE), (WEST, EAST, Stance.REQUEST)):
        operation = partitions(text, Condition(None, place=text), (text,))
        assert at(cluster).stance(operation, place) is expected
