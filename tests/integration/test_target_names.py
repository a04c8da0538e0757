"""Targets that pysync.toml names otherwise, or not at all: nothing runs until a person has said what became of them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import closing

import pytest

from pysync.control.client import ask
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import FaultyPlace, assert_one_line, pysync, sidecar
from tests.support.stages import assert_converges, wait_until_compared


@pytest.fixture
def stage(tmp_path) -> Iterator[Stage]:
    with Stage(tmp_path) as made:
        made.target.start()
        made.source.start()
        yield made


def assert_checked(stage: Stage, *words: str) -> None:
    """`pysync check` says so, beside all else."""
    done = pysync("check", "-c", stage.config_file, "--json")
    (found,) = [it for it in json.loads(done.stdout) if it["what"] == "targets in the queue"]
    assert (done.returncode, found["ok"]) == (2, False)
    assert [word for word in words if word not in found["detail"]] == []


def call_it(stage: Stage, old: str, new: str) -> None:
    text = stage.config_file.read_text()
    stage.config_file.write_text(text.replace(f'name = "{old}"', f'name = "{new}"'))


@pytest.mark.crash
def test_a_renamed_target_keeps_what_waits_for_it_and_what_is_parked(stage: Stage) -> None:
    """Before: run went on with one warning; a position, a pause, parked events and what waited were gone."""
    stage.start_sidecar()
    wait_until_compared(stage)
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        name = new_database(source, "names")
        wait_until(lambda: target.database(name) is not None, what="the database")
        target.call(lambda client: client.create_table(table(name, "theirs")))
        source.call(lambda client: client.create_table(table(name, "theirs")))  # parked: it is not this source's
        wait_until(lambda: stage.status()["targets"][0]["parked"] == 1, what="the parked event")
        assert pysync("pause", "replica", "-c", stage.config_file, "--reason", "moves").returncode == 0
        source.call(lambda client: client.create_table(table(name, "waits")))
        wait_until(lambda: stage.status()["targets"][0]["queued"] == 1, what="the event that waits")
        before = stage.status()["targets"][0]
        call_it(stage, "replica", "dr")
        assert_checked(stage, "'replica'", "pysync target rename replica dr")
        refused = pysync("reload", "-c", stage.config_file)
        assert_one_line(refused, 2, "'replica'", "pysync target rename replica dr")
        stage._end_sidecar(signal.SIGTERM)

        assert_checked(stage, "'replica'", "target rename replica dr", "target remove replica")
        for command in ("run", "bootstrap"):
            refused = pysync(command, "-c", stage.config_file)
            assert_one_line(refused, 2, "'replica'", "target rename replica dr", "target remove replica")
        for _ in range(2):  # it may be said twice
            done = pysync("target", "rename", "replica", "dr", "-c", stage.config_file, "--json")
            assert (done.returncode, json.loads(done.stdout)["parked"]) == (0, 1), done.stderr
        stage.start_sidecar()
        status = stage.status()
        after = status["targets"][0]
        keys = ("position", "queued", "parked")
        assert (after["name"], *map(after.get, keys)) == ("dr", *map(before.get, keys))
        assert after["paused"]["reason"] == "moves"
        assert [(it["act"], it["target"], it["to"]) for it in status["acts"]] == [("renamed", "replica", "dr")]
        assert all("dr is new" not in gap["reason"] for gap in status["gaps"])
        target.call(lambda client: client.drop_table(name, "theirs", False))
        assert pysync("resume", "dr", "-c", stage.config_file).returncode == 0
        wait_until(lambda: target.tables(name) == ["theirs", "waits"], what="what waited, and what was parked")


@pytest.mark.crash
def test_a_bootstrap_under_way_goes_on_under_the_new_name(stage: Stage) -> None:
    """Its requests in the queue, and one that is parked, name the target they are for."""
    with closing(Metastore(stage.source.uri)) as source:
        name = new_database(source, "names")
        for number in range(6):
            source.call(lambda client, it=number: client.create_table(table(name, f"t{it}")))
        stage.start_sidecar()
        wait_until_compared(stage)
        stage.target.stop()
        source.call(lambda client: client.drop_table(name, "t0", False))
        ask(stage.config.queue.directory, "bootstrap", target="replica")
        wait_until(lambda: stage.status()["targets"][0]["queued"] >= 7, what="the requests")
        stage.kill_sidecar()
    call_it(stage, "replica", "dr")
    assert pysync("target", "rename", "replica", "dr", "-c", stage.config_file).returncode == 0
    stage.target.start()
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        stage.start_sidecar()
        wait_until(lambda: stage.status()["bootstrap"]["state"] == "finished", seconds=120, what="the bootstrap")
        shown = stage.status()["bootstrap"]["targets"]
        assert [it["name"] for it in shown] == ["dr"]
        assert target.tables(name) == source.tables(name)


@pytest.mark.crash
def test_a_removed_target_is_forgotten_on_record_and_one_of_its_name_begins_anew(stage: Stage) -> None:
    stage.start_sidecar()
    wait_until_compared(stage)
    with closing(Metastore(stage.source.uri)) as source:
        new_database(source, "names")
    assert_converges(stage)
    stage._end_sidecar(signal.SIGTERM)
    file = stage.config_file
    refused = pysync("target", "remove", "replica", "-c", file, "--yes")
    assert_one_line(refused, 2, "needs at least one target", "pysync target add")
    call_it(stage, "replica", "dr")
    asked = pysync("target", "remove", "replica", "-c", file)
    assert (asked.returncode, "for good" in asked.stderr) == (1, True), "nobody said yes"
    for removed in (True, False):
        done = pysync("target", "remove", "replica", "-c", file, "--yes", "--json")
        assert json.loads(done.stdout)["removed"] is removed, done.stderr
    stage.start_sidecar()
    assert [it["act"] for it in stage.status()["acts"]] == ["removed"]
    wait_until(lambda: any("dr is new" in gap["reason"] for gap in stage.status()["gaps"]), what="the comparison")


def test_what_makes_no_sense_is_refused_in_one_line(tmp_path) -> None:
    place = FaultyPlace(tmp_path)
    with sidecar(place) as running:
        running.stop()
    file = place.file
    assert_one_line(pysync("target", "rename", "nobody", "new", "-c", file), 2, "no target 'nobody'", "targets: try")
    file.write_text(file.read_text().replace('name = "try"', 'name = "new"'))
    assert_one_line(
        pysync("target", "rename", "nobody", "new", "-c", file), 1, "no target 'nobody'", "its targets: try"
    )
