"""Tables of Spark's sources at Glue. The definitions are those that Spark 4.3 registers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.targets.aws.spark_sources import as_read, format_of

FIELDS = (("id", "integer"), ("Name", "string"), ("a", "double"))


def registered(provider: str, fields: Any = FIELDS, options: Mapping[str, str] | None = None, keys: Any = ()) -> Any:
    schema = {"type": "struct", "fields": [{"name": it, "type": kind, "metadata": {}} for it, kind in fields]}
    serde = hive.SerDeInfo(
        serializationLib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        parameters={"path": "s3://b/files", "serialization.format": "1", **(options or {})},
    )
    storage = hive.StorageDescriptor(
        cols=[hive.FieldSchema("col", "array<string>")],
        location="s3://b/wh/t-__PLACEHOLDER__",
        inputFormat="org.apache.hadoop.mapred.SequenceFileInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveSequenceFileOutputFormat",
        serdeInfo=serde,
    )
    parameters = {"spark.sql.sources.provider": provider, "spark.sql.sources.schema": json.dumps(schema)}
    partition_keys = [hive.FieldSchema(it, "string") for it in keys]
    return hive.Table(dbName="d", tableName="t", sd=storage, parameters=parameters, partitionKeys=partition_keys)


def test_a_csv_has_its_columns_its_format_and_its_place() -> None:
    table = registered("csv", options={"header": "true", "sep": ";"}, keys=["name"])
    found, lost = as_read(table)
    assert lost[1:] == [
        f"column {it!r}: Athena fails at an empty {kind} in CSV" for it, kind in (("id", "int"), ("a", "double"))
    ]
    assert [(it.name, it.type) for it in found.sd.cols] == [("id", "int"), ("a", "double")]
    assert (found.sd.location, found.parameters["skip.header.line.count"]) == ("s3://b/files", "1")
    assert found.sd.inputFormat == "org.apache.hadoop.mapred.TextInputFormat"
    assert found.sd.serdeInfo.serializationLib == "org.apache.hadoop.hive.serde2.OpenCSVSerde"
    sparks = {"path": "s3://b/files", "serialization.format": "1", "header": "true", "sep": ";"}
    opencsvs = {"separatorChar": ";", "quoteChar": '"', "escapeChar": "\\"}
    assert found.sd.serdeInfo.parameters == sparks | opencsvs, "Spark reads no row at Glue without its own options"
    assert table.sd.cols[0].name == "col", "the table itself stays"
    assert as_read(found) == (found, [])


def test_a_json_has_nested_columns() -> None:
    nested = {"type": "struct", "fields": [{"name": "X", "type": "long"}]}
    found, lost = as_read(registered("json", [("s", nested), ("ts", "timestamp")]))
    assert ([(it.name, it.type) for it in found.sd.cols], lost) == (
        [("s", "struct<x:bigint>"), ("ts", "timestamp")],
        [],
    )
    assert found.sd.serdeInfo.serializationLib == "org.openx.data.jsonserde.JsonSerDe"
    assert found.sd.serdeInfo.parameters == {"path": "s3://b/files", "serialization.format": "1"}


def test_a_tab_as_spark_writes_it_is_one() -> None:
    found, _ = as_read(registered("csv", options={"sep": r"\t"}))
    assert found.sd.serdeInfo.parameters["separatorChar"] == "\t"


def test_what_athena_reads_differently_in_csv_is_told() -> None:
    _, lost = as_read(registered("csv", [("d", "date"), ("n", "string")]))
    assert lost == [
        "columns: of CSV, Athena reads NULL as an empty string, and no backslash within a string",
        "column 'd': Athena reads date in CSV in another form than Spark",
    ]


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        (registered("csv", options={"multiLine": "true"}), "with the option multiline"),
        (registered("text", [("value", "string")], {"wholetext": "true"}), "with the option wholetext"),
        (registered("json", options={"allowComments": "true"}), "with the option allowcomments"),
        (registered("json", [("v", "variant")]), "Hive has no type variant"),
        (registered("csv", options={"sep": "||"}), "does not read Spark's csv with '||' as separatorChar"),
        (registered("csv", options={"quote": ""}), "does not read Spark's csv with '' as quoteChar"),
        (registered("csv", options={"escape": ""}), "does not read Spark's csv with '' as escapeChar"),
    ],
)
def test_a_table_that_cannot_be_read_stays_and_the_reason_is_told(table: Any, reason: str) -> None:
    found, (lost,) = as_read(table)
    assert found is table
    assert reason in lost


def test_a_text_has_its_lines_whole() -> None:
    found, lost = as_read(registered("text", [("value", "string"), ("day", "string")], keys=["day"]))
    assert ([(it.name, it.type) for it in found.sd.cols], lost) == ([("value", "string")], [])
    assert (found.sd.location, found.sd.inputFormat) == ("s3://b/files", "org.apache.hadoop.mapred.TextInputFormat")
    assert found.sd.serdeInfo.serializationLib == "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
    ends_of_lines = {"field.delim": "\n", "serialization.null.format": "\n"}
    assert found.sd.serdeInfo.parameters == {"path": "s3://b/files", "serialization.format": "1"} | ends_of_lines
    assert as_read(found) == (found, [])


@pytest.mark.parametrize("provider", ["hive", "delta", "hudi"])
def test_tables_that_others_read_stay(provider: str) -> None:
    table = registered(provider)
    assert as_read(table) == (table, [])


@pytest.mark.parametrize(
    ("provider", "why"),
    [
        ("avro", ": it has a type that Hive does not have"),
        ("jdbc", ": its rows are in another database"),
        ("parquet", ": it has a type that Hive does not have"),
        ("orc", ": it has a type that Hive does not have"),
        ("binaryFile", ""),
        ("com.example.Source", ""),
    ],
)
def test_a_source_that_athena_does_not_read_is_told(provider: str, why: str) -> None:
    table = registered(provider)
    assert as_read(table) == (
        table,
        [f"columns: Athena does not read this table of Spark's '{provider.lower()}'{why}"],
    )


def test_a_table_that_has_such_a_column_stays() -> None:
    table = registered("parquet", [("col", {"type": "array", "elementType": "string"})])
    table.sd.inputFormat = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat"
    assert as_read(table) == (table, [])


@pytest.mark.parametrize("count", ["2", "99999999999"])
def test_a_schema_in_pieces_is_put_together(count: str) -> None:
    table = registered("json")
    schema = table.parameters.pop("spark.sql.sources.schema")
    table.parameters |= {
        "spark.sql.sources.schema.numParts": count,
        "spark.sql.sources.schema.part.0": schema[:20],
        "spark.sql.sources.schema.part.1": schema[20:],
    }
    assert len(as_read(table)[0].sd.cols) == len(FIELDS)


def test_a_partition_takes_how_files_are_read_from_its_table() -> None:
    storage = {"Columns": [{"Name": "id"}], "InputFormat": "x", "Location": "s3://b/files", "SerdeInfo": {}}
    assert format_of(storage) == {"Columns": [{"Name": "id"}], "InputFormat": "x", "SerdeInfo": {}}


def avro(fields: Any, keys: Any = (), **parameters: str) -> Any:
    """As Spark 4 registers an Avro table: for Hive's serde, with its columns."""
    table = registered("avro", fields, parameters, keys)
    table.sd.cols = [hive.FieldSchema(name.lower(), "string") for name, _ in fields if name not in keys]
    table.sd.serdeInfo.serializationLib = "org.apache.hadoop.hive.serde2.avro.AvroSerDe"
    table.sd.inputFormat = "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat"
    return table


NESTED = {"type": "array", "elementType": {"type": "struct", "fields": [{"name": "X", "type": "decimal(5,1)"}]}}


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        ("integer", "Id", "reads NULL, as the name in the files has capitals"),
        ("decimal(10,2)", "id", "fails at Spark's decimals"),
        ("timestamp", "id", "takes Spark's microseconds for milliseconds"),
        ("timestamp_ntz", "id", "takes Spark's microseconds for milliseconds"),
        (NESTED, "id", "fails at Spark's decimals"),
        ({"type": "map", "keyType": "string", "valueType": "timestamp"}, "id", "takes Spark's microseconds for"),
    ],
)
def test_what_hive_reads_wrongly_of_sparks_avro_is_told(kind: Any, name: str, why: str) -> None:
    """Shown by Spark 4.3 and Hive's serde 2.3: NULL, AvroTypeException, the year 57972. Before: nothing was said."""
    table = avro([("low", "string"), (name, kind)])
    found, lost = as_read(table)
    assert found is table
    assert lost[0].startswith(f"column 'id': Hive's Avro serde {why}")
    literal = as_read(avro([(name, kind)], **{"avro.schema.literal": "{}"}))
    assert literal[1] == [], "the files are read by the schema that is given"


def test_what_hive_reads_rightly_of_sparks_avro_is_not_told() -> None:
    fields = [("id", "long"), ("s", "string"), ("d", "date"), ("b", "binary"), ("Day", "string")]
    assert as_read(avro(fields, keys=["day"]))[1] == [], "values of partitions are in no file"


def test_an_avro_table_whose_schema_nobody_can_read_stays() -> None:
    table = avro([("id", "long")])
    for schema in ("", "[", "[]", '{"fields": [{"name": 1, "type": "long"}]}', '{"fields": [1]}'):
        table.parameters["spark.sql.sources.schema"] = schema
        assert as_read(table) == (table, [])
