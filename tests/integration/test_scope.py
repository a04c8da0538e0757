"""The settings that decide what a target holds change, on real servers: the target follows, as out_of_scope says."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import partition, table, wait_until
from tests.support.sidecars import pysync

DAY = [("day", "string")]


@pytest.fixture
def stage(tmp_path) -> Iterator[Stage]:
    with Stage(tmp_path) as made:
        made.target.start()
        made.source.start()
        yield made


@contextmanager
def running(stage: Stage, *lines: str) -> Iterator[None]:
    """A sidecar whose target has these settings, from its start until everything has come to rest."""
    write(stage, *lines)
    stage.start_sidecar()
    try:
        yield
        wait_until(lambda: rests(stage), seconds=120, what="rest")
    finally:
        stage._end_sidecar(signal.SIGTERM)


def write(stage: Stage, *lines: str) -> None:
    text = stage.config_file.read_text().partition("# here")[0]
    stage.config_file.write_text("\n".join([text.rstrip(), "# here", *lines, ""]))


def rests(stage: Stage) -> bool:
    status = stage.status()
    target = status["targets"][0]
    calm = target["queued"] == target["parked"] == 0
    return calm and all(gap["state"] == "closed" for gap in status["gaps"]) and not target["paused"]


def make(source: Metastore, *names: str) -> None:
    """Tables with two partitions, in databases that are made where they are not there."""
    for name in names:
        database, _, found = name.partition(".")
        if source.database(database) is None:
            source.call(lambda client, it=database: client.create_database(hive.Database(name=it)))
        source.call(lambda client, at=database, it=found: client.create_table(table(at, it, partition_keys=DAY)))
        for day in ("1", "2"):
            part = partition(source.table(database, found), [day])
            source.call(lambda client, it=part: client.add_partition(it))


def held(target: Metastore) -> dict[str, list[str]]:
    return {name: target.tables(name) for name in target.databases() if name != "default"}


def days(target: Metastore, database: str, name: str) -> list[str]:
    there = target.table(database, name) is not None
    return target.partition_names(database, name) if there else []


def scope(stage: Stage) -> dict[str, Any]:
    done = pysync("plan", "--scope", "-c", stage.config_file, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["targets"]
    return found


@pytest.mark.crash
def test_another_include_brings_what_came_and_keeps_or_drops_what_left(stage: Stage) -> None:
    """Before: bb never came, a new table in it was parked ("database bb is not at the target"), and aa.t stayed."""
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        with running(stage, 'include = ["aa"]'):
            make(source, "aa.t", "aa.u", "bb.t")
            wait_until(lambda: held(target) == {"aa": ["t", "u"]}, what="aa")
        make(target, "aa.theirs")
        make(source, "bb.new")  # in the spool when the sidecar begins: its database is not at the target

        write(stage, 'include = ["bb"]')
        plan = scope(stage)
        assert (plan["put"], plan["keep"]) == (["bb", "bb.new", "bb.t"], ["aa.t", "aa.u"])
        assert (plan["drop"], plan["drops"], plan["changes"]) == ([], 0, ["include: aa → bb"])
        with running(stage, 'include = ["bb"]'):
            wait_until(lambda: held(target).get("bb") == ["new", "t"], what="bb")
            wait_until(lambda: days(target, "bb", "t") == ["day=1", "day=2"], what="its partitions")
            reported = stage.status()["targets"][0]["scope"]
            assert (reported["changes"], reported["out_of_scope"]) == (["include: aa → bb"], "keep")
            assert "scope_changed" in stage.sidecar_log.read_text()
        assert held(target) == {"aa": ["t", "theirs", "u"], "bb": ["new", "t"]}
        assert scope(stage)["changes"] == []

        # and back, with what left it dropped: bb is whole and goes whole
        lines = ('include = ["aa"]', 'out_of_scope = "drop"')
        write(stage, *lines)
        plan = scope(stage)
        assert (plan["put"], plan["keep"], plan["drop"]) == ([], [], ["bb", "bb.new", "bb.t"])
        with running(stage, *lines):
            wait_until(lambda: held(target) == {"aa": ["t", "theirs", "u"]}, what="bb's end")
        with running(stage, 'include = ["bb"]', 'out_of_scope = "drop"'):
            wait_until(lambda: held(target) == {"aa": ["theirs"], "bb": ["new", "t"]}, what="aa's end, but for theirs")


@pytest.mark.crash
def test_the_brake_holds_what_leaves_the_scope_and_a_kill_only_delays_it(stage: Stage) -> None:
    names = [f"aa.t{number}" for number in range(6)]
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        with running(stage):
            make(source, *names, "bb.t")
            wait_until(lambda: len(held(target).get("aa", ())) == 6, what="aa")
        lines = ('databases = { aa = "cc" }', 'out_of_scope = "drop"', "max_drops_per_window = 3")
        write(stage, *lines)
        drops = scope(stage)["drops"]
        assert drops == 7
        stage.start_sidecar()
        wait_until(lambda: stage.status()["targets"][0]["queued"] > 0, what="the change being queued")
        stage.kill_sidecar()
        stage.start_sidecar()
        try:
            wait_until(lambda: stage.status()["targets"][0]["brake"], seconds=60, what="the brake")
            assert stage.status()["targets"][0]["brake"]["drops"] == drops
            assert held(target)["cc"] == target.tables("aa") == [name[3:] for name in names], "put first, then drop"
            plan = scope(stage)
            assert len(plan["drop"]) == drops
            assert pysync("held", "drop", "replica", "--yes", "-c", stage.config_file).returncode == 0
            wait_until(lambda: set(held(target)) == {"bb", "cc"}, what="aa's end")
        finally:
            stage._end_sidecar(signal.SIGTERM)
        with running(stage, 'out_of_scope = "drop"'):  # and back
            wait_until(lambda: set(held(target)) == {"aa", "bb"}, what="cc's end")
            wait_until(lambda: days(target, "aa", "t5") == ["day=1", "day=2"], what="all of aa")


@pytest.mark.crash
def test_other_parameters_and_locations_reach_what_is_there(stage: Stage) -> None:
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        with running(stage):
            make(source, "aa.t")
            wait_until(lambda: days(target, "aa", "t") == ["day=1", "day=2"], what="aa.t")
        with running(stage, 'parameters = { "replicated" = "yes" }'):
            wait_until(lambda: target.table("aa", "t").parameters.get("replicated") == "yes", what="the parameter")
        with running(stage, 'tables = { "aa.t" = "aa.moved" }', 'out_of_scope = "drop"'):
            wait_until(lambda: target.tables("aa") == ["moved"], what="the table under its other name")
            wait_until(lambda: days(target, "aa", "moved") == ["day=1", "day=2"], what="its partitions")
            assert "replicated" not in target.table("aa", "moved").parameters
