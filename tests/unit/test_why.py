"""Why: what became of an object at each target, in a sentence that names the reason, under whatever name it had."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import PysyncError
from pysync.journal import Journal, Reader, Record
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model.event import SIDECAR, Kind
from pysync.model.names import TableName
from pysync.queue import ParkedTable
from pysync.replay.window.translate import Translator
from pysync.sidecar.why import EndsReader, Why, why_offline
from pysync.sidecar.why.ends import Presence
from pysync.sidecar.why.events import SeenEvent, scan
from pysync.sidecar.why.facts import Facts, Spool
from pysync.sidecar.why.name_history import NameChange, Span, names_over_time
from pysync.sidecar.why.reasons import reasons
from tests.support import table, wait_until
from tests.support.drains import FaultyDrain, create, create_database, drop, drop_database, rename
from tests.support.events import event
from tests.support.journaled import Place
from tests.support.refreshing import Hms

# --- the names of an object


def names(*spans: Span) -> list[tuple[str, float, float]]:
    return [(it.name, it.after, it.upto) for it in spans]


def test_a_name_that_was_never_given_or_taken_is_the_only_one() -> None:
    assert names(*names_over_time("db.t", [NameChange(5, "db.a", "db.b")])) == [("db.t", 0, math.inf)]


@pytest.mark.parametrize("asked", ["db.a", "db.b", "db.c"])
def test_an_object_that_was_renamed_twice_is_found_by_each_of_its_names(asked: str) -> None:
    found = names_over_time(asked, [NameChange(9, "db.b", "db.c"), NameChange(5, "db.a", "db.b")])
    assert names(*found) == [("db.c", 9, math.inf), ("db.b", 5, 9), ("db.a", 0, 5)]


def test_a_name_that_went_from_one_to_another_is_that_of_the_last() -> None:
    swapped = [NameChange(5, "db.t", "db.old"), NameChange(6, "db.new", "db.t")]
    assert names(*names_over_time("db.t", swapped)) == [("db.t", 6, math.inf), ("db.new", 0, 6)]
    assert names(*names_over_time("db.old", swapped)) == [("db.old", 5, math.inf), ("db.t", 0, 5)]
    assert names(*names_over_time("db.new", swapped)) == [("db.t", 6, math.inf), ("db.new", 0, 6)]


def test_an_object_that_was_made_under_the_name_since_is_another() -> None:
    assert names(*names_over_time("db.t", [NameChange(5, "db.t", "db.old")], {("db.t", 7)})) == [("db.t", 0, math.inf)]
    assert names(*names_over_time("db.t", [NameChange(5, "db.a", "db.t")], {("db.t", 7)})) == [("db.t", 0, math.inf)]


@given(
    st.lists(st.builds(NameChange, st.integers(1, 30), *[st.sampled_from("abcd")] * 2), max_size=20),
    st.sampled_from("abcd"),
)
def test_a_life_is_one_chain_through_time(renames: list[NameChange], asked: str) -> None:
    found = names_over_time(asked, renames)
    assert asked in {it.name for it in found}
    assert (found[0].upto, found[-1].after) == (math.inf, 0)
    for newer, older in pairwise(found):
        assert newer.after == older.upto
        assert NameChange(int(newer.after), older.name, newer.name) in renames


# --- what to say


def row(kind: str = "rejected", name: str = "dr.t", position: int = 7, events: int = 1) -> ParkedTable:
    return ParkedTable(
        name, events, position, kind, "a trace\nno such database", 3, 1_700_000_000_000, 1_700_000_000_000
    )


def done(outcome: str = "applied", operation: str = "PutTable", **values: Any) -> Record:
    known: dict[str, Any] = {
        "at": 1.7e9,
        "target": "dr",
        "object": "dr.t",
        "source_object": "db.t",
        "milliseconds": 1.0,
    }
    return Record(operation=operation, outcome=outcome, **{**known, **values})


def seen(position: int = 9, kind: str = "ALTER_TABLE") -> SeenEvent:
    return SeenEvent(position, 1.7e9, 1.7e9, kind, ("db.t",))


def reasons_of(**values: Any) -> list[tuple[str, str]]:
    facts = Facts(**{"target": "dr", "source": "db.t", "object": "dr.t", **values})
    found = reasons(facts)
    assert found
    return [(it.code, it.text) for it in found]


CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "out of scope": ({"rule": "exclude 'db.t' leaves it out", "records": [done()]}, "out_of_scope", "exclude 'db.t'"),
    "parked": ({"parked": [row()], "records": [done()]}, "parked", "event 7 of dr.t is parked"),
    "behind another": (
        {"parked": [row("waits")], "blocker": row(name="dr.u", position=3)},
        "waiting",
        "behind event 3 of dr.u, which is parked: no such database",
    ),
    "paused": (
        {"waiting": [seen()], "paused": "maintenance", "paused_by": "uid 0 (command line)", "records": [done()]},
        "paused",
        "paused by uid 0 (command line): maintenance",
    ),
    "brake": ({"held": "max_drops_per_window is 2"}, "brake", "the drop of dr.t is held: max_drops_per_window is 2"),
    "a part is held": ({"parked": [row("held")]}, "brake", "dr.t: no such database"),
    "kept": ({"kept": True}, "kept", "a person has decided that dr keeps it"),
    "disabled": (
        {"waiting": [seen()], "state": "disabled", "paused": "x"},
        "disabled",
        "waits in the queue; dr is disabled",
    ),
    "away": ({"waiting": [seen()], "state": "waiting", "error": "no route"}, "target_away", "dr is waiting: no route"),
    "queued": ({"waiting": [seen(3), seen(9)], "queued": 12}, "waiting", "events 3 to 9 (ALTER_TABLE) of db.t wait"),
    "foreign": ({"records": [done("foreign")]}, "foreign", "is not from this source"),
    "conflict": ({"records": [done("conflict")]}, "foreign", "changed at both ends"),
    "unsupported": ({"records": [done("unsupported")]}, "foreign", "nothing that this kind of target can hold"),
    "shadow": ({"records": [done("shadowed", milliseconds=None)]}, "shadowed", "shadow"),
    "there": (
        {"records": [done()], "ends": Presence(True, True)},
        "applied",
        "dr has dr.t: it was written (PutTable at",
    ),
    "there, and a gap is open, and the source is not known": (
        {"records": [done()], "gaps": ["a listener was lost"], "ends": Presence(None, True)},
        "applied",
        "dr has dr.t",
    ),
    "not asked": ({"records": [done()]}, "applied", "dr should have dr.t: it was written (PutTable at"),
    "dropped by hand at the target": (
        {"records": [done()], "ends": Presence(True, False)},
        "only_at_source",
        "the source has db.t, and dr does not",
    ),
    "dropped at the source without an event": (
        {"records": [done()], "ends": Presence(False, True)},
        "only_at_target",
        "dr has dr.t, and the source does not have db.t",
    ),
    "dropped by hand at both ends": ({"records": [done()], "ends": Presence(False, False)}, "nowhere", "neither the"),
    "restored by hand at the target": (
        {"records": [done(operation="DropTable"), done()], "ends": Presence(False, True)},
        "only_at_target",
        "dr has dr.t, and the source",
    ),
    "gone, as at the source": (
        {"records": [done(operation="DropTable"), done()], "ends": Presence(False, False)},
        "dropped",
        "dr.t was dropped at dr",
    ),
    "kept, and at the target alone": ({"kept": True, "ends": Presence(False, True)}, "kept", "a person has decided"),
    "drops are suppressed, and it is at the target alone": (
        {"suppresses_drops": True, "records": [done()], "ends": Presence(False, True)},
        "applied",
        'drops = "suppress"',
    ),
    "of another source, and at both ends": (
        {"records": [done("foreign")], "ends": Presence(True, True)},
        "foreign",
        "is not from this source",
    ),
    "a view in part": (
        {
            "records": [done()],
            "ends": Presence(True, True, lost=["view: its text remains HiveQL", "view: not translated: x"]),
        },
        "applied",
        "; not as at the source: view: its text remains HiveQL; view: not translated: x",
    ),
    "as it should be": ({"records": [done("unchanged")]}, "applied", "as it should be"),
    "newer": ({"records": [done("stale")]}, "applied", "has a newer state"),
    "dropped": ({"records": [done(operation="DropTable"), done()]}, "dropped", "dr.t was dropped at dr"),
    "dropped with its database": (
        {"records": [done(operation="DropDatabase", object="dr", source_object="db"), done()]},
        "dropped",
        "was dropped",
    ),
    "made again": ({"records": [done(), done(operation="DropTable")]}, "applied", "dr should have dr.t"),
    "drop suppressed": (
        {"ignored": 'drops = "suppress"', "last_event": seen(kind="DROP_TABLE"), "records": [done()]},
        "drop_suppressed",
        'drops = "suppress"',
    ),
    "drops are suppressed": ({"suppresses_drops": True, "records": [done()]}, "applied", 'drops = "suppress"'),
    "in the spool": ({"spools": [Spool("i-1", 4, 1.7e9)]}, "in_spool", "holds 4 events in its spool"),
    "a gap": ({"gaps": ["a listener was lost"]}, "gap_open", "a listener was lost"),
    "never seen": ({}, "unknown", "neither the queue nor the journal"),
    "without a sidecar": ({"running": False}, "unknown", "no sidecar runs"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_verdict_names_the_reason(case: str) -> None:
    values, code, text = CASES[case]
    first, *_ = reasons_of(**values)
    assert first[0] == code
    assert text in first[1]


def test_a_pause_is_no_reason_for_what_was_never_seen() -> None:
    assert [code for code, _ in reasons_of(paused="by hand")] == ["unknown", "paused"]
    assert [code for code, _ in reasons_of(paused="by hand", state="disabled")] == ["unknown", "disabled"]


def test_what_matters_less_comes_after_the_verdict() -> None:
    codes = [
        code for code, _ in reasons_of(records=[done()], spools=[Spool("i", 1, None)], gaps=["g"], paused="by hand")
    ]
    assert codes == ["applied", "in_spool", "gap_open", "paused"]


# --- beside a running sidecar


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with closing(Place(tmp_path)) as place:
        yield place


def test_of_two_tables_with_one_name_at_the_target_each_is_told_its_own(place: Place) -> None:
    """dr_shop.orders of the source keeps its name, which shop.orders gets: what is parked of it is no news of that."""
    place.replay(create_database("shop"), create("shop.orders"))
    place.bench.target.rejects = {"dr_shop.orders"}
    place.replay(create("dr_shop.orders"))
    assert place.verdict("shop.orders")[0] == "applied"
    (target,) = place.why("dr_shop.orders")["targets"]
    assert (target["object"], target["reasons"][0]["code"]) == ("dr_shop.orders", "parked")
    assert [it["table"] for it in target["parked"]] == ["dr_shop.orders@dr_shop/orders"]


@pytest.mark.parametrize("asked", ["shop.orders", "dr_shop.orders", " Shop.Orders "])
def test_a_table_that_is_there_is_found_by_its_name_at_either_end(place: Place, asked: str) -> None:
    place.replay(create_database("shop"), create("shop.orders"), create("shop.items"))
    answer = place.why(asked)
    (target,) = answer["targets"]
    assert (answer["object"], answer["names"], target["object"]) == ("shop.orders", ["shop.orders"], "dr_shop.orders")
    assert target["reasons"][0]["code"] == "applied"
    assert [it["operation"] for it in target["records"]] == ["PutTable"]
    assert [(it["kind"], it["object"]) for it in answer["source"]["events"]] == [("CREATE_TABLE", "shop.orders")]
    assert answer["source"]["whole"]


def test_a_database_is_told_of_by_itself(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.orders"))
    answer = place.why("shop")
    assert [it["operation"] for it in answer["targets"][0]["records"]] == ["PutDatabase"]
    assert place.verdict("dr_shop") == place.verdict("shop")
    assert place.verdict("shop")[0] == "applied"


def test_the_rule_that_leaves_a_table_out_is_named(tmp_path: Path) -> None:
    values = {"include": ["shop", "crm.c*"], "exclude": ["shop.tmp_*"]}
    with closing(Place(tmp_path, **values)) as place:
        place.replay(create("shop.tmp_1"), create("hr.people"))
        assert place.verdict("shop.tmp_1") == (
            "out_of_scope",
            "shop.tmp_1 is out of scope: exclude 'shop.tmp_*' leaves it out",
        )
        assert place.verdict("hr.people") == (
            "out_of_scope",
            "hr.people is out of scope: it is not in include 'shop', include 'crm.c*'",
        )
        assert place.verdict("hr")[0] == "out_of_scope"
        assert place.why("hr")["targets"][0]["reasons"][0]["hint"] == "pysync target show dr"
        assert place.verdict("crm.customers")[0] == "unknown"


def test_a_parked_table_names_its_event_and_what_is_behind_waits(place: Place) -> None:
    place.bench.target.rejects.add("dr_shop.orders")
    place.replay(create("shop.orders"))
    place.replay(create("shop.orders"), rename("shop.orders", "shop.later"))
    code, text = place.verdict("shop.orders")
    assert code == "parked"
    assert "event 1 of dr_shop.orders" in text
    (target,) = place.why("shop.orders")["targets"]
    assert target["reasons"][0]["hint"] == "pysync parked show dr 1"
    assert {it["outcome"] for it in target["records"]} == {"parked", "waits"}
    assert {it["table"] for it in target["parked"]} == {"dr_shop.orders", "dr_shop.later"}, "under both of its names"
    assert place.verdict("shop.later") == (code, text)


def test_what_waits_behind_another_table_names_that(place: Place) -> None:
    key = hive.SQLForeignKey("shop", "parent", "id", "shop", "child", "pid", 1, 0, 0, "fk", "pk", False, False, True)
    place.bench.target.rejects.add("dr_shop.parent")
    place.replay(create("shop.parent"), create("shop.child"))
    place.replay(lambda number: event(Kind.ADD_FOREIGNKEY, after=[key], sequence=number))
    code, text = place.verdict("shop.child")
    assert code == "waiting"
    assert "behind event 1 of dr_shop.parent, which is parked: the target does not like dr_shop.parent" in text


def test_names_are_told_apart_though_their_events_are_gone(tmp_path: Path) -> None:
    """The target keeps statistics of what it wrote, and the queue nothing: as in a sidecar without `retain`."""
    drain = FaultyDrain(tmp_path)
    with closing(Journal(tmp_path / "journal.db", keep=1e12, max_bytes=10**9)) as journal:
        drain.record = journal.append
        drain.start()
        steps = [create("db.a"), rename("db.a", "db.b"), create("db.a"), rename("db.b", "crm.c")]
        for step in (create_database("db"), create_database("crm"), *steps):
            drain.append(step)
            drain.finish()
        journal.write()
        drain.queue.trim()
        assert drain.queue.size == 0
        asked = Why(drain.queue, {drain.name: drain.drain}, Reader(journal.file), list, EndsReader(None))
        assert asked({"table": "db.a"})["names"] == ["db.a"]
        for name in ("db.b", "crm.c"):
            assert asked({"table": name})["names"] == ["crm.c", "db.b", "db.a"]
        drain.close()


def test_a_table_that_went_with_its_database_was_dropped(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.t"))
    place.replay(drop_database("shop"))
    assert place.verdict("shop.t")[0] == "dropped"


def test_a_suppressed_drop_is_told(tmp_path: Path) -> None:
    with closing(Place(tmp_path, drops="suppress")) as place:
        place.replay(create("shop.t"))
        place.replay(drop("shop.t"))
        code, text = place.verdict("shop.t")
        assert (code, "DROP_TABLE" in text, 'drops = "suppress"' in text) == ("drop_suppressed", True, True)


def test_what_a_spool_holds_may_be_it(place: Place) -> None:
    place.listeners = [
        {"instance": "i-1", "waiting_events": 3, "waiting_since": 1.7e9},
        {"instance": "i-2", "waiting_events": 0, "waiting_since": None},
    ]
    code, text = place.verdict("shop.new")
    assert code == "in_spool"
    assert "i-1 holds 3 events" in text


@pytest.mark.parametrize("name", [None, 5, "", " ", "a.b.c", ".", "a.", ".b", "..", ["db.t"]])
def test_what_is_no_name_is_refused(place: Place, name: Any) -> None:
    with pytest.raises(PysyncError, match="not the name of a table"):
        place.why(name)


def test_an_unknown_target_is_refused(place: Place) -> None:
    with pytest.raises(PysyncError, match="no target 'dx'"):
        place.why("shop.t", target="dx")


def test_odd_names_are_asked_for_without_harm(place: Place) -> None:
    place.replay(
        create("shop.<script>"),
        lambda number: event(Kind.CREATE_TABLE, after=[table("shop", "x" * 128)], sequence=number),
    )
    for name in ("shop.<script>", f"shop.{'x' * 128}"):
        assert place.verdict(name)[0] == "applied"
    for name in ("shop.%", "shop.'", "shop.f()", "x" * 5000):
        assert place.verdict(name)[0] == "unknown"


def test_only_the_newest_events_are_looked_at_where_there_are_many(place: Place) -> None:
    place.replay(*(create(f"shop.t{number}") for number in range(1200)))
    every = scan(place.bench.queue, frozenset({"shop"}))
    assert (len(every.events), every.first, every.whole) == (1200, 1, True)
    none = scan(place.bench.queue, frozenset({"shop"}), seconds=0.0)
    assert (list(none.events), none.whole) == ([], False)


def test_without_a_sidecar_the_journal_and_the_configuration_tell(place: Place) -> None:
    place.replay(create("shop.a"))
    place.replay(rename("shop.a", "shop.b"))
    place.journal.write()
    translators = {"dr": Translator.of(place.bench.settings.model_copy(update={"exclude": ("shop.secret",)}))}

    def asked(name: str) -> tuple[list[str], str]:
        answer = why_offline(place.reader, translators, {"table": name})
        (target,) = answer["targets"]
        return answer["names"], target["reasons"][0]["code"]

    assert asked("shop.a") == asked("dr_shop.b") == (["shop.b", "shop.a"], "applied")
    assert asked("shop.secret") == (["shop.secret"], "out_of_scope")
    assert asked("shop.none") == (["shop.none"], "unknown")


# --- what both ends have now


def test_of_what_nobody_has_seen_both_ends_are_asked(place: Place) -> None:
    place.source = Hms("shop.orders", "shop.lines")
    assert place.verdict("shop.orders") == ("only_at_source", "the source has shop.orders, and dr does not")
    code, text = place.verdict("shop.ordres")
    assert (code, text) == ("nowhere", "neither the source nor dr has shop.ordres; did you mean shop.orders?")
    assert place.why("shop.ordres")["targets"][0]["reasons"][0]["hint"] == "pysync why shop.orders"
    assert place.verdict("shup.lines")[1].endswith("did you mean shop.lines?")
    assert place.verdict("xyz")[1] == "neither the source nor dr has xyz"


def test_a_gap_is_no_reason_for_what_neither_end_or_each_end_has(place: Place) -> None:
    place.bench.queue.gaps.open("a", "a listener was lost")
    place.target.has("dr_shop.orders")
    place.source = Hms("shop.orders", "shop.lines")
    assert place.verdict("shop.orders") == ("at_both_ends", "the source and dr have shop.orders")
    assert place.verdict("shop.none")[0] == "nowhere"
    assert place.verdict("shop.lines")[0] == "gap_open", "it may be why the target does not have the table"
    del place.source.found[TableName("shop", "orders")]
    assert place.verdict("shop.orders")[0] == "gap_open"
    codes = [it["code"] for it in place.why("shop.orders")["targets"][0]["reasons"]]
    assert codes == ["gap_open", "only_at_target"]
    del place.target.there.found[TableName("dr_shop", "orders")]
    assert place.verdict("shop.orders")[0] == "nowhere"


def test_a_refresh_for_other_targets_is_no_reason(place: Place) -> None:
    """Before: of a table that the bootstrap of a new target had not come to, the refresh of another was the verdict."""
    place.bench.queue.gaps.open("a", "target dr is new: pysync compares it with the source")
    place.source = Hms("shop.orders")
    attributes = {"database": "shop", "table": "orders", "targets": "lake"}
    place.replay(lambda number: event(Kind.REFRESH, sequence=number, instance=SIDECAR, attributes=attributes))
    assert place.verdict("shop.orders")[0] == "gap_open"
    place.drain.pause("night")
    wait_until(lambda: place.bench.status()["state"] == "paused", what="the pause")
    place.bench.append(lambda number: event(Kind.REFRESH, sequence=number, instance=SIDECAR, attributes=attributes))
    assert place.verdict("shop.orders")[0] == "gap_open"
    assert place.tables()["objects"][0]["targets"][0]["state"] != "behind"


def test_a_source_that_cannot_be_read_leaves_it_unknown(place: Place) -> None:
    place.source = Hms("shop.orders")
    place.source.fails = MetastoreUnavailable("away")
    assert place.verdict("shop.orders")[0] == "unknown"


@pytest.mark.parametrize("end", ["source", "target"])
def test_an_end_that_hangs_holds_up_no_answer_and_is_named(
    place: Place, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    goes_on = threading.Event()
    place.replay(create_database("shop"), create("shop.orders"))
    place.source = Hms("shop.orders")
    place.target.has("dr_shop.orders")
    monkeypatch.setattr(getattr(place, end), "table", lambda *_: goes_on.wait(60))
    place.seconds = 0.2
    try:
        (target,) = place.why("shop.orders")["targets"]
    finally:
        goes_on.set()
    name = {"source": "the source", "target": "target dr"}[end]
    assert target["not_looked_at"] == [end]
    assert target["reasons"][-1]["code"] == "not_looked_at"
    assert target["reasons"][-1]["text"] == f"what {name} has now is not known: {name} did not answer within 0.2 s"
    assert target["reasons"][0]["code"] == "applied"


def test_where_both_ends_answer_nothing_is_left_to_look_at(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.orders"))
    place.source = Hms("shop.orders")
    place.target.has("dr_shop.orders")
    (target,) = place.why("shop.orders")["targets"]
    assert ([it["code"] for it in target["reasons"]], target["not_looked_at"]) == (["applied"], [])


def test_a_name_may_be_in_backquotes(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.orders"))
    assert place.verdict("`shop`.`orders`") == place.verdict("shop.orders")
    assert place.verdict("`shop`.orders")[0] == "applied"
