"""The calls of Glue that moto does not know at all: functions and column statistics."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from pysync.lab.aws.catalog import check_values, page
from pysync.lab.aws.rules import already_exists, not_found

# --- Glue's user-defined functions, which moto does not have

_PAGE = 100


class Functions:
    """The functions of all databases; `need_database` refuses the name of a database that is not there."""

    def __init__(self, need_database: Callable[[str], object], account: str) -> None:
        self._need_database = need_database
        self._account = account
        self._kept: dict[tuple[str, str], dict[str, Any]] = {}

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """CreateUserDefinedFunction."""
        database, function = request["DatabaseName"], request["FunctionInput"]
        self._need_database(database)
        key = database, function.get("FunctionName", "")
        if key in self._kept:
            raise already_exists("Function")
        self._kept[key] = self._stamped(database, function, time.time())
        return {}

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """UpdateUserDefinedFunction: replaces all but the time of its creation, and may rename it."""
        old = self._need(request)
        new = request["FunctionInput"].get("FunctionName", request["FunctionName"])
        if new != request["FunctionName"] and (request["DatabaseName"], new) in self._kept:
            raise already_exists("Function")
        self._remove(request)
        function = {**request["FunctionInput"], "FunctionName": new}
        self._kept[request["DatabaseName"], new] = self._stamped(request["DatabaseName"], function, old["CreateTime"])
        return {}

    def delete(self, request: dict[str, Any]) -> dict[str, Any]:
        """DeleteUserDefinedFunction."""
        self._need(request)
        self._remove(request)
        return {}

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetUserDefinedFunction."""
        return {"UserDefinedFunction": self._need(request)}

    def list(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetUserDefinedFunctions: those whose name matches the regular expression, of one database or of all."""
        database = request.get("DatabaseName")
        if database is not None:
            self._need_database(database)
        found = [
            function
            for (owner, name), function in sorted(self._kept.items())
            if database in (None, owner) and re.fullmatch(request["Pattern"], name)
        ]
        return page(found, request, _PAGE, "UserDefinedFunctions")

    def drop_database(self, database: str) -> None:
        """Forget the functions of a database that is gone."""
        self._kept = {key: function for key, function in self._kept.items() if key[0] != database}

    def _need(self, request: dict[str, Any]) -> dict[str, Any]:
        self._need_database(request["DatabaseName"])
        found = self._kept.get((request["DatabaseName"], request["FunctionName"]))
        if found is None:
            raise not_found("Function not found.")
        return found

    def _remove(self, request: dict[str, Any]) -> None:
        del self._kept[request["DatabaseName"], request["FunctionName"]]

    def _stamped(self, database: str, function: dict[str, Any], created: float) -> dict[str, Any]:
        return {**function, "DatabaseName": database, "CreateTime": created, "CatalogId": self._account}


# --- Glue's column statistics, which moto does not have: of a table, and of each partition.
#
# They are kept at moto's table, so that they go with it. Those of a partition go with the partition.

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
