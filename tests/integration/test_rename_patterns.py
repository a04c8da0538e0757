"""Renames by pattern, and two tables that get one name at the target: a sidecar between two real metastores."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.integration.test_rename_scope import move
from tests.integration.test_scope import days, held, make, write
from tests.support import partition, table, wait_for_value, wait_until
from tests.support.sidecars import pysync

RENAMES = ('databases = { "raw_*" = "dr_*" }', 'tables = { "crm.*" = "crm.old_*" }')


def parked(stage: Stage) -> list[tuple[str, str]]:
    done = pysync("parked", "list", "replica", "-c", stage.config_file, "--json")
    assert done.returncode == 0, done.stderr
    return [(it["table"], it["reason"]) for it in json.loads(done.stdout)["tables"]]


def drift(stage: Stage) -> list[tuple[Any, ...]]:
    done = pysync("verify", "-c", stage.config_file, "--json")
    (found,) = json.loads(done.stdout)["targets"]
    return [(it["name"], it["source"], it["fields"]) for it in found["differences"] if it["drift"]]


@pytest.mark.crash
def test_tables_follow_their_patterns_and_never_overwrite_each_other(tmp_path: Path) -> None:
    with Stage(tmp_path) as stage:
        stage.target.start()
        stage.source.start()
        write(stage, *RENAMES)
        stage.start_sidecar()
        with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
            make(source, "raw_a.t", "raw_b.keep", "crm.visits")
            wanted = {"crm": ["old_visits"], "dr_a": ["t"], "dr_b": ["keep"]}
            wait_until(lambda: held(target) == wanted, seconds=120, what="the names of the patterns")

            move(source, ("raw_a", "t"), ("raw_b", "u"))
            source.call(lambda c: c.add_partition(partition(source.table("raw_b", "u"), ["3"])))
            wait_until(lambda: days(target, "dr_b", "u") == ["day=1", "day=2", "day=3"], what="the rename")
            assert target.tables("dr_a") == []
            assert drift(stage) == []

            make(source, "dr_b.u")  # a name that is not renamed, and that raw_b.u has at the target
            why = "is the copy of raw_b.u, and dr_b.u of the source would overwrite it"
            refused = [("dr_b.u@dr_b/u", True)]
            wait_for_value(lambda: [(key, why in it) for key, it in parked(stage)], refused, what="the refusal")
            source.call(lambda c: c.drop_table("dr_b", "u", False))
            source.call(lambda c: c.create_table(table("dr_b", "u")))
            source.call(lambda c: c.drop_partition_by_name("raw_b", "u", "day=1", False))
            wait_until(lambda: days(target, "dr_b", "u") == ["day=2", "day=3"], what="the first table going on")
            assert drift(stage) == [
                ("dr_b.u", "dr_b.u", ["another object has this name: the copy of raw_b.u", *drift(stage)[0][2][1:]])
            ]
            done = pysync("plan", "--scope", "-c", stage.config_file, "--json")
            assert json.loads(done.stdout)["targets"][0]["collide"] == ["dr_b.u: dr_b.u, raw_b.u"]

            write(stage, 'databases = { "raw_*" = "dr_*", "dr_b" = "own_b" }', RENAMES[1])
            assert pysync("reload", "-c", stage.config_file).returncode == 0
            wait_until(lambda: target.tables("own_b") == ["u"], seconds=120, what="a name of its own")
            wait_until(lambda: parked(stage) == [], seconds=60, what="nothing parked")
            assert days(target, "dr_b", "u") == ["day=2", "day=3"]
