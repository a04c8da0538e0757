"""A table's columns in its partitions, which have their own: Athena refuses to read partitions that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pysync.model.names import TableName
from pysync.targets.aws.others import columns_with_others
from pysync.targets.glue.batches import Failures, Sender, chunks, input_of, update_partitions
from pysync.targets.glue.catalog import GET_PAGE

Policy = Literal["none", "append", "full"]


def columns_for(policy: Policy, partition: Sequence[Any], table: Sequence[Any]) -> Sequence[Any]:
    """The columns that a partition shall have, of its own and its table's."""
    if policy == "full":
        return table
    is_beginning = _types(partition) == _types(table[: len(partition)])
    return table if policy == "append" and is_beginning else partition


def spread(send: Sender, name: TableName, columns: Sequence[Any], policy: Policy, keep: Sequence[str]) -> int:
    """Give the partitions the columns, as the policy says; how many were changed.

    Parameters of the partitions' columns stay if they match `keep`.
    """
    changed = 0
    for found in chunks(send.catalog.partitions(name), GET_PAGE):
        others = [partition for partition in map(input_of, found) if _take(partition, columns, policy, keep)]
        failures = Failures(name)
        update_partitions(send, name, others, failures)  # one that is gone needs no columns
        failures.raise_any()
        changed += len(others)
    return changed


def same_columns(wanted: Sequence[Any], there: Sequence[Any]) -> bool:
    """Whether two lists of Glue's columns are the same, but for their parameters, which others set."""
    return [_told(column) for column in wanted] == [_told(column) for column in there]


def _take(partition: dict[str, Any], columns: Sequence[Any], policy: Policy, keep: Sequence[str]) -> bool:
    """Put the columns into the partition's input. True if they differ from those that it had."""
    storage = partition.get("StorageDescriptor") or {}
    mine = storage.get("Columns") or []
    wanted = list(columns_for(policy, mine, columns))
    if same_columns(wanted, mine):
        return False
    partition["StorageDescriptor"] = {**storage, "Columns": columns_with_others(wanted, mine, keep)}
    return True


def _told(column: Mapping[str, Any]) -> tuple[Any, ...]:
    rest = (column.get(name) or "" for name in ("Type", "Comment"))
    return column["Name"].lower(), *rest


def _types(columns: Sequence[Any]) -> list[tuple[str, str]]:
    return [(column["Name"].lower(), column.get("Type", "")) for column in columns]
