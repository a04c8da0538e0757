"""Files: what is copied of those that an operation points to, before a target writes it, and by whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol, cast

from pysync.model.difference import Difference
from pysync.model.file_differences import Pair
from pysync.model.locations import SourceFiles
from pysync.model.names import TableName
from pysync.model.operation import (
    Operation,
    PutPartitions,
    PutTable,
    PutWithFiles,
    RenameTable,
    TableOperation,
)
from pysync.model.table_formats import data_location


class Places(Protocol):
    """What a target has, as far as it says whose the directories there are."""

    def database(self, name: str) -> Any | None:
        """A Database, or None."""

    def table(self, name: TableName) -> Any | None:
        """A Table, or None."""

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, streamed."""


class BringsFiles(Protocol):
    """Brings files to a target; used by several lanes at once."""

    def bring(
        self,
        places: Places,
        operation: PutWithFiles,
        note: Callable[[Difference], object],
        existing: Callable[[Any], Any | None],
    ) -> Mapping[str, str]:
        """Have the files at the target that the operation points to. May be repeated; then only what changed is copied.

        `note` is called with what was removed, also before an error. `existing` gives the object that the target has in
        the place of one of the operation, None if it has none. Returns the versions in which files are
        (pysync.model.data_versions), by the locations in the operation. Raises what the copier raises, and Rejected for
        a directory that nothing may be copied to.
        """


def pairs_of(operation: Operation, *, shares: bool) -> Iterator[Pair]:
    """The directories with the files of what the operation puts; none where source and target share them.

    A renamed table has no copied files at its new place; what is there has not become an extra by the rename.
    """
    is_rename = isinstance(operation, RenameTable)
    for item in stored_in(operation):
        target = data_location(item)
        source = cast(TableOperation, operation).sources.get(target, SourceFiles(target))
        if target and not (shares and source.location.rstrip("/") == target.rstrip("/")):
            yield Pair(source.location, target, source.form, source.removes_extras and not is_rename)


def name_after(operation: TableOperation) -> TableName:
    """The name of the table once the operation is done."""
    return operation.new_name if isinstance(operation, RenameTable) else operation.table


def stored_in(operation: Operation) -> list[Any]:
    """The objects in an operation that have files of their own: a table, or the partitions of one that has some.

    A renamed table counts as a whole: its directory was moved with the partitions in it.
    """
    if isinstance(operation, PutPartitions):
        return list(operation.partitions)
    if isinstance(operation, PutTable) and operation.definition.partitionKeys:
        return []
    return [operation.definition] if isinstance(operation, PutTable | RenameTable) else []
