"""Glue's partitions: moto keeps them, and the rules are here."""

from __future__ import annotations

import json
import zlib
from typing import Any

from pysync.lab.aws.paging import page
from pysync.lab.aws.refusals import already_exists, invalid, not_found

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
    """Put the definition `new` in the place of the partition of these values; AwsRefusal if there is none.

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
