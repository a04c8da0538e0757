"""Tables of Spark's sources csv, json and text, as Athena reads them; of its other sources, that it does not. Pure.

Spark registers a table that Hive cannot read with one column, `col array<string>`, and a format that its files do not
have; columns and source are in properties that only Spark reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pysync.base.text import quoted, whole_number
from pysync.model.struct_copies import copied
from pysync.model.table_formats import data_location, keeps_schema
from pysync.targets.aws import delta_schema, spark_avro
from pysync.targets.aws.delta_schema import NoSchema

_PLACEHOLDER = [("col", "array<string>")]
_FORMAT_OF_PLACEHOLDER = "org.apache.hadoop.mapred.SequenceFileInputFormat"
_PROVIDER, _SCHEMA = "spark.sql.sources.provider", "spark.sql.sources.schema"
_TEXT = "org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_SERDES = {
    "csv": "org.apache.hadoop.hive.serde2.OpenCSVSerde",
    "json": "org.openx.data.jsonserde.JsonSerDe",
    "text": "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
}
# No line has an end of a line in it: so none is divided, and none is NULL.
_OF_TEXT = {"field.delim": "\n", "serialization.null.format": "\n"}
_OTHERS = {
    "jdbc": "its rows are in another database",
    **dict.fromkeys(
        ("avro", "orc", "parquet"), "it has a type that Hive does not have"
    ),  # else Spark registers its form
}
"""Why Athena does not read tables of other sources that Spark registers in this way, where that is known."""
# Options of Spark that say where the files are, or what the serde has by default, too.
_OF_ANY = frozenset({"path", "serialization.format", "inferschema", "compression"})
_OF_CSV = frozenset({"header", "sep", "delimiter", "quote", "escape"})
_HEADER_KEY = "skip.header.line.count"
# Other types are not recognized, nor empty values: https://docs.aws.amazon.com/athena/latest/ug/csv-serde.html
_READ_FROM_CSV = frozenset({"boolean", "bigint", "int", "double"})
_LOST_IN_CSV = "columns: of CSV, Athena reads NULL as an empty string, and no backslash within a string"


def as_read(table: Any) -> tuple[Any, list[str]]:
    """The table with the columns and the format of its files, and what Athena cannot read in it.

    Does not alter `table`, which is returned if nothing can be done, or nothing has to be.
    """
    source = (table.parameters or {}).get(_PROVIDER, "").lower()
    if source == "avro" and table.sd is not None and not _has_placeholder(table):
        return table, _misread_avro(table)
    if table.sd is None or not _has_placeholder(table) or source in {"", "hive"} or keeps_schema(table):
        return table, []
    if source not in _SERDES:
        is_real = table.sd.inputFormat != _FORMAT_OF_PLACEHOLDER  # the table has such a column indeed
        return table, [] if is_real else [_unread_source(source)]
    options = {key.lower(): value for key, value in (table.sd.serdeInfo.parameters or {}).items()}
    if wrong := _wrong_option(source, options):
        return table, [f"columns: Athena does not read Spark's {source} with {wrong}"]
    try:
        columns = delta_schema.columns_of(_schema(table.parameters))
    except NoSchema as why:
        return table, [f"columns: those of Spark's {source} are not registered: {why}"]
    keys = {key.name for key in table.partitionKeys or ()}
    wanted = _with_format(table, source, options)
    wanted.sd.cols = [it for it in columns if it.name not in keys]
    return wanted, [_LOST_IN_CSV, *_unread(wanted.sd.cols)] if source == "csv" else []


def _misread_avro(table: Any) -> list[str]:
    try:
        return spark_avro.misread(table, _schema(table.parameters))
    except NoSchema:
        return []


def _unread_source(source: str) -> str:
    why = f": {_OTHERS[source]}" if source in _OTHERS else ""
    return f"columns: Athena does not read this table of Spark's {quoted(source)}{why}"


def _wrong_option(source: str, options: Mapping[str, str]) -> str:
    """Which option Athena's serde does not have, as words; "" if there is none."""
    others = sorted(options.keys() - _OF_ANY - (_OF_CSV if source == "csv" else frozenset()))
    if others:
        return f"the option {others[0]}"
    characters = _characters(options) if source == "csv" else {}
    return next((f"{it!r} as {key}" for key, it in characters.items() if len(it) != 1), "")


def _with_format(table: Any, source: str, options: Mapping[str, str]) -> Any:
    """The table with the place of its files, and what reads them."""
    wanted = copied(table)
    wanted.sd.location = data_location(table)
    wanted.sd.inputFormat, wanted.sd.outputFormat = _TEXT
    wanted.sd.serdeInfo.serializationLib = _SERDES[source]
    more = {"csv": _characters(options), "text": _OF_TEXT}.get(source, {})
    # Spark's own options stay: Spark reads the table at Glue by them.
    wanted.sd.serdeInfo.parameters = {"serialization.format": "1", **(table.sd.serdeInfo.parameters or {}), **more}
    if source == "csv" and options.get("header", "").lower() == "true":
        wanted.parameters = {**table.parameters, _HEADER_KEY: "1"}
    return wanted


def format_of(storage: Mapping[str, Any]) -> dict[str, Any]:
    """What a partition that has the placeholder takes from its table at Glue: how files are read."""
    return {key: storage[key] for key in ("Columns", "InputFormat", "OutputFormat", "SerdeInfo") if key in storage}


def is_placeholder(columns: Iterable[Mapping[str, Any]]) -> bool:
    """Whether these columns, as Glue has them, are those that Spark registers where only it can read a table."""
    return [(it["Name"], it.get("Type")) for it in columns] == _PLACEHOLDER


def _has_placeholder(table: Any) -> bool:
    return [(it.name, it.type) for it in table.sd.cols or ()] == _PLACEHOLDER


def _schema(parameters: Mapping[str, str]) -> str:
    """Spark's schema as JSON, of which older versions keep pieces. Raises NoSchema."""
    if _SCHEMA in parameters:
        return parameters[_SCHEMA]
    count = whole_number(parameters.get(f"{_SCHEMA}.numParts", "")) or 0
    pieces = [parameters.get(f"{_SCHEMA}.part.{it}", "") for it in range(min(count, len(parameters)))]
    if not pieces:
        raise NoSchema("it has no schema")
    return "".join(pieces)


def _characters(options: Mapping[str, str]) -> dict[str, str]:
    """The characters that OpenCSV has to know; each must be one character."""
    separator = options.get("sep", options.get("delimiter", ","))
    return {
        "separatorChar": "\t" if separator == r"\t" else separator,  # as Spark reads it
        "quoteChar": options.get("quote", '"'),
        "escapeChar": options.get("escape", "\\"),
    }


def _unread(columns: Any) -> list[str]:
    return [
        f"column {it.name!r}: Athena fails at an empty {it.type} in CSV"
        if it.type in _READ_FROM_CSV
        else f"column {it.name!r}: Athena reads {it.type} in CSV in another form than Spark"
        for it in columns
        if it.type != "string"
    ]
