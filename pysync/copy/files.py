"""Files first: what an operation points to is copied before a target is asked to apply it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

from pysync.copy.copier import assert_own
from pysync.copy.requests import Pair
from pysync.copy.run import Copied
from pysync.model.files import SourceFiles
from pysync.model.operation import Operation, PutPartitions, PutTable, RenameTable, TableOperation
from pysync.model.table_formats import data_location
from pysync.targets.apply.ownership import may_write
from pysync.targets.base import Outcome, Target
from pysync.targets.settings import TargetSettings


class Copying(Protocol):
    """Copies files: a Copier, a Reencoder, or what takes the files of a source from another place."""

    def copy(self, pairs: Sequence[Pair], *, delete: bool) -> Copied:
        """As `Copier.copy`."""


class FilesFirst:
    """A target whose operations wait for their files; all else is the target's own.

    With `shares` one location at source and target is one place, and nothing is copied there.
    """

    def __init__(self, target: Target, copier: Copying, settings: TargetSettings, *, shares: bool = True) -> None:
        self._target = target
        self._copier = copier
        self._settings = settings
        self._shares = shares

    @classmethod
    def opener(
        cls, open_target: Callable[[], Target], copier: Copying, settings: TargetSettings, *, shares: bool = True
    ) -> Callable[[], Target]:
        """What opens the target with its files first."""
        return lambda: cast(Target, cls(open_target(), copier, settings, shares=shares))

    def apply(self, operation: Operation) -> Outcome:
        """Copy the files of what the operation puts, then apply it. Raises what the copier and the target raise."""
        pairs = list(self._wanted(operation))
        if pairs and self._may(cast(TableOperation, operation)):
            self._refuse_database_directory(cast(TableOperation, operation).table.database, pairs)
            whole = isinstance(operation, RenameTable)
            self._copier.copy(pairs, delete=self._settings.drops != "suppress" and not whole)
        return self._target.apply(operation)

    def _refuse_database_directory(self, database: str, pairs: Sequence[Pair]) -> None:
        """Raise Rejected for files that would go to the directory of their database, which holds its other tables."""
        found = self._target.database(database)
        if found is not None and found.locationUri:
            for pair in pairs:
                assert_own(pair.target, [found.locationUri])

    def _wanted(self, operation: Operation) -> Iterator[Pair]:
        """What to copy. For a renamed table whose partitions are rewritten that is what the target has of them."""
        pairs = _pairs(operation, shares=self._shares)
        if not isinstance(operation, RenameTable) or not operation.definition.partitionKeys:
            yield from pairs
            return
        for pair in pairs:
            if pair.form is None:
                yield pair
                continue
            there = self._target.table(operation.table)
            old = data_location(there) if there is not None else ""
            if old and old.rstrip("/") != pair.target.rstrip("/"):
                yield Pair(old, pair.target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def _may(self, operation: TableOperation) -> bool:
        """Whether the target will take it: nothing is copied over files of somebody else's or a newer table."""
        name = operation.new_name if isinstance(operation, RenameTable) else operation.table
        return may_write(self._settings, operation, self._target.table(name))


def _pairs(operation: Operation, *, shares: bool) -> Iterator[Pair]:
    """The directories with the files of what the operation puts; none where source and target share them."""
    for item in _stored(operation):
        target = data_location(item)
        source = cast(TableOperation, operation).sources.get(target, SourceFiles(target))
        if target and not (shares and source.location.rstrip("/") == target.rstrip("/")):
            yield Pair(source.location, target, source.form)


def _stored(operation: Operation) -> list[Any]:
    """The objects in an operation that have files of their own: a table, or the partitions of one that has some.

    A renamed table counts as a whole: its directory was moved with the partitions in it.
    """
    if isinstance(operation, PutPartitions):
        return list(operation.partitions)
    if isinstance(operation, PutTable) and operation.definition.partitionKeys:
        return []
    return [operation.definition] if isinstance(operation, PutTable | RenameTable) else []
