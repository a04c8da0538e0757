"""Table formats with a schema of their own, beside the metastore's: which tables have one, and where they are."""

from __future__ import annotations

import re
from typing import Any

_PROVIDER_KEY = "spark.sql.sources.provider"
_PATH_KEY = "path"
_PLACEHOLDER = "-__PLACEHOLDER__"
ARCHIVED = r"har://([A-Za-z][A-Za-z0-9+.]*)-([^/]*)"
"""How a location in an archive of Hadoop begins: `har://hdfs-host:8020/path/data.har` is in `hdfs://host:8020`."""
_ARCHIVE_DIRECTORY = re.compile(ARCHIVED + r"(/(?:[^/]+/)*?[^/]*\.har)(?:/|$)")
LOCATION_KEYS = ("avro.schema.url", "metadata_location", "original_location", _PATH_KEY, "previous_metadata_location")
"""Parameters of tables, partitions and serdes whose values are locations: the schema of Avro, the pointers of Iceberg,
where Hive archived the files of a partition from, and the location of a table of Spark.
"""
_HUDI_INPUT_FORMATS = ("org.apache.hudi.", "com.uber.hoodie.")


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


def data_location(item: Any) -> str:
    """Where the files of a Table or Partition are; empty if nothing says it.

    A table of Spark's that Hive cannot read has a placeholder as the location of its storage. Where it is, the
    parameters of its serde say. They say it of other tables of Spark's, too, but Hive does not update them when it
    moves a table, and copies them to partitions. The files of an archived partition are those of the archive.
    """
    storage = item.sd
    if storage is None:
        return ""
    location = str(storage.location or "")
    if archive := _ARCHIVE_DIRECTORY.match(location):
        return "{}://{}{}".format(*archive.groups())
    if location and not location.endswith(_PLACEHOLDER):
        return location
    parameters = (storage.serdeInfo and storage.serdeInfo.parameters) or {}
    is_of_spark = _provider(item) not in {"", "hive"}
    return str((is_of_spark and parameters.get(_PATH_KEY)) or location)


def _provider(table: Any) -> str:
    return str((table.parameters or {}).get(_PROVIDER_KEY, "")).lower()
