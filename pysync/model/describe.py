"""Describe: an operation in a few words, for plans and logs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Any

from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    LeaveTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutStatistics,
    PutTable,
    Refresh,
    RenameTable,
    RequestReread,
)


def describe(operation: Operation, *, cascade: bool = True) -> str:
    """One line: `put table shop.items (3 columns)`, `drop 12 partitions of shop.items`.

    `cascade` is the setting of the target that would apply it.
    """
    if isinstance(operation, DropDatabase) and not cascade:
        return f"drop database {operation.database} if it has no tables{_files(operation.deleted_locations)}"
    words = _WORDS.get(type(operation))
    return words(operation) if words else f"{type(operation).__name__} of {operation.key}"


def _put_table(operation: PutTable) -> str:
    storage = operation.definition.sd
    columns = _count((storage and storage.cols) or (), "column")
    return f"put table {operation.table} ({columns}{', also in its partitions' if operation.cascade else ''})"


def _drop_partitions(operation: DropPartitions) -> str:
    return f"drop {_count(operation.values, 'partition')} of {operation.table}{_files(operation.deleted_locations)}"


def _refresh(operation: Refresh) -> str:
    if operation.statistics:
        return f"refresh the column statistics of {operation.table} from the source"
    if operation.table is not None:
        return f"refresh table {operation.table} from the source"
    if operation.database:
        return f"refresh database {operation.database} from the source, and drop tables that are gone at the source"
    if operation.replaced:
        return "drop tables that the replaced policy took and the new one does not"
    if operation.former:
        return "drop objects that are no longer in the scope of the target"
    return "drop databases that are gone at the source"


def _count(items: Sized, word: str) -> str:
    return f"{len(items)} {word}{'' if len(items) == 1 else 's'}"


def _files(deleted: Sized) -> str:
    return " with the files" if deleted else ""


_WORDS: Mapping[type[Operation], Callable[[Any], str]] = {
    PutDatabase: lambda it: f"put database {it.database}",
    DropDatabase: lambda it: f"drop database {it.database} with its tables{_files(it.deleted_locations)}",
    PutFunction: lambda it: f"put function {it.database}.{it.definition.functionName}",
    DropFunction: lambda it: f"drop function {it.database}.{it.function}",
    Refresh: _refresh,
    RequestReread: lambda it: (
        f"have other clusters read {it.table or it.function or 'the database'} of {it.database} again"
        if it.database
        else f"tell other clusters that {it.home} may have lost changes"
    ),
    PutTable: _put_table,
    RenameTable: lambda it: f"rename table {it.table} to {it.new_name}",
    DropTable: lambda it: f"drop table {it.table}{_files(it.deleted_locations)}",
    LeaveTable: lambda it: f"leave table {it.table}, which is {it.new_source} at the source, and out of scope",
    PutPartitions: lambda it: f"put {_count(it.partitions, 'partition')} of {it.table}",
    DropPartitions: _drop_partitions,
    PutConstraint: lambda it: f"put a constraint of {it.table} ({_count(it.columns, 'column')})",
    DropConstraint: lambda it: f"drop constraint {it.constraint} of {it.table}",
    PutStatistics: lambda it: f"put the column statistics of {it.table}",
}
