"""Glue's column statistics, which moto does not have: of a table, and of each partition.

They are kept at moto's table, so that they go with it. Those of a partition go with the partition.
"""

from __future__ import annotations

from typing import Any

from pysync.lab.aws.partitions import check_values
from pysync.lab.aws.refusal import not_found

_Kept = dict[str, dict[str, Any]]


class ColumnStatistics:
    """The operations on column statistics; `store` is moto's GlueBackend."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetColumnStatisticsForTable, and ForPartition: a column without any is an error of its own."""
        kept = self._kept(request)
        names = [name.lower() for name in request["ColumnNames"]]
        missing = [
            _error({"ColumnName": it}, f"Statistics of column {it} not found.") for it in names if it not in kept
        ]
        found = {"ColumnStatisticsList": [kept[it] for it in names if it in kept]}
        return {**found, "Errors": missing} if missing else found

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """UpdateColumnStatisticsForTable, and ForPartition: other columns keep theirs."""
        kept, known = self._kept(request), self._columns(request)
        errors = []
        for item in request["ColumnStatisticsList"]:
            name = item["ColumnName"].lower()
            if name in known:
                kept[name] = {**item, "ColumnName": name}
            else:
                errors.append(_error({"ColumnStatistics": item}, f"Column {name} not found."))
        return {"Errors": errors} if errors else {}

    def delete(self, request: dict[str, Any]) -> dict[str, Any]:
        """DeleteColumnStatisticsForTable, and ForPartition."""
        if self._kept(request).pop(request["ColumnName"].lower(), None) is None:
            raise not_found("Column statistics not found.")
        return {}

    def _kept(self, request: dict[str, Any]) -> _Kept:
        table = self._table(request)
        values = request.get("PartitionValues")
        key: Any = ()
        if values is not None:
            check_values(table, values)
            # With the time of its creation: another partition of the same values has none.
            key = (*values, table.get_partition(values).creation_time)
        kept: dict[Any, _Kept] = table.__dict__.setdefault("column_statistics", {})
        return kept.setdefault(key, {})

    def _columns(self, request: dict[str, Any]) -> set[str]:
        storage = self._table(request).as_dict().get("StorageDescriptor") or {}
        return {column["Name"].lower() for column in storage.get("Columns") or ()}

    def _table(self, request: dict[str, Any]) -> Any:
        return self._store.get_table(request["DatabaseName"], request["TableName"])


def _error(item: dict[str, Any], message: str) -> dict[str, Any]:
    return {**item, "Error": {"ErrorCode": "EntityNotFoundException", "ErrorMessage": message}}
