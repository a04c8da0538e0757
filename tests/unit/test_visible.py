"""Visible: what a drain measures of changes that it applies, and what it counts while a target refuses or is away."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pysync.base.histogram import ERROR
from pysync.base.latency import Latency
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropTable
from pysync.queue import Queued
from pysync.replay.batch import Batch, Job
from pysync.replay.visible import Visible, same_clock
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import Draft
from pysync.replay.window.plan import Work
from pysync.targets.base import Outcome
from tests.support import table, wait_until
from tests.support.drains import Bench, FaultyDrain, create
from tests.support.events import INSTANCE, change

BEGUN, DONE = 1000.0, 1010.0
MARK = Mark("onprem", 1, 1, 0, 0)


def a_job(*committed_ms: int, captured_ms: int = 900_000, instance: str = INSTANCE) -> Job:
    """A work of one event for each time of a commit."""
    changes = {}
    for position, at in enumerate(committed_ms, 1):
        found = change(Kind.CREATE_TABLE, after=[table("db", "t")], time_ms=at, instance=instance, position=position)
        changes[position] = Queued(position=position, at_ms=captured_ms, data=b""), found
    operation = DropTable(table=TableName("db", "t"), mark=MARK)
    work = Work(frozenset({"db.t"}), (operation,), tuple(changes))
    events = [queued for queued, _ in changes.values()]
    return Job(Batch(Draft(events, [work], changes, (), 0, {}), Blocks(), 1), work)


def measured(
    job: Job, offset: Callable[[str], float] = same_clock, outcome: Outcome = Outcome.APPLIED
) -> dict[str, Any]:
    latency, times = Latency(), iter([BEGUN, DONE])
    visible = Visible(latency, offset, lambda: next(times))
    visible.begins(job)
    visible.ended(job, outcome)
    visible.ends(job)
    return latency.status(DONE)


def parts(found: dict[str, Any]) -> dict[str, float]:
    return {part: its["p99"] for part, its in found["parts"].items()}


def about(**seconds: float) -> Any:
    return pytest.approx(seconds, rel=ERROR + 0.001, abs=0.001)


def test_each_event_of_a_work_counts_with_its_own_commit() -> None:
    found = measured(a_job(890_000, 899_000))
    assert parts(found) == about(spool=10, queue=100, target=10)
    assert found["recent"]["count"] == 2
    assert found["worst"] == [{"object": "db.t", "seconds": 120.0, "at": DONE}]


def test_the_offset_of_the_clocks_is_taken_off() -> None:
    ahead = {INSTANCE: 50.0}
    assert parts(measured(a_job(940_000), lambda it: ahead[it])) == about(spool=10, queue=100, target=10)


def test_a_clock_that_is_wrong_makes_nothing_negative() -> None:
    found = measured(a_job(6_000_000, captured_ms=5_000_000))
    assert parts(found) == about(spool=0, queue=0, target=10)


def test_a_refresh_is_no_change_of_the_source() -> None:
    assert measured(a_job(890_000, instance=SIDECAR))["recent"]["count"] == 0


@pytest.mark.parametrize("outcome", Outcome)
def test_what_the_target_does_not_get_is_not_visible(outcome: Outcome) -> None:
    seen = measured(a_job(890_000), outcome=outcome)["recent"]["count"]
    assert bool(seen) is (outcome in {Outcome.APPLIED, Outcome.UNCHANGED, Outcome.STALE})


def test_tries_are_time_at_the_target() -> None:
    job, latency = a_job(890_000), Latency()
    times = iter([BEGUN, DONE])
    visible = Visible(latency, same_clock, lambda: next(times))
    visible.begins(job)
    visible.begins(job)  # asks no clock: the first time counts
    visible.ends(job)
    assert parts(latency.status(DONE)) == about(spool=10, queue=100, target=10)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with closing(Bench(tmp_path)) as made:
        yield made


def ago(seconds: float, name: str) -> Callable[[int], Event]:
    return lambda sequence: replace(create(name)(sequence), time_ms=int((time.time() - seconds) * 1000))


def test_a_drain_measures_from_the_commit(bench: Bench) -> None:
    bench.append(ago(100.0, "db.a"), ago(7000.0, "db.b"))
    bench.run()
    found = bench.status()["latency"]
    assert [it["object"] for it in found["worst"]] == ["db.b", "db.a"]
    assert found["worst"][0]["seconds"] >= 7000
    assert found["parts"]["spool"]["p99"] == pytest.approx(7000, rel=ERROR + 0.01)
    assert found["parts"]["target"]["p99"] < 60
    assert found["since_start"]["visible"]["count"] == found["day"]["count"] == 2


def test_errors_retries_and_waits_are_counted(bench: Bench) -> None:
    assert bench.start().progress.status()["errors"] == dict.fromkeys(
        ("bug", "forbidden", "outcome_unknown", "rejected", "unavailable"), 0
    )
    bench.target.unavailable = 3
    bench.target.rejects = {"db.bad"}
    bench.target.bugs = {"db.bug": 1}
    bench.append(create("db.bad"), create("db.bug"), create("db.t"))
    bench.finish()
    found = bench.status()
    assert found["errors"] == {"bug": 1, "forbidden": 0, "outcome_unknown": 0, "rejected": 1, "unavailable": 3}
    assert found["retries"] == 4
    assert found["backoff_seconds"] >= 0
    assert found["latency"]["recent"]["count"] == 2
    assert found["rate"] > 0


def test_what_was_parked_counts_when_it_is_applied_in_the_end(bench: Bench) -> None:
    bench.target.rejects = {"db.t"}
    bench.append(ago(500.0, "db.t"))
    bench.run()
    assert bench.status()["latency"]["recent"]["count"] == 0
    bench.target.rejects = set()
    assert bench.drain is not None
    assert bench.drain.retry().result(60).left == 0
    wait_until(lambda: bench.status()["latency"]["recent"]["count"] == 1, what="the latency of what was parked")
    assert bench.status()["latency"]["worst"][0]["seconds"] >= 500


def test_a_shadow_makes_nothing_visible(tmp_path: Path) -> None:
    drain = FaultyDrain(tmp_path, mode="shadow")
    drain.append(create("db.t"))
    drain.start()
    drain.finish()
    assert drain.status()["latency"]["recent"]["count"] == 0
    drain.stop()
    drain.queue.close()
