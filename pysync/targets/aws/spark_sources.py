"""Tables of Spark's sources csv and json, as Athena reads them. Pure.

Spark registers such a table with one column, `col array<string>`, and a format that its files do not have; columns and
source are in properties that only Spark reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.base.text import whole_number
from pysync.model.struct_copies import copied
from pysync.model.table_formats import data_location
from pysync.targets.aws import delta_schema
from pysync.targets.aws.delta_schema import NoSchema

PLACEHOLDER = [{"Name": "col", "Type": "array<string>"}]
"""The columns that Spark registers for a table which only it reads, as Glue keeps them."""
_PROVIDER, _SCHEMA = "spark.sql.sources.provider", "spark.sql.sources.schema"
_TEXT = "org.apache.hadoop.mapred.TextInputFormat", "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_SERDES = {"csv": "org.apache.hadoop.hive.serde2.OpenCSVSerde", "json": "org.openx.data.jsonserde.JsonSerDe"}
# Options of Spark that say where the files are, or what the serde has by default, too.
_OF_ANY = frozenset({"path", "serialization.format", "inferschema", "compression"})
_OF_CSV = frozenset({"header", "sep", "delimiter", "quote", "escape"})
_HEADER_KEY = "skip.header.line.count"
# Other types are not recognized, nor empty values: https://docs.aws.amazon.com/athena/latest/ug/csv-serde.html
_READ_FROM_CSV = frozenset({"boolean", "bigint", "int", "double"})
_LOST_IN_CSV = "columns: of CSV, Athena reads NULL as an empty string, and no backslash within a string"


def as_read(table: Any) -> tuple[Any, list[str]]:
    """The table with the columns and the format of its files, and what Athena cannot read in it.

    Does not alter `table`, which is returned if it is of another source.
    """
    parameters = table.parameters or {}
    source = parameters.get(_PROVIDER, "").lower()
    if source not in _SERDES or table.sd is None or not _is_placeholder(table.sd.cols):
        return table, []
    options = {key.lower(): value for key, value in (table.sd.serdeInfo.parameters or {}).items()}
    others = sorted(options.keys() - _OF_ANY - (_OF_CSV if source == "csv" else frozenset()))
    if others:
        return table, [f"columns: Athena does not read Spark's {source} with the option {others[0]}"]
    characters = _characters(options) if source == "csv" else {}
    if wrong := next((key for key, it in characters.items() if len(it) != 1), None):
        return table, [f"columns: Athena does not read Spark's csv with {characters[wrong]!r} as {wrong}"]
    try:
        columns = delta_schema.columns_of(_schema(parameters))
    except NoSchema as why:
        return table, [f"columns: those of Spark's {source} are not registered: {why}"]
    wanted = copied(table)
    keys = {key.name for key in table.partitionKeys or ()}
    wanted.sd.cols = [it for it in columns if it.name not in keys]
    wanted.sd.location = data_location(table)
    wanted.sd.inputFormat, wanted.sd.outputFormat = _TEXT
    wanted.sd.serdeInfo.serializationLib = _SERDES[source]
    # Spark's own options stay: Spark reads the table at Glue by them.
    own = table.sd.serdeInfo.parameters or {}
    wanted.sd.serdeInfo.parameters = {"serialization.format": "1", **own, **characters}
    if source == "csv" and options.get("header", "").lower() == "true":
        wanted.parameters = {**parameters, _HEADER_KEY: "1"}
    return wanted, [_LOST_IN_CSV, *_unread(wanted.sd.cols)] if source == "csv" else []


def format_of(storage: Mapping[str, Any]) -> dict[str, Any]:
    """What a partition that has the placeholder takes from its table at Glue: how files are read."""
    return {key: storage[key] for key in ("Columns", "InputFormat", "OutputFormat", "SerdeInfo") if key in storage}


def _is_placeholder(columns: Any) -> bool:
    return [{"Name": it.name, "Type": it.type} for it in columns or ()] == PLACEHOLDER


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
