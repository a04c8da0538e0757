"""Column statistics of a table, read from the source as they are now, for a target that keeps them.

They only help planners. If a source cannot give them, or a target refuses them, that is logged, and nothing is parked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TApplicationException

from pysync.base.errors import PysyncError
from pysync.metastore.client import PARTITIONS_PER_CALL, Metastore
from pysync.metastore.errors import MetastoreError
from pysync.metastore.reads import Reads
from pysync.metastore.statistics import Statistics, read_statistics
from pysync.model.names import TableName, partition_values
from pysync.model.operation import PutStatistics
from pysync.targets.base import Forbidden, Outcome, OutcomeUnknown, Target, Unavailable

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
class StatisticsAtSource:
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
    def of(
        cls, source: Reads, old: TableName, new: TableName, table: Any, origin: Mapping[str, Any]
    ) -> StatisticsAtSource:
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
