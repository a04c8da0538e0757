"""What `pysync events` gets: the queue's events by name and number, page by page."""

from __future__ import annotations

import pytest

from pysync.base.errors import PysyncError
from pysync.config import load_config
from pysync.model.event import Kind
from pysync.model.wire import encode_event
from pysync.parts import ALL_PARTS
from pysync.queue import Entry
from pysync.sidecar import history
from pysync.sidecar import sidecar as sidecar_module
from pysync.sidecar.history import listed
from pysync.sidecar.sidecar import Sidecar
from tests.support import partition, table
from tests.support.events import create_table, database, event, one_of_each_kind, rename_table
from tests.support.sidecars import FaultyPlace


@pytest.fixture
def queue(reopen):
    return reopen()


def put(queue, *events):
    for found in events:
        data = found if isinstance(found, bytes) else encode_event(found)
        queue.intake.append("jvm", queue.last + 1, "onprem", data)


def objects(queue, **request):
    return [it["objects"] for it in listed(queue, request)["events"]]


def positions(answer):
    return [it["position"] for it in answer["events"]]


def test_an_event_in_full(queue, disk):
    queue.target("dr").register()
    queue.target("lake").register()
    disk.now = 5000.0
    secret = create_table("Sales.Orders", sequence=7, time_ms=4_000_500, attributes={"thread": "canary"})
    put(queue, secret)
    queue.target("dr").advance(1)
    (found,) = listed(queue, {})["events"]
    assert found == {
        "position": 1,
        "at": 5000.0,
        "kind": "CREATE_TABLE",
        "source": "onprem",
        "id": secret.id,
        "time": 4000.5,
        "objects": ["sales.orders"],
        "bytes": len(encode_event(secret)),
        "waits_for": ["lake"],
    }


@pytest.mark.parametrize("kind", [*one_of_each_kind(), Kind.GOODBYE, Kind.CREATE_CATALOG])
def test_every_kind_has_a_line(queue, kind):
    put(queue, event(kind, **one_of_each_kind().get(kind, {})))
    (found,) = listed(queue, {})["events"]
    assert found["kind"] == str(kind)
    named = kind in one_of_each_kind()
    assert bool(found["objects"]) == named, found


def test_what_it_is_about(queue):
    keyed = table("db", "p", partition_keys=[("day", "string")])
    put(
        queue,
        event(Kind.CREATE_DATABASE, after=[database("DB")]),
        rename_table("db.old", "db.new"),
        event(Kind.ADD_PARTITION, of=keyed, after=[partition(keyed, ["1"])]),
        event(Kind.DROP_DATABASE, before=[database("db")]),
        b"no event",
    )
    assert objects(queue) == [["db"], ["db.old", "db.new"], ["db.p"], ["db.*"], []]
    assert listed(queue, {})["events"][-1]["kind"] is None


def test_of_one_table(queue):
    put(queue, create_table("db.a"), create_table("db.b"), rename_table("db.b", "db.A"), create_table("db.c"))
    put(queue, event(Kind.DROP_DATABASE, before=[database("db")]), event(Kind.DROP_DATABASE, before=[database("d")]))
    assert positions(listed(queue, {"table": "DB.a"})) == [1, 3, 5]
    assert positions(listed(queue, {"table": "db.a", "since": 2})) == [3, 5]
    assert positions(listed(queue, {"table": "db.a", "limit": 2})) == [1, 3]


def test_the_newest_unless_it_is_said_where_to_begin(queue):
    put(queue, *(create_table(f"db.t{number}") for number in range(1, 8)))
    queue.target("dr").register()
    queue.target("dr").advance(2)
    queue.trim()
    answer = listed(queue, {"limit": 2})
    assert (positions(answer), answer["first"], answer["last"], answer["next"]) == ([6, 7], 3, 7, None)
    answer = listed(queue, {"limit": 2, "since": 1})
    assert (positions(answer), answer["next"]) == ([3, 4], 5)
    assert positions(listed(queue, {"since": answer["next"]})) == [5, 6, 7]
    assert listed(queue, {"since": 99})["events"] == []


def test_an_empty_queue(queue):
    assert listed(queue, {}) == {"first": 1, "last": 0, "events": [], "next": None}
    assert listed(queue, {"table": "a.b"})["next"] is None


def test_one_answer_takes_only_so_long_and_the_next_goes_on(queue, monkeypatch):
    monkeypatch.setattr(history, "_SECONDS", 0.0)
    monkeypatch.setattr(history, "_CHUNK", 3)
    put(queue, *(create_table("db.a" if number == 8 else "db.b") for number in range(1, 10)))
    answers = [listed(queue, {"table": "db.a"})]
    while answers[-1]["next"] is not None:
        answers.append(listed(queue, {"table": "db.a", "since": answers[-1]["next"]}))
    assert [positions(answer) for answer in answers] == [[], [], [8]]


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": "9"}, {"since": 0}, {"since": True}, {"table": "a"}])
def test_what_makes_no_sense_is_refused(queue, wrong):
    with pytest.raises(PysyncError):
        listed(queue, wrong)


@pytest.mark.parametrize(("retain", "minute", "trimmed"), [("0s", 0.0, 5), ("0s", 60.0, 0), ("1h", 60.0, 0)])
def test_the_sidecar_keeps_history_as_its_configuration_says(tmp_path, monkeypatch, retain, minute, trimmed):
    monkeypatch.setattr(sidecar_module, "RECALLED_SECONDS", minute)
    place = FaultyPlace(tmp_path)
    place.file.write_text(place.file.read_text().replace("[queue]", f'[queue]\nretain = "{retain}"'))
    sidecar = Sidecar(load_config(place.file), ALL_PARTS, bridge=False)
    try:
        sidecar.queue.target("try").register()
        sidecar.queue.intake.append_all([Entry("jvm", number, "onprem", b"x") for number in range(1, 8)])
        sidecar.queue.target("try").advance(5)
        before = sidecar.status()["queue"]["history"]
        assert before["events"] == 5
        assert before["bytes"] > 0
        assert sidecar._keep_house() == trimmed
        after = sidecar.status()["queue"]["history"]
        assert (after["retain_seconds"], after["events"]) == (3600 if retain == "1h" else 0, 5 - trimmed)
    finally:
        sidecar.stop()
