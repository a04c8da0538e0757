"""Iceberg tables: where, among a table's parameters, its pointer is. Pure."""

from __future__ import annotations

from collections.abc import Mapping

WRITTEN_KEY = "pysync.pointer"
"""At a target: the pointer that pysync has written; another one is somebody else's commit."""
PREVIOUS_KEY = "previous_metadata_location"
_POINTER_KEY = "metadata_location"


def pointer(parameters: Mapping[str, str] | None) -> str | None:
    """The metadata file that is the table now; None for tables of other kinds."""
    found = parameters or {}
    return found.get(_POINTER_KEY) if found.get("table_type", "").upper() == "ICEBERG" else None


def written(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The parameter that notes what is written."""
    found = pointer(parameters)
    return {WRITTEN_KEY: found} if found else {}
