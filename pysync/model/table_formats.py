"""Table formats: which one a table's files have, whether it keeps a schema of its own, and where the files are. Pure.

Iceberg's tables have a parameter that is the pointer to their current state.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args

WRITTEN_KEY = "pysync.pointer"
"""At a target: the pointer that pysync wrote. If the table has another one, somebody else has committed."""
PREVIOUS_KEY = "previous_metadata_location"
POINTER_KEY = "metadata_location"
"""The parameter that is the pointer."""

_PROVIDER_KEY = "spark.sql.sources.provider"
_PATH_KEY = "path"
_PAIMON_KEY = "paimon_location"
_PLACEHOLDER = "-__PLACEHOLDER__"
ARCHIVED = r"har://([A-Za-z][A-Za-z0-9+.]*)-([^/]*)"
"""How a location in an archive of Hadoop begins: `har://hdfs-host:8020/path/data.har` is in `hdfs://host:8020`."""
_ARCHIVE_DIRECTORY = re.compile(ARCHIVED + r"(/(?:[^/]+/)*?[^/]*\.har)(?:/|$)")
_LOCATION_KEYS = frozenset(
    {
        *("avro.schema.url", "schema.url", "avroschemaurl"),  # schemas of Avro: Hive, Haivvreo, Spark
        *("original_location", "hfile.family.path"),  # Hive: where an archived partition was; HBase's bulk files
        *("hive.kafka.ssl.keystore.location", "hive.kafka.ssl.truststore.location"),
        *(_PATH_KEY, f"option.{_PATH_KEY}", "basepath", f"flink.{_PATH_KEY}"),  # tables of Spark and of Flink
        *("metadata_location", "previous_metadata_location", "location", "iceberg.catalog_location"),  # Iceberg
        *("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"),
        *("hoodie.base.path", "hoodie.bootstrap.base.path"),
        *(_PAIMON_KEY, "paimon.catalog_location", "__impala_data_source_location"),
        "storage.location.template",  # Athena: where projected partitions are, with `${column}`
    }
)
"""Parameters of tables, partitions, their storage and serdes whose values are locations, in lower case."""
_HUDI_INPUT_FORMATS = ("org.apache.hudi.", "com.uber.hoodie.")
_VIEWS = frozenset({"VIRTUAL_VIEW", "MATERIALIZED_VIEW"})

TableFormat = Literal[
    "avro", "csv", "delta", "hudi", "iceberg", "json", "orc", "other", "parquet", "rcfile", "sequencefile", "text"
]
"""The formats of tables that have a name; `other` are all the rest, such as tables of a storage handler."""

_BY_CLASS: Mapping[str, TableFormat] = {
    "parquet": "parquet",
    "orc": "orc",
    "avro": "avro",
    "json": "json",
    "opencsv": "csv",
    "rcfile": "rcfile",
    "sequencefile": "sequencefile",
    "textinputformat": "text",
}
"""What is in the name of an input format or serde. The first match counts: a serde of JSON or CSV comes with text."""


def pointer(parameters: Mapping[str, str] | None) -> str | None:
    """The metadata file that is the table's current state; None for tables of other formats."""
    return (parameters or {}).get(POINTER_KEY) if is_iceberg(parameters) else None


def is_iceberg(parameters: Mapping[str, str] | None) -> bool:
    """Whether a table with these parameters is an Iceberg table."""
    return (parameters or {}).get("table_type", "").upper() == "ICEBERG"


def written(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The parameter that records the written pointer."""
    commit = pointer(parameters)
    return {WRITTEN_KEY: commit} if commit else {}


def format_of(table: Any) -> TableFormat | None:
    """The format of a Table's files; None for views, which have none."""
    if table.tableType in _VIEWS:
        return None
    if is_iceberg(table.parameters):
        return "iceberg"
    if is_hudi(table):
        return "hudi"
    provider = _provider(table)
    if provider not in {"", "hive"}:
        table_format: TableFormat = next((it for it in get_args(TableFormat) if it == provider), "other")
        return table_format
    return "other" if "storage_handler" in (table.parameters or {}) else _format_by_class(table.sd)


def _format_by_class(storage: Any) -> TableFormat:
    serde = (storage and storage.serdeInfo and storage.serdeInfo.serializationLib) or ""
    classes = f"{(storage and storage.inputFormat) or ''} {serde}".lower()
    return next((name for part, name in _BY_CLASS.items() if part in classes), "other")


def keeps_schema(table: Any) -> bool:
    """Whether a Table keeps its schema in a log: Delta, Hudi."""
    return is_delta(table) or is_hudi(table)


def is_delta(table: Any) -> bool:
    """Whether a Table is a Delta table. Spark's parameter says so, and Athena and Trino go by it, too."""
    return _provider(table) == "delta"


def is_hudi(table: Any) -> bool:
    """Whether a Table is a Hudi table. Hudi's input format says so, or Spark's parameter."""
    input_format = (table.sd and table.sd.inputFormat) or ""
    return _provider(table) == "hudi" or input_format.startswith(_HUDI_INPUT_FORMATS)


def is_location_key(key: str) -> bool:
    """Whether the value of a parameter with this key is a location, in whatever case: Spark ignores it."""
    return key.lower() in _LOCATION_KEYS


def data_location(item: Any) -> str:
    """Where the files of a Table or Partition are; empty if nothing says it.

    A table of Spark's that Hive cannot read has a placeholder as the location of its storage. Where it is, the
    parameters of its serde say. They say it of other tables of Spark's, too, but Hive does not update them when it
    moves a table, and copies them to partitions. The files of an archived partition are those of the archive.
    Paimon's tables have a parameter of their own.
    """
    own = item.parameters or {}
    if own.get(_PAIMON_KEY) and "paimon" in own.get("storage_handler", "").lower():
        return str(own[_PAIMON_KEY])
    storage = item.sd
    if storage is None:
        return ""
    location = str(storage.location or "")
    if archive := _ARCHIVE_DIRECTORY.match(location):
        return "{}://{}{}".format(*archive.groups())
    if location and not location.endswith(_PLACEHOLDER):
        return location
    parameters = (storage.serdeInfo and storage.serdeInfo.parameters) or {}
    paths = (value for key, value in parameters.items() if key.lower() == _PATH_KEY)
    is_of_spark = _provider(item) not in {"", "hive"}
    return str((is_of_spark and next(paths, None)) or location)


def _provider(table: Any) -> str:
    return str((table.parameters or {}).get(_PROVIDER_KEY, "")).lower()
