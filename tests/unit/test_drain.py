"""Drain: a target that is away, slow or broken is waited for, and stopping loses nothing."""

from __future__ import annotations

import threading
import time

import pytest
from structlog.testing import capture_logs

from pysync.model.event import Event, Kind
from pysync.model.names import TableName
from pysync.model.snapshot import Snapshot, Transactions
from pysync.queue import QueueFull
from pysync.replay import drain as drain_module
from pysync.replay.brake import Brake
from pysync.replay.drain import Drain
from pysync.replay.progress import DrainState, Progress
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.base import OutcomeUnknown, Unavailable
from tests.support import wait_for_value, wait_until
from tests.support.drains import ATTEMPTS, NEVER, create, drop, rename
from tests.support.events import event
from tests.support.queues import stand_between


@pytest.fixture
def bench(benches):
    return benches()


def test_a_target_that_is_away_is_waited_for_and_nothing_is_parked(bench):
    bench.target.unavailable = NEVER
    bench.append(create("db.t"), create("db.u"))
    bench.start()
    wait_until(lambda: bench.target.tries["db.t"] > 2 * ATTEMPTS, what="trying again and again")
    assert (bench.position(), bench.parked(), bench.target.applied) == (0, [], [])
    assert (bench.status()["state"], bench.status()["last_error"]["reason"]) == ("waiting", "the target is away")
    bench.target.unavailable = 0
    bench.finish()
    assert sorted(bench.target.positions()) == [1, 2]
    assert (bench.parked(), bench.status()["state"]) == ([], "running")


def test_an_operation_whose_outcome_is_unknown_is_applied_again(bench):
    bench.target.unknown = 2
    bench.append(create("db.t"))
    bench.run()
    assert bench.target.positions() == [1, 1, 1]
    assert bench.parked() == []


def test_after_a_rename_the_rows_of_a_transactional_table_are_known_by_its_new_name(bench):
    snapshot = Snapshot(3, Transactions(9))
    bench.append(create("db.t"))
    bench.run()
    bench.drain.reads.snapshots[TableName("db", "t")] = snapshot
    bench.append(rename("db.t", "db.u"), rename("db.other", "db.new"))
    bench.run()
    assert bench.drain.reads.snapshots == {TableName("db", "u"): snapshot}


def test_stopping_while_the_target_is_away_ends_and_loses_nothing(bench):
    bench.target.unavailable = NEVER
    bench.settings = bench.settings.model_copy(update={"retry_max_seconds": 3600.0})
    bench.append(create("db.t"))
    bench.start()
    wait_until(lambda: bench.target.tries["db.t"] > 0, what="the first try")
    bench.stop()
    assert (bench.position(), bench.parked()) == (0, [])
    bench.target.unavailable = 0
    bench.run()
    assert bench.target.positions() == [1]


def test_what_is_done_behind_an_unfinished_event_does_not_come_again_after_a_stop(bench):
    bench.target.unreachable = {"db.slow"}
    bench.append(create("db.slow"), create("db.t"), create("db.slow"), drop("db.t"))
    bench.start()
    wait_until(lambda: bench.target.positions() == [4], what="the other table's events")
    bench.stop()
    assert (bench.position(), bench.queue.target("dr").finished()) == (0, {2, 4})
    bench.target.unreachable = set()
    bench.run()
    assert bench.target.positions() == [4, 3]
    assert bench.queue.target("dr").finished() == set()


def test_stopping_between_the_tries_of_a_bug_does_not_park_it(bench):
    bench.target.bugs = {"db.t": NEVER}
    bench.settings = bench.settings.model_copy(update={"retry_max_seconds": 3600.0, "retry_attempts": 100})
    bench.append(create("db.t"))
    bench.target.hang()
    bench.start()
    bench.target.hangs.wait(60)
    bench.stop()
    assert (bench.position(), bench.parked()) == (0, [])


@pytest.fixture
def narrow(benches):
    """A bench whose target has one lane."""
    return benches(lanes=1)


def test_stopping_ends_after_the_operation_in_flight(narrow):
    narrow.append(*[create(f"db.t{number}") for number in range(50)])
    narrow.target.hang()
    narrow.start()
    assert narrow.target.hangs.wait(60)
    narrow.stop()
    assert narrow.target.positions() == [1]
    assert narrow.position() == 1


def test_stopping_ends_the_retry_of_parked_events_too(narrow):
    narrow.target.rejects = {f"db.t{number}" for number in range(50)}
    narrow.append(*[create(f"db.t{number}") for number in range(50)])
    narrow.run()
    narrow.stop()
    narrow.target.rejects = set()
    narrow.target.hang()
    narrow.start()
    assert narrow.target.hangs.wait(60)
    narrow.stop()
    assert narrow.target.positions() == [1]
    assert 49 <= len(narrow.parked()) <= 50


def test_a_target_that_hangs_is_told_of_and_its_operation_is_applied_again(bench):
    bench.append(create("db.t"))
    bench.target.hang()
    hanging = bench.start()
    assert bench.target.hangs.wait(60)
    hanging.stop()
    assert hanging.join(0.05) is False
    assert bench.position() == 0


def test_a_target_that_cannot_be_opened_is_tried_again(bench):
    failures = iter([OSError("no route"), RuntimeError("a bug in open")])

    def open_target():
        for failure in failures:
            raise failure
        return bench.target.opener()

    bench.open_target = open_target
    bench.append(create("db.t"))
    bench.run()
    assert (bench.target.positions(), bench.parked()) == ([1], [])
    assert bench.status()["last_error"]["reason"] == "cannot open the target: RuntimeError: a bug in open"


def test_while_a_target_cannot_be_opened_the_state_says_so(bench):
    def open_target():
        raise OSError("no route")

    bench.open_target = open_target
    bench.append(create("db.t"))
    bench.start()
    wait_until(lambda: bench.status()["state"] == "waiting", what="the state waiting")
    why = "cannot open the target: OSError: no route"
    wait_for_value(lambda: (bench.status()["last_error"] or {}).get("reason"), why, what="the reason")
    assert bench.parked() == []


def test_a_queue_that_cannot_be_written_loses_no_event(bench):
    """Nor is it a bug of pysync: the worker and its target wait, and both say so."""
    is_full = threading.Event()

    def advance(real, *arguments, **more):
        if is_full.is_set():
            raise QueueFull("no space left")
        real(*arguments, **more)

    stand_between(bench.queue, bench.name, advance)
    is_full.set()
    bench.append(create("db.t"), create("db.u"))
    worker = bench.start().worker

    def states():
        return [{key: it[key] for key in ("state", "last_error")} for it in (bench.status(), worker.status())]

    wait_until(
        lambda: [it["state"] for it in states()] == ["waiting", "waiting"], what="the target and its drain to wait"
    )
    since = worker.status()["waiting_since"]
    wait_until(lambda: worker.status()["last_error"]["at"] > since + 0.2, what="more tries")
    wait_until(lambda: worker.status()["state"] == "waiting", what="the drain to wait again")
    assert worker.status()["waiting_since"] == since, "a try that gets as far as that again is no end of it"
    assert [it["last_error"]["reason"] for it in states()] == ["no space left", "no space left"]
    is_full.clear()
    bench.finish()
    assert set(bench.target.positions()) == {1, 2}
    bench.stop()
    wait_until(lambda: bench.target.closed == bench.target.opened, what="a session that failed gives its targets back")


def test_closing_the_queue_ends_the_drain(bench):
    running = bench.start()
    wait_until(lambda: bench.status()["state"] == "running", what="running")
    bench.queue.close()
    assert running.join(60)
    assert bench.status()["state"] == "stopped"


def test_an_idle_target_that_is_gone_is_seen_to_be_and_one_that_is_back_too(bench, monkeypatch):
    monkeypatch.setattr(drain_module, "_CONTACT_SECONDS", 0.0)
    monkeypatch.setattr(drain_module, "_AWAY_SECONDS", 0.0)
    is_gone = threading.Event()

    def open_target():
        if is_gone.is_set():
            raise Unavailable("connection refused")
        return bench.target.opener()

    bench.open_target = open_target
    bench.start()
    wait_until(lambda: bench.status()["state"] == "running" and bench.status()["last_contact"], what="an answer")
    is_gone.set()
    wait_until(lambda: bench.status()["state"] == "waiting", what="the target to be seen as gone")
    assert bench.status()["last_error"]["reason"] == "connection refused"
    assert bench.status()["waiting_since"] is not None
    is_gone.clear()
    wait_until(lambda: bench.status()["state"] == "running", what="the target to be seen as back")
    assert bench.status()["waiting_since"] is None


def test_a_target_that_has_just_answered_is_not_asked(bench):
    bench.settings = bench.settings.model_copy(update={"lanes": 1})
    bench.append(create("db.t"))
    bench.start()
    wait_until(lambda: bench.position() == 1, what="the event")
    opened = bench.target.opened
    bench.append(create("db.u"))
    wait_until(lambda: bench.position() == 2, what="the next event")
    assert bench.target.opened == opened


def test_whoever_asks_whether_it_has_answered_since_now_has_an_idle_target_asked(bench):
    running = bench.start()
    wait_until(lambda: bench.status()["last_contact"], what="the first answer")
    now = time.monotonic()
    wait_until(lambda: running.has_answered_since(now), what="another answer, long before half a minute is over")


def test_a_shadow_whose_queue_could_not_be_written_is_one_again(bench):
    bench.settings = bench.settings.model_copy(update={"mode": "shadow"})
    running = bench.start()
    wait_until(lambda: bench.status()["state"] == "shadow", what="the shadow")
    running.progress.failed(DrainState.WAITING, "no space left")
    wait_until(lambda: bench.status()["state"] == "shadow", what="the shadow again")


def test_a_shadow_is_not_asked(bench):
    bench.settings = bench.settings.model_copy(update={"mode": "shadow"})
    bench.append(create("db.t"))
    bench.run()
    assert (bench.target.opened, bench.status()["last_contact"]) == (0, None)


def test_a_drain_that_was_never_started_can_be_stopped(bench):
    idle = Drain(Replayer(bench.queue, bench.settings, Translator.of(bench.settings)), bench.open_target)
    idle.stop()
    assert idle.join(1)


def test_events_that_a_window_left_do_not_wait_for_it_to_grow(bench):
    bench.pace = 3600.0

    def asked(at: int) -> Event:
        return event(Kind.REFRESH, sequence=at, attributes={"database": "db", "table": "t"})

    bench.append(create("db.t"), asked, create("db.u"))  # the refresh is for another window than its table
    bench.start()
    wait_until(lambda: bench.position() == 3, what="the events that the first window left")


def test_that_a_target_is_away_and_back_is_logged_once_for_all_its_tables(bench):
    bench.target.unavailable = NEVER
    tables = [f"db.t{number}" for number in range(20)]
    bench.append(*map(create, tables))
    with capture_logs() as lines:
        bench.start()
        wait_until(lambda: all(bench.target.tries[name] >= 9 for name in tables), what="trying each again and again")
        bench.target.unavailable = 0
        bench.finish()
    away = [it for it in lines if it["event"] == "target_unavailable"]
    attempts = [it["attempt"] for it in away]
    assert attempts == [2**number for number in range(len(attempts))], "each attempt once, whatever the table"
    assert attempts[:4] == [1, 2, 4, 8]
    assert {(it["target"], it["reason"]) for it in away} == {("dr", "the target is away")}
    (back,) = [it for it in lines if it["event"] == "target_available"]
    assert (back["target"], back["log_level"]) == ("dr", "info")
    assert 0 <= back["seconds"] < 60


def test_a_table_that_fails_alone_does_not_make_its_target_come_and_go(bench):
    """The others succeed between its tries."""
    progress = Progress("dr", "hms")
    with capture_logs() as lines:
        for attempt in range(1, 100):
            progress.waits(OutcomeUnknown("no answer came"), attempt)
            progress.succeeds(read_source=True)
    assert [it["event"] for it in lines] == ["target_unavailable", "target_available"] * 7


def test_operations_that_do_not_read_the_source_say_nothing_of_its_outage():
    progress = Progress("dr", "hms")
    with capture_logs() as lines:
        for attempt in range(1, 100):
            progress.waits_for_source(Unavailable("connection refused"), attempt)
            progress.succeeds(read_source=False)
        progress.succeeds(read_source=True)
    assert [it["event"] for it in lines] == ["source_unavailable"] * 7 + ["source_available"]


def test_who_reads_that_a_target_waits_reads_why():
    errors = []

    class Noted(Progress):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "state" and value is DrainState.WAITING:
                errors.append(self._last_error["reason"])

    progress = Noted("dr", "hms")
    progress.refused("an older error")
    progress.waits(Unavailable("connection refused"), 1)
    progress.waits_for_source(Unavailable("no route"), 1)
    assert errors == ["connection refused", "no route"]


def test_a_target_that_cannot_say_how_many_tables_it_has_is_away_in_the_log_too(benches, monkeypatch):
    bench = benches(max_drop_share=0.5)
    monkeypatch.setattr(Brake, "expect", lambda *_, **__: is_away())
    bench.append(create("db.t"))
    with capture_logs() as lines:
        bench.start()
        wait_until(lambda: bench.status()["state"] == "waiting", what="its waiting")
        bench.stop()
    assert [it["target"] for it in lines if it["event"] == "target_unavailable"] == ["dr"]


def is_away():
    raise Unavailable("the target is away")
