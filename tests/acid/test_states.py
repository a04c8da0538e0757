"""Each state of a transactional table: the rows that Hive selects at the source are in the files of the target."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.acid.hive import HiveAndMetastore
from tests.acid.states import STATES
from tests.support import wait_for_value
from tests.support.sidecars import pysync
from tests.views.equal import difference

VERSIONS = ("3.1.3", "4.2.0")
OPTIONS = """transactional = "snapshot"
transactional_poll_seconds = 1

[targets.copy]
rewrite = "parquet"
settle_seconds = 0.2
"""


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "512m")
    with builder.config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC").getOrCreate() as session:
        yield session


@pytest.fixture(scope="module", params=VERSIONS)
def stage(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    source: Any = partial(HiveAndMetastore, request.param)
    with Stage(tmp_path_factory.mktemp("acid"), options=OPTIONS, source=source) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        hive: Any = stage.source
        hive.run("create database w")
        yield stage


def rows_at_target(spark: SparkSession, stage: Stage, name: str) -> list[list[Any]]:
    """The rows that are in the files of a table at the target, with the values of its partitions at the end."""
    with Metastore(stage.target.uri) as target:
        table = target.table("w", name)
        assert table is not None
        assert "transactional" not in table.parameters
        parts = list(target.partitions("w", name)) if table.partitionKeys else [table]
    return [[*row, *(getattr(it, "values", None) or ())] for it in parts for row in _rows(spark, table, it)]


def _rows(spark: SparkSession, table: Any, item: Any) -> list[list[Any]]:
    files = [str(it) for it in Path(unquote(urlsplit(item.sd.location).path)).glob("[!._]*")]
    if not files:
        return []
    shown = [_shown(column.name, column.type) for column in table.sd.cols]
    rows = spark.read.parquet(*files).select(*shown).collect()
    return [[base64.b64encode(it).decode() if isinstance(it, bytes | bytearray) else it for it in row] for row in rows]


def _shown(name: str, kind: str) -> Any:
    return sql.col(name).cast("string").alias(name) if kind in {"date", "timestamp"} else sql.col(name)


def types_of(stage: Stage, name: str) -> list[str]:
    with Metastore(stage.source.uri) as source:
        table = source.table("w", name)
    return [it.type.replace("binary", "string") for it in (*table.sd.cols, *(table.partitionKeys or ()))]


def what_differs(spark: SparkSession, stage: Stage, name: str, wanted: Sequence[Sequence[Any]]) -> str:
    try:
        differs = difference(types_of(stage, name), wanted, rows_at_target(spark, stage, name))
    except Exception as error:  # the table is not there yet, or a file has just been replaced
        return str(error)
    return differs and f"{differs}; {stage.status()['targets'][0]['last_error']}"


@pytest.mark.parametrize("name", STATES)
def test_each_state_arrives_as_hive_selects_it(stage: Stage, spark: SparkSession, name: str) -> None:
    hive: Any = stage.source
    for number, step in enumerate(STATES[name], 1):
        step(hive)
        wanted = hive.rows("w", f"select * from {name}")
        wait_for_value(
            partial(what_differs, spark, stage, name, wanted), "", seconds=180, what=f"step {number} of {name}"
        )


def test_rows_are_read_under_the_name_that_a_table_gets(stage: Stage, spark: SparkSession) -> None:
    hive: Any = stage.source

    def arrives(name: str) -> None:
        wanted = hive.rows("w", f"select * from {name}")
        wait_for_value(partial(what_differs, spark, stage, name, wanted), "", seconds=180, what=name)

    full = "stored as orc tblproperties('transactional'='true')"
    hive.run(f"create table w.before (id int, s string) {full}", "insert into w.before values (1,'x'),(2,'y')")
    arrives("before")
    hive.run("alter table w.before rename to w.after")
    arrives("after")
    hive.run("insert into w.after values (3,'z')")
    arrives("after")
    hive.run("delete from w.after where id = 1")
    arrives("after")


def test_verify_finds_no_drift(stage: Stage) -> None:
    """After the states above."""
    compared = pysync("verify", "w", "-c", stage.config_file, seconds=300)
    assert compared.returncode == 0, compared.stdout
    assert stage.status()["targets"][0]["parked"] == 0
