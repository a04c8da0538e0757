"""The limits of the brake: drops at once, over time, and as a share of a database."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pysync.replay.limits import Limits
from tests.support.braking import HALF, OLD, TABLES, at_once, decide, filled, held_by, make_old, one_by_one, reason_of
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
from tests.support.events import settings


def test_drops_one_by_one_are_held_when_they_are_too_many_within_the_time(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3, max_drops="3 per 1h")
    one_by_one(bench, *TABLES)
    assert bench.tables() == ["t3", "t4", "t5"]
    assert held_by(bench) == TABLES[3:]
    assert "drops within 1h, max_drops is 3" in reason_of(bench)
    decide(bench)
    assert bench.tables() == []


def test_a_limit_for_a_window_holds_drops_one_by_one_as_well(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=3)
    one_by_one(bench, *TABLES, created=int(time.time()))
    assert bench.tables() == ["t3", "t4", "t5"]


def test_a_restart_forgets_no_drop_counts_none_twice_and_ends_no_hold(faulty_drains):
    """Before: a hold was not stored, and some ended with a restart, without a decision."""
    bench = filled(faulty_drains, max_drops="3 per 1h")
    one_by_one(bench, *TABLES[:3])
    for _ in range(2):
        bench.restart()
        bench.finish()
    assert held_by(bench) == []
    one_by_one(bench, TABLES[3])
    for _ in range(3):
        assert held_by(bench) == [TABLES[3]]
        assert "there are 4 drops" in reason_of(bench)
        bench.restart()
        bench.finish()
    assert bench.tables() == ["t3", "t4", "t5"]


@pytest.mark.parametrize(("age", "left"), [(60, 0), (7200, 3)])
def test_tables_that_live_for_less_than_the_brake_looks_back_are_no_loss(faulty_drains, age: int, left: int):
    """Jobs make and drop them all day, each under a name of its own."""
    bench = filled(faulty_drains, **HALF)
    dropped = int(time.time()) - 5 * 3600
    one_by_one(bench, *TABLES, created=dropped - age, time_ms=dropped * 1000)
    assert (len(bench.tables()), len(held_by(bench))) == (left, left)


def test_a_small_database_has_no_share_to_hold(faulty_drains):
    bench = filled(faulty_drains, max_drop_share=0.5, max_drop_share_from=7)
    one_by_one(bench, *TABLES)
    assert bench.tables() == []


def test_tables_that_a_job_drops_and_makes_meanwhile_do_not_reduce_the_share(faulty_drains):
    bench = filled(faulty_drains, **HALF)
    for number in range(8):
        bench.append(create(f"db.job_{number}"))
        bench.finish()
        now = time.time()
        bench.append(drop(f"db.job_{number}", int(now), time_ms=round(now * 1000)))
        bench.finish()
    one_by_one(bench, *TABLES[:4])
    assert held_by(bench) == [TABLES[3]]


def test_a_limit_for_a_window_is_one_for_an_hour_unless_that_is_set():
    def limit(**values):
        return Limits.of(settings(**values))

    assert (limit().drops, limit().seconds) == (10_000, 3600)
    assert limit(max_drops_per_window=20).drops == 20
    assert limit(max_drops_per_window=20_000).drops == 20_000
    assert limit(max_drops_per_window=0).drops == 0
    assert limit(max_drops_per_window=20_000, max_drops="5 per 2d") == Limits(20_000, 5, 172_800, 0.5, 10)
    assert limit(max_drops="0").drops == 0
    assert limit(mode="shadow") == Limits()


@pytest.mark.parametrize(
    ("makers", "drops"),
    [
        ([create_partitioned("db.p"), drop_partitions("db.p", "1", "2", "3")], 3),
        ([drop_database()], 1),
        ([*(drop(name, attributes={"uncommitted": "true"}) for name in TABLES), drop_database()], 1),
        ([drop("db.t0"), create("db.t0"), drop("db.t1")], 2),
        ([create_partitioned("db.p"), add_partition("db.p", "1"), drop_partitions("db.p", "1")], 1),
    ],
    ids=["partitions", "a database", "a cascade", "anew", "come and gone"],
)
def test_what_the_plan_counts_as_a_drop(faulty_drains, makers, drops):
    bench = filled(faulty_drains)
    bench.drain.pause("to look at the plan")
    bench.append(*makers)
    assert bench.drain.preview().drops == drops


@pytest.mark.parametrize("limit", [0, 6])
def test_no_limit_and_a_limit_that_is_not_exceeded_hold_nothing(faulty_drains, limit):
    bench = filled(faulty_drains, max_drops_per_window=limit)
    at_once(bench, *map(drop, TABLES))
    assert bench.tables() == []


def test_suppressed_drops_do_not_count(faulty_drains):
    bench = filled(faulty_drains, max_drops_per_window=1, drops="suppress")
    at_once(bench, *map(drop, TABLES))
    assert len(bench.tables()) == len(TABLES)
    assert held_by(bench) == []


def test_a_young_database_is_not_held(faulty_drains):
    """Jobs make a database, fill it and drop it, each time."""
    bench = filled(faulty_drains, **HALF)
    tables = [f"temporary.t{number}" for number in range(12)]
    bench.append(create_database("temporary"), *(create(name, created=int(time.time())) for name in tables))
    bench.finish()
    bench.append(drop_database("temporary", time_ms=round(time.time() * 1000)))
    bench.finish()
    assert bench.target.database("temporary") is None
    assert held_by(bench) == []


_CHANGES = st.lists(
    st.tuples(st.sampled_from(["drop", "drop", "create", "again", "restart"]), st.integers(0, 9)), max_size=12
)


@given(_CHANGES)
@hypothesis_settings(max_examples=20)
def test_no_more_than_the_limit_is_missing_without_a_decision(tmp_path_factory, changes) -> None:
    """Whatever drops, creations and restarts come, at least half of the old tables stay."""
    bench = FaultyDrain(tmp_path_factory.mktemp("queue"), parked_retry_seconds=0, **HALF)
    bench.append(create_database(), *(create(f"db.t{number}") for number in range(10)))
    bench.start()
    bench.finish()
    make_old(bench, "db")
    try:
        for what, number in changes:
            name = f"db.t{number}"
            if what == "restart":
                bench.restart()
            elif what == "again":
                bench.append(drop(name, OLD), create(name))
            else:
                bench.append(create(name) if what == "create" else drop(name, OLD))
        bench.finish()
        assert len(bench.tables()) >= 5
    finally:
        bench.close()


def test_without_a_share_nothing_is_held_by_it(faulty_drains):
    """Before: while anything else was held, every drop in a database of ten tables was."""
    bench = filled(faulty_drains, max_drops_per_window=3, max_drop_share=0)
    others = [f"other.t{number:02}" for number in range(12)]
    bench.append(create_database("other"), *map(create, others))
    bench.finish()
    make_old(bench, "other")
    at_once(bench, *map(drop, [*TABLES, others[0]]))
    assert len(held_by(bench)) == 7
    assert reason_of(bench) == "max_drops_per_window is 3"
    assert {it.reason for it in bench.drain.brake.held()} == {"max_drops_per_window is 3"}
    at_once(bench, drop(others[1]))
    assert (len(held_by(bench)), len(bench.tables("other"))) == (7, 11)
