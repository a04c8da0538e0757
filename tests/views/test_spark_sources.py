"""Tables of Spark's sources csv and json: created and filled by a real Spark, read by Trino as pysync defines them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from pysync.lab.metastore import EmbeddedMetastore
from pysync.metastore.client import Metastore
from tests.views.equal import difference
from tests.views.spark import RemoteSpark
from tests.views.trino import CATALOG
from tests.views.world import World

_JSON = (
    "id int, b bigint, f double, e decimal(18,4), ok boolean, s string, dt date, ts timestamp, arr array<int>, "
    "m map<string,int>, st struct<x:int,y:string>"
)
_JSON_ROWS = (
    "1, 9007199254740993, 1.5, 12.3456, true, 'plain', date'2020-01-31', timestamp'2020-01-31 10:20:30', "
    "array(1, null), map('a', 1), named_struct('x', 1, 'y', 'one')",
    "2, null, null, null, null, null, null, null, null, null, null",
    "3, -1, double('NaN'), -0.0001, false, 'a \"q\" \\\\ \\n straße \U0001f600', date'1969-12-31', "
    "timestamp'1969-12-31 23:59:59.999', array(), map(), named_struct('x', null, 'y', '')",
    "4, 0, double('-Infinity'), 99999999999999.9999, true, '', date'9999-12-31', timestamp'2020-02-29 00:00:00.5', "
    "array(3), map('k', null), null",
    "5, 1, 1e300, 1.0, true, ' 7 ', date'2000-01-01', timestamp'2000-01-01 00:00:00', array(3), map('', 0), null",
)
_CSV_ROWS = (
    *("'1', 'plain'", "'2', ''", "'3', null", "'4', 'a;b,c'", "'5', 'a \"q\" |p|'", "'6', ' blanks '"),
    *("'7', 'back\\\\slash'", "'8', 'straße \U0001f600'", "'9', 'tab\\tx'", "'10', '\"'", "'11', 'it''s'"),
)
_TABLES = {
    "js": (_JSON, "json", _JSON_ROWS),
    "plain": ("id string, s string", "csv", _CSV_ROWS),
    "options": ("id string, s string", "csv options (header 'true', sep ';', quote '|')", _CSV_ROWS),
}


@dataclass(frozen=True, slots=True)
class Place:
    """A Trino and a Spark with the tables above, in the database `sources` of both; what pysync says is lost."""

    world: World
    spark: RemoteSpark
    lost: dict[str, list[str]]

    def rows(self, name: str) -> tuple[list[str], Sequence[Sequence[object]], Sequence[Sequence[object]]]:
        """The types of a table's columns, Spark's rows and Trino's."""
        columns, wanted = self.spark.read("sources", "q", f"select * from sources.{name}")
        return [kind for _, kind in columns], wanted, self.world.trino.rows(f"select * from {CATALOG}.sources.{name}")


@pytest.fixture
def place(world: World, tmp_path: Path) -> Iterator[Place]:
    with EmbeddedMetastore(tmp_path / "metastore") as metastore, closing(Metastore(metastore.access)) as client:
        settings = {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": metastore.uri}
        with closing(RemoteSpark(Path(sys.executable), tmp_path / "spark", settings)) as spark:
            spark.run("create database sources")
            world.create_database("sources")
            lost = {}
            for name, (columns, source, rows) in _TABLES.items():
                spark.run(f"create table sources.{name} ({columns}) using {source} location '{tmp_path / name}'")
                spark.run(f"insert into sources.{name} values {', '.join(f'({row})' for row in rows)}")
                lost[name] = world.copy_table(client.table("sources", name), tmp_path / name)
            yield Place(world, spark, lost)


@pytest.mark.parametrize("world", ["spark-4"], indirect=True)
def test_tables_of_sparks_sources_are_read_as_they_are_defined(place: Place) -> None:
    kinds, wanted, found = place.rows("js")
    assert (difference(kinds, wanted, found), place.lost["js"], len(found)) == ("", [], len(_JSON_ROWS))
    for name in ("plain", "options"):
        kinds, wanted, found = place.rows(name)
        (lost,) = place.lost[name]
        assert "NULL as an empty string, and no backslash" in lost
        as_told = [["" if it is None else str(it).replace("\\", "") for it in row] for row in wanted]
        assert (difference(kinds, as_told, found), len(found)) == ("", len(_CSV_ROWS))
