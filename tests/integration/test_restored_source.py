"""A real source metastore gets the database of a backup: the target becomes equal to it."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_for_value, wait_until
from tests.support.stages import wait_until_compared

pytestmark = pytest.mark.servers


def source(*arguments: Any, overrides: Mapping[str, str], **more: Any) -> EmbeddedMetastore:
    """A metastore whose listener says goodbye, however short ago something was changed: an end in order is no gap."""
    return EmbeddedMetastore(*arguments, overrides={**overrides, "pysync.idle.ms": "0"}, **more)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path, database="disk", source=source) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        yield stage


def parameters(metastore: Metastore, database: str) -> dict[str, str]:
    """The value of `v` of each table, and the partitions of `keyed`, which is always there."""
    found = {it.tableName: it.parameters["v"] for it in metastore.tables_by_name(database, metastore.tables(database))}
    return found | {"partitions": ",".join(metastore.partition_names(database, "keyed"))}


def change(source: Metastore, database: str) -> None:
    """Alter a table, drop one, create one, and add a partition."""
    altered = source.table(database, "altered")
    altered.parameters["v"] = "2"
    source.call(lambda client: client.alter_table(database, "altered", altered))
    source.call(lambda client: client.drop_table(database, "dropped", False))
    source.call(lambda client: client.create_table(table(database, "new", parameters={"v": "1"})))
    parts = [partition(source.table(database, "keyed"), ["2"])]
    source.call(lambda client: client.add_partitions_req(ttypes.AddPartitionsRequest(database, "keyed", parts, False)))


@pytest.mark.parametrize("sidecar_runs", [True, False])
def test_the_target_becomes_equal_to_a_restored_source(stage: Stage, sidecar_runs: bool) -> None:
    with Metastore(stage.source.uri) as source:
        name = new_database(source, "restored")
        keys = {"keyed": [("k", "string")]}
        for it in ("altered", "dropped", "keyed"):
            made = table(name, it, partition_keys=keys.get(it, ()), parameters={"v": "1"})
            source.call(lambda client, made=made: client.create_table(made))
        before = parameters(source, name)
    stage.source.stop()
    home = stage.directory / "source" / "derby"
    shutil.copytree(home, stage.directory / "backup")
    stage.source.start()
    with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
        change(source, name)
        wait_for_value(lambda: parameters(target, name), parameters(source, name), what="the changes")
    if not sidecar_runs:
        stage._end_sidecar(signal.SIGTERM)
    stage.source.stop()
    shutil.rmtree(home)
    shutil.copytree(stage.directory / "backup", home)
    stage.source.start()
    if not sidecar_runs:
        stage.start_sidecar()
    with Metastore(stage.target.uri) as target:
        wait_for_value(lambda: parameters(target, name), before, seconds=120, what="what the source has again")
    wait_until(lambda: all(it["state"] == "closed" for it in stage.status()["gaps"]), what="the end of the gap")
    reasons = [it["reason"] for it in stage.status()["gaps"]]
    assert reasons[0].startswith("the source's metastore is older than its events"), reasons
    assert reasons[1:] == ["target replica is new: pysync compares it with the source"], (
        "only what was restored shows it"
    )
