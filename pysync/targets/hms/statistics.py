"""Column statistics: written where they differ, deleted where the source has none. They carry no mark."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.statistics import Statistics, read_statistics
from pysync.model.names import TableName, partition_name
from pysync.model.operation import PutStatistics
from pysync.targets.base import Outcome
from pysync.targets.hms.session import Session
from pysync.targets.ownership import Standing, standing_of_part

_SKETCHES = frozenset({"bitVectors", "histogram"})
"""What a metastore hands out only if it is told to (metastore.stats.fetch.bitvector)."""


def put_statistics(session: Session, operation: PutStatistics) -> Outcome:
    """Bring the column statistics to be so; none of a table that is not there, is not ours, or has other columns."""
    name = operation.table
    table = session.hms.table(name.database, name.table)
    found = standing_of_part(table.parameters, operation.mark) if table is not None else Standing.OWN
    if table is None or found is not Standing.OWN:
        return {Standing.NEWER: Outcome.STALE, Standing.FOREIGN: Outcome.FOREIGN}.get(found, Outcome.UNCHANGED)
    there = _there(session, table, operation.statistics)
    known = partial(_is_known, _knows_timestamps(session, operation))
    wanted = {part: _fitting(filter(known, its), table) for part, its in operation.statistics.items()}
    different = {part: its for part, its in wanted.items() if not _same(its, there[part])}
    changed = _present(session, table, different)
    for part, its in changed.items():
        _delete(session, name, part, _columns(there[part]).keys() - _columns(its).keys())
    _write(session, name, {part: its for part, its in changed.items() if its})
    return Outcome.APPLIED if changed else Outcome.UNCHANGED


def _there(session: Session, table: Any, asked: Collection[str]) -> Statistics:
    """What the target has of these partitions, and of the table itself."""
    name, columns = TableName.of(table.dbName, table.tableName), [column.name for column in table.sd.cols]
    partitions = [part for part in asked if part]
    found = read_statistics(session.hms, name, columns, partitions) if partitions else {}
    return {**found, **read_statistics(session.hms, name, columns)} if "" in asked else found


def _knows_timestamps(session: Session, operation: PutStatistics) -> bool:
    """Whether the target is a Hive 4, where that matters: older ones do not answer a request with those in it."""
    if not any(it.statsData.timestampStats for its in operation.statistics.values() for it in its):
        return True
    database = session.hms.database(operation.table.database)
    return database is not None and database.type is not None  # which only Hive 4 sets


def _is_known(knows_timestamps: bool, item: Any) -> bool:
    """Whether the target can read them; those of a type that we do not know ourselves have come without anything."""
    return bool(_plain(item.statsData)) and (knows_timestamps or item.statsData.timestampStats is None)


def _fitting(statistics: Iterable[Any], table: Any) -> Sequence[Any]:
    """Those of columns that the table has, of that type."""
    types = {column.name.lower(): column.type.lower() for column in table.sd.cols}
    return [it for it in statistics if types.get(it.colName.lower()) == it.colType.lower()]


def _same(wanted: Sequence[Any], there: Sequence[Any]) -> bool:
    return _columns(wanted) == _columns(there)


def _columns(statistics: Sequence[Any]) -> dict[str, Any]:
    """What is known of each column, as plain values."""
    return {it.colName.lower(): _plain(it.statsData) for it in statistics}


def _plain(value: Any) -> Any:
    if hasattr(value, "thrift_spec"):
        fields = {name: _plain(it) for name, it in vars(value).items() if name not in _SKETCHES}
        return {name: it for name, it in fields.items() if it is not None}
    return value


def _present(session: Session, table: Any, changed: Statistics) -> Statistics:
    """Without those of partitions that are not there."""
    partitions = [part for part in changed if part]
    if not partitions:
        return changed
    keys = [key.name for key in table.partitionKeys or ()]
    found = session.hms.partitions_by_name(table.dbName, table.tableName, partitions)
    there = {"", *(partition_name(keys, it.values) for it in found)}
    return {part: its for part, its in changed.items() if part in there}


def _delete(session: Session, name: TableName, part: str, columns: Iterable[str]) -> None:
    for column in sorted(columns):
        of = (name.database, name.table, *filter(None, [part]), column)
        call = "delete_partition_column_statistics" if part else "delete_table_column_statistics"
        session.hms.call(partial(_call, call, of))


def _call(name: str, arguments: tuple[str, ...], client: Any) -> Any:
    return getattr(client, name)(*arguments)


def _write(session: Session, name: TableName, statistics: Statistics) -> None:
    whole = [hive.ColumnStatistics(_whose(name, part), list(its)) for part, its in statistics.items()]
    if whole:
        request = hive.SetPartitionsStatsRequest(whole)
        session.hms.call(lambda client: client.set_aggr_stats_for(request))


def _whose(name: TableName, part: str) -> Any:
    return hive.ColumnStatisticsDesc(not part, name.database, name.table, part or None)
