"""A real Spark reads its tables by the definitions that pysync leaves at Glue, and the rows are those of the source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.rows import Rows, rows_at
from pysync.metastore.client import Metastore
from pysync.model.names import TableName
from tests.conformance.objects import Source
from tests.support.glue import Bench
from tests.support.spark_sql import run_statements

pytestmark = pytest.mark.spark

OWN, GLUE = "own", "from_glue"
_COLUMNS = "Id int, Name string, amount decimal(10,2), day date"
_ROWS = "(1, 'a', 1.50, date'2026-01-01'), (2, null, null, date'2026-01-02'), (3, 'x;y \"z\"', -0.01, date'1969-12-31')"
_NESTED = "Id int, S struct<X: int, y: string>, a array<decimal(5,1)>, day string"
TABLES = {
    "plain_csv": (_COLUMNS, "csv"),
    "csv_options": (_COLUMNS, "csv options (header 'true', sep ';', quote '\"')"),
    "json": (_COLUMNS, "json"),
    "json_parts": (_COLUMNS, "json partitioned by (day)"),
    "csv_parts": (_COLUMNS, "csv partitioned by (day)"),
    "parquet": (_COLUMNS, "parquet"),
    "parquet_parts": (_COLUMNS, "parquet partitioned by (day)"),
    "orc": (_COLUMNS, "orc"),
    "orc_parts": (_COLUMNS, "orc partitioned by (day)"),
    "text": ("value string", "text"),
    "nested_json": (_NESTED, "json"),
    "nested_parquet": (_NESTED, "parquet partitioned by (day)"),
    "hive_avro": ("Id int, Name string, amount decimal(10,2), day date", "avro of hive"),
}


def _statements() -> Iterator[str]:
    yield f"create database {OWN}"
    for name, (columns, source) in TABLES.items():
        form = "stored as avro" if source == "avro of hive" else f"using {source}"
        yield f"create table {OWN}.{name} ({columns}) {form}"
        rows = _ROWS
        if columns == _NESTED:
            rows = "(1, named_struct('x', 1, 'y', 'q'), array(1.5, null), 'a'), (2, null, array(), 'b')"
        elif name == "text":
            rows = "('one, two'), (''), ('\"three\"')"
        yield f"insert into {OWN}.{name} values {rows}"  # noqa: S608 - the names are those above


def _copy_from_glue(metastore: Metastore) -> None:
    """Bring the tables to a Glue, and what is there then to another database of the metastore."""
    source, target = Source(), Bench().target(unreadable_locations="keep")
    database = metastore.database(OWN)
    database.name = GLUE
    target.apply(source.put_database(GLUE, database.locationUri))
    metastore.call(lambda client: client.create_database(database))
    for name in metastore.tables(OWN):
        table, partitions = metastore.table(OWN, name), list(metastore.partitions(OWN, name))
        table.dbName = GLUE
        target.apply(source.put_table(table))
        there = target.table(TableName(GLUE, name))
        assert there is not None
        metastore.call(lambda client, it=there: client.create_table(it))
        for it in partitions:
            it.dbName = GLUE
        if partitions:
            target.apply(source.put_partitions(table, *partitions))
            found = target.partitions_by_name(TableName(GLUE, name), target.partition_names(TableName(GLUE, name)))
            metastore.call(lambda client, new=list(found): client.add_partitions(new))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    """The rows of all tables, as Spark reads them."""
    directory: Path = tmp_path_factory.mktemp("spark")
    with EmbeddedMetastore(directory / "hms") as server:
        run_statements(server.uri, server.warehouse, directory, *_statements())
        with closing(Metastore(server.uri)) as metastore:
            _copy_from_glue(metastore)
        return rows_at(server.uri, server.warehouse, directory / "reads")


@pytest.mark.parametrize("name", TABLES)
def test_spark_reads_at_glue_what_it_reads_at_the_source(rows: Rows, name: str) -> None:
    wanted = rows[f"{OWN}.{name}"]
    assert len(wanted) == (2 if TABLES[name][0] == _NESTED else 3)
    assert rows[f"{GLUE}.{name}"] == wanted
