"""Draft: one event that is not what it should be is refused, whoever stumbles over it, and the others go on."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.lab.faulty import FaultySettings
from pysync.model.event import Kind
from pysync.model.mark import Writer
from pysync.model.reread import RereadRequest
from pysync.model.wire import encode_event
from pysync.queue import Queued
from pysync.replay.window import draft as draft_module
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import Draft, draft
from pysync.replay.window.translate import Translator
from tests.support.drains import create, rename
from tests.support.events import create_table, event, one_of_each_kind, settings

KINDS = one_of_each_kind()
RENAMED: dict[str, Any] = {"databases": {"db": "dr"}, "locations": {"hdfs://a": "hdfs://b"}}


def drafted(*data: bytes, translator: Translator | None = None, **values: Any) -> Draft:
    """What these events come to, the first at position 1."""
    events = [Queued(at, each, 0) for at, each in enumerate(data, 1)]
    return draft(events, translator or Translator.of(settings(**values)), Writer(1), Blocks())


def among_good_ones(odd: bytes, **values: Any) -> tuple[str, str] | None:
    """How one event is refused between two of other tables, which are not; None if it is not refused."""
    found = drafted(encode_event(create("one.a")(1)), odd, encode_event(create("two.z")(3)), **values)
    planned = {at for work in found.works for at in work.positions}
    left = {3} if len(found.events) == 3 else set()  # an event that comes alone ends the draft before it
    assert {1, *left} <= planned
    assert {it.event.position for it in found.refused} <= {2}
    return next(((it.kind, it.reason) for it in found.refused), None)


def without_a_field() -> Iterator[tuple[str, dict[str, Any]]]:
    """Events of every kind, with every field of their objects away in turn: no server sends that, a flipped bit may."""
    for kind, whole in KINDS.items():
        for role, index in [("of", None), *((it, 0) for it in ("before", "after") if whole.get(it))]:
            if not whole.get(role):
                continue
            item = whole[role] if index is None else whole[role][index]
            for field in (spec[2] for spec in item.thrift_spec if spec):
                found = copy.deepcopy(whole)
                setattr(found[role] if index is None else found[role][index], field, None)
                yield f"{kind} {role} {field}", {"kind": kind, **found}


@pytest.mark.parametrize(
    "values", [{}, {"databases": {"db": "dr"}, "locations": {"hdfs://a": "hdfs://b"}}], ids=["", "renamed"]
)
def test_an_object_without_one_of_its_fields_hinders_no_other(values: dict[str, Any]):
    for what, odd in without_a_field():
        refused = among_good_ones(encode_event(event(sequence=2, **odd)), **values)
        assert refused is None or refused[0] == "rejected", f"nobody has thought of {what}: {refused[1]}"


@given(st.data())
def test_a_damaged_event_hinders_no_other(data: st.DataObject):
    kind = data.draw(st.sampled_from(list(KINDS)))
    damaged = bytearray(encode_event(event(kind, sequence=2, **KINDS[kind])))
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    values = data.draw(st.sampled_from([{}, RENAMED]))
    refused = among_good_ones(bytes(damaged), **values)
    assert refused is None or refused[0] == "rejected", f"nobody has thought of it: {refused[1]}"


def stumbling(monkeypatch: pytest.MonkeyPatch, name: str, at: int) -> None:
    """Nothing can be planned in which there is the event at that position, and one of the table `name` before it."""
    real = draft_module.fold

    def fold(flow: Any, **options: Any) -> Any:
        found = [it.position for it in flow if str(it.table_name) == name]
        if at in found and min(found) < at:
            raise ZeroDivisionError("of a fold")
        return real(flow, **options)

    monkeypatch.setattr(draft_module, "fold", fold)


def test_an_event_that_cannot_be_planned_is_found_and_what_is_behind_it_waits(monkeypatch):
    """One that cannot be planned together with those before it."""
    stumbling(monkeypatch, "db.bad", 4)
    made = (
        create("db.bad"),
        create("db.a"),
        create("db.b"),
        create("db.bad"),
        create("db.a"),
        rename("db.bad", "db.c"),
    )
    found = drafted(*(encode_event(make(at)) for at, make in enumerate((*made, create("db.c")), 1)))
    assert [(it.event.position, it.kind) for it in found.refused] == [(4, "bug"), (6, "waits"), (7, "waits")]
    assert "ZeroDivisionError: of a fold" in found.refused[0].reason
    assert sorted(at for work in found.works for at in work.positions) == [1, 2, 3, 5]


def test_a_whole_window_of_odd_events_is_refused_one_by_one(monkeypatch):
    def never(_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(draft_module, "fold", lambda flow, **_: never(flow) if flow else [])
    found = drafted(*(encode_event(create(f"db.t{at}")(at)) for at in range(1, 30)))
    assert [it.event.position for it in found.refused] == list(range(1, 30))
    assert (found.works, found.skipped) == ([], 0)


def test_a_running_target_parks_what_cannot_be_planned_and_goes_on(benches, monkeypatch):
    stumbling(monkeypatch, "db.bad", 2)
    bench = benches()
    bench.append(create("db.bad"), create("db.bad"), create("db.a"))
    bench.run()
    assert (bench.position(), bench.parked()) == (3, [(2, "db.bad", "bug")])
    assert sorted(bench.target.positions()) == [1, 3]


def word(home: str = "east", table: str = "t", user: str = "pysync-east") -> bytes:
    text = RereadRequest("db", table, home=home).as_function(home)
    return encode_event(event(Kind.CREATE_FUNCTION, after=[text], attributes={"user": user}))


BOTH_WAYS = Translator.of(FaultySettings(name="west", kind="faulty", both_ways=True, on_conflict="adopt"))


def test_a_word_after_another_change_of_its_table_or_of_another_home_ends_the_draft() -> None:
    change = encode_event(create_table("db.t"))
    assert len(drafted(change, word(), translator=BOTH_WAYS).events) == 1
    assert len(drafted(word(), word("west"), translator=BOTH_WAYS).events) == 1


def test_a_word_behind_something_refused_is_not_left_out_as_it_may_make_that_good() -> None:
    odd = encode_event(event(Kind.CREATE_TABLE, sequence=2))
    found = drafted(word(), odd, word(), translator=BOTH_WAYS)
    assert ([it.event.position for it in found.refused], sorted(found.changes)) == ([2], [3])


def test_of_words_that_say_the_same_the_last_one_does_for_all() -> None:
    change, other = encode_event(create_table("db.t")), encode_event(create_table("db.u"))
    found = drafted(word(), change, word(), other, word(table="v"), word(), translator=BOTH_WAYS)
    assert len(found.events) == 5, "the last word of db.t comes after what the draft knows of it"
    assert (found.skipped, sorted(found.changes)) == (2, [2, 4, 5])


@pytest.mark.parametrize("last", [word("west"), word(table="v"), word(user="bob")], ids=["home", "table", "client"])
def test_a_word_is_not_left_out_for_one_that_says_or_means_something_else(last: bytes) -> None:
    found = drafted(word(), encode_event(create_table("db.u")), last, translator=BOTH_WAYS)
    assert 1 in found.changes
