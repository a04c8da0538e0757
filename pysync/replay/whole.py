"""Whole: what to do where a target lacks the table of which an operation tells only a part.

Somebody has dropped it at the target, or it had to be made anew there. Its other partitions and constraints are in no
event: all of it is read at the source. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pysync.model.names import TableName
from pysync.model.operation import Operation, PutPartitions, PutTable, Refresh, RenameTable, TableOperation


def reread(operation: Operation, source_table: Callable[[TableName], TableName]) -> Refresh | None:
    """The refresh of the operation's whole table, by the name that it has after it; None if it is of no table.

    `source_table` tells what a table of the target is called at the source. One that was created there later is left
    to its own events; both ways it is not, for what an operation asks for may be the target's own.
    """
    if not isinstance(operation, TableOperation):
        return None
    both_ways = operation.condition is not None
    name = operation.new_name if isinstance(operation, RenameTable) else operation.table
    return Refresh(
        source_database=source_table(name).database,
        source_table=source_table(name),
        database=name.database,
        table=name,
        created=0 if both_ways else operation.mark.created,
        anew=both_ways,
        mark=operation.mark,
        visited=operation.visited,
    )


def from_events(operation: Operation) -> tuple[Operation, ...]:
    """What the events alone tell, for those without a source to read; empty where they do not tell the table."""
    if isinstance(operation, PutTable):
        return (replace(operation, creates=True),)
    if isinstance(operation, RenameTable):
        return (_creation(operation, operation.new_name),)
    return (_creation(operation, operation.table), operation) if isinstance(operation, PutPartitions) else ()


def _creation(operation: RenameTable | PutPartitions, name: TableName) -> PutTable:
    return PutTable(table=name, definition=operation.definition, mark=operation.mark, visited=operation.visited)
