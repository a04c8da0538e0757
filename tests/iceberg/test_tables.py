"""Iceberg tables whose files are copied: at the target is each snapshot, branch and tag, and no file is elsewhere.

Run by `make test SUITE=iceberg`, with a Spark for which Iceberg has a runtime. PYSYNC_COMMITS is how many commits the
long history has (12 unless given).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import wait_for_value
from tests.support.sidecars import pysync
from tests.support.stages import wait_until_compared

# This pyspark leaves the sockets of its results to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

COMMITS = int(os.environ.get("PYSYNC_COMMITS", "12"))
(RUNTIME,) = Path("build/iceberg").absolute().glob("iceberg-spark-runtime-*.jar")
_SHORT_LIFE = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
OPTIONS = f"""\
copy = {{ settle_seconds = 0.2 }}
[spark]
settings = {{ "spark.jars" = "{RUNTIME}", "spark.driver.defaultJavaOptions" = "{_SHORT_LIFE}" }}
"""
ALL_TIME = "timestamp '2100-01-01 00:00:00'"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("iceberg"), options=OPTIONS) as running:
        running.target.start()
        running.source.start()
        running.start_sidecar()
        wait_until_compared(running)
        yield running


@dataclass(frozen=True)
class Lake:
    """A Spark that knows both metastores as catalogs: `here` and `there`."""

    spark: SparkSession
    stage: Stage

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.spark.sql(statement).collect()]

    def run(self, *statements: str) -> None:
        for it in statements:
            self.spark.sql(it)

    def state(self, table: str) -> dict[Any, Any]:
        """The rows of every snapshot by its id, and the branches and tags."""
        snapshots = [it for (it,) in self.rows(f"select snapshot_id from {table}.snapshots")]
        rows = {it: sorted(map(str, self.rows(f"select * from {table} version as of {it}"))) for it in snapshots}
        return {**rows, "refs": self.rows(f"select name, type, snapshot_id from {table}.refs order by name")}

    def outside(self, table: str) -> list[str]:
        """Files of the table at the target that are not there."""
        files = [it for (it,) in self.rows(f"select file_path from there.{table}.all_files")]
        return [it for it in files if not it.startswith(f"file:{self.stage.target.warehouse}/")]

    def wait_for(self, table: str, what: str) -> None:
        """Until the table has at the target what it has at the source now, and no file elsewhere."""
        wanted = self.state(f"here.{table}")

        def found() -> object:
            try:
                return self.state(f"there.{table}"), self.outside(table)
            except Exception as error:  # it is not there yet
                return f"{type(error).__name__}; {self.stage.status()['targets'][0]['last_error']}"

        wait_for_value(found, (wanted, []), seconds=180, what=what)


@pytest.fixture(scope="module")
def lake(stage: Stage) -> Iterator[Lake]:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.jars", str(RUNTIME)).config("spark.sql.shuffle.partitions", "1")
    builder = builder.config("spark.hadoop.iceberg.engine.hive.lock-enabled", "false")
    extensions = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
    builder = builder.config("spark.sql.extensions", extensions)
    for name, server in (("here", stage.source), ("there", stage.target)):
        catalog = f"spark.sql.catalog.{name}"
        builder = builder.config(catalog, "org.apache.iceberg.spark.SparkCatalog").config(f"{catalog}.type", "hive")
        builder = builder.config(f"{catalog}.uri", server.uri).config(f"{catalog}.cache-enabled", "false")
        builder = builder.config(f"{catalog}.warehouse", f"file:{server.warehouse}")
    with builder.getOrCreate() as spark:
        made = Lake(spark, stage)
        made.run("create namespace here.ice")
        yield made


def create(lake: Lake, name: str, version: int) -> str:
    lake.run(
        f"create table here.ice.{name} (id bigint, s string, d string) using iceberg partitioned by (d) "
        f"tblproperties ('format-version'='{version}', 'write.delete.mode'='merge-on-read', "
        "'write.update.mode'='merge-on-read')"
    )
    return f"ice.{name}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_each_snapshot_arrives_whole(lake: Lake, version: int) -> None:
    table = create(lake, f"v{version}", version)
    here = f"here.{table}"
    lake.run(f"insert into {here} values (1,'a','x'),(2,'b','x'),(3,'c','y')", f"insert into {here} values (5,'e','z')")
    lake.wait_for(table, "appends")
    if version > 1:
        lake.run(f"delete from {here} where id = 1", f"update {here} set s = 'up' where id = 2")
        lake.wait_for(table, "deletes and updates")
    lake.run(f"alter table {here} create branch b1", f"insert into {here}.branch_b1 values (7,'on the branch','z')")
    lake.run(f"alter table {here} create tag t1")
    lake.wait_for(table, "a branch and a tag")
    call = "call here.system"
    lake.run(f"{call}.rewrite_data_files(table => '{table}', options => map('rewrite-all','true'))")
    lake.wait_for(table, "compacted files")
    (before,) = lake.rows(f"select snapshot_id from {here}.refs where name = 't1'")[0]
    lake.run(f"{call}.rollback_to_snapshot('{table}', {before})")
    lake.wait_for(table, "a rollback")
    lake.run(f"insert into {here} values (9,'later','y')")
    lake.run(f"{call}.expire_snapshots(table => '{table}', older_than => {ALL_TIME}, retain_last => 1)")
    lake.wait_for(table, "expired snapshots")


@pytest.mark.timeout(600 + 20 * COMMITS)
def test_many_commits_arrive_whatever_they_do_and_whenever_the_sidecar_is_killed(lake: Lake, stage: Stage) -> None:
    table, chosen = create(lake, "busy", 2), random.Random(5)
    here, call = f"here.{table}", "call here.system"
    lake.run(f"insert into {here} values (0,'first','x')")
    for number in range(1, COMMITS + 1):
        kind = chosen.choice(["append", "append", "delete", "compact", "expire"])
        if kind == "append":
            lake.run(f"insert into {here} values ({number},'n','{'xyz'[number % 3]}'),({number},'m','x')")
        elif kind == "delete":
            lake.run(f"delete from {here} where id = {chosen.randrange(number)}")
        elif kind == "compact":
            lake.run(f"{call}.rewrite_data_files(table => '{table}', options => map('rewrite-all','true'))")
        else:
            lake.run(f"{call}.expire_snapshots(table => '{table}', older_than => {ALL_TIME}, retain_last => 2)")
        if number % 4 == 0:  # it is in the middle of one of them
            stage.kill_sidecar()
            stage.start_sidecar()
    lake.wait_for(table, "the last of them")
    with closing(Metastore(stage.target.uri)) as target:
        below = Path(target.table("ice", "busy").sd.location.removeprefix("file:"))
    assert not [it for it in below.rglob(".pysync-copy-*") if not it.name.endswith(".crc")]


@pytest.mark.timeout(600)
def test_a_commit_at_the_target_is_not_overwritten(lake: Lake, stage: Stage) -> None:
    table = create(lake, "theirs", 2)
    lake.run(f"insert into here.{table} values (1,'a','x')")
    lake.wait_for(table, "the first row")
    lake.run(f"insert into there.{table} values (2,'of the target','x')")
    theirs = lake.state(f"there.{table}")
    lake.run(f"insert into here.{table} values (3,'later','x')")

    def parked() -> str:
        found = pysync("parked", "list", "replica", "--json", "-c", stage.config_file, seconds=60).stdout
        return "has a commit that is not from the source" if "has a commit that is not from the" in found else found

    wait_for_value(parked, "has a commit that is not from the source", seconds=120, what="the conflict")
    assert lake.state(f"there.{table}") == theirs
    with closing(Metastore(stage.target.uri)) as target:
        assert not [it for it in Path(target.table("ice", "theirs").sd.location[5:]).iterdir() if it.name[0] == "."]
