"""Iceberg tables: which of a table's parameters is its pointer. Pure."""

from __future__ import annotations

from collections.abc import Mapping

WRITTEN_KEY = "pysync.pointer"
"""At a target: the pointer that pysync wrote. If the table has another one, somebody else has committed."""
PREVIOUS_KEY = "previous_metadata_location"
POINTER_KEY = "metadata_location"
"""The parameter that is the pointer."""


def pointer(parameters: Mapping[str, str] | None) -> str | None:
    """The metadata file that is the table's current state; None for tables of other formats."""
    found = parameters or {}
    return found.get(POINTER_KEY) if found.get("table_type", "").upper() == "ICEBERG" else None


def written(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The parameter that records the written pointer."""
    found = pointer(parameters)
    return {WRITTEN_KEY: found} if found else {}
