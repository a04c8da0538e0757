"""Column statistics in Glue: written for 25 columns a call, deleted one by one, read for one partition a call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from botocore.exceptions import ClientError

from pysync.metastore.statistics import Statistics
from pysync.model.names import TableName, partition_values
from pysync.targets.aws.errors import NOT_FOUND, code, of_code
from pysync.targets.aws.inputs import partition_values as kept_values
from pysync.targets.glue.partition_batches import Sender, chunks
from pysync.targets.glue.statistics_inputs import statistics_input, statistics_of

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
