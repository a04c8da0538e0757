"""What the target forbids: one object is parked while others go on; where nothing goes, it is the target that waits."""

from __future__ import annotations

from pysync.replay import scheduler as flight
from tests.support import wait_for_value, wait_until
from tests.support.drains import create, create_database

SECRET = {"kind": "forbid", "tables": ["db.secret*"]}


def test_one_forbidden_table_is_parked_and_all_others_arrive(faulty_drains):
    bench = faulty_drains(faults=[SECRET])
    names = [f"db.t{number}" for number in range(20)]
    bench.append(create_database(), *map(create, names[:10]), create("db.secret"), *map(create, names[10:]))
    bench.start()
    wait_for_value(lambda: {f"db.{it}" for it in bench.tables()}, {*names}, seconds=20, what="the others")
    bench.append(create("db.later"))
    bench.finish()
    assert "later" in bench.tables()
    ((position, key, kind),) = bench.parked()
    assert (position, key, kind) == (12, "db.secret", "rejected")
    assert "access denied" in bench.queue.target(bench.name).parked.events()[0].reason


def test_where_nothing_succeeds_the_target_waits_and_nothing_is_parked(faulty_drains):
    bench = faulty_drains(faults=[{"kind": "forbid", "times": 40}], retry_max_seconds=0.05)
    bench.append(create_database(), *(create(f"db.t{number}") for number in range(5)))
    bench.start()
    wait_until(lambda: bench.status()["state"] == "waiting", what="the target waiting")
    assert bench.parked() == []
    bench.finish()  # somebody has granted it
    assert (len(bench.tables()), bench.parked()) == (5, [])


def test_more_forbidden_tables_than_may_wait_hinder_no_other(faulty_drains):
    bench = faulty_drains(faults=[SECRET], window=500)
    many = flight._MOST_RESTING * 3
    bench.append(create_database(), *(create(f"db.secret{number}") for number in range(many)), create("db.good"))
    bench.start()
    wait_until(lambda: bench.tables() == ["good"], seconds=20, what="the one that may be written")


def test_what_was_parked_comes_once_it_is_granted(faulty_drains):
    bench = faulty_drains(faults=[{**SECRET, "times": 12}], parked_retry_seconds=0.2)
    bench.append(create_database(), create("db.secret"))
    bench.start()
    wait_until(lambda: bench.status()["state"] == "waiting", what="the first refusals")
    bench.append(*(create(f"db.t{number}") for number in range(5)))
    names = {"secret", *(f"t{number}" for number in range(5))}
    wait_for_value(lambda: set(bench.tables()), names, what="all of them")
    bench.finish()
    wait_until(lambda: bench.parked() == [], what="nothing parked")
