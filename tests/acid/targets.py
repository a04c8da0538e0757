"""Targets of the other kinds beside a stage's own: Glue, Athena, and a metastore that only Spark reaches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pysync.config import load_config
from pysync.lab import EmbeddedMetastore, free_port
from pysync.lab.aws import EmbeddedAws
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from pysync.targets.kinds import target_kind

_COMMON = """
transactional = "snapshot"
transactional_poll_seconds = 1

[targets.copy]
rewrite = "{rewrite}"
layout = "versioned"
settle_seconds = 0.2
"""
_AWS = """
[[targets]]
name = "{kind}"
kind = "{kind}"
region = "{region}"
endpoint_url = "{url}"
include = ["w"]
databases = {{ "w" = "w_{kind}" }}
locations = {{ "file:{source}" = "file:{there}/{kind}" }}
unreadable_locations = "keep"
"""
_ATHENA = """staging = "s3://staging/"
poll_seconds = 0.1
"""
_SPARK = """
[[targets]]
name = "spark"
kind = "spark"
metastore = "{uri}"
locations = {{ "file:{source}" = "file:{there}/spark" }}
"""

Read = Callable[[str], tuple[Any, list[Any]]]
"""Gives the definition of a table at a target by its name, and its partitions; IndexError if it is not there."""


@dataclass(frozen=True)
class OtherTargets:
    """Their servers run; `options` are for a Stage, whose source has its warehouse at `source`."""

    aws: EmbeddedAws
    metastore: EmbeddedMetastore
    options: str

    def readers(self, stage: Stage) -> dict[str, Read]:
        """Of the stage's own target and of these, by their names."""
        config = load_config(stage.config_file)
        of_aws = {it.name: _reader(it) for it in config.targets if it.kind in {"glue", "athena"}}
        return {"replica": _of_metastore(stage.target.uri), "spark": _of_metastore(self.metastore.uri), **of_aws}


@contextmanager
def other_targets(directory: Path, source: Path) -> Iterator[OtherTargets]:
    """Start their servers, and give this process and what it starts the credentials."""
    metastore = EmbeddedMetastore(directory / "by_spark", port=free_port(), name="by_spark")
    with EmbeddedAws(directory / "aws") as aws, metastore, pytest.MonkeyPatch.context() as patch:
        for key in [it for it in os.environ if it.startswith("AWS_")]:
            patch.delenv(key)
        for key, value in aws.environment().items():
            if key != "AWS_ENDPOINT_URL":
                patch.setenv(key, value)
        common = {"source": source, "there": directory / "there"}
        of_aws = {it: _AWS.format(kind=it, region=aws.region, url=aws.url, **common) for it in ("glue", "athena")}
        orc, parquet = (_COMMON.format(rewrite=it) for it in ("orc", "parquet"))
        options = of_aws["glue"] + orc + of_aws["athena"] + _ATHENA + parquet
        yield OtherTargets(aws, metastore, options + _SPARK.format(uri=metastore.uri, **common) + parquet)


def _of_metastore(uri: str) -> Read:
    def read(name: str) -> tuple[Any, list[Any]]:
        with Metastore(uri) as metastore:
            table = metastore.table("w", name)
            if table is None:
                raise IndexError(name)
            return table, list(metastore.partitions("w", name)) if table.partitionKeys else []

    return read


def _reader(settings: Any) -> Read:
    def read(name: str) -> tuple[Any, list[Any]]:
        target = target_kind(settings.kind).open(settings)
        of = TableName(f"w_{settings.kind}", name)
        table = target.table(of)
        if table is None:
            raise IndexError(name)
        return table, list(target.partitions(of)) if table.partitionKeys else []

    return read
