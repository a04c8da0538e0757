"""Constraints: put and drop. They carry no mark; the mark of their table counts.

Hive 2.3 has primary and foreign keys only. A kind that the target does not have is left out (Outcome.UNSUPPORTED).
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.errors import MetastoreUnsupported
from pysync.model.constraints import by_name, comparable
from pysync.model.constraints import name_of as constraint_name
from pysync.model.names import TableName, normalized
from pysync.model.operation import DropConstraint, PutConstraint
from pysync.targets.apply.door import Door
from pysync.targets.apply.judge import OUTCOMES, Judge, Verdict
from pysync.targets.base import Incomplete, Outcome, total
from pysync.targets.diff import same


def put_constraint(store: Door, operation: PutConstraint, judge: Judge) -> Outcome:
    """Add each constraint. It replaces the one of its name; a primary key replaces the table's primary key."""
    # HMS 2.3 answers a constraint of a missing table with an internal error, so we look first.
    table = store.reads.table(operation.table)
    if table is None:
        return judge.without_table(operation, "constraint")
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    try:
        outcome = total(
            [_put_constraint(store, operation, table, judge, columns) for columns in by_name(operation.columns)]
        )
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED
    return judge.outcome_of_parts(operation, table, outcome)


def drop_constraint(store: Door, operation: DropConstraint, judge: Judge) -> Outcome:
    """Drop the constraint of that name; UNCHANGED if it is not there."""
    table = store.reads.table(operation.table)
    names = set[str]() if table is None else _names_like(store, table, operation.constraint)
    if not names:
        return Outcome.UNCHANGED
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    for name in names:
        store.drop_constraint(operation.table, name)
    return Outcome.APPLIED


def _names_like(store: Door, table: Any, constraint: str) -> set[str]:
    """The names of the table's constraints that match in any case, spelled as they are there."""
    wanted = normalized(constraint)
    columns = chain.from_iterable(store.constraints.constraints(table).values())
    return {name for name in map(constraint_name, columns) if normalized(name) == wanted}


def _put_constraint(store: Door, operation: PutConstraint, table: Any, judge: Judge, wanted: list[Any]) -> Outcome:
    existing = _replaced(store, operation.table, wanted[0])
    described = [comparable(column) for column in wanted]
    if same(described, existing):
        return Outcome.UNCHANGED
    verdict = judge.part(operation, table, described, existing or None)
    if verdict is not Verdict.DO:
        return OUTCOMES[verdict]
    # HMS has no call that alters a constraint.
    if existing:
        store.drop_constraint(operation.table, constraint_name(existing[0]))
    store.add_constraint(wanted)
    return Outcome.APPLIED


def _replaced(store: Door, name: TableName, column: Any) -> list[Any]:
    """The columns, in order, of the existing constraint that the new one would replace."""
    existing = store.constraints.constraints_of(type(column), name)
    # A table has at most one primary key, and its name may be generated: the name does not identify it.
    if isinstance(column, hive.SQLPrimaryKey):
        return existing
    if isinstance(column, hive.SQLForeignKey):
        parent = TableName.of(column.pktable_db, column.pktable_name)
        if store.reads.table(parent) is None:
            raise Incomplete.of(store.settings.name, parent, "constraint")
    wanted = normalized(constraint_name(column))
    return [other for other in existing if wanted and normalized(constraint_name(other)) == wanted]
