"""HiveStore: what is true of every place that keeps its tables in a Hive Metastore, whoever talks to it.

HMS refuses some alters that are needed, moves files that must stay, and counts files although it was given the numbers.
This module works around that.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.model.definition import VIEWS, is_index
from pysync.model.names import TableName, partition_name
from pysync.targets.base import MissingDatabase
from pysync.targets.diff import (
    TRANSLATION,
    is_translated,
    path_of,
    same,
    same_creation,
    same_parameters,
    sources_of,
)
from pysync.targets.halving import ENOUGH, Halving, may_pass
from pysync.targets.store import (
    Capability,
    Exists,
    HasFunctions,
    RefusedPartition,
    RenamesTables,
    Store,
    Written,
    refused_as_one,
)

T = TypeVar("T")

_TRANSLATED = "TRANSLATED_TO_EXTERNAL"


class HiveStore(Store, HasFunctions, RenamesTables):
    """A store that leaves the plain calls (`write_…`) to subclasses, which know how to make them."""

    # --- the plain calls

    @abstractmethod
    def write_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> None:
        """Alter the table `existing` to be `wanted`, under another name if it has one."""

    @abstractmethod
    def write_sources(self, wanted: Any) -> None:
        """Write which tables a materialized view is made of."""

    @abstractmethod
    def write_no_table(self, name: TableName, *, delete_data: bool) -> None:
        """Drop the table."""

    @abstractmethod
    def write_new_partitions(
        self, table: Any, partitions: Sequence[Any], *, if_not_exists: bool, answer: bool
    ) -> Sequence[Any]:
        """Add the partitions that do not exist (`if_not_exists`), or all or none.

        In the second case an existing one raises AlreadyExistsException. Returns the added partitions as the server has
        them now, if `answer` is set.
        """

    @abstractmethod
    def write_partitions(self, name: TableName, partitions: Sequence[Any]) -> None:
        """Alter existing partitions; no file moves."""

    @abstractmethod
    def write_no_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """Drop the partitions."""

    @abstractmethod
    def write_function(self, wanted: Any) -> None:
        """Alter the function except for its resources."""

    # --- functions

    def alter_function(self, wanted: Any, existing: Any) -> None:
        """Alter the function. HMS never alters its resources: if those differ, it is dropped and created."""
        if same(wanted.resourceUris, existing.resourceUris):
            self.write_function(wanted)
        else:
            self.drop_function(wanted.dbName, wanted.functionName)
            self.create_function(wanted)

    # --- tables

    def alter_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> bool:
        """Turn `existing` into `wanted`, also under another name; the partitions are kept.

        HMS refuses a new column type that cannot read the old one
        (hive.metastore.disallow.incompatible.col.type.changes; in 2.3 setMetaConf cannot switch it off). It compares
        columns by position, as far as both lists reach. So the columns from the first different one on are removed in a
        call of their own.
        """
        try:
            self._write(wanted, existing, cascade=cascade)
        except hive.InvalidOperationException:
            common = _common_columns(wanted, existing)
            # No column type differs, so HMS refuses for another reason.
            if len(common) in {len(wanted.sd.cols), len(existing.sd.cols)}:
                raise
            shorter = deepcopy(existing)
            shorter.sd.cols = common
            # `shorter` keeps the old mark: after a crash between the two calls the event does not look applied.
            self._write(shorter, existing)
            self._write(wanted, existing, cascade=cascade)
        return True

    def drop_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:
        """Drop the tables.

        HMS drops the table of an index (Hive 2.3) only with its index. pysync creates no indexes, so it makes such a
        table a plain one first.
        """
        for existing in tables:
            if is_index(existing):
                plain = deepcopy(existing)
                plain.tableType = "MANAGED_TABLE"
                self.alter_table(plain, existing)
            self.write_no_table(name_of(existing), delete_data=delete_data)

    def rename_table(self, wanted: Any, existing: Any) -> None:
        """Turn `existing` into `wanted`, which has another name, without moving a file.

        The files are where the new definition says: the source moved them, or a copy put them there. HMS moves the
        directory of a managed table if the request does not change its location (HiveAlterHandler.alterTable). So such
        a table is made external first. The source's HMS moved the locations of the partitions too, without an event for
        them. Here they are moved before the rename: after a crash between the two the next try still knows where they
        were.
        """
        old = existing
        if not is_view(old):
            # For an empty location HMS would choose a new one and move the files there.
            wanted.sd.location = wanted.sd.location or old.sd.location
            wanted = _as_translated(wanted, old)
            self._move_partitions(old, wanted.sd.location)
            old = self._unmovable(old, wanted.sd.location)
        self.alter_table(wanted, old)

    # --- partitions

    def put_partitions(self, table: Any, absent: Sequence[Any], changed: Sequence[tuple[Any, Any]]) -> Written:
        """Add and alter partitions (see Store.put_partitions).

        A partition that was added, but not as wanted, is altered as well: another client was faster, or HMS counted the
        files of an existing directory. Until Hive 4 the call has no EnvironmentContext that could prevent the counting,
        and Hive 4 ignores it. Only the statistics that HMS sets by itself are affected.
        """
        added: list[Any] = []

        def add(some: Sequence[Any]) -> None:
            added.extend(self.write_new_partitions(table, some, if_not_exists=True, answer=True))

        refused = self._refused_of(table, absent, add)
        others = _others(_without(absent, refused), added)
        alter = partial(self.write_partitions, name_of(table))
        for some in slices([*(item for item, _ in changed), *others], self.batch):
            refused += self._refused_of(table, some, alter)
        return Written(any=len(refused) < len(absent) + len(changed), refused=refused)

    def add_partitions(self, table: Any, partitions: Sequence[Any]) -> None:
        """Add all or none (see Store.add_partitions)."""
        # A store that does not keep the source's counts has nothing to correct, so the answer is not needed.
        answer = Capability.FILE_STATISTICS not in self.lacks
        try:
            added = self.write_new_partitions(table, partitions, if_not_exists=False, answer=answer)
        except Exception as error:
            if may_pass(self._error_of(table, error, partitions)):
                raise
            raise Exists from error
        self._alter_partitions(name_of(table), _others(partitions, added) if answer else [])

    def drop_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """Drop partitions. Raises Rejected for those that are refused; the others are dropped."""
        drop = partial(self.write_no_partitions, table, delete_data=delete_data)
        refused = self._refused_of(table, existing, drop)
        if refused:
            raise refused_as_one(name_of(table), refused)

    def spread_columns(self, table: Any, columns: Sequence[Any]) -> bool:
        """Give all partitions of the table these columns."""
        name, changed, refused = name_of(table), False, list[RefusedPartition]()
        for names in slices(self.partition_names(table), self.batch):
            others = [it for it in self.partitions_by_name(name, names) if not same(columns, it.sd.cols)]
            for partition in others:
                partition.sd.cols = columns
            refused += self._refused_of(table, others, partial(self.write_partitions, name))
            changed |= bool(others)
        if refused:
            raise refused_as_one(name, refused)
        return changed

    def _refused_of(
        self, table: Any, partitions: Sequence[Any], write: Callable[[Sequence[Any]], object]
    ) -> list[RefusedPartition]:
        """Write partitions of a table by a call for many of them, and return those that the server refuses.

        Raises one error for them if there are so many that no other was tried.
        """
        halving = Halving(write, partial(self._error_of, table))
        halving.write(partitions)
        refused = [RefusedPartition(tuple(item.values), error) for item, error in halving.refused]
        if len(refused) >= ENOUGH:
            raise refused_as_one(name_of(table), refused)
        return refused

    def _error_of(self, table: Any, error: Exception, partitions: Sequence[Any]) -> PysyncError:
        """What an error of a write of partitions means. It names the first: one that is refused is alone."""
        keys = [key.name for key in table.partitionKeys or ()]
        try:
            with self.classified(f"partition {partition_name(keys, partitions[0].values)}"):
                raise error
        except PysyncError as classified:
            return classified

    def _alter_partitions(self, name: TableName, partitions: Sequence[Any]) -> None:
        for some in slices(partitions, self.batch):
            self.write_partitions(name, some)

    # --- within

    @contextmanager
    def within(self, database: str) -> Iterator[None]:
        """Turn a refusal into MissingDatabase if the database that something is written into is not there."""
        try:
            yield
        except (hive.InvalidObjectException, hive.InvalidOperationException, hive.NoSuchObjectException) as error:
            # HMS has no error of its own for a missing database: these three have other causes, too.
            if self.database(database) is None:
                raise MissingDatabase.of_target(self.settings.name, f"database {database}") from error
            raise

    def _write(self, wanted: Any, existing: Any, *, cascade: bool = False) -> None:
        wanted = _as_translated(wanted, existing)
        self.write_table(wanted, existing, cascade=cascade)
        # alter_table leaves a view's creationMetadata as it is; it has a call of its own.
        if existing.creationMetadata and not same_creation(wanted.creationMetadata, existing.creationMetadata):
            self.write_sources(with_known_sources(wanted))

    def _unmovable(self, old: Any, location: str) -> Any:
        """The table whose directory HMS will not rename: `old` itself, or `old` after it was made external."""
        # HMS moves no files if the request changes the location. Hive 4 moves those of translated tables even then.
        translated = _TRANSLATED in (old.parameters or {})
        if _is_plainly_external(old) or (path_of(old.sd.location) != path_of(location) and not translated):
            return old
        external = deepcopy(old)
        external.tableType = "EXTERNAL_TABLE"
        external.parameters = {**(old.parameters or {}), "EXTERNAL": "TRUE"}
        external.parameters.pop(_TRANSLATED, None)
        self.alter_table(external, old)
        return external

    def _move_partitions(self, old: Any, location: str) -> None:
        """Give partitions below the old location the same place below the new one."""
        # With a slash at the end, so that /a/b does not match /a/bc.
        before, after = old.sd.location.rstrip("/") + "/", location.rstrip("/") + "/"
        if path_of(before) == path_of(after) or not old.partitionKeys:
            return
        name = name_of(old)
        for names in slices(self.partition_names(old), self.batch):
            partitions = self.partitions_by_name(name, names)
            moved = [partition for partition in partitions if (partition.sd.location or "").startswith(before)]
            for partition in moved:
                partition.sd.location = after + partition.sd.location[len(before) :]
            self._alter_partitions(name, moved)


def name_of(table: Any) -> TableName:
    """The name of a Table."""
    return TableName.of(table.dbName, table.tableName)


def is_view(table: Any) -> bool:
    """Whether it is a view, materialized or not."""
    return table.tableType in VIEWS


def is_another(wanted: Any, existing: Any) -> bool:
    """Whether no alter leads from one to the other: only one is a view, or partition keys have other names.

    Keys may change their types; the partitions are kept then.
    """
    return is_view(wanted) != is_view(existing) or _keys(wanted) != _keys(existing)


def with_known_sources(wanted: Any) -> Any:
    """The materialized view without its counts if those are of other tables than its own; else as it is."""
    made = wanted.creationMetadata
    if made is None or not made.sourceTables or sources_of(made):
        return wanted
    copy = deepcopy(wanted)
    copy.creationMetadata.sourceTables = None
    return copy


def slices(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The items, `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _is_plainly_external(table: Any) -> bool:
    """Whether it is external by its client's wish: Hive 4 also moves directories of tables that it translated."""
    return table.tableType == "EXTERNAL_TABLE" and _TRANSLATED not in (table.parameters or {})


def _others(wanted: Sequence[Any], added: Sequence[Any]) -> list[Any]:
    """The wanted partitions that were not added, or got other parameters; `added` is the server's answer."""
    existing = {tuple(item.values): item.parameters for item in added}
    return [
        item
        for item in wanted
        if tuple(item.values) not in existing or not same_parameters(item.parameters, existing[tuple(item.values)])
    ]


def _without(partitions: Sequence[Any], refused: Sequence[RefusedPartition]) -> list[Any]:
    """The partitions that were not refused."""
    values = {it.values for it in refused}
    return [item for item in partitions if tuple(item.values) not in values]


def _as_translated(wanted: Any, existing: Any) -> Any:
    """The wanted table; if it is managed and Hive 4 has made `existing` external, `wanted` becomes external as well.

    Hive 4 would accept it as managed again only inside its own warehouse.
    """
    if not is_translated(wanted, existing):
        return wanted
    copy = deepcopy(wanted)
    translation = {key: value for key, value in existing.parameters.items() if key in TRANSLATION}
    copy.tableType, copy.parameters = existing.tableType, {**(wanted.parameters or {}), **translation}
    return copy


def _common_columns(wanted: Any, existing: Any) -> list[Any]:
    """The leading columns of `existing` that have the same types as the columns of `wanted`."""
    common = []
    # By position and type only, as HMS compares: a changed name is no reason for a refusal.
    for old, new in zip(existing.sd.cols, wanted.sd.cols):  # noqa: B905, as far as both reach
        if old.type != new.type:
            break
        common.append(old)
    return common


def _keys(table: Any) -> list[str]:
    return [key.name.lower() for key in table.partitionKeys or ()]
