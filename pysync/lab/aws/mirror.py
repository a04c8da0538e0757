"""Hive's metastore as a mirror of Glue.

Before a statement the objects that it names are brought in from Glue, after it what the statement changed is written
back. What Glue has and Hive knows nothing of (descriptions, parameters of columns) survives, because only the members
that Hive changed are written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pysync.lab.aws.conversion import (
    database_to_glue,
    database_to_hive,
    partition_to_glue,
    partition_to_hive,
    table_to_glue,
    table_to_hive,
)
from pysync.lab.aws.glue import Glue
from pysync.lab.aws.hive import Hive, HiveRefused
from pysync.lab.aws.refusals import AwsRefusal

_DEFAULT = "default"  # Hive will not be without it
_ADDED_AT_ONCE = 100
_DELETED_AT_ONCE = 25
_DATABASE_MEMBERS = (
    "Name",
    "Description",
    "LocationUri",
    "Parameters",
    "CreateTableDefaultPermissions",
    "TargetDatabase",
)
_TABLE_MEMBERS = (
    "Name",
    "Description",
    "Owner",
    "LastAccessTime",
    "LastAnalyzedTime",
    "Retention",
    "StorageDescriptor",
    "PartitionKeys",
    "ViewOriginalText",
    "ViewExpandedText",
    "TableType",
    "Parameters",
    "TargetTable",
)
_PARTITION_MEMBERS = ("Values", "LastAccessTime", "LastAnalyzedTime", "StorageDescriptor", "Parameters")

Values = tuple[str, ...]


@dataclass(slots=True)
class Picture:
    """An object and what is in it at one time, in Glue's form: itself, if it is there, and its partitions."""

    fields: dict[str, Any] | None = None
    partitions: dict[Values, dict[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Known:
    """The same object, as Glue had it and as Hive had it when both last agreed."""

    glue: Picture
    hive: Picture


class Mirror:
    """Brings objects from a Glue to a Hive and back; one statement at a time."""

    def __init__(self, glue: Glue, hive: Hive) -> None:
        self._glue = glue
        self._hive = hive
        self._databases: dict[str, Known] = {}
        self._tables: dict[tuple[str, str], Known] = {}

    def bring_database(self, name: str) -> None:
        """Let Hive have the database as Glue has it, with the tables that were brought before if it is unchanged."""
        seen = Picture(self._get_or_none("GetDatabase", "Database", Name=name))
        known = self._databases.get(name)
        if known is not None and known.glue == seen:
            return
        # Its tables go with it in Hive.
        self._forget_database(name)
        if name != _DEFAULT:
            self._hive.drop_database(name)
            if seen.fields:
                self._hive.put_database(database_to_hive(seen.fields))
        self._databases[name] = Known(seen, self._database_in_hive(name))

    def bring_all_of(self, database: str) -> None:
        """Let Hive know whether a database is empty: it gets one table of Glue's, and none that Glue has not."""
        tables = self._glue.answer("GetTables", {"DatabaseName": database})["TableList"] if self._has(database) else []
        brought = {name for owner, name in self._tables if owner == database}
        for name in sorted(brought.union(table["Name"] for table in tables[:1])):
            self.bring_table(database, name)

    def bring_table(self, database: str, name: str) -> None:
        """Let Hive have the table and its partitions as Glue has them."""
        seen = self._table_in_glue(database, name)
        known = self._tables.get((database, name))
        if known is not None and known.glue == seen:
            return
        self._tables.pop((database, name), None)
        # Hive refuses the statement itself, as it has no such database.
        if self._databases[database].hive.fields is None:
            return
        self._hive.drop_table(database, name)
        if seen.fields:
            if not seen.fields.get("TableType"):
                raise HiveRefused("FAILED: NullPointerException Name is null")  # Athena's own words for it
            table = table_to_hive(seen.fields)
            parts = [partition_to_hive(part, table) for part in seen.partitions.values()]
            self._hive.put_table(table, parts)
        self._tables[database, name] = Known(seen, self._table_in_hive(database, name))

    def take_database(self, name: str) -> None:
        """Write to Glue what a statement did to a database; AwsRefusal if Glue will not have it."""
        # Out until all is written: what fails in between is brought again before the next statement.
        known = self._databases.pop(name)
        now, current = self._database_in_hive(name), known.glue.fields
        if now == known.hive:
            self._databases[name] = known
            return
        if now.fields is None:
            self._forget_database(name)
            if current is not None:
                self._glue.answer("DeleteDatabase", {"Name": name})
        elif current is None:
            self._glue.answer("CreateDatabase", {"DatabaseInput": now.fields})
        else:
            new = _changed(current, known.hive.fields or {}, now.fields, _DATABASE_MEMBERS)
            self._glue.answer("UpdateDatabase", {"Name": name, "DatabaseInput": new})
        self._databases[name] = Known(Picture(self._get_or_none("GetDatabase", "Database", Name=name)), now)

    def take_table(self, database: str, name: str) -> None:
        """Write to Glue what a statement did to a table and its partitions; AwsRefusal if Glue will not have it."""
        known = self._tables.pop((database, name), None)
        if known is None:
            return
        now, current = self._table_in_hive(database, name), known.glue.fields
        database_key = {"DatabaseName": database}
        if now.fields is None:
            if current is not None:
                self._glue.answer("DeleteTable", {**database_key, "Name": name})
        elif current is None:
            self._glue.answer("CreateTable", {**database_key, "TableInput": now.fields})
        elif now.fields != known.hive.fields:
            new = _changed(current, known.hive.fields or {}, now.fields, _TABLE_MEMBERS)
            self._glue.answer("UpdateTable", {**database_key, "TableInput": new})
        if now.fields is not None:
            self._take_partitions({**database_key, "TableName": name}, known, now)
        self._tables[database, name] = Known(self._table_in_glue(database, name), now)

    def forget(self, databases: Iterable[str], tables: Iterable[tuple[str, str]]) -> None:
        """These may have come apart in a statement that failed: bring them again before the next one."""
        for name in databases:
            self._databases.pop(name, None)
        for key in tables:
            self._tables.pop(key, None)

    def _take_partitions(self, table_key: dict[str, str], known: Known, now: Picture) -> None:
        dropped = [{"Values": list(values)} for values in known.hive.partitions if values not in now.partitions]
        new = [part for values, part in now.partitions.items() if values not in known.hive.partitions]
        for chunk in _chunks(dropped, _DELETED_AT_ONCE):
            self._batch("BatchDeletePartition", {**table_key, "PartitionsToDelete": chunk})
        for chunk in _chunks(new, _ADDED_AT_ONCE):
            self._batch("BatchCreatePartition", {**table_key, "PartitionInputList": chunk})
        for values, part in now.partitions.items():
            before = known.hive.partitions.get(values, part)
            if before != part:
                changed = _changed(known.glue.partitions[values], before, part, _PARTITION_MEMBERS)
                request = {**table_key, "PartitionValueList": list(values), "PartitionInput": changed}
                self._glue.answer("UpdatePartition", request)

    def _batch(self, operation: str, request: dict[str, Any]) -> None:
        for error in self._glue.answer(operation, request).get("Errors", ()):
            raise AwsRefusal(error["ErrorDetail"]["ErrorCode"], error["ErrorDetail"]["ErrorMessage"])

    def _forget_database(self, name: str) -> None:
        self._databases.pop(name, None)
        self._tables = {key: known for key, known in self._tables.items() if key[0] != name}

    def _has(self, database: str) -> bool:
        return self._databases[database].glue.fields is not None

    def _database_in_hive(self, name: str) -> Picture:
        struct = self._hive.database(name)
        return Picture(database_to_glue(struct) if struct else None)

    def _table_in_hive(self, database: str, name: str) -> Picture:
        struct = self._hive.table(database, name)
        if struct is None:
            return Picture()
        parts = map(partition_to_glue, self._hive.partitions(database, name)) if struct.partitionKeys else ()
        return Picture(table_to_glue(struct), {tuple(part["Values"]): part for part in parts})

    def _table_in_glue(self, database: str, name: str) -> Picture:
        table = self._get_or_none("GetTable", "Table", DatabaseName=database, Name=name)
        if table is None:
            return Picture()
        parts = self._partitions_in_glue({"DatabaseName": database, "TableName": name})
        return Picture(table, {tuple(part["Values"]): part for part in parts})

    def _partitions_in_glue(self, table_key: dict[str, Any]) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        answer: dict[str, Any] = {"NextToken": ""}
        while "NextToken" in answer:
            answer = self._glue.answer("GetPartitions", {**table_key, "NextToken": answer["NextToken"]})
            parts += answer["Partitions"]
        return parts

    def _get_or_none(self, operation: str, member: str, **request: str) -> dict[str, Any] | None:
        try:
            item: dict[str, Any] = self._glue.answer(operation, request)[member]
        except AwsRefusal as refusal:
            if refusal.code != "EntityNotFoundException":
                raise
            return None
        return item


def _changed(
    current: dict[str, Any], before: dict[str, Any], after: dict[str, Any], members: tuple[str, ...]
) -> dict[str, Any]:
    """The object as Glue has it, with what is different after the statement from before it."""
    new = {name: current[name] for name in members if name in current}
    for name in {*before, *after}:
        if before.get(name) != after.get(name):
            new[name] = _merged(new.get(name), before.get(name), after.get(name), deep=name == "StorageDescriptor")
    return {name: value for name, value in new.items() if value is not None}


def _merged(current: Any, before: Any, after: Any, *, deep: bool) -> Any:
    if deep and current and before and after:
        return _changed(current, before, after, tuple(current))
    return after


def _chunks(items: list[Any], size: int) -> list[list[Any]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
