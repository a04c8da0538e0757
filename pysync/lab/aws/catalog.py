"""The calls of Glue for databases, tables and partitions that moto lacks, or answers otherwise than AWS does."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from pysync.lab.aws.rules import Fault, Refusal, already_exists, invalid, not_found

# --- Long answers come in pages, with a token that says where the next one begins

_MARK = "from:"


def page(items: Sequence[Any], request: dict[str, Any], size: int, key: str) -> dict[str, Any]:
    """The part of the items that the request asks for, under `key`; `size` is how many unless it says so."""
    size = request.get("MaxResults") or size
    start = _start(request["NextToken"]) if request.get("NextToken") else 0
    answer: dict[str, Any] = {key: list(items[start : start + size])}
    if start + size < len(items):
        answer["NextToken"] = base64.b64encode(f"{_MARK}{start + size}".encode()).decode()
    return answer


def _start(token: str) -> int:
    try:
        text = base64.b64decode(token, validate=True).decode()
    except ValueError:  # the exceptions of both are of this kind
        text = ""
    number = text.removeprefix(_MARK)
    if not text.startswith(_MARK) or not number.isdecimal():
        raise invalid(f"Invalid pagination token {token!r}")
    return int(number)


# --- Glue's partition indexes, which moto does not have. They are kept at moto's table, so that they go with it

_MOST = 3


class PartitionIndexes:
    """The operations on partition indexes; `store` is moto's GlueBackend."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetPartitionIndexes; one is active as soon as it is created."""
        table = self._table(request)
        types = {key["Name"]: key["Type"] for key in _keys(table)}
        descriptors = [
            {
                "IndexName": index["IndexName"],
                "Keys": [{"Name": name, "Type": types[name]} for name in index["Keys"]],
                "IndexStatus": "ACTIVE",
            }
            for index in _partition_indexes(table)
        ]
        return {"PartitionIndexDescriptorList": descriptors}

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """CreatePartitionIndex."""
        add(self._table(request), request["PartitionIndex"])
        return {}

    def _table(self, request: dict[str, Any]) -> Any:
        return self._store.get_table(request["DatabaseName"], request["TableName"])


def add(table: Any, index: dict[str, Any]) -> None:
    """Add an index to a table of moto's. Refusal if it has that one, too many, or no such partition keys."""
    indexes, names = _partition_indexes(table), {key["Name"] for key in _keys(table)}
    if not names.issuperset(index["Keys"]):
        raise invalid(f"Index keys {index['Keys']} are not partition keys of the table.")
    if any(index["IndexName"] == it["IndexName"] or index["Keys"] == it["Keys"] for it in indexes):
        raise already_exists("Index")
    if len(indexes) >= _MOST:
        raise Refusal("ResourceNumberLimitExceededException", f"A table can have {_MOST} partition indexes.")
    indexes.append(index)


def _partition_indexes(table: Any) -> list[dict[str, Any]]:
    indexes: list[dict[str, Any]] = table.__dict__.setdefault("partition_index_list", [])
    return indexes


def _keys(table: Any) -> list[dict[str, Any]]:
    return table.as_dict().get("PartitionKeys") or []


# --- Glue's databases and tables: moto keeps them, and the rules are here

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
        return {"Database": _given(self._store.get_database(request["Name"]).as_dict())}

    def list(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetDatabases."""
        databases = [_given(database.as_dict()) for database in self._store.get_databases()]
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
        except Refusal:
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
            raise Refusal("ConcurrentModificationException", reason)
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
        return {"Retention": 0, **_given(table), **added}


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


def _given(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _name(item: dict[str, Any]) -> str:
    name: str = item["Name"]
    return name


# --- Glue's partitions: moto keeps them, and the rules are here

_PARTITIONS_PAGE = 1000


class Partitions:
    """The operations on single partitions; `store` is moto's GlueBackend."""

    def __init__(self, store: Any, account: str) -> None:
        self._store = store
        self._account = account

    def create(self, request: dict[str, Any]) -> dict[str, Any]:
        """CreatePartition."""
        table, new = self._table(request), request["PartitionInput"]
        check_values(table, new.get("Values", []))
        table.create_partition(new)
        return {}

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetPartition."""
        table = self._table(request)
        check_values(table, request["PartitionValues"])
        return {"Partition": self._shown(table.get_partition(request["PartitionValues"]))}

    def list(self, request: dict[str, Any]) -> dict[str, Any]:
        """GetPartitions: those that the expression is true of, in the segment that is asked for."""
        table = self._table(request)
        partitions = [item for item in table.get_partitions(request.get("Expression")) if _is_in_segment(item, request)]
        answer = page(partitions, request, _PARTITIONS_PAGE, "Partitions")
        bare = request.get("ExcludeColumnSchema", False)
        return {**answer, "Partitions": [self._shown(item, bare=bare) for item in answer["Partitions"]]}

    def update(self, request: dict[str, Any]) -> dict[str, Any]:
        """UpdatePartition: replaces all of it, and may give it other values."""
        table, new = self._table(request), request["PartitionInput"]
        replace(table, request["PartitionValueList"], new)
        return {}

    def delete(self, request: dict[str, Any]) -> dict[str, Any]:
        """DeletePartition."""
        table = self._table(request)
        check_values(table, request["PartitionValues"])
        table.delete_partition(request["PartitionValues"])
        return {}

    def get_batch(self, request: dict[str, Any]) -> dict[str, Any]:
        """BatchGetPartition: those that are there."""
        table, wanted = self._table(request), [item["Values"] for item in request["PartitionsToGet"]]
        for values in wanted:
            check_values(table, values)
        partitions = [table.partitions[str(values)] for values in wanted if str(values) in table.partitions]
        return {"Partitions": [self._shown(item) for item in partitions], "UnprocessedKeys": []}

    def _table(self, request: dict[str, Any]) -> Any:
        return self._store.get_table(request["DatabaseName"], request["TableName"])

    def _shown(self, partition: Any, *, bare: bool = False) -> dict[str, Any]:
        members = {**partition.as_dict(), "CatalogId": self._account}
        if bare and "StorageDescriptor" in members:
            storage = members["StorageDescriptor"]
            members["StorageDescriptor"] = {name: storage[name] for name in storage if name != "Columns"}
        return members


def check_values(table: Any, values: list[str]) -> None:
    """Refusal if there are not as many values as the table has partition keys.

    The type of a value is not looked at: `__HIVE_DEFAULT_PARTITION__` is a value of a key of any type.
    """
    if len(values) != len(_current(table).get("PartitionKeys") or ()):
        raise invalid("The number of partition keys do not match the number of partition values")


def replace(table: Any, values: list[str], new: dict[str, Any]) -> None:
    """Put the definition `new` in the place of the partition of these values; Refusal if there is none.

    moto forgets the partition if the new values are taken, so that is looked at first.
    """
    target = new.setdefault("Values", values)
    check_values(table, values)
    check_values(table, target)
    if str(values) not in table.partitions:
        raise not_found("Partition not found.")
    if target != values and str(target) in table.partitions:
        raise already_exists("Partition")
    created = table.partitions[str(values)].creation_time
    table.update_partition(values, new)
    table.partitions[str(target)].creation_time = created


def _current(table: Any) -> dict[str, Any]:
    members: dict[str, Any] = table.as_dict()
    return members


def _is_in_segment(partition: Any, request: dict[str, Any]) -> bool:
    segment = request.get("Segment")
    if segment is None:
        return True
    number, total = segment["SegmentNumber"], segment["TotalSegments"]
    if number >= total:
        raise invalid(f"Segment number {number} must be less than the total number of segments {total}")
    # Unlike hash(), the same in every process.
    return bool(zlib.crc32(json.dumps(partition.values).encode()) % total == number)


# --- Glue's batch operations: each item is carried out or fails by itself, and the call succeeds


class Batches:
    """The operations on many tables or partitions of moto's GlueBackend `store`."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def delete_tables(self, request: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
        """BatchDeleteTable."""
        database = self._store.get_database(request["DatabaseName"])

        def delete(name: str) -> None:
            if database.tables.pop(name, None) is None:
                raise not_found("Table not found")

        return _errors(request["TablesToDelete"], delete, lambda name: {"TableName": name}, fault)

    def delete_versions(self, request: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
        """BatchDeleteTableVersion."""
        table = self._table(request)

        def delete(version: str) -> None:
            # Glue counts versions from 0, moto from 1.
            moto_version = str(int(version) + 1) if version.isdecimal() else ""
            if moto_version not in table.versions or moto_version == str(table._current_version):
                raise not_found("Version not found.")
            table.delete_version(moto_version)

        def name(version: str) -> dict[str, Any]:
            return {"TableName": table.name, "VersionId": version}

        return _errors(request["VersionIds"], delete, name, fault)

    def create_partitions(self, request: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
        """BatchCreatePartition."""
        table, items = self._table(request), request["PartitionInputList"]
        for item in items:
            check_values(table, item.get("Values", []))

        def create(item: dict[str, Any]) -> None:
            if str(item["Values"]) in table.partitions:
                raise already_exists("Partition")
            table.create_partition(item)

        return _errors(items, create, lambda item: {"PartitionValues": item["Values"]}, fault)

    def update_partitions(self, request: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
        """BatchUpdatePartition."""
        table, items = self._table(request), request["Entries"]
        for item in items:
            check_values(table, item["PartitionValueList"])
            check_values(table, item["PartitionInput"].get("Values", item["PartitionValueList"]))

        def update(item: dict[str, Any]) -> None:
            replace(table, item["PartitionValueList"], item["PartitionInput"])

        def name(item: dict[str, Any]) -> dict[str, Any]:
            return {"PartitionValueList": item["PartitionValueList"]}

        return _errors(items, update, name, fault)

    def delete_partitions(self, request: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
        """BatchDeletePartition."""
        table, items = self._table(request), request["PartitionsToDelete"]
        for item in items:
            check_values(table, item["Values"])

        def delete(item: dict[str, Any]) -> None:
            if table.partitions.pop(str(item["Values"]), None) is None:
                raise not_found("Partition not found")

        return _errors(items, delete, lambda item: {"PartitionValues": item["Values"]}, fault)

    def _table(self, request: dict[str, Any]) -> Any:
        return self._store.get_table(request["DatabaseName"], request["TableName"])


def _errors(
    items: list[Any],
    apply: Callable[[Any], None],
    name: Callable[[Any], dict[str, Any]],
    fault: Fault | None,
) -> dict[str, Any]:
    """Carry out every item but those that the fault is for; the answer names those that failed, and why."""
    errors: list[dict[str, Any]] = []
    for number, item in enumerate(items):
        refusal = fault.item_refusal(number) if fault else None
        if refusal is None:
            refusal = _applied(apply, item)
        if refusal is not None:
            detail = {"ErrorCode": refusal.code, "ErrorMessage": refusal.message}
            errors.append({**name(item), "ErrorDetail": detail})
    return {"Errors": errors} if errors else {}


def _applied(apply: Callable[[Any], None], item: Any) -> Refusal | None:
    try:
        apply(item)
    except Refusal as refusal:
        return refusal
    return None
