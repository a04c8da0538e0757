"""`pysync plan`, `pause`, `resume` and the shadow, against a real sidecar."""

from __future__ import annotations

import json

import pytest

from tests.support import wait_until
from tests.support.drains import (
    add_partition,
    create,
    create_database,
    create_partitioned,
    drop,
)
from tests.support.sidecars import FaultyPlace, assert_one_line, pysync, send, sidecar, wait_for

DAYS = [f"2026-01-{day:02d}" for day in range(1, 31)]
TABLES = [f"db.t{number}" for number in range(5)]


@pytest.fixture
def place(tmp_path):
    return FaultyPlace(tmp_path)


def test_plan_shows_what_goes_out_and_touches_nothing(place):
    with sidecar(place) as running:
        assert pysync("pause", "try", "-c", place.file, "--reason", "to look").returncode == 0
        days = [add_partition("db.p", day) for day in DAYS]
        send(running, create_database(), create_partitioned("db.p"), *days, create("db.t"), drop("db.t"))
        (plan,) = place.ask("plan", "--target", "try")["targets"]
        assert (plan["events"], plan["operations"], plan["drops"], plan["paused"]) == (34, 4, 1, "to look")
        assert [it["text"] for work in plan["works"] for it in work["operations"]] == [
            "put database db",
            "put table db.p (1 column)",
            "put 30 partitions of db.p",
            "drop table db.t",
        ]
        assert [(work["keys"], work["events"]) for work in plan["works"]] == [
            (["db"], 1),
            (["db.p"], 31),
            (["db.t"], 2),
        ]
        done = pysync("plan", "-c", place.file)
        assert (done.returncode, done.stderr) == (0, "")
        assert "try: 34 events -> 4 operations" in done.stdout
        assert "put 30 partitions of db.p" in done.stdout
        target = running.status()["targets"][0]
        assert (target["position"], target["queued"], target["counts"]) == (0, 34, {})


def test_plan_of_nothing(place):
    with sidecar(place):
        done = pysync("plan", "-c", place.file)
        assert (done.returncode, "try: 0 events -> 0 operations" in done.stdout) == (0, True)


def test_a_pause_by_hand_outlasts_a_restart_and_is_told(place):
    with sidecar(place) as running:
        done = pysync("pause", "try", "-c", place.file, "--reason", "the target is moved")
        assert (done.returncode, done.stdout) == (0, "try is paused: the target is moved\n")
        send(running, create_database())
        assert running.stop() == 0
    with sidecar(place) as running:
        target = wait_for(running, state="paused", queued=1)
        assert target["paused"]["reason"] == "the target is moved"
        assert target["lag_seconds"] > 0
        assert "paused: the target is moved" in pysync("status", "-c", place.file).stdout
        done = pysync("resume", "try", "-c", place.file)
        assert (done.returncode, done.stdout) == (0, "try is resumed; it was paused: the target is moved\n")
        assert wait_for(running, state="running", queued=0)["paused"] is None
        assert pysync("resume", "try", "-c", place.file).stdout == "try was not paused\n"


def test_the_brake_holds_too_many_drops_until_a_person_decides(place):
    place.write(more="max_drops_per_window = 2\n")
    with sidecar(place) as running:
        send(running, create_database(), *map(create, TABLES))
        wait_for(running, queued=0)
        pysync("pause", "try", "-c", place.file)
        send(running, *map(drop, TABLES), first=10)
        pysync("resume", "try", "-c", place.file)
        wait_until(lambda: _held(running) == 5, what="the brake")
        refused = pysync("held", "drop", "try", "-c", place.file)
        assert (refused.returncode, "db.t4" in refused.stdout) == (1, True)
        assert "db.t4" in pysync("held", "list", "try", "-c", place.file).stdout
        assert "try holds the drop of 5 tables of db" in pysync("plan", "-c", place.file).stdout
        words = "target try holds the drop of 5 tables of db: max_drops_per_window is 2"
        assert words in pysync("status", "-c", place.file).stdout
        assert "'db.t9' is not held" in pysync("held", "keep", "try", "db.t9", "-c", place.file).stderr
        done = pysync("held", "drop", "try", "db", "--yes", "-c", place.file)
        assert (done.returncode, done.stdout) == (0, f"try drops 5 objects: {', '.join(TABLES)}\n")
        wait_until(lambda: running.status()["targets"][0]["parked"] == 0, what="the drops")
        assert running.status()["targets"][0]["brake"] is None


def test_drops_that_are_held_can_be_kept(place):
    place.write(more="max_drops_per_window = 2\n")
    with sidecar(place) as running:
        send(running, create_database(), *map(create, TABLES))
        wait_for(running, queued=0)
        pysync("pause", "try", "-c", place.file)
        send(running, *map(drop, TABLES), create("db.new"), first=10)
        pysync("resume", "try", "-c", place.file)
        wait_until(lambda: _held(running) == 5, what="the brake")
        (why,) = place.ask("why", "db.t4")["targets"]
        assert (why["reasons"][0]["code"], "the drop of db.t4 is held" in why["verdict"]) == ("brake", True)
        assert why["reasons"][0]["hint"].startswith("look at pysync held list try; to keep")
        done = pysync("held", "keep", "try", "-c", place.file)
        assert (done.returncode, "try keeps 5 objects" in done.stdout) == (0, True)
        wait_until(lambda: running.status()["targets"][0]["parked"] == 0, what="the end of the hold")
        assert place.ask("why", "db.t4")["targets"][0]["reasons"][0]["code"] == "kept"
        assert running.status()["targets"][0]["kept"] == 5
        assert "db.t4" in pysync("kept", "list", "try", "-c", place.file).stdout
        assert "no longer keeps 1 object" in pysync("kept", "release", "try", "db.t4", "-c", place.file).stdout
        assert running.status()["targets"][0]["kept"] == 4


def _held(running) -> int:
    brake = running.status()["targets"][0]["brake"]
    return 0 if brake is None else int(brake["drops"])


def test_a_shadow_says_so_and_logs_what_it_would_do(place):
    place.write(more='mode = "shadow"\n')
    with sidecar(place) as running:
        send(running, create_database(), create("db.t"))
        target = wait_for(running, state="shadow", queued=0)
        assert target["counts"] == {"shadowed": 2}
        assert "operation_planned" in running.log()
        assert "put table db.t (1 column)" in running.log()
        assert place.ask("plan")["targets"][0]["mode"] == "shadow"


@pytest.mark.parametrize("name", ["pause", "resume"])
def test_a_target_that_there_is_not_is_wrong_usage(place, name):
    assert_one_line(pysync(name, "tri", "-c", place.file), 2, "no target 'tri'")
    assert_one_line(pysync("plan", "--target", "tri", "-c", place.file), 2, "no target 'tri'")


def test_a_second_sidecar_is_refused(place):
    with sidecar(place):
        done = pysync("run", "-c", place.file)
        assert_one_line(done, 1, "another pysync process uses this directory")


def test_a_damaged_queue_is_set_aside_when_asked(place):
    place.queue.mkdir()
    (place.queue / "queue.db").write_bytes(b"not a database, " * 1000)
    assert_one_line(pysync("run", "-c", place.file), 1, "is damaged", "pysync run --quarantine")


def test_what_is_held_is_decided_without_a_sidecar_too(place):
    """A load has no sidecar to ask; what is decided is carried out by the next start."""
    place.write(more="max_drops_per_window = 2\n")
    with sidecar(place) as running:
        send(running, create_database(), *map(create, TABLES))
        wait_for(running, queued=0)
        pysync("pause", "try", "-c", place.file)
        send(running, *map(drop, TABLES), first=10)
        pysync("resume", "try", "-c", place.file)
        wait_until(lambda: _held(running) == 5, what="the brake")
        assert running.stop() == 0
    listed = pysync("held", "list", "try", "--json", "-c", place.file).stdout
    assert [it["object"] for it in json.loads(listed)["objects"]] == TABLES
    assert "try keeps 1 object: db.t0" in pysync("held", "keep", "try", "db.t0", "-c", place.file).stdout
    assert pysync("held", "drop", "try", "--yes", "-c", place.file).returncode == 0
    assert "db.t0" in pysync("kept", "list", "try", "-c", place.file).stdout
    with sidecar(place) as running:
        wait_until(lambda: running.status()["targets"][0]["parked"] == 0, what="the decisions")
        assert running.status()["targets"][0]["kept"] == 1
