"""Column statistics in Glue: written for 25 columns a call, deleted one by one, read for one partition a call."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from botocore.exceptions import ClientError
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.statistics import Statistics
from pysync.model.names import TableName, partition_values
from pysync.targets.aws.errors import NOT_FOUND, code, of_code
from pysync.targets.aws.translate import partition_values as kept_values
from pysync.targets.glue.catalog import Sender, chunks

# Column statistics: from the metastore's structs to Glue's, and back. Pure.
#
# Glue knows seven types. It has no histograms and no statistics of timestamps, and takes no negative counts: HMS has
# -1 where nothing is known. What it cannot hold is left out.


_DAY = 86400
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_DAYS = (-719_162, 2_932_896)
"""Year 1 to 9999: what boto can send."""


@dataclass(frozen=True, slots=True)
class _Type:
    """One type of statistics: its names at both ends, its fields, and how its lowest and highest value travel."""

    name: str
    field: str
    struct: Callable[..., Any]
    counts: Mapping[str, str]
    to_glue: Callable[[Any], Any] | None = None
    from_glue: Callable[[Any], Any] = lambda value: value

    @property
    def member(self) -> str:
        """The member of Glue's structure."""
        return f"{self.name.capitalize()}ColumnStatisticsData"


_RANGE = {"lowValue": "MinimumValue", "highValue": "MaximumValue"}
_NULLS = {"numNulls": "NumberOfNulls"}
_DISTINCT = {**_NULLS, "numDVs": "NumberOfDistinctValues"}
_LENGTHS = {"maxColLen": "MaximumLength", "avgColLen": "AverageLength"}


def _of_date(date: Any) -> Any:
    days = date.daysSinceEpoch
    return _EPOCH + timedelta(days=days) if _DAYS[0] <= days <= _DAYS[1] else None


def _of_decimal(decimal: Any) -> dict[str, Any]:
    return {"UnscaledValue": decimal.unscaled, "Scale": decimal.scale}


_TYPES = (
    _Type(
        *("BOOLEAN", "booleanStats", hive.BooleanColumnStatsData),
        {"numTrues": "NumberOfTrues", "numFalses": "NumberOfFalses", **_NULLS},
    ),
    _Type("LONG", "longStats", hive.LongColumnStatsData, _DISTINCT, lambda value: value),
    _Type(
        *("DOUBLE", "doubleStats", hive.DoubleColumnStatsData, _DISTINCT),
        lambda value: value if math.isfinite(value) else None,
    ),
    _Type("STRING", "stringStats", hive.StringColumnStatsData, {**_LENGTHS, **_DISTINCT}),
    _Type("BINARY", "binaryStats", hive.BinaryColumnStatsData, {**_LENGTHS, **_NULLS}),
    _Type(
        *("DECIMAL", "decimalStats", hive.DecimalColumnStatsData, _DISTINCT, _of_decimal),
        lambda value: hive.Decimal(unscaled=bytes(value["UnscaledValue"]), scale=value["Scale"]),
    ),
    _Type(
        *("DATE", "dateStats", hive.DateColumnStatsData, _DISTINCT, _of_date),
        lambda value: hive.Date((value - _EPOCH) // timedelta(days=1)),
    ),
)


def statistics_input(item: Any, analyzed: datetime) -> dict[str, Any] | None:
    """The ColumnStatistics of Glue's for a ColumnStatisticsObj; None if Glue cannot hold it."""
    kind = next((it for it in _TYPES if getattr(item.statsData, it.field, None) is not None), None)
    data = _data(kind, getattr(item.statsData, kind.field)) if kind is not None else None
    if kind is None or data is None:
        return None
    return {
        "ColumnName": item.colName.lower(),
        "ColumnType": item.colType,
        "AnalyzedTime": analyzed,
        "StatisticsData": {"Type": kind.name, kind.member: data},
    }


def statistics_of(answer: Mapping[str, Any]) -> Any | None:
    """The ColumnStatisticsObj of Glue's; None for a type that nobody here knows."""
    values = answer["StatisticsData"]
    kind = next((it for it in _TYPES if it.name == values["Type"] and it.member in values), None)
    if kind is None:
        return None
    data = values[kind.member]
    fields = {hive_name: data[glue_name] for hive_name, glue_name in kind.counts.items() if glue_name in data}
    fields |= {
        hive_name: kind.from_glue(data[glue_name]) for hive_name, glue_name in _RANGE.items() if glue_name in data
    }
    stats = hive.ColumnStatisticsData(**{kind.field: kind.struct(**fields)})
    return hive.ColumnStatisticsObj(answer["ColumnName"], answer.get("ColumnType", ""), stats)


def _data(kind: _Type, values: Any) -> dict[str, Any] | None:
    counts = {glue_name: getattr(values, hive_name) for hive_name, glue_name in kind.counts.items()}
    if any(it is None or not math.isfinite(it) or it < 0 for it in counts.values()):
        return None
    ends = (
        {glue_name: getattr(values, hive_name) for hive_name, glue_name in _RANGE.items()}
        if kind.to_glue is not None
        else {}
    )
    sent = {name: kind.to_glue(it) for name, it in ends.items() if it is not None} if kind.to_glue else {}
    return {**counts, **{name: it for name, it in sent.items() if it is not None}}


# Column statistics in Glue: written for 25 columns a call, deleted one by one, read for one partition a call.


_PER_GET = 100
_PER_UPDATE = 25
# For the table itself, and for a partition.
_GET = ("get_column_statistics_for_table", "get_column_statistics_for_partition")
_UPDATE = ("update_column_statistics_for_table", "update_column_statistics_for_partition")
_DELETE = ("delete_column_statistics_for_table", "delete_column_statistics_for_partition")


def stored_statistics(item: Any) -> Any | None:
    """A ColumnStatisticsObj as Glue would give it back; None if it cannot hold it."""
    # When it was computed is not compared.
    sent = statistics_input(item, datetime.fromtimestamp(0, timezone.utc))
    return statistics_of(sent) if sent is not None else None


def read_statistics(send: Sender, name: TableName, columns: Sequence[str], parts: Sequence[str]) -> Statistics:
    """The statistics of these columns by the name of the partition, "" for the table itself; empty where none are."""
    per_part = send.in_parallel(lambda part: _read(send, name, columns, part), list(parts))
    return dict(zip(parts, per_part, strict=True))


def write_statistics(send: Sender, name: TableName, statistics: Statistics) -> None:
    """Write them; other columns keep theirs. Raises the error of a column that Glue refuses."""
    now = datetime.now(timezone.utc)
    wanted = [(part, chunk) for part, items in statistics.items() for chunk in chunks(items, _PER_UPDATE)]
    send.in_parallel(lambda item: _write(send, name, *item, now), wanted)


def delete_statistics(send: Sender, name: TableName, part: str, columns: Iterable[str]) -> None:
    """Delete those of these columns that have any."""
    send.in_parallel(lambda column: _delete(send, name, part, column), sorted(columns))


def _read(send: Sender, name: TableName, columns: Sequence[str], part: str) -> list[Any]:
    statistics: list[Any] = []
    for some in chunks(columns, _PER_GET):
        try:
            answer = _call(send, _GET, name, part, ColumnNames=some)
        except ClientError as error:
            if code(error) == NOT_FOUND:  # of a partition that is gone
                return []
            raise
        _raise_any(name, (it for it in answer.get("Errors") or () if _code(it) != NOT_FOUND))
        statistics += map(statistics_of, answer.get("ColumnStatisticsList") or ())
    return [it for it in statistics if it is not None]


def _write(send: Sender, name: TableName, part: str, items: Sequence[Any], now: datetime) -> None:
    inputs = [made for it in items if (made := statistics_input(it, now)) is not None]
    answer = _call(send, _UPDATE, name, part, ColumnStatisticsList=inputs)
    _raise_any(name, answer.get("Errors") or ())


def _delete(send: Sender, name: TableName, part: str, column: str) -> None:
    try:
        _call(send, _DELETE, name, part, ColumnName=column)
    except ClientError as error:
        if code(error) != NOT_FOUND:
            raise


def _call(send: Sender, methods: Sequence[str], name: TableName, part: str, **arguments: Any) -> dict[str, Any]:
    place: dict[str, Any] = {"DatabaseName": name.database, "TableName": name.table}
    if part:
        place["PartitionValues"] = kept_values(partition_values(part))
    return send.catalog.call(methods[bool(part)], **place, **arguments)


def _code(failed: Mapping[str, Any]) -> str:
    return str((failed.get("Error") or {}).get("ErrorCode", ""))


def _raise_any(name: TableName, errors: Iterable[Mapping[str, Any]]) -> None:
    for failed in errors:
        column = failed.get("ColumnName") or (failed.get("ColumnStatistics") or {}).get("ColumnName", "")
        message = (failed.get("Error") or {}).get("ErrorMessage", "")
        raise of_code(_code(failed), message, f"column statistics of {name}, column {column}")
