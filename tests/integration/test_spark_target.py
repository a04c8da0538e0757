"""A target that Spark alone reaches: from the source's listener to the rows, and what happens when something dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive
from pyspark import SparkContext

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.rows import rows_at
from pysync.lab.demo.stage import Stage
from pysync.model.names import TableName
from pysync.targets.base import Outcome, OutcomeUnknown, Rejected, Unavailable
from pysync.targets.spark import SparkSettings, spark_target
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark_request import SparkConfig
from tests.conformance.harness_spark import SHORT_LIFE
from tests.conformance.objects import Source, partition, table, view
from tests.support import wait_until
from tests.support.spark_sql import at_the_source
from tests.support.stages import is_at_rest, wait_until_compared

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

NAME = TableName("db", "t")
JAVA = SHORT_LIFE["spark.driver.defaultJavaOptions"]
OPTIONS = f'copy = {{ settle_seconds = 0.5 }}\n[spark]\nsettings = {{ "spark.driver.defaultJavaOptions" = "{JAVA}" }}\n'


class Place:
    """A metastore on disk, and a Spark that knows it."""

    def __init__(self, directory: Path) -> None:
        self.server = EmbeddedMetastore(directory / "hms", name="spark", database="disk")
        self.server.start()
        (directory / "spark").mkdir()
        self.settings = SparkSettings.model_validate({"name": "lake", "kind": "spark", "metastore": self.server.uri})
        self.settings.use_spark(SparkConfig(settings=SHORT_LIFE))
        self.host = SparkHost(self.settings.spark_request(), directory / "spark")
        self.settings.use(self.host)
        self.target = spark_target(self.settings)

    def location(self, name: str) -> str:
        return f"file:{self.server.warehouse}/{name}"

    def close(self) -> None:
        self.host.close()
        self.server.kill()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = Place(tmp_path_factory.mktemp("spark"))
    source = Source()
    made.target.apply(source.put_database("db", made.location("db")))
    yield made
    made.close()


@pytest.fixture
def source() -> Source:
    found = Source()
    found.position = time.time_ns() // 1_000_000
    return found


def read_rows(place: Place, name: str) -> list[tuple[Any, ...]]:
    """The rows that a reader in the same session finds."""
    session = place.host.session()
    session.catalog.refreshTable(name)
    return sorted(tuple(row) for row in session.table(name).collect())


@pytest.mark.smoke
def test_partitions_of_another_format_than_their_table_are_read_as_what_they_are(place: Place, source: Source) -> None:
    of = table(TableName("db", "mixed"), place.location("mixed"), keys=["k"])
    tabs = partition(of, ["tabs"])
    tabs.sd.serdeInfo.parameters = {"field.delim": "\t"}
    for part, text in ((partition(of, ["commas"]), "1,x\n"), (tabs, "2\ty\n")):
        directory = Path(part.sd.location.removeprefix("file:"))
        directory.mkdir(parents=True)
        (directory / "rows").write_text(text)
    place.target.apply(source.put_table(of))
    put = source.put_partitions(of, partition(of, ["commas"]), tabs)
    assert [place.target.apply(put), place.target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    assert read_rows(place, "db.mixed") == [(1, "x", "commas"), (2, "y", "tabs")]


def test_a_drop_of_partitions_of_which_some_are_gone_drops_the_others(place: Place, source: Source) -> None:
    """Hive drops them one by one: a repeat after a refusal meets those that are gone."""
    name = TableName("db", "gone")
    definition = table(name, place.location("gone"), keys=["k"])
    place.target.apply(source.put_table(definition))
    place.target.apply(source.put_partitions(definition, *(partition(definition, [it]) for it in "0123")))
    place.target.store.catalog.drop_partitions("db", "gone", [["0"], ["9"], ["1"]], False)  # type: ignore[attr-defined]
    assert sorted(it.values[0] for it in place.target.partitions(name)) == ["2", "3"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda it: setattr(it, "tableType", "MATERIALIZED_VIEW"),
            "Spark's catalog does not support the type materialized view",
        ),
        (lambda it: setattr(it.sd.cols[0], "type", "uniontype<int,string>"), "uniontype"),
        (lambda it: setattr(it.sd, "inputFormat", "org.example.Odd"), "org.example.Odd"),
        (lambda it: setattr(it.sd.serdeInfo, "serializationLib", "org.example.Serde"), "org.example.Serde"),
    ],
)
def test_what_spark_cannot_keep_is_refused_in_one_line(place: Place, source: Source, change: Any, words: str) -> None:
    name = TableName("db", f"odd_{source.position}")
    wanted = table(name, place.location(name.table))
    change(wanted)
    with pytest.raises(Rejected, match=words) as refused:
        place.target.apply(source.put_table(wanted))
    assert "\n" not in str(refused.value)
    assert place.target.table(name) is None


def test_what_spark_has_no_place_for_is_left_out_and_is_no_difference(place: Place, source: Source) -> None:
    name = TableName("db", "rich")
    wanted = table(name, place.location("rich"), keys=["k"], parameters={"numRows": "7", "a": "é'\"\\${x}\n"})
    wanted.retention, wanted.sd.parameters = 5, {"x": "y"}
    wanted.sd.skewedInfo = hive.SkewedInfo(["a"], [["1"]], {})
    wanted.sd.numBuckets, wanted.sd.bucketCols, wanted.sd.sortCols = 4, ["a"], [hive.Order("b", 0)]
    wanted.sd.cols[0].comment = "it's `odd` \\ ${y}"
    put = source.put_table(wanted)
    assert [place.target.apply(put), place.target.apply(put)] == [Outcome.APPLIED, Outcome.UNCHANGED]
    there = place.target.table(name)
    assert place.target.differences(wanted, there) == []
    assert (there.parameters["a"], there.sd.cols[0].comment) == ("é'\"\\${x}\n", "it's `odd` \\ ${y}")
    assert (there.sd.numBuckets, there.sd.bucketCols, there.sd.sortCols) == (4, ["a"], [])


@pytest.mark.smoke
def test_a_view_that_spark_reads(place: Place, source: Source) -> None:
    place.target.apply(source.put_table(view(TableName("db", "seen"), "select 1 a, 'x' b")))
    assert read_rows(place, "db.seen") == [(1, "x")]


def test_a_metastore_that_is_away_is_waited_for(place: Place, source: Source) -> None:
    put = source.put_table(table(NAME, place.location("t")))
    place.server.kill()
    with pytest.raises((Unavailable, OutcomeUnknown)):
        place.target.apply(put)
    with pytest.raises(Unavailable):
        place.target.check()
    place.server.start()
    wait_until(lambda: is_reached(place), seconds=120, what="the metastore")
    assert place.target.apply(put) in {Outcome.APPLIED, Outcome.UNCHANGED}
    assert place.target.table(NAME) is not None


def test_a_spark_that_dies_is_started_again(place: Place, source: Source) -> None:
    put = source.put_table(table(NAME, place.location("t"), parameters={"after": "death"}))
    place.host.session()
    java = SparkContext._gateway.proc
    os.killpg(java.pid, signal.SIGKILL) if os.getpgid(java.pid) == java.pid else os.kill(java.pid, signal.SIGKILL)
    java.wait(30)
    with pytest.raises((Unavailable, OutcomeUnknown), match="Spark"):
        place.target.apply(put)
    assert place.target.apply(put) is Outcome.APPLIED
    assert place.target.table(NAME).parameters["after"] == "death"


def is_reached(place: Place) -> bool:
    try:
        return bool(place.target.check())
    except (Unavailable, OutcomeUnknown):
        return False


STATEMENTS = [
    "create database lake",
    "create table lake.sales (id int, what string) partitioned by (day string) stored as orc",
    "insert into lake.sales partition (day='1 Jan/x') values (1, 'a'), (2, 'b')",
    "insert into lake.sales partition (day='2') values (3, 'c')",
    "create table lake.Items (Id int, Name char(3), info struct<Aa:int>) using parquet",
    "insert into lake.items values (1, 'abc', named_struct('Aa', 7))",
    "create table lake.events (Id int, Kind string) using json partitioned by (Kind)",
    "insert into lake.events values (1, 'x'), (2, 'y')",
    "alter table lake.items rename to lake.goods",
    "alter table lake.sales add columns (more double comment 'it''s')",
    "alter table lake.sales drop partition (day='2')",
    "create view lake.seen as select id from lake.sales",
    "create table lake.gone (a int) using parquet",
    "drop table lake.gone",
]


def test_from_the_source_to_the_rows_that_sparks_catalog_has_at_the_target(tmp_path: Path) -> None:
    with Stage(tmp_path, options=OPTIONS, by_spark=True) as stage:
        stage.target.start()
        stage.source.start()
        stage.start_sidecar()
        wait_until_compared(stage)
        at_the_source(stage, *STATEMENTS)
        wait_until(lambda: is_at_rest(stage), seconds=240, what="the target to catch up")
        status = stage.status()
        assert status["targets"][0]["parked"] == 0, status
        assert status["copy"]["replica"]["files"] > 0
        rows = [rows_at(it.uri, it.warehouse, tmp_path / f"spark-{it.name}") for it in (stage.source, stage.target)]
    assert rows[0] == rows[1]
    assert {name: len(found) for name, found in rows[1].items()} == {
        "lake.events": 2,
        "lake.goods": 1,
        "lake.sales": 2,
        "lake.seen": 2,
    }


def test_settings_are_on_no_command_line(tmp_path: Path) -> None:
    """Every user of the machine can read those; a process of its own, as this one has its Spark."""
    settings = {"spark.hadoop.fs.azure.x": "canary-7d1f", "spark.sql.shuffle.partitions": "7", **SHORT_LIFE}
    script = tmp_path / "script.py"
    script.write_text(f"""
from pathlib import Path
from pysync.targets.spark_request import SparkRequest
from pysync.targets.spark.session import SparkHost

session = SparkHost(SparkRequest(None, {tuple(settings.items())!r}), Path({str(tmp_path)!r})).session()
lines = [it.read_bytes() for it in Path("/proc").glob("[0-9]*/cmdline") if it.exists()]
print(sum(b"canary-7d1f" in it for it in lines), sum(b"spark.pysync" in it for it in lines))
print(session.sparkContext._jsc.hadoopConfiguration().get("fs.azure.x"))
print(session.conf.get("spark.sql.shuffle.partitions"))
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.split()[-4:] == ["0", "0", "canary-7d1f", "7"]  # behind what is logged
