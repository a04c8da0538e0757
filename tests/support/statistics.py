"""Column statistics for tests: one of every kind that a metastore keeps, and how a client writes and reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.metastore.statistics import read_statistics
from pysync.model import idl
from pysync.model.names import TableName

TYPES = {
    "flag": "boolean",
    "id": "bigint",
    "price": "double",
    "note": "string",
    "raw": "binary",
    "sum": "decimal(10,2)",
    "day": "date",
}
TIMESTAMP = "at"
"""A column of which only Hive 4 knows anything."""


def columns() -> list[Any]:
    """A column of every type that has statistics of its own."""
    return [hive.FieldSchema(name, kind, None) for name, kind in (*TYPES.items(), (TIMESTAMP, "timestamp"))]


def of_timestamps() -> Any:
    """What is known of the column that Hive 4 alone knows anything of."""
    data, low = hive.ColumnStatisticsData(), idl.Timestamp(secondsSinceEpoch=1000)
    data.timestampStats = idl.TimestampColumnStatsData(lowValue=low, highValue=low, numNulls=8, numDVs=1)
    return hive.ColumnStatisticsObj(TIMESTAMP, "timestamp", data)


def of_columns(seed: int = 1, names: Sequence[str] = tuple(TYPES)) -> list[Any]:
    """What is known of these columns; another seed, other numbers."""
    low, high = hive.Decimal(unscaled=b"\x05", scale=2), hive.Decimal(unscaled=b"\x0f\xa1", scale=2)
    data = {
        "flag": {"booleanStats": hive.BooleanColumnStatsData(seed, seed + 1, 2)},
        "id": {"longStats": hive.LongColumnStatsData(-seed, 1000 * seed, 3, 7)},
        "price": {"doubleStats": hive.DoubleColumnStatsData(-0.5, 1.5 * seed, 4, 8)},
        "note": {"stringStats": hive.StringColumnStatsData(20 + seed, 10.5, 5, 9)},
        "raw": {"binaryStats": hive.BinaryColumnStatsData(30 + seed, 11.5, 6)},
        "sum": {"decimalStats": hive.DecimalColumnStatsData(low, high, seed, 10)},
        "day": {"dateStats": hive.DateColumnStatsData(hive.Date(100), hive.Date(200 + seed), 7, 11)},
    }
    return [hive.ColumnStatisticsObj(name, TYPES[name], hive.ColumnStatisticsData(**data[name])) for name in names]


def write(metastore: Metastore, name: TableName, statistics: Sequence[Any], partition: str = "") -> None:
    """As a client does after ANALYZE."""
    whose = hive.ColumnStatisticsDesc(not partition, name.database, name.table, partition or None)
    written = hive.ColumnStatistics(whose, list(statistics))
    call = "update_partition_column_statistics" if partition else "update_table_column_statistics"
    assert metastore.call(lambda client: getattr(client, call)(written))


def delete(metastore: Metastore, name: TableName, column: str, partition: str = "") -> None:
    of = (name.database, name.table, *filter(None, [partition]), column)
    call = "delete_partition_column_statistics" if partition else "delete_table_column_statistics"
    assert metastore.call(lambda client: getattr(client, call)(*of))


def read(metastore: Metastore, name: TableName, *partitions: str) -> dict[str, dict[str, Any]]:
    """What a metastore has of all columns, by partition ("" for the table) and column."""
    found: Mapping[str, Sequence[Any]] = read_statistics(metastore, name, [*TYPES, TIMESTAMP])
    if partitions:
        found = {**found, **read_statistics(metastore, name, [*TYPES, TIMESTAMP], partitions)}
    return {part: {it.colName: known(it.statsData) for it in its} for part, its in found.items()}


def known(data: Any) -> Any:
    """Column statistics as plain values, without what is left unset."""
    if not hasattr(data, "thrift_spec"):
        return data
    return {field: known(value) for field, value in vars(data).items() if value is not None}


def plain(statistics: Sequence[Any]) -> dict[str, Any]:
    """What `read` answers of one place where these are written."""
    return {it.colName: known(it.statsData) for it in statistics}


def write_all(metastore: Metastore, name: TableName, statistics: Mapping[str, Sequence[Any]]) -> None:
    """As Hive does for several partitions at once."""
    whose = {part: hive.ColumnStatisticsDesc(False, name.database, name.table, part) for part in statistics}
    written = [hive.ColumnStatistics(whose[part], list(its)) for part, its in statistics.items()]
    request = hive.SetPartitionsStatsRequest(written)
    assert metastore.call(lambda client: client.set_aggr_stats_for(request))
