"""Versions: in which directory at a target the files of an operation go, so that no reader sees some of them change.

With `layout = "versioned"` files are added to the version that an object has. Where files change or go, all of them are
written into a new one, to which the metadata points then. What the object had stays for a while (`DataVersions`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.data_versions import has_versions, version_in, version_name
from pysync.model.file_differences import Pair, below
from pysync.model.names import partition_name
from pysync.model.operation import PutPartitions, PutWithFiles
from pysync.queue import DataVersion, DataVersions
from pysync.targets.diff import same_location
from pysync.targets.files import name_after
from pysync.targets.settings import CopySettings

_MS = 1000
_LONGEST_COPY_MS = 7 * 86_400_000
"""How long a directory is spared that is being filled; after a crash another try fills it, or nobody does."""
_LONGEST_WRITE_MS = 86_400_000
"""How long it is spared when it is full, and the target is to point to it."""


@dataclass(frozen=True, slots=True)
class _Object:
    """An object whose files are at the location `base`, and the name of its version that is there, if any."""

    item: Any
    base: str
    current: str


class OperationVersions:
    """The versions of the objects of one operation. `existing` gives what the target has of one (None: nothing).

    Used by one thread. Its methods raise as those of EventQueue do.
    """

    def __init__(
        self,
        operation: PutWithFiles,
        existing: Callable[[Any], Any | None],
        versions: DataVersions,
        settings: CopySettings,
        clock: Callable[[], float],
    ) -> None:
        self._operation, self._existing = operation, existing
        self._versions, self._settings, self._clock = versions, settings, clock
        self._objects: dict[str, _Object] = {}  # by the directory that their files are in, or are to be in
        self._directories: dict[str, str] = {}  # the last of these, by the locations of the objects

    def placed(self, item: Any, pair: Pair) -> Pair:
        """The pair with the directory that the object has; with a new one if the target has no object there."""
        definition = self._operation.definition
        is_tree = bool(definition.partitionKeys) and not isinstance(self._operation, PutPartitions)
        if is_tree or not has_versions(definition, item, pair.target):
            return pair
        location = _location(self._existing(item))
        is_there = location is not None and same_location(pair.target, location)
        made = _Object(item, pair.target, version_in(location) if is_there else "")
        if self._settings.layout == "versioned" and not is_there:
            return self._new(made, pair)
        directory = below(pair.target, made.current) if made.current else pair.target
        self._objects[directory], self._directories[made.base] = made, directory
        return replace(pair, target=directory)

    def elsewhere(self, pair: Pair) -> Pair | None:
        """The pair with a new directory, where readers would see files of this one change; None if that is as it is.

        Where the source has no files removed (`drops = "suppress"`), all that was ever copied stays in one directory.
        """
        made = self._objects.get(pair.target)
        is_fixed = pair.replaces or (pair.form is None and not pair.removes_extras)
        if made is None or is_fixed or self._settings.layout != "versioned":
            return None
        return replace(self._new(made, pair), replaces=True)

    def complete(self) -> dict[str, str]:
        """Note what nobody needs after a while; returns the versions of the objects, by the locations before.

        All files are there; the objects are written next.
        """
        kept_ms = self._settings.keep_for * _MS
        unwritten_ms = max(kept_ms, _LONGEST_WRITE_MS)
        noted = list[DataVersion]()
        for directory in self._directories.values():
            made, name = self._objects[directory], version_in(directory)
            if name != made.current:
                noted.append(self._version(made, name, unwritten_ms, self._operation.mark.position))
                noted += [self._version(made, made.current, kept_ms)] if made.current else []
        self._versions.note(noted)
        return {base: name for base, directory in self._directories.items() if (name := version_in(directory))}

    def _new(self, made: _Object, pair: Pair) -> Pair:
        """Begin a version, or go on with the one that an earlier try of the operation has begun."""
        position = self._operation.mark.position
        known = {version_in(it.directory): it.position for it in self._versions.below(made.base)}
        name = next((it for it, at in known.items() if at == position), "")
        if name <= made.current:  # none, or the operation was done before, and the files have changed since
            name = version_name(self._now_ms(), max([made.current, *known]))
        directory = below(made.base, name)
        self._objects[directory], self._directories[made.base] = made, directory
        self._versions.note([self._version(made, name, _LONGEST_COPY_MS, position)])
        return replace(pair, target=directory)

    def _version(self, made: _Object, name: str, milliseconds: int, position: int = 0) -> DataVersion:
        table, keys = name_after(self._operation), [it.name for it in self._operation.definition.partitionKeys or ()]
        values = made.item.values if isinstance(self._operation, PutPartitions) else ()
        partition = partition_name(keys, values) if values else ""
        until = self._now_ms() + milliseconds
        return DataVersion(below(made.base, name), made.base, table.database, table.table, partition, until, position)

    def _now_ms(self) -> int:
        return round(self._clock() * _MS)


def _location(item: Any | None) -> str | None:
    return item.sd.location if item is not None and item.sd is not None else None
