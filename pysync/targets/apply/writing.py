"""What all operations do besides deciding: mark what they write, log what the target cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.copies import copied
from pysync.model.definition import loses_files
from pysync.model.locations import directories_of, is_below, shared_at
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import Operation
from pysync.model.table_formats import written
from pysync.targets.apply.door import Door
from pysync.targets.base import MissingDatabase, Rejected
from pysync.targets.diff import same
from pysync.targets.settings import TargetSettings
from pysync.targets.store import HasLinks

_MOST_LISTED = 10  # changes that one line of the log lists

log = structlog.get_logger(__name__)


def stamped(definition: Any, mark: Mark) -> Any:
    """A copy of a database or table that carries the mark."""
    copy = copied(definition)
    copy.parameters = {**mark.on(copy.parameters), **written(copy.parameters)}
    return copy


def up_to_date(expected: Any, existing: Any, mark: Mark) -> bool:
    """Whether a database or table needs no write: it is the same, from the same source, object and creation."""
    existing_mark = Mark.read(existing.parameters)
    is_from_source = (
        existing_mark is not None and existing_mark.source == mark.source and mark.created in {0, existing_mark.created}
    )
    return (
        is_from_source
        and existing_mark is not None
        and mark.object in {"", existing_mark.object}
        and same(expected, existing)
    )


def linked(store: Door, name: str) -> Rejected:
    """The refusal to write to a database or table, or into it, that only leads to one of another catalog."""
    return Rejected(
        f"{name} at the target {store.settings.name!r} is a resource link: what is written to it would be written to "
        "another catalog",
        "drop the link, exclude what it stands for, or give that another name at the target (databases, tables)",
    )


def taken_by_another(settings: TargetSettings, name: object, existing: Any, mark: Mark) -> Rejected:
    """The refusal of an object whose name at the target is that of another object of the source."""
    existing_mark = Mark.read(existing.parameters)
    if existing_mark is not None and mark.is_of_another_target_than(existing_mark):
        return Rejected(
            f"{name} is where the target {existing_mark.target!r} has its copy of {existing_mark.object}; "
            f"{settings.name!r} would overwrite it",
            "give it another name at one of the two targets (databases, tables), or exclude it from one",
        )
    return Rejected(
        f"{name} at the target {settings.name!r} is the copy of {existing_mark.object if existing_mark else '?'}, and "
        f"{mark.object} of the source would overwrite it",
        "give one of the two another name at the target (databases, tables), or exclude it",
    )


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


def is_link(store: Door, existing: Any) -> bool:
    """Whether a database or table that was read only leads to one of another catalog, or is in one that does."""
    return isinstance(store.reads, HasLinks) and store.reads.is_link(existing)


def refuse_link(store: Door, database: str) -> None:
    """Raise Rejected for a database that only leads to one of another catalog. It may be absent."""
    if isinstance(store.reads, HasLinks) and store.reads.is_linked(database):
        raise linked(store, f"database {database}")


def into(store: Door, operation: Operation, database: str, write: Callable[[], object]) -> None:
    """Write an object into a database, which is created first if it is missing and the settings say so.

    Raises MissingDatabase if it is missing and may not be created, Rejected if it only leads to another catalog's.
    """
    refuse_link(store, database)
    try:
        write()
    except MissingDatabase:
        if not store.settings.creates_databases:
            raise
        # Position 0: every event of the database itself is newer, and may alter it.
        mark = replace(operation.mark, position=0, created=0, born=0)
        store.create_database(store.reads.as_stored(stamped(hive.Database(name=database, parameters={}), mark)))
        log.info("database_created", target=store.settings.name, database=database)
        write()


def log_lost(store: Door, operation: Operation, lost: Sequence[str]) -> None:
    """Log what the store cannot hold of the source's object, with the operation that wrote it."""
    if lost:
        log.warning(
            "definition_adapted",
            target=store.settings.name,
            operation=type(operation).__name__,
            key=operation.key,
            changes=list(lost[:_MOST_LISTED]),
            more=max(len(lost) - _MOST_LISTED, 0),
        )
