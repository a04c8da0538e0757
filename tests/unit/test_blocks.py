"""Blocks: what waits behind refused events, and what a refresh under way makes good of that."""

from __future__ import annotations

from collections.abc import Mapping, Set

import pytest

from pysync.model.event import Kind
from pysync.model.mark import Writer
from pysync.model.wire import encode_event
from pysync.queue import Queued
from pysync.replay.window.blocks import Blocks, Covers, Refusal
from pysync.replay.window.draft import Draft, draft
from pysync.replay.window.translate import Translator
from tests.support.drains import create
from tests.support.events import event, settings

TABLE: Set[str] = frozenset({"db.t"})


def covering(*names: str) -> Covers:
    return lambda _, keys: keys <= set(names)


def blocks(parked: Mapping[int, Set[str]], *, heals: bool = True) -> Blocks:
    found = Blocks(lambda: parked, heals)
    found.recall(frozenset[str]().union(*parked.values()))
    return found


def refresh(table: str) -> bytes:
    return encode_event(event(Kind.REFRESH, attributes={"database": "db", "table": table}))


def drafted(known: Blocks, *data: bytes, start: int = 10) -> Draft:
    """The draft of these events, the first at position `start`."""
    return draft(
        [Queued(at, each, 0) for at, each in enumerate(data, start)], Translator.of(settings()), Writer(1), known
    )


def refused(found: Draft) -> list[tuple[int, str]]:
    return [(it.event.position, it.kind) for it in found.refused]


def test_a_refused_event_blocks_its_keys_at_once():
    found = Blocks()
    found.refuse(1, {"db.t", "db.u"})
    assert found.keys == {"db.t", "db.u"}


def test_a_refresh_frees_the_keys_of_what_it_covers_if_it_can_read_the_source():
    known = {1: TABLE, 2: {"db.u"}}
    for heals, left in ((True, {"db.u"}), (False, {"db.t", "db.u"})):
        found = blocks(known, heals=heals)
        found.heal(3, covering("db.t"))
        assert found.keys == left


def test_a_key_stays_blocked_while_an_event_that_no_refresh_covers_has_it():
    found = blocks({1: TABLE, 2: {"db.t", "db.u"}})
    found.heal(3, covering("db.t"))
    assert found.keys == {"db.t", "db.u"}


@pytest.mark.parametrize(("position", "keys"), [(2, set()), (4, TABLE)], ids=["before it", "after it"])
def test_a_refresh_covers_only_events_before_it_whenever_those_are_refused(position: int, keys: Set[str]):
    found = blocks({})
    found.heal(3, covering("db.t"))
    found.refuse(position, TABLE)
    assert found.keys == keys


def test_a_refused_refresh_makes_nothing_good():
    found = blocks({1: TABLE})
    found.heal(3, covering("db.t"))
    found.refuse(3, TABLE)
    assert found.keys == TABLE
    assert found.healing == {}


def test_a_work_waits_behind_earlier_refused_events_only():
    found = Blocks()
    found.refuse(5, TABLE)
    assert not found.is_blocked_at(4, TABLE), "windows overlap: what is refused came later"
    assert found.is_blocked_at(6, TABLE)


def test_what_a_refresh_makes_good_still_holds_up_works_before_it():
    for found in (blocks({1: TABLE}), blocks({})):
        found.heal(3, covering("db.t"))
        found.refuse(1, TABLE)
        assert found.is_blocked_at(2, TABLE), "it would be applied to a table that lacks an earlier change"
        assert not found.is_blocked_at(3, TABLE)
        assert not found.is_blocked_at(4, TABLE)


def test_what_is_settled_blocks_as_parked_and_its_refreshes_are_over():
    found = blocks({})
    found.refuse(1, TABLE)
    found.heal(2, covering("db.u"))
    found.settle(2)
    assert (found.stored, found.refused, found.healing) == (TABLE, {}, {})
    assert found.keys == TABLE


def test_a_copy_changes_alone():
    known = blocks({1: TABLE})
    other = known.copy()
    other.refuse(2, {"db.u"})
    other.heal(3, covering("db.t"))
    assert (known.keys, known.refused, known.healing) == (TABLE, {}, {})


def test_a_draft_changes_nothing_so_that_the_same_events_give_the_same_draft():
    """A window that the brake holds is drafted again; what was refused of it must not block what comes before."""
    known = blocks({1: {"db.u"}})
    events = [encode_event(create("db.t")(1)), b"no event", refresh("u"), encode_event(create("db.t")(4))]
    first = drafted(known, *events)
    assert refused(first) == [(11, "rejected")]
    assert refused(drafted(known, *events)) == refused(first)
    assert (known.keys, known.refused, known.healing) == ({"db.u"}, {}, {})


def test_a_refresh_in_a_draft_lets_later_events_of_its_table_through():
    made = encode_event(create("db.t")(2))
    assert refused(drafted(blocks({1: TABLE}), made)) == [(10, "waits")]
    assert refused(drafted(blocks({1: TABLE}), refresh("t"), made)) == []
    assert refused(drafted(blocks({1: TABLE}, heals=False), refresh("t"), made)) == [(10, "waits"), (11, "waits")]


def test_what_a_draft_refused_waits_in_the_next_one_once_it_is_taken():
    known = Blocks()
    known.refuse(10, TABLE)
    assert refused(drafted(known, encode_event(create("db.t")(2)), start=11)) == [(11, "waits")]


def test_a_long_reason_is_cut_in_the_middle():
    reason = "Traceback: " + "x" * 10_000 + " ValueError: the cause"
    found = Refusal.of(Queued(1, b"", 0), frozenset(), "bug", reason)
    assert len(found.reason) == 2000
    assert found.reason.startswith("Traceback: x")
    assert found.reason.endswith("x ValueError: the cause")
