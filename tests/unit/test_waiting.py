"""Waits: which position they wait for, when that is at the target, and what they say when it cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest
import structlog

from pysync.base.errors import PysyncError, UsageError
from pysync.capture.gaps import GapWatch
from pysync.model.names import TableName
from pysync.queue import EventQueue
from pysync.replay.window.concerns import concerns
from pysync.sidecar.waiting import Capture, ObjectStatus, Waits
from pysync.sidecar.waiting import reaching as reaching_module
from pysync.sidecar.waiting import upto as upto_module
from pysync.sidecar.waiting import waits as waits_module
from pysync.sidecar.waiting.absence import MOST
from pysync.sidecar.waiting.capture import Arrival
from pysync.sidecar.waiting.upto import Upto
from pysync.sidecar.waiting.verdict import WaitVerdict
from pysync.sidecar.why.ends import EndsReader
from tests.support import table, wait_until
from tests.support.braking import at_once
from tests.support.drains import FaultyDrain, create, create_database, drop
from tests.support.events import database
from tests.support.queues import Reopener, fill


class Poller:
    """A reader of the notification log that reads when the test says so."""

    def __init__(self) -> None:
        self.begun = self.done = 0

    def begin_call(self) -> int:
        return self.begun + 1

    def caught_up(self) -> int:
        return self.done

    def status(self) -> dict[str, Any]:
        return {"position": 7}

    def read(self) -> None:
        self.begun += 1
        self.done = self.begun


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Source(Capture):
    """A capture whose source has an event id that the test sets."""

    ids: list[int | PysyncError]

    def event_id(self) -> int:
        found = self.ids[0]
        if isinstance(found, PysyncError):
            raise found
        return found


@pytest.fixture
def queue(reopen: Reopener) -> EventQueue:
    return reopen()


def capture(queue: EventQueue, **values: Any) -> tuple[Capture, Poller, Clock, list[Any]]:
    """A capture by a log, its poller, its clock, and what is unsettled."""
    poller, clock, unsettled = Poller(), Clock(), list[Any]()
    found = Capture(
        queue,
        GapWatch(queue, 15.0),
        lambda _: {TableName.parse(it) for it in unsettled},
        poller=poller,  # type: ignore[arg-type]
        clock=clock,
        **values,
    )
    return found, poller, clock, unsettled


def code(found: object) -> object:
    return found.code if isinstance(found, WaitVerdict) else found


# --- what the source had is in the queue


def test_the_log_is_read_once_more_before_it_counts_as_read(queue: EventQueue) -> None:
    source, poller, _, _ = capture(queue)
    fill(queue, 1, 3)
    arrival = Arrival(source, "dr", concerns({"db"}))
    assert code(arrival.verdict()) == "log"
    poller.read()
    assert arrival.verdict() == 3


def test_a_gap_has_to_be_made_good_and_that_counts(queue: EventQueue) -> None:
    source, poller, _, _ = capture(queue)
    fill(queue, 1, 3)
    arrival = Arrival(source, "dr", concerns({"db"}))
    poller.read()
    queue.gaps.open("ended:jvm:3", "a metastore was killed")
    queue.gaps.open("scope:other:1", "the scope of another target has changed")
    queue.gaps.open("new:another:1:0", "another target is new")
    queue.gaps.open("requested:1", "somebody asked for a comparison")
    assert code(arrival.verdict()) == "gap_open"
    fill(queue, 4, 9)
    queue.gaps.healed_by(["ended:jvm:3"], 9)
    assert arrival.verdict() == 9


@pytest.mark.parametrize(("unsettled", "waits"), [("db.t", True), ("db.u", False), ("other.t", False)])
def test_changes_of_unknown_order_of_the_object_have_to_be_settled(
    queue: EventQueue, unsettled: str, waits: bool
) -> None:
    source, poller, _, those = capture(queue)
    fill(queue, 1, 3)
    those.append(unsettled)
    arrival = Arrival(source, "dr", concerns({"db.t"}))
    poller.read()
    assert code(arrival.verdict()) == ("order" if waits else 3)
    those.clear()
    fill(queue, 4, 4)
    assert arrival.verdict() == 4, "the refresh that settles it is before that"


def with_id(queue: EventQueue, found: int | PysyncError, *, polls: bool) -> tuple[Source, Clock]:
    clock = Clock()
    poller: Any = Poller() if polls else None
    source = Source(queue, GapWatch(queue, 15.0), lambda _: set(), poller=poller, clock=clock)
    Source.ids = [found]
    return source, clock


def test_an_event_id_that_the_source_has_not_reached_is_waited_for(queue: EventQueue) -> None:
    source, clock = with_id(queue, 4, polls=True)
    arrival = Arrival(source, "dr", concerns({"db"}), 5)
    assert code(arrival.verdict()) == "source_behind"
    Source.ids = [5]
    assert code(arrival.verdict()) == "source_behind", "it does not ask all the time"
    clock.now += 2
    assert code(arrival.verdict()) == "log"


def test_a_listener_may_lag_behind_the_log(queue: EventQueue) -> None:
    source, clock = with_id(queue, 9, polls=False)
    arrival = Arrival(source, "dr", concerns({"db"}), 5)
    assert code(arrival.verdict()) == "listener"
    clock.now += 5
    assert code(arrival.verdict()) == "no_listener"
    assert arrival.begun == clock.now


def test_an_event_id_needs_a_log(queue: EventQueue) -> None:
    source, _ = with_id(queue, PysyncError("there is none", "make one"), polls=False)
    found = Arrival(source, "dr", concerns({"db"}), 5).verdict()
    assert isinstance(found, WaitVerdict)
    assert (found.state, found.code, found.hint) == ("cannot", "no_log", "make one")


# --- it is at the target


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits_module, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(reaching_module, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(upto_module, "_AGAIN_SECONDS", 0.05)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[FaultyDrain]:
    with structlog.testing.capture_logs(), closing(FaultyDrain(tmp_path, exclude=["db.tmp_*"])) as found:
        yield found


class Asked:
    """What a sidecar answers that has this drain, and whose log is read whenever it is asked."""

    def __init__(self, bench: FaultyDrain, ends: EndsReader | None = None) -> None:
        self.source, self.poller, _, self.unsettled = capture(bench.queue)
        assert bench.drain is not None
        drains = {bench.name: bench.drain}
        self.name, self.ends = bench.name, ends or EndsReader(None)
        self.waits = Waits(bench.queue, drains, self.source, self.ends)
        self.objects = ObjectStatus(bench.queue, drains, self.source, self.ends)

    def wait(self, name: str, **more: Any) -> dict[str, Any]:
        """The answer that is not `waits`."""
        found: dict[str, Any] = {"wait": None}

        def over() -> bool:
            found.update(self.waits.ask({"object": name, "target": self.name, "wait": found["wait"], **more}))
            self.poller.read()
            return bool(found["state"] != "waits")

        wait_until(over, what=f"the end of the wait for {name}")
        return found

    def status(self, name: str) -> dict[str, Any]:
        (found,) = self.objects({"object": name})["targets"]
        return dict(found)


def test_it_is_there_when_it_is_applied(bench: FaultyDrain) -> None:
    bench.start()
    asked = Asked(bench)
    bench.append(create_database(), create("db.t"))
    assert asked.wait("db.t")["state"] == "there"
    assert bench.tables() == ["t"]
    assert (asked.status("db")["waiting"], asked.status("db")["position"]) == (0, 2)


def test_a_parked_event_ends_the_wait_for_its_table_alone(bench: FaultyDrain) -> None:
    bench.configure([{"kind": "refuse", "tables": ["db.bad"]}])
    bench.start()
    asked = Asked(bench)
    bench.append(create_database(), create("db.bad"), create("db.good"))
    wait_until(lambda: bench.position() == 3, what="the end of the queue")
    assert bench.parked() == [(2, "db.bad", "rejected")]
    assert asked.wait("db.good")["state"] == "there"
    for name in ("db.bad", "db"):
        found = asked.wait(name)
        assert (found["state"], found["code"], found["hint"]) == (
            "cannot",
            "parked",
            f"pysync parked list {asked.name}",
        )
    assert asked.status("db")["parked"] == [{"position": 2, "tables": ["db.bad"]}]


def test_what_the_brake_holds_of_its_objects_ends_the_wait_with_that(bench: FaultyDrain) -> None:
    bench.configure(max_drops_per_window=2)
    bench.start()
    asked = Asked(bench)
    names = ["a.first", "a.second", "b.third", "b.good"]
    bench.append(create_database("a"), create_database("b"), *map(create, names))
    bench.finish()
    at_once(bench, *map(drop, names[:3]))
    for name, what in (("a", "2 tables of a"), ("a.second", "1 table of a"), ("b", "1 table of b")):
        found = asked.wait(name)
        assert (found["state"], found["code"]) == ("cannot", "brake")
        assert found["text"] == f"{asked.name} holds the drop of {what}: max_drops_per_window is 2"
        assert found["hint"].startswith(f"look at pysync held list {asked.name}; ")
    assert asked.wait("b.good")["state"] == "there"


def test_what_is_out_of_scope_is_said_at_once(bench: FaultyDrain) -> None:
    bench.start()
    assert Asked(bench).wait("db.tmp_1")["code"] == "out_of_scope"


class Living:
    """A source that has the database `db` with these tables."""

    def __init__(self, *names: str) -> None:
        self._names = list(names or ["t"])

    def database(self, name: str) -> Any:
        return database(name) if name == "db" else None

    def databases(self) -> list[str]:
        return ["db", "default"]

    def tables(self, of: str) -> list[str]:
        return self._names if of == "db" else []

    def table(self, of: str, name: str) -> Any:
        return table(of, name) if name in self.tables(of) else None

    def tables_by_name(self, of: str, names: Sequence[str]) -> list[Any]:
        return [table(of, it) for it in names if it in self.tables(of)]

    def functions(self, _: str) -> list[Any]:
        return []


def remove(bench: FaultyDrain, name: str) -> None:
    """Remove a table of `db` at the target, past the sidecar."""
    store = bench.target.store
    store.drop_tables([store.table(TableName("db", name))], delete_data=False)
    assert name not in bench.tables()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("dbb", "database dbb exists neither at the source nor at a target; did you mean db?"),
        ("db.tt", "table db.tt exists neither at the source nor at a target; did you mean db.t?"),
        ("nosuch.x", "table nosuch.x exists neither at the source nor at a target; write db.table, with the name"),
    ],
)
def test_a_name_that_nobody_has_is_refused(bench: FaultyDrain, name: str, message: str) -> None:
    bench.start()
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living())))
    for ask in (asked.wait, asked.status):
        with pytest.raises(UsageError, match=message):
            ask(name)


def test_of_a_name_out_of_scope_the_rule_is_said_whoever_has_it(bench: FaultyDrain) -> None:
    bench.start()
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living())))
    assert asked.wait("db.tmp_9")["code"] == "out_of_scope"


def test_a_name_that_the_source_has_is_known_even_if_the_target_hangs(bench: FaultyDrain) -> None:
    def refusing(_: Any) -> Any:
        raise PysyncError("it does not answer")

    bench.start()
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living()), refusing))
    asked.poller.read()
    found = asked.waits.ask({"object": "db.t", "target": asked.name})
    assert (found["state"], found["code"]) == ("waits", "log")
    asked.poller.read()
    found = asked.waits.ask({"object": "db.t", "target": asked.name, "wait": found["wait"]})
    assert (found["state"], found["code"]) == ("waits", "target_away"), "what it has is not known"
    assert found["text"] == f"what {asked.name} has is not known: it does not answer"


def test_what_only_the_target_has_is_there(bench: FaultyDrain) -> None:
    bench.append(create_database(), create("db.gone_at_source"))
    bench.start()
    wait_until(lambda: bench.tables() == ["gone_at_source"], what="the table at the target")
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living()), lambda _: bench.open_target()))
    assert asked.wait("db.gone_at_source")["state"] == "there"


@pytest.mark.parametrize(("name", "consistent"), [("db.t", False), ("db", False), ("db", True)])
def test_what_the_target_lacks_ends_the_wait(bench: FaultyDrain, name: str, *, consistent: bool) -> None:
    bench.start()
    bench.append(create_database(), create("db.t"))
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living()), lambda _: bench.open_target()))
    there = asked.wait(name)
    assert (there["state"], there["not_looked_at"]) == ("there", [])
    remove(bench, "t")
    found = asked.wait(name, consistent=consistent)
    assert (found["state"], found["code"], found["missing"]) == ("cannot", "missing", ["db.t"])
    assert (found["text"], found["hint"]) == (
        f"{asked.name} does not have what the source has: db.t",
        "pysync refresh db.t",
    )
    assert asked.status(name)["missing"] == ["db.t"]


def test_what_is_on_its_way_is_not_missing(bench: FaultyDrain) -> None:
    """It was made while both ends were asked: the proof is that nothing of it has come since."""
    bench.start()
    bench.append(create_database())
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living()), lambda _: bench.open_target()))
    wait = Upto(bench.drain, bench.queue, asked.source, asked.ends, name="db")
    asked.poller.read()
    wait_until(lambda: "may be on their way" in wait.verdict().text, what="a first look")
    assert wait.verdict().code == "log"
    bench.append(create("db.t"))
    asked.poller.read()
    wait_until(lambda: wait.verdict().state == "there", what="the table")
    assert bench.tables() == ["t"]


def test_what_the_settings_leave_out_by_its_definition_is_not_missing(bench: FaultyDrain) -> None:
    bench.configure(include_types=["VIRTUAL_VIEW"])
    bench.start()
    bench.append(create_database(), create("db.t"))
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living()), lambda _: bench.open_target()))
    assert asked.wait("db")["state"] == "there"
    assert bench.tables() == []


def test_of_many_that_are_missing_the_first_are_named_and_a_look_is_offered(bench: FaultyDrain) -> None:
    names = [f"t{number:02}" for number in range(MOST + 3)]
    bench.start()
    bench.append(create_database())
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living(*names)), lambda _: bench.open_target()))
    found = asked.wait("db")
    assert found["missing"] == [f"db.{it}" for it in names[:MOST]]
    assert found["text"].endswith(f"at least {MOST} objects: db.t00, db.t01, db.t02, db.t03, db.t04, …")
    assert found["hint"] == f"pysync verify db --target {asked.name}"


def test_a_database_that_is_missing_is_named_before_its_tables(bench: FaultyDrain) -> None:
    bench.start()
    asked = Asked(bench, EndsReader(lambda: nullcontext(Living()), lambda _: bench.open_target()))
    found = asked.wait("db")
    hint = f"pysync verify db --target {asked.name} --repair"
    assert (found["missing"], found["hint"]) == (["db", "db.t"], hint)
    found = asked.wait("db.t")
    assert (found["missing"], found["hint"]) == (["db", "db.t"], hint), "a refresh of the table would be parked"
    assert asked.status("db.tmp_1")["missing"] == [], "which is out of scope"


def test_of_a_source_that_does_not_answer_is_said_that_it_was_not_asked(bench: FaultyDrain) -> None:
    bench.start()
    bench.append(create_database(), create("db.t"))
    found = Asked(bench).wait("db.t")
    assert (found["state"], found["not_looked_at"]) == ("there", ["source"])
    assert found["text"].endswith("is not known, as the source could not be asked")


def test_a_consistent_point_holds_the_database_until_it_is_released(bench: FaultyDrain) -> None:
    bench.start()
    asked = Asked(bench)
    bench.append(create_database(), create_database("other"), create("db.t"))
    found = asked.wait("db", consistent=True)
    assert (found["code"], found["position"], found["attempts"]) == ("consistent", 3, 1)
    bench.append(create("db.u"), create("other.t"))
    wait_until(lambda: bench.tables("other") == ["t"], what="the other database going on")
    assert (bench.tables(), asked.status("db")["pinned"]) == (["t"], True)
    assert asked.waits.end({"wait": found["wait"]}) == {"pinned": True}
    wait_until(lambda: bench.tables() == ["t", "u"], what="the pinned database going on")
    assert asked.waits.end({"wait": found["wait"]}) == {"pinned": False}


@pytest.mark.parametrize(
    "request_",
    [
        {"object": "db", "target": "nobody"},
        {"object": "a.b.c"},
        {"object": 3},
        {"object": "db", "event_id": True},
        {"object": "db", "event_id": -1},
        {"object": "db", "consistent": True, "pin": 0},
        {"object": "db", "consistent": True, "pin": 1e9},
        {"object": "db", "consistent": True, "pin": "1m"},
        {"object": "db.t", "consistent": True},
    ],
)
def test_what_cannot_be_waited_for_is_refused(bench: FaultyDrain, request_: dict[str, Any]) -> None:
    bench.start()
    asked = Asked(bench)
    with pytest.raises(UsageError):
        asked.waits.ask({"target": asked.name, **request_})
