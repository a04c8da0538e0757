"""Glue's user-defined functions, which moto does not have."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from pysync.lab.aws.paging import page
from pysync.lab.aws.refusals import already_exists, not_found

_PAGE = 100


class GlueFunctions:
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
