"""Describe: an operation in a few words, for plans and logs. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from typing import Any

from pysync.model import operation as op


def describe(operation: op.Operation, *, cascade: bool = True) -> str:
    """One line: `put table shop.items (3 columns)`, `drop 12 partitions of shop.items`.

    `cascade` is the setting of the target that would apply it.
    """
    if isinstance(operation, op.DropDatabase) and not cascade:
        return f"drop database {operation.database} if it has no tables{_files(operation.delete_data)}"
    words = _WORDS.get(type(operation))
    return words(operation) if words else f"{type(operation).__name__} of {operation.key}"


def partitions(operation: op.Operation) -> int:
    """How many partitions the operation puts or drops by themselves."""
    if isinstance(operation, op.PutPartitions):
        return len(operation.partitions)
    return len(operation.values) if isinstance(operation, op.DropPartitions) else 0


def _put_table(operation: op.PutTable) -> str:
    storage = operation.definition.sd
    columns = _count((storage and storage.cols) or (), "column")
    return f"put table {operation.table} ({columns}{', also in its partitions' if operation.cascade else ''})"


def _drop_partitions(operation: op.DropPartitions) -> str:
    return f"drop {_count(operation.values, 'partition')} of {operation.table}{_files(operation.delete_data)}"


def _refresh(operation: op.Refresh) -> str:
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


def _files(deleted: bool) -> str:
    return " with the files" if deleted else ""


_WORDS: Mapping[type[op.Operation], Callable[[Any], str]] = {
    op.PutDatabase: lambda it: f"put database {it.database}",
    op.DropDatabase: lambda it: f"drop database {it.database} with its tables{_files(it.delete_data)}",
    op.PutFunction: lambda it: f"put function {it.database}.{it.definition.functionName}",
    op.DropFunction: lambda it: f"drop function {it.database}.{it.function}",
    op.Refresh: _refresh,
    op.SayAgain: lambda it: (
        f"have other clusters read {it.table or it.function or 'the database'} of {it.database} again"
        if it.database
        else f"tell other clusters that {it.home} may have lost changes"
    ),
    op.PutTable: _put_table,
    op.RenameTable: lambda it: f"rename table {it.table} to {it.new_name}",
    op.DropTable: lambda it: f"drop table {it.table}{_files(it.delete_data)}",
    op.PutPartitions: lambda it: f"put {_count(it.partitions, 'partition')} of {it.table}",
    op.DropPartitions: _drop_partitions,
    op.PutConstraint: lambda it: f"put a constraint of {it.table} ({_count(it.columns, 'column')})",
    op.DropConstraint: lambda it: f"drop constraint {it.constraint} of {it.table}",
    op.PutStatistics: lambda it: f"put the column statistics of {it.table}",
}
