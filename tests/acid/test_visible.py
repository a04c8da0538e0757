"""How long a commit takes to be seen at the target: when its event was seen, and when only the poll finds it.

PYSYNC_ACID_COMMITS is how many are measured (5).
"""

from __future__ import annotations

import os
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pyarrow import parquet

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.acid.hive import HiveAndMetastore
from tests.bench.frame import percentile

COMMITS = int(os.environ.get("PYSYNC_ACID_COMMITS", "5"))
POLL_SECONDS = 10
_OPTIONS = f"""transactional = "snapshot"
transactional_poll_seconds = {POLL_SECONDS}
{{more}}

[targets.copy]
rewrite = "parquet"
settle_seconds = 0.2
"""
WAYS = {"event": "", "poll": 'exclude_kinds = ["ALTER_TABLE"]'}


@pytest.mark.timeout(900 + 60 * COMMITS)
@pytest.mark.parametrize("way", WAYS)
def test_a_commit_is_seen(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source: Any = partial(HiveAndMetastore, "3.1.3")
    with Stage(tmp_path, options=_OPTIONS.format(more=WAYS[way]), source=source) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        hive: Any = stage.source
        hive.run("create database w", "create table w.t (id int) stored as orc tblproperties('transactional'='true')")
        seconds = list[float]()
        for number in range(COMMITS + 1):
            hive.run(f"insert into w.t values ({number})")
            committed = time.monotonic()
            while number not in ids_at_target(stage):
                assert time.monotonic() < committed + 300, stage.status()["targets"]
                time.sleep(0.05)
            seconds.append(time.monotonic() - committed)
        del seconds[0]  # Spark starts
        with capsys.disabled():
            shown = f"{statistics.median(seconds):.2f}, {percentile(seconds, 99):.2f} s of {COMMITS}"
            print(f"\nvisible after a commit by {way} (poll {POLL_SECONDS} s): p50, p99 {shown}")


def ids_at_target(stage: Stage) -> set[int]:
    with Metastore(stage.target.uri) as target:
        table = target.table("w", "t")
    if table is None:
        return set()
    files = Path(unquote(urlsplit(table.sd.location).path)).glob("[!._]*")
    try:
        return {row["id"] for it in files for row in parquet.read_table(it).to_pylist()}
    except OSError:
        return set()  # a file has just been replaced
