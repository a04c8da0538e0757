"""Pauses and the shadow: a target that applies nothing, says why, and goes on when a person says so."""

from __future__ import annotations

import time

from tests.support.drains import FaultyDrain, add_partition, create, create_database

STILL = 0.3


def filled(faulty_drains, **values) -> FaultyDrain:
    """A running drain whose target has a database with a table."""
    bench = faulty_drains(**values)
    bench.append(create_database(), create("db.t"))
    bench.start()
    bench.finish()
    return bench


def assert_stands_still(bench: FaultyDrain, queued: int) -> None:
    position = bench.position()
    time.sleep(STILL)
    assert (bench.position(), bench.queue.target(bench.name).depth().queued) == (position, queued)


# --- by hand


def test_a_paused_target_applies_nothing_until_resume_also_after_a_restart(faulty_drains):
    bench = filled(faulty_drains)
    bench.drain.pause("the target is moved")
    bench.append(create("db.new"))
    bench.wait_for_state("paused")
    assert_stands_still(bench, queued=1)
    bench.restart()
    bench.wait_for_state("paused")
    assert bench.drain.paused().reason == "the target is moved"
    assert_stands_still(bench, queued=1)
    assert bench.drain.resume().reason == "the target is moved"
    bench.finish()
    assert "new" in bench.tables()
    bench.restart()
    bench.wait_for_state("running")
    assert bench.drain.paused() is None


def test_resume_of_what_runs_says_so_and_changes_nothing(faulty_drains):
    bench = filled(faulty_drains)
    assert bench.drain.resume() is None
    bench.append(create("db.new"))
    bench.finish()


def test_a_pause_ends_the_tries_of_a_target_that_is_away(faulty_drains):
    bench = faulty_drains(faults=[{"kind": "unavailable"}])
    bench.append(create_database())
    bench.start()
    bench.wait_for_state("waiting")
    bench.drain.pause("let it rest")
    bench.wait_for_state("paused")
    assert (bench.position(), bench.parked()) == (0, [])


# --- the shadow


def test_a_shadow_moves_on_and_writes_nothing(faulty_drains, capsys):
    bench = faulty_drains(mode="shadow")
    bench.append(create_database(), create("db.t"), create("db.t"), add_partition("db.t", "1"))
    bench.start()
    bench.finish()
    bench.wait_for_state("shadow")
    assert bench.target.database("db") is None
    assert bench.status()["counts"] == {"shadowed": 3}
    reported = capsys.readouterr().out
    assert "put table db.t (1 column)" in reported
    assert "put 1 partition of db.t" in reported


def test_a_shadow_keeps_what_was_parked_before(faulty_drains):
    bench = faulty_drains(faults=[{"kind": "refuse", "tables": ["db.bad"]}])
    bench.append(create_database(), create("db.bad"))
    bench.start()
    bench.finish()
    bench.configure(mode="shadow")
    bench.restart()
    bench.append(create("db.bad"), create("db.good"))
    bench.finish()
    assert bench.parked() == [(2, "db.bad", "rejected"), (3, "db.bad", "waits")]
