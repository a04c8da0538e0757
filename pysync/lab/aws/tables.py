"""Glue's databases and tables: moto keeps them, and the rules are here."""

from __future__ import annotations

import re
from typing import Any

from pysync.lab.aws.conversion import given
from pysync.lab.aws.paging import page
from pysync.lab.aws.partition_indexes import add
from pysync.lab.aws.refusals import AwsRefusal, invalid, not_found

_PAGE = 100
_OF_NAMES = {"NAME": ("Name",), "TABLE_TYPE": ("Name", "TableType")}


class Databases:
    """The operations on databases; `store` is moto's GlueBackend."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """CreateDatabase."""
        self._store.create_database(request["DatabaseInput"]["Name"], request["DatabaseInput"])
        return {}

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetDatabase."""
        return {"Database": given(self._store.get_database(request["Name"]).as_dict())}

    def list(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetDatabases."""
        databases = [given(database.as_dict()) for database in self._store.get_databases()]
        return page(sorted(databases, key=_name), request, _PAGE, "DatabaseList")

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """UpdateDatabase: replaces all of it; its name stays."""
        if request["DatabaseInput"]["Name"] != request["Name"]:
            raise invalid("Database name cannot be changed.")
        self._store.update_database(request["Name"], request["DatabaseInput"])
        return {}

    def delete(self, request: dict[str, Any]) -> dict[str, Any]:
        """DeleteDatabase, with all that is in it."""
        self._store.delete_database(request["Name"])
        return {}


class Tables:
    """The operations on tables and their versions; `store` is moto's GlueBackend.

    Versions begin at 0; moto's begin at 1.
    """

    def __init__(self, store: Any, account: str) -> None:
        self._store = store
        self._creator = f"arn:aws:sts::{account}:assumed-role/embedded/pysync"

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """CreateTable."""
        table = _table_input(request)
        self._store.create_table(request["DatabaseName"], table["Name"], table)
        made = self._store.get_table(request["DatabaseName"], table["Name"])
        try:
            for index in request.get("PartitionIndexes") or ():
                add(made, index)
        except AwsRefusal:
            self._store.delete_table(request["DatabaseName"], table["Name"])
            raise
        return {}

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetTable."""
        return {"Table": self._shown(self._store.get_table(request["DatabaseName"], request["Name"]).as_dict())}

    def list(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetTables: those whose name matches the regular expression."""
        wanted = request.get("Expression") or ".*"
        tables = self._store.get_tables(request["DatabaseName"], None)
        shown = [self._shown(table.as_dict()) for table in tables if re.fullmatch(wanted, table.name)]
        return page([_only(table, request) for table in sorted(shown, key=_name)], request, _PAGE, "TableList")

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """UpdateTable: replaces all of it; refuses a version that is not the present one."""
        new, database = _table_input(request), request["DatabaseName"]
        table = self._store.get_table(database, new["Name"])
        present = table._current_version
        if "VersionId" in request and request["VersionId"] != str(present - 1):
            reason = "Update table failed due to concurrent modifications."
            raise AwsRefusal("ConcurrentModificationException", reason)
        self._store.update_table(database, new["Name"], new)
        # moto has added a version: without archive the one that was present before goes.
        if request.get("SkipArchive"):
            table.delete_version(str(present))
        return {}

    def delete(self, request: dict[str, Any]) -> dict[str, Any]:
        """DeleteTable, with its partitions and versions."""
        self._store.delete_table(request["DatabaseName"], request["Name"])
        return {}

    def get_version(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetTableVersion; the present one unless another is asked for."""
        table = self._store.get_table(request["DatabaseName"], request["TableName"])
        version = _moto_version(table, request["VersionId"]) if "VersionId" in request else None
        return {"TableVersion": self._version(table.as_dict(version))}

    def list_versions(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetTableVersions, the newest first."""
        table = self._store.get_table(request["DatabaseName"], request["TableName"])
        newest_first = sorted(table.versions, key=int, reverse=True)
        versions = [self._version(table.as_dict(version)) for version in newest_first]
        return page(versions, request, _PAGE, "TableVersions")

    def delete_version(self, request: dict[str, Any]) -> dict[str, Any]:
        """DeleteTableVersion; the present one stays."""
        table = self._store.get_table(request["DatabaseName"], request["TableName"])
        version = _moto_version(table, request["VersionId"])
        if version == str(table._current_version):
            raise invalid("The current version of a table cannot be deleted.")
        table.delete_version(version)
        return {}

    def _version(self, table: dict[str, Any]) -> dict[str, Any]:
        shown = self._shown(table)
        return {"Table": shown, "VersionId": shown["VersionId"]}

    def _shown(self, table: dict[str, Any]) -> dict[str, Any]:
        added = {
            "UpdateTime": table.get("UpdateTime", table["CreateTime"]),
            "VersionId": str(int(table["VersionId"]) - 1),
            "CreatedBy": self._creator,
            "IsRegisteredWithLakeFormation": False,
        }
        return {"Retention": 0, **given(table), **added}


def _table_input(request: dict[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] | None = request.get("TableInput")
    if table is None:
        raise invalid("TableInput is missing.")
    return table


def _moto_version(table: Any, version: str) -> str:
    if not version.isdecimal():
        raise invalid(f"Invalid table version: {version}")
    if str(int(version) + 1) not in table.versions:
        raise not_found("Version not found.")
    return str(int(version) + 1)


def _only(table: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """The members of a table that the request asks for."""
    wanted = {name for attribute in request.get("AttributesToGet", ()) for name in _OF_NAMES.get(attribute, table)}
    return {name: value for name, value in table.items() if not wanted or name in wanted}


def _name(item: dict[str, Any]) -> str:
    name: str = item["Name"]
    return name
