"""Brakes, pauses and the shadow: a target that applies nothing, says why, and goes on when a person says so."""

from __future__ import annotations

import time

import pytest

from tests.support import wait_until
from tests.support.drains import (
    FaultyDrain,
    add_partition,
    create,
    create_database,
    create_partitioned,
    drop,
    drop_database,
    drop_partitions,
)

TABLES = [f"db.t{number}" for number in range(6)]
STILL = 0.3


@pytest.fixture
def built(tmp_path):
    made = []

    def build(*args, **values):
        made.append(FaultyDrain(tmp_path, *args, **values))
        return made[-1]

    yield build
    for item in made:
        item.close()


def filled(built, **values) -> FaultyDrain:
    """A running drain whose target has a database with six tables."""
    bench = built(**values)
    bench.append(create_database(), *map(create, TABLES))
    bench.start()
    bench.finish()
    assert len(bench.tables()) == len(TABLES)
    return bench


def assert_stands_still(bench: FaultyDrain, queued: int) -> None:
    position = bench.position()
    time.sleep(STILL)
    assert (bench.position(), bench.queue.depth(bench.name).queued) == (position, queued)


def wait_for_brake(bench: FaultyDrain, drops: int) -> None:
    def held():
        pause = bench.drain.paused()
        return pause is not None and f"would drop {drops} " in pause.reason

    wait_until(held, what=f"a brake at {drops} drops")
    bench.wait_for_state("paused")


# --- the brake


def test_too_many_drops_pause_the_target_and_nothing_of_the_window_is_applied(built):
    bench = filled(built, max_drops_per_window=3)
    bench.drain.pause("so that all comes in one window")
    bench.append(create("db.new"), *map(drop, TABLES))
    bench.drain.resume()
    wait_for_brake(bench, 6)
    assert_stands_still(bench, queued=7)
    assert sorted(bench.tables()) == [name.partition(".")[2] for name in TABLES], "something of the window was applied"
    reason = bench.drain.paused().reason
    assert "would drop 6 " in reason
    assert "max_drops_per_window is 3" in reason
    assert "pysync resume" in reason


def test_resume_lets_exactly_the_held_window_through_and_the_next_is_held_again(built):
    bench = filled(built, max_drops_per_window=2)
    bench.drain.pause("one window")
    bench.append(*map(drop, TABLES[:3]))
    bench.drain.resume()
    wait_for_brake(bench, 3)
    bench.append(*map(drop, TABLES[3:]))  # come while it is held: no one has seen them
    assert "would drop 3 " in bench.drain.resume().reason
    wait_until(lambda: bench.tables() == ["t3", "t4", "t5"], what="the first three dropped")
    wait_for_brake(bench, 3)
    assert_stands_still(bench, queued=3)
    bench.drain.resume()
    bench.finish()
    assert bench.tables() == []


def test_after_a_restart_the_brake_hits_again(built):
    bench = filled(built, max_drops_per_window=2)
    bench.drain.pause("one window")
    bench.append(*map(drop, TABLES))
    bench.drain.resume()
    wait_for_brake(bench, 6)
    bench.restart()
    wait_for_brake(bench, 6)
    assert len(bench.tables()) == len(TABLES)


@pytest.mark.parametrize(
    ("makers", "drops"),
    [
        ([create_partitioned("db.p"), drop_partitions("db.p", "1", "2", "3")], 3),
        ([drop_database()], 1),
        ([*(drop(name, attributes={"uncommitted": "true"}) for name in TABLES), drop_database()], 7),
        ([drop("db.t0"), create("db.t0"), drop("db.t1")], 2),
        ([create_partitioned("db.p"), add_partition("db.p", "1"), drop_partitions("db.p", "1")], 1),
    ],
    ids=["partitions", "a database", "a cascade", "anew", "come and gone"],
)
def test_what_counts_as_a_drop(built, makers, drops):
    bench = filled(built)
    bench.drain.pause("to look at the plan")
    bench.append(*makers)
    assert bench.drain.preview().drops == drops


@pytest.mark.parametrize("limit", [0, 6])
def test_no_limit_and_a_limit_that_is_kept_hold_nothing(built, limit):
    bench = filled(built, max_drops_per_window=limit)
    bench.append(*map(drop, TABLES))
    bench.finish()
    assert bench.tables() == []


def test_suppressed_drops_do_not_count(built):
    bench = filled(built, max_drops_per_window=1, drops="suppress")
    bench.append(*map(drop, TABLES))
    bench.finish()
    assert len(bench.tables()) == len(TABLES)


# --- by hand


def test_a_paused_target_applies_nothing_until_resume_also_after_a_restart(built):
    bench = filled(built)
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


def test_resume_of_a_pause_by_hand_does_not_release_the_brake(built):
    bench = filled(built, max_drops_per_window=1)
    bench.drain.pause("one window")
    bench.append(*map(drop, TABLES))
    bench.drain.resume()
    wait_for_brake(bench, 6)
    bench.drain.pause("by hand")
    assert bench.drain.resume().reason == "by hand"
    assert_stands_still(bench, queued=6)
    assert "would drop 6 " in bench.drain.paused().reason


def test_resume_of_what_runs_says_so_and_changes_nothing(built):
    bench = filled(built)
    assert bench.drain.resume() is None
    bench.append(create("db.new"))
    bench.finish()


def test_a_pause_ends_the_tries_of_a_target_that_is_away(built):
    bench = built(faults=[{"kind": "unavailable"}])
    bench.append(create_database())
    bench.start()
    bench.wait_for_state("waiting")
    bench.drain.pause("let it rest")
    bench.wait_for_state("paused")
    assert (bench.position(), bench.parked()) == (0, [])


def test_a_paused_target_can_be_stopped(built):
    bench = filled(built)
    bench.drain.pause("x")
    bench.wait_for_state("paused")
    bench.stop()
    assert bench.status()["state"] == "stopped"


# --- the shadow


def test_a_shadow_moves_on_and_writes_nothing(built, capsys):
    bench = built(mode="shadow")
    bench.append(create_database(), create("db.t"), create("db.t"), add_partition("db.t", "1"))
    bench.start()
    bench.finish()
    bench.wait_for_state("shadow")
    assert bench.target.database("db") is None
    assert bench.status()["counts"] == {"shadowed": 3}
    told = capsys.readouterr().out
    assert "put table db.t (1 column)" in told
    assert "put 1 partition of db.t" in told


def test_a_shadow_keeps_what_was_parked_before(built):
    bench = built(faults=[{"kind": "refuse", "tables": ["db.bad"]}])
    bench.append(create_database(), create("db.bad"))
    bench.start()
    bench.finish()
    bench.configure(mode="shadow")
    bench.restart()
    bench.append(create("db.bad"), create("db.good"))
    bench.finish()
    assert bench.parked() == [(2, "db.bad", "rejected"), (3, "db.bad", "waits")]
