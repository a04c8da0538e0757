"""Files first: what an operation points to is copied before a target writes it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Protocol

from pysync.base.text import count
from pysync.copy.copy_round import Copied, Elsewhere, Removed
from pysync.copy.versions import OperationVersions
from pysync.model.data_versions import version_in
from pysync.model.difference import Difference
from pysync.model.file_differences import Pair
from pysync.model.locations import directories_of, is_below, name_below, overlap, shared_at
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import (
    Operation,
    PutTable,
    PutWithFiles,
    RenameTable,
)
from pysync.model.table_formats import data_location, is_iceberg, pointer
from pysync.queue import DataVersions
from pysync.targets.apply.owners import is_of_others
from pysync.targets.base import Incomplete, Rejected
from pysync.targets.files import Places, name_after, pairs_of, stored_in
from pysync.targets.settings import CopySettings, TargetSettings

_NAME = re.compile(r"\w+", re.ASCII)
"""What may be the name of a table."""


class Copying(Protocol):
    """Copies files: a Copier, a Reencoder, or what takes the files of a source from another place."""

    def copy(self, pairs: Sequence[Pair], *, removed: Removed = ..., elsewhere: Elsewhere = ...) -> Copied:
        """As `Copier.copy`."""


class BringsIceberg(Protocol):
    """Copies the files of Iceberg tables: an IcebergCopier."""

    def bring(self, pair: Pair, pointer: str, there: str | None) -> None:
        """As `IcebergCopier.bring`."""


class FilesFirst:
    """Copies what an operation points to, for targets that have files of their own (see BringsFiles).

    One location at source and target is one place, and nothing is copied there. With `of_dump` the files come from a
    dump: they are copied there, too, and what would not be below a mapped prefix is refused.
    """

    def __init__(
        self,
        copier: Copying,
        settings: TargetSettings,
        versions: DataVersions,
        *,
        iceberg: BringsIceberg | None = None,
        of_dump: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._copier = copier
        self._settings = settings
        self._how = settings.copy_files or CopySettings()
        self._data_versions = versions
        self._iceberg = iceberg
        self._of_dump = of_dump
        self._clock = clock

    def bring(
        self,
        places: Places,
        operation: PutWithFiles,
        note: Callable[[Difference], object],
        existing: Callable[[Any], Any | None],
    ) -> Mapping[str, str]:
        """Copy the files of what the operation puts (see BringsFiles)."""
        pairs = list(self._wanted(places, operation))
        refuse_elsewhere(self._settings, _locations(operation) if self._of_dump else [])
        if not pairs:
            return {}
        if any(it.form is not None and it.form.lacks_snapshot for it in pairs):
            raise Incomplete("which rows of a transactional table count is read at the source")
        table, mark = name_after(operation), operation.mark
        refuse_shared(places, self._settings, table, mark, [it.target for it in pairs])
        items = {data_location(it): it for it in stored_in(operation)}
        if self._iceberg is not None and is_iceberg(operation.definition.parameters):
            for pair in pairs:
                current = existing(items[pair.target])
                there = pointer(current.parameters) if current is not None else None
                self._iceberg.bring(pair, pointer(operation.definition.parameters) or "", there)
            return {}
        versions = OperationVersions(operation, existing, self._data_versions, self._how, self._clock)
        placed = [versions.placed(items[it.target], it) for it in pairs]
        removed: dict[str, int] = {}  # by the location of the first file: a removal may be tried again
        try:
            self._copier.copy(
                placed, removed=lambda files, first: removed.update({first: files}), elsewhere=versions.elsewhere
            )
        finally:
            if removed:
                files = count(sum(removed.values()), "data file")
                note(Difference(files, None, f"removed, the first: {next(iter(removed))}"))
        return versions.complete()

    def _wanted(self, places: Places, operation: PutWithFiles) -> Iterator[Pair]:
        """What to copy. For a renamed table whose partitions are rewritten or in versions, or that is transactional,
        that is what the target has of it.
        """
        pairs = pairs_of(operation, shares=not self._of_dump)
        if not isinstance(operation, RenameTable):
            yield from pairs
            return
        for pair in pairs:
            is_moved = bool(operation.definition.partitionKeys) or (pair.form is not None and pair.form.lacks_snapshot)
            if not is_moved or (pair.form is None and not self._has_versions(places, operation)):
                yield pair
                continue
            table = places.table(operation.table)
            old = data_location(table) if table is not None else ""
            if old and old.rstrip("/") != pair.target.rstrip("/"):
                yield Pair(old, pair.target)

    def _has_versions(self, places: Places, operation: RenameTable) -> bool:
        """Whether partitions of the table are in versions, whose directories the source does not have."""
        if self._how.layout == "versioned":
            return True
        return any(version_in(it.sd.location) for it in islice(places.partitions(operation.table), 1))


def refuse_shared(
    places: Places, settings: TargetSettings, table: TableName, mark: Mark, directories: Collection[str]
) -> None:
    """Raise Rejected where one of these directories at the target cannot be that of `table` alone.

    It cannot if it is, or contains, the directory of the database, or a prefix that locations are mapped to: others
    have their files there. Nor can it if its way from the directory of the database begins with the name of another
    table, which is there and not ours. `table` is a name at the target, `mark` what would be written to it. Reads the
    database there, and tables of such names.
    """
    database_directories = directories_of(places.database(table.database))
    for directory in directories:
        if (other := shared_at(directory, [*settings.mapped_prefixes, *database_directories])) is not None:
            raise _shared(directory, f"{other} is there, with the files of others")
    names = {
        (name, it)
        for it in directories
        for place in database_directories
        if (name := name_below(it, place)) is not None
    }
    for name, directory in sorted(names):
        if name.lower() != table.table and _NAME.fullmatch(name):
            _refuse_of_others(places, TableName.of(table.database, name), mark, directory)


def _refuse_of_others(places: Places, name: TableName, mark: Mark, directory: str) -> None:
    table = places.table(name)
    if table is not None and is_of_others(table, mark):
        location = data_location(table)
        if location and overlap(directory, location):
            raise _shared(directory, f"{name} at the target, which pysync has not written for this source, is there")


def _shared(directory: str, why: str) -> Rejected:
    return Rejected(
        f"{directory} is not the directory of one table alone: {why}",
        "give the table a directory of its own at the source, or map its location elsewhere (locations)",
    )


def refuse_elsewhere(settings: TargetSettings, directories: Iterable[str]) -> None:
    """Raise Rejected where one of these directories is not below a prefix that locations are mapped to."""
    for directory in directories:
        if not any(is_below(directory, it) for it in settings.mapped_prefixes):
            raise Rejected(
                f"{directory} is not below a prefix in locations of target {settings.name!r}, so a load writes "
                "nothing there",
                "add its prefix at the source to locations; a prefix that is the same at both ends: map it to itself",
            )


def _locations(operation: Operation) -> list[str]:
    """The locations of all that the operation puts, also of a table whose files are those of its partitions."""
    items = [operation.definition] if isinstance(operation, PutTable) else stored_in(operation)
    return [location for it in items if (location := data_location(it))]
