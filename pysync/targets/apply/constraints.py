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
from pysync.targets.apply.judge import OUTCOMES, Judge, Verdict
from pysync.targets.base import Incomplete, Outcome, total
from pysync.targets.diff import same
from pysync.targets.watched import WatchedStore


def put_constraint(store: WatchedStore, operation: PutConstraint, judge: Judge) -> Outcome:
    """Add each constraint. It replaces the one of its name; a primary key replaces the table's primary key."""
    # HMS 2.3 answers a constraint of a missing table with an internal error, so we look first.
    table = store.reads.table(operation.table)
    if table is None:
        return judge.without_table(operation, "constraint")
    verdict = judge.parts(operation, table)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, table)
    try:
        outcome = total([_put(store, operation, table, judge, columns) for columns in by_name(operation.columns)])
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED
    return judge.outcome_of_parts(operation, table, outcome)


def drop_constraint(store: WatchedStore, operation: DropConstraint, judge: Judge) -> Outcome:
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


def _names_like(store: WatchedStore, table: Any, constraint: str) -> set[str]:
    """The names of the table's constraints that match in any case, spelled as they are there."""
    wanted = normalized(constraint)
    columns = chain.from_iterable(store.reads.constraints(table).values())
    return {name for name in map(name_of, columns) if normalized(name) == wanted}


def _put(store: WatchedStore, operation: PutConstraint, table: Any, judge: Judge, wanted: list[Any]) -> Outcome:
    there = _replaced(store, operation.table, wanted[0])
    described = [comparable(column) for column in wanted]
    if same(described, there):
        return Outcome.UNCHANGED
    verdict = judge.part(operation, table, described, there or None)
    if verdict is not Verdict.DO:
        return OUTCOMES[verdict]
    # HMS has no call that alters a constraint.
    if there:
        store.drop_constraint(operation.table, name_of(there[0]))
    store.add_constraint(wanted)
    return Outcome.APPLIED


def _replaced(store: WatchedStore, name: TableName, column: Any) -> list[Any]:
    """The columns, in order, of the existing constraint that the new one would replace."""
    there = store.reads.constraints_of(type(column), name)
    # A table has at most one primary key, and its name may be generated: the name does not identify it.
    if isinstance(column, hive.SQLPrimaryKey):
        return there
    if isinstance(column, hive.SQLForeignKey):
        parent = TableName.of(column.pktable_db, column.pktable_name)
        if store.reads.table(parent) is None:
            raise Incomplete.of(store.settings.name, parent, "constraint")
    wanted = normalized(name_of(column))
    return [other for other in there if wanted and normalized(name_of(other)) == wanted]
