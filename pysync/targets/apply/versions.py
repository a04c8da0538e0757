"""Versions: in which directory the files of an object are, as far as the target knows (pysync.model.data_versions)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.model.data_versions import at_version, version_in
from pysync.model.table_formats import data_location
from pysync.targets.diff import path_of, same_location


def placed(item: Any, existing: Any | None, brought: Mapping[str, str]) -> Any:
    """The Table or Partition at its version: one in which files were `brought`, by location, or what `existing` has.

    The item itself if its files are in none, or if it is at one. Call it before `Store.as_stored`: what that gives may
    have the location elsewhere, too.
    """
    if item.sd is None:
        return item
    version = brought.get(data_location(item)) or _version_there(item, existing)
    return at_version(item, version) if version else item


def _version_there(item: Any, existing: Any | None) -> str:
    there = existing.sd.location if existing is not None and existing.sd is not None else None
    version, wanted = version_in(there), item.sd.location
    return version if version and path_of(wanted) != path_of(there) and same_location(wanted, there) else ""


def is_at(item: Any, existing: Any | None) -> bool:
    """Whether both have one directory, version for version."""
    return existing is not None and path_of(item.sd.location) == path_of(existing.sd and existing.sd.location)
