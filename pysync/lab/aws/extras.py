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
        self._functions: dict[tuple[str, str], dict[str, Any]] = {}

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """CreateUserDefinedFunction."""
        database, function = request["DatabaseName"], request["FunctionInput"]
        self._need_database(database)
        key = database, function.get("FunctionName", "")
        if key in self._functions:
            raise already_exists("Function")
        self._functions[key] = self._stamped(database, function, time.time())
        return {}

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """UpdateUserDefinedFunction: replaces all but the time of its creation, and may rename it."""
        old = self._need(request)
        new = request["FunctionInput"].get("FunctionName", request["FunctionName"])
        if new != request["FunctionName"] and (request["DatabaseName"], new) in self._functions:
            raise already_exists("Function")
        self._remove(request)
        function = {**request["FunctionInput"], "FunctionName": new}
        self._functions[request["DatabaseName"], new] = self._stamped(
            request["DatabaseName"], function, old["CreateTime"]
        )
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
        functions = [
            function
            for (owner, name), function in sorted(self._functions.items())
            if database in (None, owner) and re.fullmatch(request["Pattern"], name)
        ]
        return page(functions, request, _PAGE, "UserDefinedFunctions")

    def drop_database(self, database: str) -> None:
        """Forget the functions of a database that is gone."""
        self._functions = {key: function for key, function in self._functions.items() if key[0] != database}

    def _need(self, request: dict[str, Any]) -> dict[str, Any]:
        self._need_database(request["DatabaseName"])
        function = self._functions.get((request["DatabaseName"], request["FunctionName"]))
        if function is None:
            raise not_found("Function not found.")
        return function

    def _remove(self, request: dict[str, Any]) -> None:
        del self._functions[request["DatabaseName"], request["FunctionName"]]

    def _stamped(self, database: str, function: dict[str, Any], created: float) -> dict[str, Any]:
        return {**function, "DatabaseName": database, "CreateTime": created, "CatalogId": self._account}


# --- Glue's column statistics, which moto does not have: of a table, and of each partition.
#
# They are kept at moto's table, so that they go with it. Those of a partition go with the partition.

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
