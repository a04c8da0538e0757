"""Data versions: directories of a table or partition at a target, one for each state of its files. Pure.

With `copy.layout = "versioned"` the location of an object is that of a version below its mapped location. A reader of
one version sees no file of it change.
"""

from __future__ import annotations

import re
from typing import Any

from pysync.model.file_differences import below
from pysync.model.struct_copies import copied
from pysync.model.table_formats import format_of

_WITH_LOGS = frozenset({"delta", "hudi", "iceberg"})
_VERSION = re.compile(r"(.+)/(pysync-[0-9]{13,16})/?", re.DOTALL)


def version_name(now_ms: int, after: str = "") -> str:
    """The name of a new version; greater than that of an older one, whatever the clock says."""
    older = int(after.rpartition("-")[2]) if after else 0
    return f"pysync-{max(now_ms, older + 1):013}"


def version_in(location: str | None) -> str:
    """The name of the version that a location leads to; empty if it leads to none."""
    if not location or "/pysync-" not in location:  # of many partitions: in a tenth of the time
        return ""
    match = _VERSION.fullmatch(location)
    return match[2] if match else ""


def without_version(location: str) -> str:
    """The location that the version is below; the same if it leads to none."""
    match = _VERSION.fullmatch(location)
    return match[1] if match else location


def has_versions(table: Any, item: Any, location: str) -> bool:
    """Whether the files of a Table, or of a Partition of it, can be in versions; they are at `location`.

    Not if anything but its storage says where they are: formats with a log name their files themselves.
    """
    named_elsewhere = format_of(table) in _WITH_LOGS or "storage_handler" in (table.parameters or {})
    return not named_elsewhere and item.sd is not None and item.sd.location == location


def at_version(item: Any, version: str) -> Any:
    """A copy of a Table or Partition, whose location is that of the version below its own."""
    copy = copied(item)
    _move(copy, below(copy.sd.location, version))
    return copy


def leave_version(item: Any) -> None:
    """Give a Table or Partition the location that its version is below, if it is in one."""
    if item.sd is not None and version_in(item.sd.location):
        _move(item, without_version(item.sd.location))


def _move(item: Any, location: str) -> None:
    storage, before = item.sd, item.sd.location
    storage.location = location
    serde = storage.serdeInfo
    if serde is not None and serde.parameters:  # Spark reads the path of its own tables there
        paths = {key: location for key, it in serde.parameters.items() if key.lower() == "path" and it == before}
        serde.parameters = {**serde.parameters, **paths}
