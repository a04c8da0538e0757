"""Delta tables as a metastore has them: what makes one, and where it is."""

from __future__ import annotations

from typing import Any

_PROVIDER_KEY = "spark.sql.sources.provider"
_PATH_KEY = "path"


def is_delta(table: Any) -> bool:
    """Whether a Table is a Delta table. Spark's parameter says so, and Athena and Trino go by it, too."""
    return bool((table.parameters or {}).get(_PROVIDER_KEY, "").lower() == "delta")


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
