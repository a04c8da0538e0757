"""Glue's column statistics, which moto does not have: of a table, and of each partition.

They are kept at moto's table, so that they go with it. Those of a partition go with the partition.
"""

from __future__ import annotations

from typing import Any

from pysync.lab.aws.partitions import check_values
from pysync.lab.aws.refusals import not_found

_ByColumn = dict[str, dict[str, Any]]


class ColumnStatistics:
    """The operations on column statistics; `store` is moto's GlueBackend."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetColumnStatisticsForTable, and ForPartition: a column without any is an error of its own."""
        by_column = self._statistics(request)
        names = [name.lower() for name in request["ColumnNames"]]
        missing = [
            _error({"ColumnName": it}, f"Statistics of column {it} not found.") for it in names if it not in by_column
        ]
        answer = {"ColumnStatisticsList": [by_column[it] for it in names if it in by_column]}
        return {**answer, "Errors": missing} if missing else answer

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """UpdateColumnStatisticsForTable, and ForPartition: other columns keep theirs."""
        by_column, known = self._statistics(request), self._columns(request)
        errors = []
        for item in request["ColumnStatisticsList"]:
            name = item["ColumnName"].lower()
            if name in known:
                by_column[name] = {**item, "ColumnName": name}
            else:
                errors.append(_error({"ColumnStatistics": item}, f"Column {name} not found."))
        return {"Errors": errors} if errors else {}

    def delete(self, request: dict[str, Any]) -> dict[str, Any]:
        """DeleteColumnStatisticsForTable, and ForPartition."""
        if self._statistics(request).pop(request["ColumnName"].lower(), None) is None:
            raise not_found("Column statistics not found.")
        return {}

    def _statistics(self, request: dict[str, Any]) -> _ByColumn:
        table = self._table(request)
        values = request.get("PartitionValues")
        key: Any = ()
        if values is not None:
            check_values(table, values)
            # With the time of its creation: another partition of the same values has none.
            key = (*values, table.get_partition(values).creation_time)
        by_place: dict[Any, _ByColumn] = table.__dict__.setdefault("column_statistics", {})
        return by_place.setdefault(key, {})

    def _columns(self, request: dict[str, Any]) -> set[str]:
        storage = self._table(request).as_dict().get("StorageDescriptor") or {}
        return {column["Name"].lower() for column in storage.get("Columns") or ()}

    def _table(self, request: dict[str, Any]) -> Any:
        return self._store.get_table(request["DatabaseName"], request["TableName"])


def _error(item: dict[str, Any], message: str) -> dict[str, Any]:
    return {**item, "Error": {"ErrorCode": "EntityNotFoundException", "ErrorMessage": message}}
