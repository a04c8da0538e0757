"""Glue's batch operations: each item is carried out or fails by itself, and the call succeeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pysync.lab.aws.faults import AwsFault
from pysync.lab.aws.partitions import check_values, replace
from pysync.lab.aws.refusals import AwsRefusal, already_exists, not_found


class Batches:
    """The operations on many tables or partitions of moto's GlueBackend `store`."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def delete_tables(self, request: dict[str, Any], fault: AwsFault | None) -> dict[str, Any]:
        """BatchDeleteTable."""
        database = self._store.get_database(request["DatabaseName"])

        def delete(name: str) -> None:
            if database.tables.pop(name, None) is None:
                raise not_found("Table not found")

        return _errors(request["TablesToDelete"], delete, lambda name: {"TableName": name}, fault)

    def delete_versions(self, request: dict[str, Any], fault: AwsFault | None) -> dict[str, Any]:
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

    def create_partitions(self, request: dict[str, Any], fault: AwsFault | None) -> dict[str, Any]:
        """BatchCreatePartition."""
        table, items = self._table(request), request["PartitionInputList"]
        for item in items:
            check_values(table, item.get("Values", []))

        def create(item: dict[str, Any]) -> None:
            if str(item["Values"]) in table.partitions:
                raise already_exists("Partition")
            table.create_partition(item)

        return _errors(items, create, lambda item: {"PartitionValues": item["Values"]}, fault)

    def update_partitions(self, request: dict[str, Any], fault: AwsFault | None) -> dict[str, Any]:
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

    def delete_partitions(self, request: dict[str, Any], fault: AwsFault | None) -> dict[str, Any]:
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
    fault: AwsFault | None,
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


def _applied(apply: Callable[[Any], None], item: Any) -> AwsRefusal | None:
    try:
        apply(item)
    except AwsRefusal as refusal:
        return refusal
    return None
