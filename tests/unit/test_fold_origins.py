"""Fold, where several names of the source have one name at the target: a state is of one name of the source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pysync.model.change import Change
from pysync.model.event import Event, Kind
from pysync.model.wire import encode_event
from pysync.replay.window.fold import DatabaseState, TableState, fold
from pysync.replay.window.translate import Translator
from tests.support import partition, table
from tests.support.events import database, event, rename_table, settings

KEYS = [("day", "string")]
MERGED = Translator.of(settings(databases={"db": "both", "twin": "both"}))
KINDS = (
    *(Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.DROP_DATABASE),
    *(Kind.CREATE_TABLE, Kind.ALTER_TABLE, Kind.DROP_TABLE, Kind.ADD_PARTITION),
)
STEPS = st.tuples(st.sampled_from(KINDS), st.sampled_from(("db", "twin")), st.sampled_from(("t", "u")))


def event_of(kind: Kind, place: str, name: str) -> Event:
    """An event of that database, or of that table in it."""
    of = table(place, name, partition_keys=KEYS)
    if kind is Kind.ADD_PARTITION:
        return event(kind, of=of, after=[partition(of, ["1"])])
    thing = database(place) if kind.endswith("DATABASE") else of
    before = {} if kind.startswith("CREATE") else {"before": [thing]}
    after = {} if kind.startswith("DROP") else {"after": [thing]}
    return event(kind, **before, **after)


def changes(events: Sequence[Event]) -> list[Change]:
    found = [MERGED.translate(encode_event(it), position) for position, it in enumerate(events, 1)]
    return [it for it in found if it is not None]


def positions(events: Sequence[Event]) -> list[list[int]]:
    return [it.positions for it in fold(changes(events)) if isinstance(it, TableState | DatabaseState)]


@given(st.lists(STEPS, max_size=12))
def test_a_state_is_of_one_name_of_the_source_and_the_states_are_in_order(steps: list[tuple[Kind, str, str]]) -> None:
    folded: list[Any] = fold(changes([event_of(*step) for step in steps]))
    sources = {at: (place, name) for at, (_, place, name) in enumerate(steps, 1)}
    for state in folded:
        places = {sources[at][0] for at in state.positions}
        names = {".".join(sources[at]) for at in state.positions}
        assert {state.origin} == (places if isinstance(state, DatabaseState) else names)
    assert sorted(at for state in folded for at in state.positions) == [*range(1, len(steps) + 1)]
    for name in ("t", "u"):  # of one table at the target: no later event comes out before an earlier one
        of_table = [it.positions for it in folded if isinstance(it, TableState) and it.name.table == name]
        assert [at for each in of_table for at in each] == sorted(at for each in of_table for at in each)


def test_a_state_has_the_keys_of_its_changes() -> None:
    (change,) = changes([event_of(Kind.ALTER_TABLE, "twin", "t")])
    (state,) = fold([change])
    assert state.keys == change.keys != frozenset({"both.t"})


def test_a_rename_that_keeps_the_name_at_the_target_is_folded_with_nothing() -> None:
    before, after = event_of(Kind.ALTER_TABLE, "db", "t"), event_of(Kind.ALTER_TABLE, "twin", "t")
    assert positions([before, rename_table("db.t", "twin.t"), after]) == [[1], [2], [3]]
    assert positions([rename_table("db.t", "twin.t"), rename_table("twin.t", "db.t")]) == [[1], [2]]


def test_a_dropped_database_takes_no_table_along_that_another_database_has_there() -> None:
    events = [event_of(Kind.CREATE_TABLE, place, name) for place, name in (("db", "t"), ("twin", "u"))]
    assert positions([*events, event_of(Kind.DROP_DATABASE, "db", "")]) == [[2], [1, 3]]
    assert positions([*events, event_of(Kind.ALTER_DATABASE, "db", "")]) == [[3], [1], [2]]
