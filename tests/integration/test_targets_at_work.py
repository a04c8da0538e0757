"""Targets come, change and go while clients work on a real metastore: nothing is lost, and nothing out of scope."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import wait_until_compared

CLIENTS = 8
ACTS = int(os.environ.get("PYSYNC_ACTS", "10"))
TABLES = 30  # of each client: so that a comparison of everything, of which there are many, takes no minutes
TURNS = 5  # of each client for each act: so the backlog is the same on a slow machine
PACE_SECONDS = 0.3
OPTIONS = 'max_drop_share = 0.0\ninclude = ["work*"]\n'
"""The two targets are in one metastore: one that takes everything would drop the other's databases as gone."""
SECONDS_BETWEEN = 1.0


class Client(threading.Thread):
    """Creates, alters and drops tables in a database of its own, under the same few names again and again."""

    def __init__(self, stage: Stage, database: str, ends: threading.Event) -> None:
        super().__init__(name=database)
        self._stage, self._database, self._ends = stage, database, ends
        self.done, self.allowed = 0, TURNS
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with closing(Metastore(self._stage.source.uri)) as source:
                while not self._ends.wait(PACE_SECONDS):
                    if self.done < self.allowed:
                        self._turn(source, self.done)
        except BaseException as error:
            self.failure = error

    def _turn(self, source: Metastore, number: int) -> None:
        name = f"t{number % TABLES}"
        if number >= TABLES:
            source.call(lambda client: client.drop_table(self._database, name, False))
        source.call(lambda client: client.create_table(table(self._database, name)))
        if number % 2:
            there = source.call(lambda client: client.get_table(self._database, name))
            there.parameters["changed"] = str(number)
            source.call(lambda client: client.alter_table(self._database, name, there))
        if number % 3 == 2:
            there = source.call(lambda client: client.get_table(self._database, name))
            there.tableName = f"renamed{number}"
            source.call(lambda client: client.alter_table(self._database, name, there))
            source.call(lambda client: client.create_table(table(self._database, name)))
            source.call(lambda client: client.drop_table(self._database, f"renamed{number}", False))
        self.done += 1


def act(stage: Stage, number: int, databases: Sequence[str]) -> None:
    """Every tenth is of the same kind; the last one, which would remove the second target, is a reload."""
    first, other = databases[:2]
    renames = [f"databases.{name}=second_{name}" for name in (first, other)]
    settings = [f"metastore={stage.target.uri}", f"policy={first}", "max_drop_share=0.0", *renames]
    steps: list[list[object]] = [
        ["target", "add", "second", "--kind", "hms", *(word for it in settings for word in ("--set", it))],
        ["target", "set", "replica", f"lanes={2 + number // 10}"],
        ["target", "disable", "replica"],
        ["target", "set", "second", f'exclude=["{first}.t*7"]', "out_of_scope=drop"],
        ["target", "enable", "replica"],
        ["target", "rename", "second", "third"],
        ["target", "disable", "third"],
        ["target", "enable", "third"],
        ["target", "policy", "third", other, "replace", first, "--yes"],
        ["target", "remove", "third", "--yes"] if number < ACTS - 1 else ["reload"],
    ]
    done = pysync(*steps[number % 10], "-c", stage.config_file, seconds=200)
    assert done.returncode == 0, f"act {number}, {steps[number % 10]}: {done.stderr}"


def of_target(stage: Stage, name: str) -> list[dict[str, Any]]:
    """All that the journal has of operations at a target."""
    done = pysync("actions", "--target", name, "--limit", 1_000_000, "-c", stage.config_file, "--json", seconds=200)
    return [it for it in json.loads(done.stdout)["records"] if it["source_object"]]


def rests(stage: Stage) -> bool:
    status = stage.status()
    return all(not it["queued"] for it in status["targets"]) and all(it["state"] == "closed" for it in status["gaps"])


@pytest.mark.crash
@pytest.mark.timeout(3000)
def test_nothing_is_lost_while_targets_come_change_and_go(tmp_path: Path) -> None:
    """Ten acts beside eight clients, fifty in the suite chaos; each is a command line, and each reloads the sidecar."""
    with Stage(tmp_path, options=OPTIONS) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        began, ends = time.monotonic(), threading.Event()
        with closing(Metastore(stage.source.uri)) as source:
            databases = [new_database(source, f"work{number}") for number in range(CLIENTS)]
        clients = [Client(stage, name, ends) for name in databases]
        for client in clients:
            client.start()
        try:
            for number in range(ACTS):
                act(stage, number, databases)
                assert [it.failure for it in clients if it.failure] == []
                for client in clients:
                    client.allowed += TURNS
                ends.wait(SECONDS_BETWEEN)
        finally:
            ends.set()
            for client in clients:
                client.join()
        assert all(it.done > ACTS for it in clients), [it.done for it in clients]
        wait_until(lambda: rests(stage), seconds=900, what="the end of what is queued")
        assert_all_equal(stage, databases)
        turns, seconds = sum(it.done for it in clients), time.monotonic() - began
        print(f"{ACTS} acts in {seconds:.0f} s, {turns} turns of clients", file=sys.stderr)  # noqa: T201


def assert_all_equal(stage: Stage, databases: Sequence[str]) -> None:
    """By verify, by what the second target's databases are, and by the journal of what was done there."""
    until = time.monotonic() + 300
    while True:  # two changes of a table that overlapped are read once more when it is calm
        done = pysync("verify", "-c", stage.config_file, "--json", seconds=300)
        found = json.loads(done.stdout)
        if not found["drift"] or time.monotonic() > until:
            break
    drifted = [it for each in found["targets"] for it in each["differences"] if it["drift"]]
    assert (done.returncode, drifted) == (0, [])
    assert [it["target"] for it in found["targets"]] == ["replica", "third"]
    assert [it["parked"] for it in stage.status()["targets"]] == [0, 0]
    first, other = databases[:2]
    with closing(Metastore(stage.target.uri)) as target:
        # A target that is removed before its drops were applied leaves what it has, so the first may be there still.
        there = {it for it in target.databases() if it.startswith("second_")}
        assert f"second_{other}" in there
        assert there <= {f"second_{first}", f"second_{other}"}
    records = of_target(stage, "third")
    assert records, "the renamed target has its records"
    assert {it["source_object"].partition(".")[0] for it in records} <= {first, other}
    log = stage.sidecar_log.read_text()
    assert log.count("sidecar_started") >= ACTS
    assert "Traceback" not in log
