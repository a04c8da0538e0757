"""A table's columns in its partitions, which have their own: Athena refuses to read partitions that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pysync.model.names import TableName
from pysync.targets.glue.catalog import GET_PAGE
from pysync.targets.glue.others import columns_with_others
from pysync.targets.glue.partition_batches import Failures, Sender, chunks, input_of, update_partitions

Policy = Literal["none", "append", "full"]


def columns_for(policy: Policy, partition: Sequence[Any], table: Sequence[Any]) -> Sequence[Any]:
    """The columns that a partition shall have, of its own and its table's."""
    if policy == "full":
        return table
    is_beginning = _types(partition) == _types(table[: len(partition)])
    return table if policy == "append" and is_beginning else partition


def spread(send: Sender, name: TableName, columns: Sequence[Any], policy: Policy, patterns: Sequence[str]) -> int:
    """Give the partitions the columns, as the policy says; how many were changed.

    Parameters of the partitions' columns stay if they match `preserved_patterns`.
    """
    changed = 0
    for page in chunks(send.catalog.partitions(name), GET_PAGE):
        others = [
            partition for partition in map(input_of, page) if _replace_columns(partition, columns, policy, patterns)
        ]
        failures = Failures(name)
        update_partitions(send, name, others, failures)  # one that is gone needs no columns
        failures.raise_any()
        changed += len(others)
    return changed


def same_columns(wanted: Sequence[Any], existing: Sequence[Any]) -> bool:
    """Whether two lists of Glue's columns are the same, but for their parameters, which others set."""
    return [_compared_fields(column) for column in wanted] == [_compared_fields(column) for column in existing]


def _replace_columns(
    partition: dict[str, Any], columns: Sequence[Any], policy: Policy, patterns: Sequence[str]
) -> bool:
    """Put the columns into the partition's input. True if they differ from those that it had."""
    storage = partition.get("StorageDescriptor") or {}
    existing_columns = storage.get("Columns") or []
    wanted = list(columns_for(policy, existing_columns, columns))
    if same_columns(wanted, existing_columns):
        return False
    partition["StorageDescriptor"] = {**storage, "Columns": columns_with_others(wanted, existing_columns, patterns)}
    return True


def _compared_fields(column: Mapping[str, Any]) -> tuple[Any, ...]:
    rest = (column.get(name) or "" for name in ("Type", "Comment"))
    return column["Name"].lower(), *rest


def _types(columns: Sequence[Any]) -> list[tuple[str, str]]:
    return [(column["Name"].lower(), column.get("Type", "")) for column in columns]
