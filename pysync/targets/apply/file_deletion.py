"""The deletion of files: which files of what is dropped go with it. In doubt they stay, and the log says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import structlog

from pysync.model.definition import loses_files
from pysync.model.locations import directories_of, is_below, shared_at
from pysync.model.names import TableName
from pysync.targets.apply.door import Door

log = structlog.get_logger(__name__)


def drop_batches(
    store: Door, items: Sequence[Any], deleted: Sequence[str], table: Any | None = None
) -> Iterator[tuple[list[Any], bool]]:
    """Tables of one database, or partitions of `table`, to drop in this order, and whether their files are deleted.

    They are only if the target is allowed to, if its metastore deletes files of such a table, and if every directory
    that would go with an item is one that the source `deleted`, or in one. Files also stay where a directory is or
    contains one that others use: that of the database, of the `table`, or a prefix that locations are mapped to. The
    log says what stays.
    """
    if not (deleted and store.settings.delete_data and items):
        yield list(items), False
        return
    shared = [*store.settings.mapped_prefixes, *directories_of(store.reads.database(items[0].dbName))]
    shared += [table.sd.location] if table is not None and table.sd.location else []

    def kept(item: Any) -> _Kept | None:
        name = f"{item.dbName}.{item.tableName}"
        for place in (it.sd.location for it in _with_partitions(store, item) if it.sd is not None and it.sd.location):
            if not loses_files(table or item):
                return _Kept(name, place, "the table is external at the target")
            if not any(is_below(place, it) for it in deleted):
                return _Kept(name, place, "the source did not delete this directory")
            if (directory := shared_at(place, shared)) is not None:
                return _Kept(name, place, "others use this directory", directory)
        return None

    for reason, batch in groupby(items, kept):
        if reason is not None:
            reason.log(store)
        yield list(batch), reason is None


@dataclass(frozen=True, slots=True)
class _Kept:
    """Files that stay, and the reason; `shared` is the directory that others use, if that is it."""

    name: str
    location: str
    reason: str
    shared: str | None = None

    def log(self, store: Door) -> None:
        log.warning(
            "files_not_deleted",
            target=store.settings.name,
            object=self.name,
            location=self.location,
            shared=self.shared,
            reason=self.reason,
        )


def log_directory_kept(store: Door, database: Any) -> None:
    """Say that the directory of a dropped database stays: no event says whether the source deleted it."""
    if store.settings.delete_data:
        reason = "no event says whether the source deleted the directory of a database"
        _Kept(database.name, database.locationUri, reason).log(store)


def _with_partitions(store: Door, item: Any) -> Iterator[Any]:
    """A partition; or a table, and its partitions, whose files a metastore deletes with it."""
    yield item
    if getattr(item, "partitionKeys", None):
        yield from store.reads.partitions(TableName.of(item.dbName, item.tableName))
