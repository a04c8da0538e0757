"""The inventory: every table of the source with its state at a target, page by page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.metastore.errors import MetastoreUnavailable
from pysync.model.names import TableName
from pysync.sidecar.why import inventory
from tests.support import wait_for_value, wait_until
from tests.support.drains import create, create_database, drop
from tests.support.events import database
from tests.support.journaled import Place
from tests.support.refreshing import Hms

TABLES = ("shop.items", "shop.orders", "crm.people", "a.z", "a_b.a", "a-b.c")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with closing(Place(tmp_path, exclude=["shop.tmp_*"])) as place:
        place.source = Hms("shop.items", "shop.orders", "shop.tmp_1")
        yield place


def states(answer: dict[str, Any]) -> dict[str, str]:
    return {it["object"]: it["targets"][0]["state"] for it in answer["objects"]}


def of(place: Place, name: str, **request: Any) -> dict[str, Any]:
    found: dict[str, Any] = next(it["targets"][0] for it in place.tables(**request)["objects"] if it["object"] == name)
    return found


def test_each_table_has_its_state(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.orders"))
    assert states(place.tables()) == {
        "shop.items": "unknown",
        "shop.orders": "in_sync",
        "shop.tmp_1": "out_of_scope",
    }
    row = of(place, "shop.orders")
    assert (row["target"], row["object"], row["done_at"] <= row["as_of"]) == ("dr", "dr_shop.orders", True)
    assert "exclude 'shop.tmp_*'" in of(place, "shop.tmp_1")["text"]
    assert [it["at_source"] for it in place.tables()["objects"]] == [True, True, True]


def test_what_waits_in_the_queue_is_behind_since_its_first_event(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.orders"), create("shop.items"))
    place.drain.pause("maintenance")
    place.bench.append(create("shop.orders"), create("shop.orders"))
    wait_until(lambda: place.bench.status()["state"] == "paused", what="the pause")
    assert states(place.tables()) == {"shop.items": "in_sync", "shop.orders": "behind", "shop.tmp_1": "out_of_scope"}
    row = of(place, "shop.orders")
    assert "maintenance" in row["text"]
    assert row["as_of"] is not None
    assert states(place.tables(state="behind")) == {"shop.orders": "behind"}


def test_a_long_backlog_makes_no_table_in_sync(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.replay(create_database("shop"), create("shop.orders"))
    place.drain.pause("maintenance")
    place.bench.append(create("shop.items"))
    monkeypatch.setattr("pysync.sidecar.why.inventory.scan_after", lambda _, at: inventory.Scan((), at + 1, False))
    row = of(place, "shop.orders")
    assert (row["state"], "whether one is of it is not known" in row["text"]) == ("unknown", True)


def test_what_is_parked_is_listed_though_the_source_has_it_no_longer(place: Place) -> None:
    place.bench.target.rejects.add("dr_shop.gone")
    place.replay(create_database("shop"), create("shop.gone"), create("shop.orders"))
    row = next(it for it in place.tables()["objects"] if it["object"] == "shop.gone")
    assert (row["at_source"], row["targets"][0]["state"]) == (False, "parked")
    assert place.source is not None
    place.source.fails = MetastoreUnavailable("away")
    assert states(place.tables(state="parked")) == {"shop.gone": "parked"}, "without a look at the source"


def test_a_drop_that_the_brake_holds_is_held(tmp_path: Path) -> None:
    with closing(Place(tmp_path, max_drops_per_window=1)) as place:
        place.source = Hms("shop.other")
        place.replay(create_database("shop"), *(create(f"shop.t{number}") for number in range(3)))
        place.bench.target.tables = lambda _: [f"t{number}" for number in range(3)]
        place.bench.target.database = database
        place.drain.pause("one window")
        place.bench.append(*(drop(f"shop.t{number}") for number in range(3)))
        place.drain.resume()
        dropped = [f"shop.t{number}" for number in range(3)]
        wait_for_value(lambda: [states(place.tables()).get(name) for name in dropped], ["held"] * 3, what="the hold")
        place.drain.decide(["dr_shop"], keep=True)
        assert {states(place.tables())[name] for name in dropped} == {"kept"}


def test_what_had_drifted_is_drifted_until_it_is_written_again(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.orders"))
    at = of(place, "shop.orders")["done_at"] + 1e-6
    difference = {"kind": "table", "name": "dr_shop.orders", "source": "shop.orders", "drift": True}
    place.verified = {"target": "dr", "ended_at": at, "drift": 1, "differences": [difference]}
    assert states(place.tables()) == {"shop.items": "in_sync", "shop.orders": "drifted", "shop.tmp_1": "out_of_scope"}
    assert states(place.tables(state="drifted")) == {"shop.orders": "drifted"}
    place.verified["drift"] = 999  # more than are named: what is not named may have drifted
    assert states(place.tables())["shop.items"] == "unknown"
    place.replay(create("shop.orders"))
    assert states(place.tables())["shop.orders"] == "in_sync"


def test_a_table_is_told_by_its_definition_where_a_target_chooses_by_that(tmp_path: Path) -> None:
    with closing(Place(tmp_path, include_types=["VIRTUAL_VIEW"])) as place:
        place.source = Hms("shop.orders")
        assert states(place.tables()) == {"shop.orders": "out_of_scope"}


@pytest.mark.parametrize("size", [1, 2, 5, 100])
def test_pages_hold_every_table_once_and_in_order(place: Place, size: int) -> None:
    place.source = Hms(*TABLES)
    found, begin = list[str](), None
    for _ in range(len(TABLES) + 1):
        answer = place.tables(limit=size, begin=begin)
        assert len(answer["objects"]) <= size
        found += [it["object"] for it in answer["objects"]]
        begin = answer["next"]
        if begin is None:
            break
    assert found == ["a.z", "a-b.c", "a_b.a", "crm.people", "shop.items", "shop.orders"], "database by database"


def test_an_answer_that_takes_too_long_goes_on_in_the_next(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.source = Hms(*TABLES)
    monkeypatch.setattr(inventory, "_SECONDS", -1.0)
    monkeypatch.setattr(inventory, "_CHUNK", 2)
    answer = place.tables(state="foreign")
    assert (answer["objects"], answer["next"]) == ([], "a-b"), "after the first database"
    assert place.tables(state="foreign", begin="shop.orders")["next"] is None
    answer = place.tables(part="no such")
    assert (answer["objects"], answer["next"]) == ([], "a-b"), "also where no name fits"
    seen, begin = list[str](), ""
    for _ in range(20):
        answer = place.tables(begin=begin, part="s")
        seen, begin = seen + [it["object"] for it in answer["objects"]], answer["next"]
        if begin is None:
            break
    assert seen == ["shop.items", "shop.orders"], "each is found once, and the end is reached"


@pytest.mark.parametrize(
    ("request_", "names"),
    [
        ({"database": "a*"}, ["a.z", "a-b.c", "a_b.a"]),
        ({"database": "crm"}, ["crm.people"]),
        ({"part": "OR"}, ["shop.orders"]),
        ({"part": "p.i"}, ["shop.items"]),
        ({"database": "none"}, []),
    ],
)
def test_tables_are_found_by_database_and_by_a_part_of_a_name(
    place: Place, request_: dict[str, str], names: list[str]
) -> None:
    place.source = Hms(*TABLES)
    assert [it["object"] for it in place.tables(**request_)["objects"]] == names


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"state": "well"}, "there is no state 'well'"),
        ({"limit": 0.5}, "limit must be a whole number"),
        ({"limit": -1}, "limit must be a whole number"),
        ({"target": "dx"}, "no target 'dx'"),
    ],
)
def test_what_makes_no_sense_is_refused(place: Place, request_: dict[str, Any], words: str) -> None:
    with pytest.raises(PysyncError, match=words):
        place.tables(**request_)


def test_without_a_source_the_tables_are_not_known(place: Place) -> None:
    place.source = None
    with pytest.raises(PysyncError, match="metastore is not set"):
        place.tables()


def test_what_was_done_last_comes_first_page_by_page(place: Place) -> None:
    place.source = Hms("shop.never")
    names = [f"shop.t{number}" for number in range(5)]
    for name in [*names, "shop.t1"]:
        place.replay(*([] if name != names[0] else [create_database("shop")]), create(name))
        place.journal.write()
    wanted, found, begin = ["shop.t1", "shop.t4", "shop.t3", "shop.t2", "shop.t0"], list[str](), None
    for _ in range(4):
        answer = place.tables(sort="last_done", limit=2, begin=begin)
        found += [it["object"] for it in answer["objects"]]
        begin = answer["next"]
        if begin is None:
            break
    assert found == wanted
    assert [it["object"] for it in place.tables(sort="last_done", part="t3")["objects"]] == ["shop.t3"]
    done = [it["targets"][0]["done_at"] for it in place.tables(sort="last_done")["objects"]]
    assert done == sorted(done, reverse=True)


@pytest.mark.parametrize("request_", [{"sort": "size"}, {"sort": "last_done", "begin": "shop.a"}])
def test_an_order_that_makes_no_sense_is_refused(place: Place, request_: dict[str, Any]) -> None:
    with pytest.raises(PysyncError, match=r"no order|no page of this order"):
        place.tables(**request_)


def test_what_needs_a_person_comes_first_and_every_state_is_counted(place: Place) -> None:
    place.bench.target.rejects.add("dr_shop.orders")
    place.replay(create_database("shop"), create("shop.items"), create("shop.orders"))
    answer = place.tables(sort="urgency")
    assert [it["object"] for it in answer["objects"]] == ["shop.orders", "shop.items", "shop.tmp_1"]
    assert answer["counts"] == {"dr": {"parked": 1, "in_sync": 1, "out_of_scope": 1}}
    assert (answer["databases"], answer["counted_to"]) == ({"shop": 3}, None)
    parked = place.tables(sort="urgency", state="parked", target="dr")
    assert states(parked) == {"shop.orders": "parked"}
    assert (parked["counts"], parked["databases"]) == (answer["counts"], {"shop": 1}), "counts are of all states"


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_pages_by_urgency_hold_every_table_once(place: Place, size: int) -> None:
    place.source = Hms(*TABLES)
    found, begin = list[str](), None
    for _ in range(len(TABLES) + 1):
        answer = place.tables(sort="urgency", limit=size, begin=begin)
        found += [it["object"] for it in answer["objects"]]
        begin = answer["next"]
        if begin is None:
            break
    assert found == [it["object"] for it in place.tables()["objects"]]


def test_what_needs_a_person_comes_first_also_behind_where_the_time_ends(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.bench.target.rejects.add("dr_shop.orders")
    place.source = Hms(*TABLES)
    place.replay(create_database("shop"), create("shop.orders"))
    monkeypatch.setattr(inventory, "_SECONDS", -1.0)
    monkeypatch.setattr(inventory, "_CHUNK", 2)
    answer = place.tables(sort="urgency")
    assert ([it["object"] for it in answer["objects"]], answer["counted_to"]) == (["shop.orders", "a.z"], "a-b")


def test_a_table_of_exactly_that_name_comes_first(place: Place) -> None:
    place.source = Hms("bi.agg_orders", "bi.orders_daily", "shop.orders", *(f"a.t{it}_orders" for it in range(20)))
    found = [it["object"] for it in place.tables(part="orders", sort="match", limit=4)["objects"]]
    assert found == ["shop.orders", "bi.orders_daily", "a.t0_orders", "a.t10_orders"]
    assert [it["object"] for it in place.tables(part="shop.o", sort="match")["objects"]] == ["shop.orders"]
    assert place.tables(part="orders", sort="urgency")["objects"][0]["object"] == "shop.orders"


def test_a_table_that_the_target_lost_has_drifted_when_it_is_looked_for(place: Place) -> None:
    place.replay(create_database("shop"), create("shop.orders"), create("shop.items"))
    place.target.has("dr_shop.orders")
    place.target.has("dr_shop.items")
    assert set(states(place.tables(look=True)).values()) == {"in_sync", "out_of_scope"}
    del place.target.there.found[TableName("dr_shop", "items")]
    assert states(place.tables()) == {"shop.items": "in_sync", "shop.orders": "in_sync", "shop.tmp_1": "out_of_scope"}
    answer = place.tables(look=True)
    assert (states(answer)["shop.items"], states(answer)["shop.orders"]) == ("drifted", "in_sync")
    assert answer["not_looked_at"] == []


def test_a_target_that_does_not_say_what_it_has_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: str) -> list[str]:
        raise MetastoreUnavailable("away")

    place.replay(create_database("shop"), create("shop.orders"))
    monkeypatch.setattr(place.target, "tables", away)
    answer = place.tables(look=True)
    assert (states(answer)["shop.orders"], answer["not_looked_at"]) == ("in_sync", ["dr"])


def test_a_target_that_hangs_holds_up_no_list(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    place.seconds = 0.2
    monkeypatch.setattr(place.target, "tables", lambda _: goes_on.wait(60) and [])
    place.replay(create_database("shop"), create("shop.orders"))
    try:
        answer = place.tables(look=True)
    finally:
        goes_on.set()
    assert (states(answer)["shop.orders"], answer["not_looked_at"]) == ("in_sync", ["dr"])


def test_a_source_that_hangs_holds_up_no_list(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    place.bench.target.rejects.add("dr_shop.orders")
    place.replay(create_database("shop"), create("shop.orders"), create("shop.items"))
    monkeypatch.setattr(inventory, "_LONGEST_SECONDS", 0.2)
    monkeypatch.setattr(place.source, "databases", lambda: goes_on.wait(60) and [])
    try:
        for sort in ("urgency", "name"):
            with pytest.raises(PysyncError, match=r"^the source did not answer within 0.2 s$"):
                place.tables(sort=sort)
        for _ in range(4):
            with pytest.raises(PysyncError, match=r"^the source (did|does) not answer"):
                place.tables()
        assert states(place.tables(state="parked")) == {"shop.orders": "parked"}, "for that the source is not asked"
        assert states(place.tables(sort="last_done")) == {"shop.items": "in_sync"}
    finally:
        goes_on.set()


def test_counts_and_order_are_those_after_the_targets_were_asked(place: Place) -> None:
    """Before: a table that the target had lost was in sync in `counts`, and behind others that are in sync."""
    place.replay(create_database("shop"), create("shop.items"), create("shop.orders"))
    place.target.has("dr_shop.items")
    answer = place.tables(sort="urgency", look=True)
    assert [(it["object"], it["targets"][0]["state"]) for it in answer["objects"]] == [
        ("shop.orders", "drifted"),
        ("shop.items", "in_sync"),
        ("shop.tmp_1", "out_of_scope"),
    ]
    assert answer["counts"] == {"dr": {"drifted": 1, "in_sync": 1, "out_of_scope": 1}}
    assert states(place.tables(sort="urgency", look=True, state="drifted")) == {"shop.orders": "drifted"}
    assert states(place.tables(sort="urgency", look=True, state="in_sync")) == {"shop.items": "in_sync"}
    assert place.tables(sort="urgency")["counts"] == {"dr": {"in_sync": 2, "out_of_scope": 1}}
