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
    return (parameters or {}).get(POINTER_KEY) if is_iceberg(parameters) else None


def is_iceberg(parameters: Mapping[str, str] | None) -> bool:
    """Whether a table with these parameters is an Iceberg table."""
    return (parameters or {}).get("table_type", "").upper() == "ICEBERG"


def written(parameters: Mapping[str, str] | None) -> dict[str, str]:
    """The parameter that records the written pointer."""
    found = pointer(parameters)
    return {WRITTEN_KEY: found} if found else {}
