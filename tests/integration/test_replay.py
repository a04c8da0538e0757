"""`pysync replay` between two real metastores: what a target has lost comes back, with a sidecar and without."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from pysync.base.crashpoints import VARIABLE
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_until
from tests.support.sidecars import assert_one_line, command, pysync_here
from tests.support.stages import assert_converges, unequal, wait_until_compared

pytestmark = pytest.mark.smoke

DAY = [("day", "string")]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("replay"), options="window = 2\n") as found:
        found.target.start()
        found.source.start()
        found.start_sidecar()
        wait_until_compared(found)
        yield found


def create(stage: Stage, *names: str) -> str:
    """A database of the source with these tables, each with a partition; it is at the target, too."""
    with closing(Metastore(stage.source.uri)) as source:
        database = new_database(source, "replay")
        for name in names:
            made = table(database, name, partition_keys=DAY)
            source.call(lambda client, made=made: client.create_table(made))
            there = source.table(database, name)
            source.call(lambda client, there=there: client.add_partition(partition(there, ["1"])))
    assert_converges(stage)
    return database


def lose(stage: Stage, database: str, *names: str) -> None:
    """Drop at the target what no event tells of: tables, or the whole database."""
    with closing(Metastore(stage.target.uri)) as target:
        for name in names:
            target.call(lambda client, name=name: client.drop_table(database, name, False))
        if not names:
            target.call(lambda client: client.drop_database(database, False, True))


def newest(stage: Stage) -> int:
    return int(json.loads(pysync_here("events", "-c", stage.config_file, "--json").stdout)["last"])


def replay(stage: Stage, *arguments: object) -> subprocess.CompletedProcess[str]:
    return pysync_here("replay", "replica", "-c", stage.config_file, *arguments)


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_lost_tables_come_back_and_older_history_is_left_alone(stage: Stage) -> None:
    older = create(stage, "kept")
    begin = newest(stage) + 1
    database = create(stage, "orders", "items")
    lose(stage, older, "kept")
    lose(stage, database)
    planned = result(replay(stage, "--from", begin, "--dry-run", "--json"))
    counts = {it["name"]: it["events"] for it in planned["objects"]}
    assert counts == {database: 1, f"{database}.orders": 2, f"{database}.items": 2}
    assert len(unequal(stage)) > 0, "it was only told"
    found = result(replay(stage, "--from", begin, "--json"))
    assert (found["state"], found["total"], found["parked"]) == ("finished", 3, 0)
    assert {it.name for it in unequal(stage)} == {f"{older}.kept"}
    one = result(replay(stage, "--from", "1d", "--table", f"{older}.kept", "--json"))
    assert (one["scope"]["table"], one["total"]) == (f"{older}.kept", 1)
    assert unequal(stage) == []
    shown = pysync_here("status", "replica", "-c", stage.config_file).stdout
    assert f"of {older}.kept: 1 object refreshed" in shown
    wait_until(lambda: not stage.status()["journal"]["waiting"], what="the journal")
    acts = json.loads(pysync_here("actions", "-c", stage.config_file, "--json").stdout)["records"]
    assert [it["reason"] for it in acts if it["operation"] == "Replay"][-1].startswith(f"events {begin} to ")


def test_senseless_ranges_are_refused_in_one_line(stage: Stage) -> None:
    create(stage, "orders")
    assert_one_line(replay(stage, "--from", 10**9), 1, "no event has come since")
    assert_one_line(replay(stage, "--from", "yesterday"), 2, "neither a position nor a time")
    assert_one_line(replay(stage, "--from", 5, "--to", 2), 1, "no event came between the two")


@pytest.mark.crash
def test_without_a_sidecar_it_goes_on_after_kills_and_ends_equal(stage: Stage) -> None:
    names = [f"t{number}" for number in range(6)]
    begin = newest(stage) + 1
    database = create(stage, *names)
    stage.kill_sidecar()
    try:
        lose(stage, database)
        planned = result(replay(stage, "--from", begin, "--dry-run", "--json"))
        assert len(planned["objects"]) == 7
        for crash in ("apply.done:3", "advance.committed:1"):
            line = command(["replay", "replica", "-c", stage.config_file, "--from", begin])
            killed = subprocess.run(line, env={**os.environ, VARIABLE: crash}, timeout=120, check=False)
            assert killed.returncode == -signal.SIGKILL
        assert result(replay(stage, "--from", begin, "--json"))["state"] == "finished"
        assert unequal(stage) == []
    finally:
        stage.start_sidecar()
        wait_until(lambda: stage.status()["targets"][0]["queued"] == 0, seconds=60, what="the sidecar at rest")
