"""Glue's partition indexes, which moto does not have. They are kept at moto's table, so that they go with it."""

from __future__ import annotations

from typing import Any

from pysync.lab.aws.refusals import AwsRefusal, already_exists, invalid

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
    """Add an index to a table of moto's. AwsRefusal if it has that one, too many, or no such partition keys."""
    indexes, names = _partition_indexes(table), {key["Name"] for key in _keys(table)}
    if not names.issuperset(index["Keys"]):
        raise invalid(f"Index keys {index['Keys']} are not partition keys of the table.")
    if any(index["IndexName"] == it["IndexName"] or index["Keys"] == it["Keys"] for it in indexes):
        raise already_exists("Index")
    if len(indexes) >= _MOST:
        raise AwsRefusal("ResourceNumberLimitExceededException", f"A table can have {_MOST} partition indexes.")
    indexes.append(index)


def _partition_indexes(table: Any) -> list[dict[str, Any]]:
    indexes: list[dict[str, Any]] = table.__dict__.setdefault("partition_index_list", [])
    return indexes


def _keys(table: Any) -> list[dict[str, Any]]:
    return table.as_dict().get("PartitionKeys") or []
