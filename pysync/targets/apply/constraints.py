"""Constraints: put and drop. They carry no mark; the mark of their table counts.

Hive 2.3 has primary and foreign keys only. A kind that the target does not have is left out (Outcome.UNSUPPORTED).
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.errors import MetastoreUnsupported
from pysync.model.constraints import by_name, comparable, name_of
from pysync.model.names import TableName, normalized
from pysync.model.operation import DropConstraint, PutConstraint
from pysync.targets.apply.ownership import Ownership, ownership_of_part
from pysync.targets.apply.tables import existing
from pysync.targets.apply.writing import conflict, taken
from pysync.targets.base import Outcome, total
from pysync.targets.diff import same
from pysync.targets.store import Store


def put_constraint(store: Store, operation: PutConstraint) -> Outcome:
    """Add each constraint. It replaces the one of its name; a primary key replaces the table's primary key."""
    # HMS 2.3 answers a constraint of a missing table with an internal error, so we look first.
    table = existing(store, operation.table, "constraint")
    found = ownership_of_part(table.parameters, operation.mark)
    if found is Ownership.NEWER:
        return Outcome.STALE
    if found is Ownership.RIVAL:
        raise taken(store.settings, f"table {operation.table}", table, operation.mark)
    try:
        return total([_put(store, operation, table, found, columns) for columns in by_name(operation.columns)])
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED


def drop_constraint(store: Store, operation: DropConstraint) -> Outcome:
    """Drop the constraint of that name; UNCHANGED if it is not there."""
    table = store.table(operation.table)
    if table is None:
        return Outcome.UNCHANGED
    names = names_like(store, table, operation.constraint)
    if not names:
        return Outcome.UNCHANGED
    found = ownership_of_part(table.parameters, operation.mark)
    if found is not Ownership.OWN:
        return Outcome.STALE if found is Ownership.NEWER else Outcome.FOREIGN
    for name in names:
        store.drop_constraint(operation.table, name)
    return Outcome.APPLIED


def names_like(store: Store, table: Any, constraint: str) -> set[str]:
    """The names of the table's constraints that match in any case, spelled as they are there."""
    wanted = normalized(constraint)
    columns = chain.from_iterable(store.constraints(table).values())
    return {name for name in map(name_of, columns) if normalized(name) == wanted}


def rivals(store: Store, name: TableName, column: Any) -> list[Any]:
    """The columns, in order, of the existing constraint that the new one would replace."""
    there = store.constraints_of(type(column), name)
    # A table has at most one primary key, and its name may be generated: the name does not identify it.
    if isinstance(column, hive.SQLPrimaryKey):
        return there
    if isinstance(column, hive.SQLForeignKey):
        existing(store, TableName.of(column.pktable_db, column.pktable_name), "constraint")
    wanted = normalized(name_of(column))
    return [other for other in there if wanted and normalized(name_of(other)) == wanted]


def replace(store: Store, name: TableName, there: list[Any], wanted: list[Any]) -> None:
    """Add the constraint in place of the existing one, if there is one."""
    # HMS has no call that alters a constraint.
    if there:
        store.drop_constraint(name, name_of(there[0]))
    store.add_constraint(wanted)


def _put(store: Store, operation: PutConstraint, table: Any, found: Ownership, wanted: list[Any]) -> Outcome:
    there = rivals(store, operation.table, wanted[0])
    if same([comparable(column) for column in wanted], there):
        return Outcome.UNCHANGED
    settled = conflict(store, f"table {operation.table}", table) if found is Ownership.FOREIGN else None
    if settled is not None:
        return settled
    replace(store, operation.table, there, wanted)
    return Outcome.APPLIED
