"""What the brake holds ends each command that waits for it with exit code 1, and with what is held."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table
from tests.support.sidecars import assert_one_line, pysync
from tests.support.stages import wait_until_compared

TABLES, GONE = 12, 8


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, str]]:
    """A stage that lost the drops of most tables of a database, and the name of that."""
    with Stage(tmp_path_factory.mktemp("holds"), database="disk") as stage:
        stage.target.start()
        stage.source.start()
        with closing(Metastore(stage.source.uri)) as source:
            name = new_database(source, "hold")
            for number in range(TABLES):
                source.call(lambda client, it=number: client.create_table(table(name, f"t{it:02}")))
            stage.start_sidecar()
            wait_until_compared(stage)
            stage.kill_sidecar()
            for number in range(GONE):
                source.call(lambda client, it=number: client.drop_table(name, f"t{it:02}", False))
        os.kill(stage.source.pid, signal.SIGKILL)
        stage.source.stop()
        shutil.rmtree(stage.directory / "spool")
        stage.source.start()
        yield stage, name


@pytest.mark.crash
def test_each_command_that_waits_says_what_is_held(held: tuple[Stage, str], tmp_path: Path) -> None:
    stage, name = held
    reason = f"{GONE} of the {TABLES} tables of {name} would be gone, max_drop_share is 0.5"
    words = (f"target replica holds the drop of {GONE} tables of {name}: {reason}; look at pysync held list replica",)
    alone = pysync("bootstrap", "-c", stage.config_file)
    assert alone.returncode == 1, alone.stderr
    assert words[0] in alone.stdout.splitlines()[-2]

    stage.start_sidecar()
    of = ("-c", stage.config_file)
    waited = (f"replica holds the drop of {GONE} tables of {name}: {reason}; look at pysync held list replica",)
    for asked in (name, f"{name}.t01"):
        assert_one_line(pysync("wait", asked, *of), 1, *waited)
    assert pysync("wait", f"{name}.t{GONE:02}", *of).returncode == 0
    assert_one_line(pysync("refresh", "--wait", *of), 1, *words)
    replayed = pysync("replay", "replica", "--from", "1", *of)
    assert (replayed.returncode, words[0] in replayed.stdout) == (1, True), replayed.stdout + replayed.stderr
    repaired = pysync("verify", "--repair", *of)
    assert (repaired.returncode, words[0] in repaired.stderr) == (1, True), repaired.stdout + repaired.stderr
    promoted = pysync("promote", "replica", "--out", tmp_path / "back.toml", "--yes", *of)
    assert_one_line(promoted, 1, *words)
    with closing(Metastore(stage.target.uri)) as target:
        assert len(target.tables(name)) == TABLES
