"""Each state of a transactional table: the rows that Hive selects at the source are in the files of every target."""

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
from tests.acid.replication import VERSIONS, Replication, replicated
from tests.acid.states import STATES
from tests.acid.targets import Read
from tests.support import wait_for_value
from tests.support.sidecars import pysync
from tests.views.equal import difference


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.driver.memory", "512m")
    with builder.config("spark.driver.extraJavaOptions", "-Duser.timezone=UTC").getOrCreate() as session:
        yield session


@pytest.fixture(scope="module", params=VERSIONS)
def replication(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replication]:
    with replicated(request.param, tmp_path_factory.mktemp("acid")) as made:
        yield made


def rows_at_target(spark: SparkSession, read: Read, name: str) -> list[list[Any]]:
    """The rows that are in the files of a table at a target, with the values of its partitions at the end."""
    table, partitions = read(name)
    assert "transactional" not in table.parameters
    parts = partitions if table.partitionKeys else [table]
    return [[*row, *(getattr(it, "values", None) or ())] for it in parts for row in _rows(spark, table, it)]


def _rows(spark: SparkSession, table: Any, item: Any) -> list[list[Any]]:
    files = [str(it) for it in Path(unquote(urlsplit(item.sd.location).path)).glob("[!._]*") if it.is_file()]
    if not files:
        return []
    shown = [_shown(column.name, column.type) for column in table.sd.cols]
    form = "orc" if "orc" in table.sd.inputFormat.lower() else "parquet"
    rows = spark.read.format(form).load(files).select(*shown).collect()
    return [[base64.b64encode(it).decode() if isinstance(it, bytes | bytearray) else it for it in row] for row in rows]


def _shown(name: str, kind: str) -> Any:
    return sql.col(name).cast("string").alias(name) if kind in {"date", "timestamp"} else sql.col(name)


def types_of(stage: Stage, name: str) -> list[str]:
    with Metastore(stage.source.uri) as source:
        table = source.table("w", name)
    return [it.type.replace("binary", "string") for it in (*table.sd.cols, *(table.partitionKeys or ()))]


def what_differs(
    spark: SparkSession, of: Replication, name: str, wanted: Sequence[Sequence[Any]], waiting: set[str]
) -> str:
    """What differs at the first target that still waits; targets that have the rows are taken from `waiting`."""
    for target in sorted(waiting):
        try:
            differs = difference(types_of(of.stage, name), wanted, rows_at_target(spark, of.readers[target], name))
        except Exception as error:  # the table is not there yet, or a file has just been replaced
            differs = f"{type(error).__name__}: {error}"
        if differs:
            errors = {it["name"]: it["last_error"] for it in of.stage.status()["targets"] if it["last_error"]}
            return f"{target}: {differs}; {errors}"
        waiting.discard(target)
    return ""


def wait_for_rows(spark: SparkSession, of: Replication, name: str, what: str) -> None:
    """Until every target has the rows that Hive selects now."""
    wanted, waiting = of.hive.rows("w", f"select * from {name}"), set(of.readers)
    wait_for_value(partial(what_differs, spark, of, name, wanted, waiting), "", seconds=300, what=what)


@pytest.mark.parametrize("name", STATES)
def test_each_state_arrives_as_hive_selects_it(replication: Replication, spark: SparkSession, name: str) -> None:
    for number, step in enumerate(STATES[name], 1):
        step(replication.hive)
        wait_for_rows(spark, replication, name, f"step {number} of {name}")


def test_rows_are_read_under_the_name_that_a_table_gets(replication: Replication, spark: SparkSession) -> None:
    full = "stored as orc tblproperties('transactional'='true')"
    hive = replication.hive
    hive.run(f"create table w.before (id int, s string) {full}", "insert into w.before values (1,'x'),(2,'y')")
    wait_for_rows(spark, replication, "before", "the table")
    hive.run("alter table w.before rename to w.after")
    wait_for_rows(spark, replication, "after", "its new name")
    hive.run("insert into w.after values (3,'z')")
    wait_for_rows(spark, replication, "after", "another row")
    hive.run("delete from w.after where id = 1")
    wait_for_rows(spark, replication, "after", "one row less")


def test_verify_finds_no_drift(replication: Replication) -> None:
    """After the states above."""
    compared = pysync("verify", "w", "--data", "-c", replication.stage.config_file, seconds=600)
    assert compared.returncode == 0, compared.stdout
    assert {it["name"]: it["parked"] for it in replication.stage.status()["targets"]} == dict.fromkeys(
        replication.readers, 0
    )
