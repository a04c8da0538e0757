"""Contents: reads the partitions, constraints, functions and column statistics of an object again from the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException

from pysync.base.errors import PysyncError
from pysync.copy.formats import Frame
from pysync.metastore.client import PARTITIONS_PER_CALL, Metastore
from pysync.metastore.errors import MetastoreError
from pysync.metastore.reads import Reads
from pysync.metastore.statistics import Statistics, read_statistics
from pysync.model.constraints import Constraints, name_of, pairs
from pysync.model.locations import SourceFiles
from pysync.model.names import TableName, partition_name, partition_values
from pysync.model.operation import (
    DropConstraint,
    DropFunction,
    DropPartitions,
    Operation,
    PutConstraint,
    PutFunction,
    PutPartitions,
    PutStatistics,
    Refresh,
)
from pysync.replay.window.homes import Origins
from pysync.replay.window.policy import typed_keys
from pysync.replay.window.translate import Translator
from pysync.targets.base import Forbidden, Outcome, OutcomeUnknown, Target, Unavailable

# Contents: reads the partitions and constraints of a table again, a batch at a time.


@dataclass(frozen=True, slots=True)
class TableAtSource:
    """A table of the source: its names at both ends, its rewritten `definition`, and its `frame` from before the
    rewriting.

    `origin` holds the mark for what is written of it, and the clusters that it has been to.
    """

    old: TableName
    new: TableName
    definition: Any
    frame: Frame
    origin: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Contents:
    """What is in a table, at the source and at the target. Only reads both, and raises what they raise."""

    source: Reads
    target: Target
    translator: Translator
    refresh: Refresh

    def partitions(self, table: TableAtSource, *, fresh: bool) -> Iterator[Operation]:
        """Put the source's partitions that are taken, then drop the target's others.

        A table that is `fresh` has no others. Others that are not in scope stay, unless what leaves the scope goes.
        """
        keys = tuple(key.name for key in table.definition.partitionKeys)
        present: set[str] = set()
        for parts in self._parts(table):
            sources: dict[str, SourceFiles] = {}
            for part in parts:
                sources |= self.translator.mapping.apply_to_partition(part, table.frame)
            if not fresh:
                present |= {partition_name(keys, part.values) for part in parts}
            if parts:
                fields = {"partitions": tuple(parts), "sources": sources, **table.origin}
                yield PutPartitions(table=table.new, definition=table.definition, fresh=fresh, **fields)
        there = () if fresh else (tuple(part.values) for part in self.target.partitions(table.new))
        # A table of others may have stayed there, with other keys.
        fitting = (it for it in there if len(it) == len(keys))
        # All are found before any is dropped: `_is_unchanged` has to look after both ends were read.
        extra = [it for it in fitting if self._is_extra(table, it, partition_name(keys, it), present)]
        if extra and self._is_unchanged(table):  # as one, because the brake judges all of them together
            yield DropPartitions(table=table.new, keys=keys, values=tuple(extra), **table.origin)

    def _takes(self, table: TableAtSource, values: Sequence[str]) -> bool:
        return self.translator.policy.takes_partition(table.old, typed_keys(table.definition), values)

    def _parts(self, table: TableAtSource) -> Iterator[list[Any]]:
        """The source's partitions that are taken, a batch at a time; asked for by name only if there are more than one
        batch.
        """
        old = table.old
        names = list(self.refresh.partitions)
        few = None if names else self._all_if_few(old)
        if few is not None:
            yield [it for it in few if self._takes(table, it.values)]
            return
        names = names or self.source.partition_names(old.database, old.table)
        names = [it for it in names if self._takes(table, partition_values(it))]
        for start in range(0, len(names), PARTITIONS_PER_CALL):
            yield self.source.partitions_by_name(old.database, old.table, names[start : start + PARTITIONS_PER_CALL])

    def _all_if_few(self, old: TableName) -> list[Any] | None:
        """All partitions of the source; None if there are more than one batch, or if names have to be used.

        To list the names of one table's partitions, a metastore may look through those of all tables (Derby does).
        """
        try:
            # One more than a batch, to see whether there are more.
            partitions = self.source.first_partitions(old.database, old.table, PARTITIONS_PER_CALL + 1)
        except hive.MetaException:  # hive.metastore.limit.partition.request may forbid the call
            return None
        return partitions if len(partitions) <= PARTITIONS_PER_CALL else None

    def _is_extra(self, table: TableAtSource, values: Sequence[str], name: str, present: set[str]) -> bool:
        if name in present or (self.refresh.partitions and name not in self.refresh.partitions):
            return False
        return self.translator.policy.drops_leavers or self._takes(table, values)

    def constraints(self, table: Any) -> Constraints:
        """The constraints of the source's table, rewritten for the target."""
        by_name: dict[Any, list[Any]] = {}
        for kind, columns in self.source.constraints(table).items():
            by_name[kind] = [column for column in columns if self.translator.policy.takes_constraint(column)]
            for column in by_name[kind]:
                self.translator.mapping.apply_to(column)
        return by_name

    def bring_constraints(self, table: TableAtSource, wanted: Constraints, there: Any) -> Iterator[Operation]:
        """Put the source's constraints, and drop the others of the target's table `there` (None: it is new)."""
        # Without any kind wanted (only some partitions are refreshed, say) nothing is dropped, so the call is saved.
        existing = {} if there is None or not wanted else self.target.constraints(there)
        extra = []
        for kind, columns in wanted.items():
            if columns:
                yield PutConstraint(table=table.new, columns=tuple(columns), **table.origin)
            extra += [name_of(other[0]) for mine, other in pairs(columns, existing.get(kind, [])) if not mine]
        if extra and self._is_unchanged(table):
            for constraint in extra:
                yield DropConstraint(table=table.new, constraint=constraint, **table.origin)

    def _is_unchanged(self, table: TableAtSource) -> bool:
        """Whether what was read is complete: the table is still the same at the source.

        A table that was renamed or dropped meanwhile looks empty. Its partitions must not be dropped at the target: its
        events will come, and a rename takes everything along.
        """
        current = self.source.table(table.old.database, table.old.table)
        return current is not None and current.createTime == table.definition.createTime


# Functions: what a refresh means for the functions of a database. They carry no mark; their database's home counts.


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of a refresh's database; `at_source` and `there` are that database at the source and the target."""

    source: Reads
    target: Target
    translator: Translator
    refresh: Refresh
    at_source: Any
    there: Any

    def operations(self) -> Iterator[Operation]:
        """Put the source's functions; drop those that are in no database of the source which is mapped to this one.

        If the source may not say so, the home is asked. Functions cannot be renamed.
        """
        existing = {it.functionName: it for it in self._meant(self.target.functions(self.refresh.database))}
        for function in self._meant(self._of_source()):
            yield from self._put(function, existing.get(function.functionName))
        # Several databases of the source may be mapped to this one: its functions may come from another.
        wanted = self._wanted_names() if existing else set()
        for name in sorted(existing.keys() - wanted):
            yield from self._drop(name)

    def _of_source(self) -> Sequence[Any]:
        return [] if self.at_source is None else self.source.functions(self.refresh.source_database)

    def _meant(self, functions: Sequence[Any]) -> list[Any]:
        wanted = self.refresh.function
        return [it for it in functions if wanted in {"", it.functionName}]

    def _wanted_names(self) -> set[str]:
        mapping, database = self.translator.mapping, self.refresh.database
        belonging = [name for name in self.source.databases() if mapping.database(name) == database]
        return {function.functionName for name in belonging for function in self.source.functions(name)}

    def _put(self, function: Any, there: Any) -> Iterator[Operation]:
        self.translator.mapping.apply_to(function)
        if self._is_state():
            origin = self._origins.of_function(self._home(), self.at_source, self.there)
            yield PutFunction(database=self.refresh.database, definition=function, **origin)
        elif self.target.differences(function, there):
            yield from self._request(function.functionName)

    def _drop(self, name: str) -> Iterator[Operation]:
        if self._is_state():
            origin = self._origins.of_function(self._home(), self.at_source, self.there)
            yield DropFunction(database=self.refresh.database, function=name, **origin)
        else:
            yield from self._request(name)

    def _request(self, name: str) -> Iterator[Operation]:
        return self._origins.request_reread(self._home(), self.refresh.database, function=name)

    @property
    def _origins(self) -> Origins:
        return self.translator.policy.direction.origins(self.refresh)

    def _home(self) -> str:
        return self._origins.home(self.at_source, self.there)

    def _is_state(self) -> bool:
        return self._origins.brings_state_of(self._home())


# Column statistics of a table, read from the source as they are now, for a target that keeps them.
#
# They only help planners. If a source cannot give them, or a target refuses them, that is logged, and nothing is
# parked.


_REFUSALS = (hive.MetaException, hive.InvalidInputException, hive.InvalidObjectException)

log = structlog.get_logger(__name__)


@runtime_checkable
class KeepsStatistics(Protocol):
    """A target that can hold column statistics, and does if its settings say so."""

    keeps_statistics: bool


def wants_statistics(target: Target) -> bool:
    """Whether a target takes PutStatistics."""
    return isinstance(target, KeepsStatistics) and target.keeps_statistics


@dataclass(frozen=True, slots=True)
class Counts:
    """The column statistics that a source has for its table `old`, for the target's table `new`.

    None if the source does not know. Raises MetastoreError if the source cannot be read. `takes` decides by values
    which partitions are taken.
    """

    source: Reads
    old: TableName
    new: TableName
    columns: Sequence[str]
    partitioned: bool
    origin: Mapping[str, Any]
    takes: Callable[[Sequence[str]], bool] = lambda _: True

    @classmethod
    def of(cls, source: Reads, old: TableName, new: TableName, table: Any, origin: Mapping[str, Any]) -> Counts:
        """The counts of a table that was read. A view may have no storage, and has no statistics."""
        columns = [column.name for column in (table.sd and table.sd.cols) or ()]
        return cls(source, old, new, columns, bool(table.partitionKeys), origin)

    def everything(self, partitions: Sequence[str]) -> Iterator[PutStatistics]:
        """The statistics of these partitions; without any, of the table and of all its partitions."""
        if not partitions:
            yield from self._of(())
            partitions = self.source.partition_names(self.old.database, self.old.table) if self.partitioned else ()
        yield from self._of_partitions(partitions)

    def changed(self, partitions: Sequence[str]) -> Iterator[PutStatistics]:
        """The statistics of these partitions; without any, of the table itself."""
        return self._of_partitions(partitions) if partitions else self._of(())

    def _of_partitions(self, partitions: Sequence[str]) -> Iterator[PutStatistics]:
        taken = [it for it in partitions if self.takes(partition_values(it))]
        for start in range(0, len(taken), PARTITIONS_PER_CALL):
            yield from self._of(taken[start : start + PARTITIONS_PER_CALL])

    def _of(self, partitions: Sequence[str]) -> Iterator[PutStatistics]:
        counts = self._read(self.source, partitions) if isinstance(self.source, Metastore) else {}  # a dump has none
        if counts:
            yield PutStatistics(table=self.new, statistics=counts, **self.origin)

    def _read(self, source: Metastore, partitions: Sequence[str]) -> Statistics:
        try:
            return read_statistics(source, self.old, self.columns, partitions)
        except _REFUSALS as error:
            reason = str(error)
        except MetastoreError as error:
            # A source that is away is waited for. One that answers with an internal error fails on this table only.
            if not isinstance(error.__cause__, TApplicationException):
                raise
            reason = str(error)
        log.warning("statistics_unreadable", table=str(self.old), reason=reason)
        return {}


def put_statistics(target: Target, operation: PutStatistics, name: str | None) -> Outcome:
    """Apply the operation; UNSUPPORTED if the target refuses or forbids it. Raises Unavailable and OutcomeUnknown."""
    try:
        return target.apply(operation)
    except PysyncError as error:
        if isinstance(error, Unavailable | OutcomeUnknown) and not isinstance(error, Forbidden):
            raise
        log.warning("statistics_omitted", target=name, table=operation.key, reason=str(error))
        return Outcome.UNSUPPORTED
