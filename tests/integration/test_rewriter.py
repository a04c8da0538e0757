"""Files written anew on the way: who knows only the target reads the rows of text and JSON out of Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.demo.rows import rows_at
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, partition, table, wait_for_value, wait_until
from tests.support.sidecars import pysync
from tests.support.stages import is_at_rest, wait_until_compared

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SHORT_LIFE = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
COPY = f"""
[targets.copy]
rewrite = "parquet"
settle_seconds = 0.2

[spark]
settings = {{ "spark.driver.defaultJavaOptions" = "{SHORT_LIFE}" }}
"""
JSON = "org.apache.hive.hcatalog.data.JsonSerDe"
COLUMNS = [("id", "int"), ("name", "string"), ("paid", "decimal(8,2)"), ("ok", "boolean")]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Stage(tmp_path, options=COPY) as running:
        running.target.start()
        running.source.start()
        running.start_sidecar()
        wait_until_compared(running)
        yield running


def path_of(item: Any) -> Path:
    return Path(unquote(urlsplit(item.sd.location).path))


def create(metastore: Metastore, database: str, name: str, **changes: Any) -> Any:
    """A table of text with a comma between fields and a partition key `day`; `serde` and `parameters` may differ."""
    made = table(database, name, partition_keys=[("day", "string")], parameters=changes.get("parameters"))
    made.sd.cols = [hive.FieldSchema(column, kind, None) for column, kind in COLUMNS]
    made.sd.serdeInfo.parameters = {"field.delim": ","}
    if "serde" in changes:
        made.sd.serdeInfo.serializationLib, made.sd.serdeInfo.parameters = changes["serde"], {}
    metastore.call(lambda c: c.create_table(made))
    return metastore.table(database, name)


def add(metastore: Metastore, of: Any, day: str, text: str) -> Path:
    part = partition(of, [day])
    part.sd = hive.StorageDescriptor(**{**of.sd.__dict__, "location": f"{of.sd.location}/day={day}"})
    path_of(part).mkdir(parents=True)
    (path_of(part) / "000000_0").write_text(text)
    metastore.call(lambda c: c.add_partition(part))
    return path_of(part)


def files_of(metastore: Metastore, database: str, name: str) -> dict[str, dict[str, int]]:
    """The partitions' files at the target that readers see, and when each was written."""
    if metastore.table(database, name) is None:
        return {}
    names = metastore.partition_names(database, name)
    parts = metastore.partitions_by_name(database, name, names)
    return {it.values[0]: {f.name: f.stat().st_mtime_ns for f in path_of(it).glob("[!._]*")} for it in parts}


def rest(stage: Stage) -> None:
    wait_until(lambda: is_at_rest(stage), seconds=120, what="the rest of the sidecar")


def fill(source: Metastore, database: str) -> None:
    """The tables `text` and `json`, and `left`, which no one may write anew."""
    text = create(source, database, "text", parameters={"skip.header.line.count": "1"})
    json = create(source, database, "json", serde=JSON)
    left = create(source, database, "left", parameters={"transactional_properties": "x", "table_type": "odd"})
    add(source, text, "1", "id,name,paid,ok\n1,a b,2.50,true\n2,,\\N,no\n3,\n")
    add(source, text, "2", 'id,name,paid,ok\nx,"q",1,FALSE\n')
    add(source, json, "1", '{"ID": 7, "name": "ü\\n", "paid": 1.25, "ok": true}\n{"id": 8}\n')
    add(source, left, "1", "1,as it is\n")


def add_a_file(source: Metastore, database: str, day: str, text: str) -> None:
    """One more file of a partition of `text`, as a writer adds it that tells the metastore."""
    part = source.partitions_by_name(database, "text", [f"day={day}"])[0]
    (path_of(part) / "000001_0").write_text(text)
    part.parameters["numFiles"] = "2"
    source.call(lambda c: c.alter_partition(database, "text", part))


def assert_parquet(target: Metastore, database: str, name: str) -> None:
    parts = target.partitions_by_name(database, name, target.partition_names(database, name))
    for item in (target.table(database, name), *parts):
        assert item.sd.inputFormat.endswith("MapredParquetInputFormat")
        assert item.sd.serdeInfo.parameters == {"serialization.format": "1"}
    assert "skip.header.line.count" not in target.table(database, name).parameters


def assert_commands_say_what_was_written_anew(stage: Stage, database: str) -> None:
    clean = pysync("verify", database, "-c", stage.config_file, seconds=180)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    copied = pysync("copy", f"{database}.text", "-c", stage.config_file, seconds=180)
    assert copied.returncode == 1, copied
    assert f"not copied: {database}.text: " in copied.stdout
    with_data = pysync("verify", database, "--data", "-c", stage.config_file, seconds=180)
    assert with_data.returncode == 0, with_data.stdout + with_data.stderr


def assert_rows_are_repaired(stage: Stage, database: str, target: Metastore) -> None:
    """One partition at the target has the rows of another."""
    one, other = target.partitions_by_name(database, "text", ["day=1", "day=2"])
    (lost,), (file,) = (sorted(path_of(it).glob("part-*")) for it in (one, other))
    lost.write_bytes(file.read_bytes())
    lost.with_name(f".{lost.name}.crc").unlink(missing_ok=True)
    found = pysync("verify", f"{database}.text", "--data", "-c", stage.config_file, seconds=180)
    assert found.returncode == 1, found.stdout
    assert " rows with the checksum " in found.stdout
    mended = pysync("verify", f"{database}.text", "--data", "--repair", "-c", stage.config_file, seconds=180)
    assert mended.returncode == 0, mended.stdout + mended.stderr


def assert_rows(stage: Stage, database: str, directory: Path) -> None:
    rows = rows_at(stage.target.uri, stage.target.warehouse, directory)
    assert rows[f"{database}.text"] == [
        "Row(id=1, name='a b', paid=Decimal('2.50'), ok=True, day='1')",
        "Row(id=2, name='', paid=None, ok=None, day='1')",
        "Row(id=3, name='', paid=None, ok=None, day='1')",
        "Row(id=9, name='more', paid=Decimal('0.00'), ok=True, day='1')",
        "Row(id=None, name='\"q\"', paid=Decimal('1.00'), ok=False, day='2')",
    ]
    assert rows[f"{database}.json"] == [
        "Row(id=7, name='ü\\n', paid=Decimal('1.25'), ok=True, day='1')",
        "Row(id=8, name=None, paid=None, ok=None, day='1')",
    ]


def test_text_and_json_become_parquet_with_the_same_rows(stage: Stage, tmp_path: Path) -> None:
    with closing(Metastore(stage.source.uri)) as source, closing(Metastore(stage.target.uri)) as target:
        database = new_database(source, "anew")
        fill(source, database)
        names = ("text", "json", "left")
        wait_until(lambda: all(files_of(target, database, it) for it in names), seconds=180, what="the partitions")
        wait_for_value(lambda: sorted(files_of(target, database, "text")), ["1", "2"], seconds=120, what="all of them")
        rest(stage)
        assert stage.status()["targets"][0]["parked"] == 0
        assert_parquet(target, database, "text")
        assert_parquet(target, database, "json")
        assert list(files_of(target, database, "left")["1"]) == ["000000_0"]
        there = target.table(database, "left")
        assert there.sd.inputFormat == source.table(database, "left").sd.inputFormat

        before = files_of(target, database, "text")
        done = pysync("refresh", f"{database}.text", "--wait", "-c", stage.config_file, seconds=180)
        assert done.returncode == 0, done.stderr
        rest(stage)
        assert files_of(target, database, "text") == before

        add_a_file(source, database, "1", "id,name,paid,ok\n9,more,0,true\n")
        wait_until(lambda: files_of(target, database, "text")["1"].keys() != before["1"].keys(), seconds=120)
        rest(stage)
        after = files_of(target, database, "text")
        assert after["2"] == before["2"]
        assert len(after["1"]) == 1
        assert_commands_say_what_was_written_anew(stage, database)
        assert_rows_are_repaired(stage, database, target)

    stage.kill_sidecar()
    assert_rows(stage, database, tmp_path)
