"""A real Hive that runs queries, in one process: fetch tasks, and MapReduce by Hadoop's local runner."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pysync.lab.aws.hive import Hive

_JAVA = Path(__file__).with_name("java")


def start_hive(home: Path, directory: Path) -> Hive:
    """A Hive whose queries give rows as JSON. `home` is what `bring` brought, `directory` is for its files."""
    return Hive(
        directory,
        settings=_settings(directory),
        sources=sorted(_JAVA.glob("*.java")),
        jars=sorted((home / "hive").glob("*.jar")),
    )


def rows(hive: Hive, database: str, query: str) -> list[list[Any]]:
    """The rows of a query: numbers, dates and timestamps as strings, maps as lists of pairs. Raises Refused."""
    return [json.loads(row) for row in hive.run(database, query)]


def _settings(directory: Path) -> dict[str, str]:
    return {
        "list.sink.output.formatter": "pysync.lab.JsonRows",
        "hive.metastore.warehouse.dir": f"file:{directory / 'warehouse'}",
        "hive.cbo.enable": "true",  # as it is by default
        "hive.fetch.task.conversion": "more",
        "hive.auto.convert.join": "false",  # a map join begins with a task in a process of its own
        "hive.exec.mode.local.auto": "true",
        "hive.mapred.mode": "nonstrict",
        "mapreduce.framework.name": "local",
        "mapreduce.cluster.local.dir": str(directory / "mapreduce"),
        "mapreduce.jobtracker.staging.root.dir": str(directory / "staging"),
        "mapreduce.task.io.sort.mb": "16",
        "mapreduce.client.progressmonitor.pollinterval": "20",
        "hive.exec.counters.pull.interval": "20",
        "hadoop.tmp.dir": str(directory / "hadoop"),
    }
