"""A source metastore that is stopped in order, and begins again with the database of a backup."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes

from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_for_value, wait_until
from tests.support.stages import wait_until_compared


def saying_goodbye(make: Callable[..., EmbeddedMetastore]) -> Callable[..., EmbeddedMetastore]:
    """Metastores whose listener says goodbye, however short ago something was changed: an end in order is no gap."""

    def made(*arguments: Any, overrides: Mapping[str, str], **more: Any) -> EmbeddedMetastore:
        return make(*arguments, overrides={**overrides, "pysync.idle.ms": "0"}, **more)

    return made


def parameters(metastore: Metastore, database: str) -> dict[str, str]:
    """The value of `v` of each table, and the partitions of `keyed`, which is always there."""
    found = {it.tableName: it.parameters["v"] for it in metastore.tables_by_name(database, metastore.tables(database))}
    return found | {"partitions": ",".join(metastore.partition_names(database, "keyed"))}


def assert_follows_a_restore(
    stage: Stage, back_up: Callable[[], object], restore: Callable[[], object], *, sidecar_runs: bool
) -> None:
    """That the target becomes equal to a source that was restored, and that nothing but its objects shows that.

    `back_up` and `restore` are called while the source's metastore is stopped.
    """
    stage.target.start()
    stage.source.start()
    stage.start_sidecar()
    wait_until_compared(stage)
    with Metastore(stage.source.uri) as source:
        name = _filled(source)
        before = parameters(source, name)
    time.sleep(CLOSE_SECONDS)  # of changes by two processes within this time nobody knows which came last
    stage.source.stop()
    back_up()
    stage.source.start()
    with Metastore(stage.source.uri) as source, Metastore(stage.target.uri) as target:
        _change(source, name)
        wait_for_value(lambda: parameters(target, name), parameters(source, name), what="the changes")
    if not sidecar_runs:
        stage._end_sidecar(signal.SIGTERM)
    stage.source.stop()
    restore()
    stage.source.start()
    if not sidecar_runs:
        stage.start_sidecar()
    with Metastore(stage.target.uri) as target:
        wait_for_value(lambda: parameters(target, name), before, seconds=120, what="what the source has again")
    wait_until(lambda: all(it["state"] == "closed" for it in stage.status()["gaps"]), what="the end of the gap")
    older, *others = (it["reason"] for it in stage.status()["gaps"])
    assert older.startswith("the source's metastore is older than its events"), older
    assert others == ["target replica is new: pysync compares it with the source"]


def _filled(source: Metastore) -> str:
    name = new_database(source, "restored")
    keys = {"keyed": [("k", "string")]}
    for it in ("altered", "dropped", "keyed"):
        made = table(name, it, partition_keys=keys.get(it, ()), parameters={"v": "1"})
        source.call(lambda client, made=made: client.create_table(made))
    return name


def _change(source: Metastore, database: str) -> None:
    """Alter a table, drop one, create one, and add a partition."""
    altered = source.table(database, "altered")
    altered.parameters["v"] = "2"
    source.call(lambda client: client.alter_table(database, "altered", altered))
    source.call(lambda client: client.drop_table(database, "dropped", False))
    source.call(lambda client: client.create_table(table(database, "new", parameters={"v": "1"})))
    parts = [partition(source.table(database, "keyed"), ["2"])]
    source.call(lambda client: client.add_partitions_req(ttypes.AddPartitionsRequest(database, "keyed", parts, False)))
