"""What all operations do besides deciding: mark what they write, log what the target cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.iceberg import written
from pysync.model.mark import Mark
from pysync.model.operation import Operation
from pysync.model.places import directories_of, shared_at
from pysync.model.structs import copied
from pysync.targets.base import MissingDatabase, Outcome, Rejected
from pysync.targets.diff import same
from pysync.targets.store import Store

_MOST_TOLD = 10  # changes that one line of the log lists

log = structlog.get_logger(__name__)


def stamped(definition: Any, mark: Mark) -> Any:
    """A copy of a database or table that carries the mark."""
    copy = copied(definition)
    copy.parameters = {**mark.on(copy.parameters), **written(copy.parameters)}
    return copy


def up_to_date(kept: Any, there: Any, mark: Mark) -> bool:
    """Whether a database or table needs no write: it is the same, from the same source and the same creation.

    The position in the mark does not count: a definition that is unchanged since an older event is still right. The
    creation does: otherwise a late drop of the object's predecessor would take the object for it.
    """
    its = Mark.read(there.parameters)
    ours = its is not None and its.source == mark.source and mark.created in {0, its.created}
    return ours and its is not None and mark.object in {"", its.object} and same(kept, there)


def conflict(store: Store, what: str, there: Any) -> Outcome | None:
    """The outcome for the foreign object `there`; None if it is to be adopted. Raises Rejected to park it."""
    if store.settings.on_conflict == "adopt":
        if store.is_link(there):
            raise Rejected(
                f"{what} at the target {store.settings.name!r} is a resource link: what is written to it would be "
                "written to another catalog",
                "drop the link, exclude the table, or give it another name at the target (databases, tables)",
            )
        return None
    if store.settings.on_conflict == "skip":
        return Outcome.FOREIGN
    raise Rejected(
        f"{what} already exists at the target {store.settings.name!r} and is not from this source",
        'drop it at the target, or set on_conflict = "adopt" or "skip"',
    )


def taken(store: Store, name: object, there: Any, mark: Mark) -> Rejected:
    """The refusal of an object whose name at the target is that of another object of the source."""
    its = Mark.read(there.parameters)
    if its is not None and mark.is_of_another_target_than(its):
        return Rejected(
            f"{name} is where the target {its.target!r} has its copy of {its.object}; {store.settings.name!r} would "
            "overwrite it",
            "give it another name at one of the two targets (databases, tables), or exclude it from one",
        )
    return Rejected(
        f"{name} at the target {store.settings.name!r} is the copy of {its.object if its else '?'}, and {mark.object} "
        "of the source would overwrite it",
        "give one of the two another name at the target (databases, tables), or exclude it",
    )


def by_files(
    store: Store, items: Sequence[Any], requested: bool, shared: Sequence[str] = ()
) -> Iterator[tuple[list[Any], bool]]:
    """Tables of one database, or partitions of a table, to drop in this order, and whether their files are deleted.

    They are only if the drop did so at the source (`requested`) and the target is allowed to. Files stay, and the log
    says so, where an item's location is or contains a directory that others use: that of the database, a prefix that
    locations are mapped to, or one that is given as `shared`.
    """
    if not _deletes(store, requested) or not items:
        yield list(items), False
        return
    directories = [*shared, *store.settings.mapped_prefixes, *directories_of(store.database(items[0].dbName))]

    def other(item: Any) -> str | None:
        location = (item.sd and item.sd.location) or ""
        return shared_at(location, directories) if location else None

    for directory, some in groupby(items, other):
        found = list(some)
        if directory is not None:
            _tell_kept(store, f"{found[0].dbName}.{found[0].tableName}", found[0].sd.location, directory)
        yield found, directory is None


def deletes_directory(store: Store, there: Any, requested: bool) -> bool:
    """Whether the drop of a database deletes its directory: as `by_files`, and not if a mapped prefix is in it."""
    if not _deletes(store, requested):
        return False
    for location in directories_of(there):
        if (other := shared_at(location, store.settings.mapped_prefixes)) is not None:
            _tell_kept(store, there.name, location, other)
            return False
    return True


def _deletes(store: Store, requested: bool) -> bool:
    return requested and store.settings.delete_data


def _tell_kept(store: Store, name: str, location: str, shared: str) -> None:
    log.warning("files_kept", target=store.settings.name, object=name, location=location, shared=shared)


def into(store: Store, operation: Operation, database: str, write: Callable[[], object]) -> None:
    """Write an object into a database, which is created first if it is missing and the settings say so.

    Raises MissingDatabase if it is missing and may not be created.
    """
    try:
        write()
    except MissingDatabase:
        if not store.creates_missing_databases:
            raise
        # Position 0: every event of the database itself is newer, and may alter it.
        mark = replace(operation.mark, position=0, created=0, born=0)
        store.create_database(store.as_kept(stamped(hive.Database(name=database, parameters={}), mark)))
        log.info("database_created", target=store.settings.name, database=database)
        write()


def tell_lost(store: Store, operation: Operation, lost: Sequence[str]) -> None:
    """Log what the store cannot hold of the source's object, with the operation that wrote it."""
    if lost:
        log.warning(
            "definition_adapted",
            target=store.settings.name,
            operation=type(operation).__name__,
            key=operation.key,
            changes=list(lost[:_MOST_TOLD]),
            more=max(len(lost) - _MOST_TOLD, 0),
        )
