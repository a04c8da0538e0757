"""`pysync bootstrap` on real servers: by itself and by the sidecar, killed on the way, while changes flow."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.crashpoints import VARIABLE
from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_until
from tests.support.hanging import stopped
from tests.support.sidecars import Place, assert_one_line, command, pysync_here
from tests.support.stages import NO_BRAKE, assert_converges, ddl_stream, unequal

pytestmark = pytest.mark.smoke

DAY = [("day", "string")]
SECONDS = 120.0
PAGES = 520
"""Partitions of one table, that they come in more than one page."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Two metastores; no sidecar runs yet. Small windows, that the position moves on before all is done."""
    with Stage(tmp_path_factory.mktemp("bootstrap"), options=f"window = 2\n{NO_BRAKE}") as made:
        made.target.start()
        made.source.start()
        yield made


@contextmanager
def filled(stage: Stage, tables: int, large: int) -> Iterator[str]:
    """A database of the source with so many tables of two partitions, and one of many; the first is unpartitioned."""
    with closing(Metastore(stage.source.uri)) as source:
        name = new_database(source, "boot")
        create(source, name, "plain", 0)
        create(source, name, "large", large)
        for number in range(tables):
            create(source, name, f"t{number}", 2)
        yield name
        source.call(lambda client: client.drop_database(name, True, True))


def create(source: Metastore, database: str, name: str, days: int) -> None:
    made = table(database, name, partition_keys=DAY if days else ())
    source.call(lambda client: client.create_table(made))
    there = source.table(database, name)
    for start in range(0, days, 1000):
        parts = [partition(there, [str(day)]) for day in range(start, min(start + 1000, days))]
        request = hive.AddPartitionsRequest(database, name, parts, True, False)
        source.call(lambda client, it=request: client.add_partitions_req(it))


def bootstrap(stage: Stage, crash: str = "") -> subprocess.CompletedProcess[str]:
    arguments = command(["bootstrap", "-c", stage.config_file, "--json"])
    environment = {**os.environ, VARIABLE: crash}
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)


def interrupted(stage: Stage) -> tuple[int, str]:
    """Ctrl-C before it can be done; the exit code, and what a person reads."""
    arguments = command(["bootstrap", "-c", stage.config_file])
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until(stage._answers, seconds=SECONDS, what="the bootstrap answering")
    with stopped(stage.target.pid):
        process.send_signal(signal.SIGINT)
        _, reported = process.communicate(timeout=SECONDS)
    return process.returncode, reported


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["state"] == "finished"
    return found


@pytest.mark.crash
def test_without_a_sidecar_it_goes_on_after_ctrl_c_and_kills_and_ends_equal(stage: Stage) -> None:
    with filled(stage, tables=12, large=PAGES):
        code, reported = interrupted(stage)
        assert (code, "run the command again to continue" in reported) == (130, True), reported
        for crash in ("apply.done:4", "advance.committed:1"):  # one move of the position may be that of all windows
            assert bootstrap(stage, crash).returncode == -signal.SIGKILL
        found = result(bootstrap(stage))
        assert unequal(stage) == []
        (target,) = found["targets"]
        tables, partitions = size(stage)
        assert (target["in_scope"], target["tables"], target["partitions"]) == (tables, tables, partitions)
        assert target["parked"] == 0
        again = result(bootstrap(stage))
        assert again["started_at"] > found["started_at"], "a new one, as all was done"
        assert again["targets"][0]["tables"] == tables
        assert unequal(stage) == []


def size(stage: Stage) -> tuple[int, int]:
    """The tables and partitions of the source."""
    with closing(Metastore(stage.source.uri)) as source:
        names = [(database, name) for database in source.databases() for name in source.tables(database)]
        keyed = [name for name in names if source.table(*name).partitionKeys]
        return len(names), sum(len(source.partition_names(*name)) for name in keyed)


@pytest.mark.crash
def test_the_sidecar_does_it_while_changes_flow(stage: Stage) -> None:
    """What the target lost meanwhile, which no event tells of, is back, and changes that come meanwhile are there."""
    with filled(stage, tables=4, large=5) as name:
        stage.start_sidecar()
        try:
            assert_converges(stage, SECONDS)
            with closing(Metastore(stage.target.uri)) as target:
                for lost in ("plain", "large", "t1"):
                    target.call(lambda client, it=lost: client.drop_table(name, it, False))
            with ddl_stream(stage, clients=1):
                result(bootstrap(stage))
            assert_converges(stage, SECONDS)
            shown = stage.status()["bootstrap"]
            assert (shown["state"], shown["targets"][0]["seconds_left"]) == ("finished", 0.0)
            assert stage.status()["targets"][0]["parked"] == 0
        finally:
            stage._end_sidecar(signal.SIGTERM)


# --- one line for what cannot be


def configured(directory: Path, source: str, target: str) -> Path:
    place = Place(directory)
    text = place.file.read_text().replace('name = "onprem"', f'name = "onprem"\n{source}')
    place.file.write_text(text.replace(str(place.away), target))
    return place.file


def test_what_cannot_be_ends_in_one_line(shared_metastore: EmbeddedMetastore, tmp_path: Path) -> None:
    there, away = shared_metastore.uri, "thrift://127.0.0.1:1"
    cases = [
        (f'metastore = "{away}"', there, f"cannot read the source at {away}"),
        (f'metastore = "{there}"', away, "'dr'"),
    ]
    for number, (source, target, words) in enumerate(cases):
        place = tmp_path / str(number)
        place.mkdir()
        done = pysync_here("bootstrap", "-c", configured(place, source, target))
        assert_one_line(done, 1, words)
    file = configured(tmp_path, f'metastore = "{there}"', there)
    assert_one_line(pysync_here("bootstrap", "-c", file, "--target", "nobody"), 2, "no target 'nobody'")
