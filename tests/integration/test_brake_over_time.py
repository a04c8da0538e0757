"""Someone drops a warehouse by mistake, table by table, on real servers: it is held, and one resume is enough."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from pysync.base.text import count
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, table, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import wait_until_compared

LIMIT, TABLES = 3, 8
OPTIONS = f'max_drops_per_window = {LIMIT}\nmax_drops = "{LIMIT} per 1h"\n'


@pytest.mark.crash
def test_slow_drops_are_held_and_one_resume_lets_all_of_them_go(tmp_path: Path) -> None:
    """Before: eight drops two seconds apart all went through."""
    with Stage(tmp_path, options=OPTIONS) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            name = new_database(source, "brake")
            for number in range(TABLES):
                source.call(lambda client, it=number: client.create_table(table(name, f"t{it}")))
            wait_until(lambda: len(target.tables(name)) == TABLES, what="the tables")
            for number in range(TABLES - 2):
                source.call(lambda client, it=number: client.drop_table(name, f"t{it}", False))
                time.sleep(2)
            wait_until(lambda: stage.status()["targets"][0]["paused"], what="the brake")
            assert target.tables(name) == [f"t{number}" for number in range(LIMIT, TABLES)]

            left = TABLES - 2 - LIMIT
            wait_until(lambda: f"{count(left, 'table')} of" in reason(stage), what="the drops that came meanwhile")
            (plan,) = json.loads(pysync("plan", "-c", stage.config_file, "--json").stdout)["targets"]
            assert (plan["drops"], plan["paused"]) == (left, reason(stage))
            stage.kill_sidecar()
            stage.start_sidecar()
            wait_until(lambda: f"{count(left, 'table')} of" in reason(stage), what="the same, by a new process")
            assert len(target.tables(name)) == TABLES - LIMIT

            assert pysync("resume", "replica", "--yes", "-c", stage.config_file).returncode == 0
            source.call(lambda client: client.drop_table(name, f"t{TABLES - 1}", False))
            wait_until(lambda: target.tables(name) == [f"t{TABLES - 2}"], what="all of it, by one resume")
            assert stage.status()["targets"][0]["paused"] is None


def reason(stage: Stage) -> str:
    paused = stage.status()["targets"][0]["paused"]
    return paused["reason"] if paused else ""
