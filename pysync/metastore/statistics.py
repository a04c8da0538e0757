"""Column statistics as a metastore has them: of a table, or of some of its partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.model.names import TableName

Statistics = Mapping[str, Sequence[Any]]
"""ColumnStatisticsObj of each column that has them, by the name of the partition, "" for the table itself."""


def read_statistics(
    metastore: Metastore, name: TableName, columns: Sequence[str], partitions: Sequence[str] = ()
) -> Statistics:
    """The statistics of these columns: of the named partitions, or of the table itself if none is named.

    A partition or table without statistics, or which is not there, has an empty sequence. Only statistics of Hive's own
    engine are read. Raises as Metastore.call.
    """
    statistics: dict[str, Sequence[Any]] = dict.fromkeys(partitions or ("",), ())
    read = _of_partitions if partitions else _of_table
    try:
        return (
            statistics | read(metastore, name, [column.lower() for column in columns], partitions)
            if columns
            else statistics
        )
    except hive.NoSuchObjectException:
        return statistics


def _of_table(metastore: Metastore, name: TableName, columns: list[str], _: Sequence[str]) -> dict[str, Sequence[Any]]:
    request = hive.TableStatsRequest(name.database, name.table, columns)
    return {"": metastore.call(lambda client: client.get_table_statistics_req(request)).tableStats}


def _of_partitions(
    metastore: Metastore, name: TableName, columns: list[str], partitions: Sequence[str]
) -> dict[str, Sequence[Any]]:
    def read(some: Sequence[str]) -> dict[str, Sequence[Any]]:
        request = hive.PartitionsStatsRequest(name.database, name.table, columns, list(some))
        return dict(metastore.call(lambda client: client.get_partitions_statistics_req(request)).partStats)

    answers = metastore.in_parts(read, partitions)
    return {partition: found for some in answers for partition, found in some.items()}
