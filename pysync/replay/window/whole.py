"""Whole: what to do if a target lacks the table of which an operation describes only a part. Pure.

Somebody has dropped the table at the target, or it had to be created again there. No event has its other partitions and
constraints, so all of it is read at the source.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import Operation, PutPartitions, PutTable, Refresh, RenameTable, TableOperation


def reread(operation: Operation, source_table: Callable[[TableName, Mark], TableName]) -> Refresh | None:
    """The refresh of the operation's whole table, under the name that it has afterwards; None if there is no table.

    `source_table` gives the name at the source of a table of the target with that mark. A table that was created there
    later is left to its own events. Both ways it is not: the table that a request asks for may be the target's own.
    """
    if not isinstance(operation, TableOperation):
        return None
    has_condition = operation.condition is not None
    name = operation.new_name if isinstance(operation, RenameTable) else operation.table
    source = source_table(name, operation.mark)
    return Refresh(
        source_database=source.database,
        source_table=source,
        database=name.database,
        table=name,
        created=0 if has_condition else operation.mark.created,
        needed=has_condition,
        mark=operation.mark,
        visited=operation.visited,
    )


def from_events(operation: Operation) -> tuple[Operation, ...]:
    """What the events alone say, without a source to read; empty if they lack the table."""
    if isinstance(operation, PutTable):
        return (replace(operation, creates=True, is_current=True),)
    if isinstance(operation, RenameTable):
        return (_creation(operation, operation.new_name),)
    return (_creation(operation, operation.table), operation) if isinstance(operation, PutPartitions) else ()


def _creation(operation: RenameTable | PutPartitions, name: TableName) -> PutTable:
    return PutTable(table=name, definition=operation.definition, mark=operation.mark, visited=operation.visited)
