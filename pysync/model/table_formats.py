"""Table formats with a schema of their own, beside the metastore's: which tables have one, and where they are."""

from __future__ import annotations

from typing import Any

_PROVIDER_KEY = "spark.sql.sources.provider"
_PATH_KEY = "path"
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


def table_location(table: Any) -> str:
    """Where a table of Spark is; empty if nothing says it.

    Spark writes that into the parameters of the serde. For an external table the location of the storage is a
    placeholder.
    """
    storage = table.sd
    if storage is None:
        return ""
    parameters = (storage.serdeInfo and storage.serdeInfo.parameters) or {}
    return str(parameters.get(_PATH_KEY) or storage.location or "")


def _provider(table: Any) -> str:
    return str((table.parameters or {}).get(_PROVIDER_KEY, "")).lower()
