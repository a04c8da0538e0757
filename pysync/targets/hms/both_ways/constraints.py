"""Constraints both ways."""

from __future__ import annotations

from itertools import chain
from typing import Any

from pysync.metastore.errors import MetastoreUnsupported
from pysync.model.constraints import by_name, comparable, name_of
from pysync.model.names import normalized
from pysync.model.operation import DropConstraint, PutConstraint
from pysync.targets.base import Outcome, total
from pysync.targets.hms import constraints
from pysync.targets.hms.both_ways.verdicts import ask_for_table, judge_of, settled
from pysync.targets.hms.same import same
from pysync.targets.hms.session import Session
from pysync.targets.judging import Verdict


def put_constraint(session: Session, operation: PutConstraint) -> Outcome:
    """Add each constraint, in place of one that has its name, or, for a primary key, of the table's other one."""
    table = session.hms.table(operation.table.database, operation.table.table)
    if table is None:
        return Outcome.STALE
    verdict = judge_of(session).parts(operation, table)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, table)
    try:
        outcome = total([_put(session, operation, table, columns) for columns in by_name(operation.columns)])
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED
    return ask_for_table(session, operation, table) if outcome is Outcome.CONFLICT else outcome


def drop_constraint(session: Session, operation: DropConstraint) -> Outcome:
    """Drop the constraint of that name if it is there; what it was at the source is not known."""
    table = session.hms.table(operation.table.database, operation.table.table)
    if table is None:
        return Outcome.UNCHANGED
    wanted = normalized(operation.constraint)
    columns = chain.from_iterable(session.hms.constraints(table).values())
    names = {name for name in map(name_of, columns) if normalized(name) == wanted}
    if not names:
        return Outcome.UNCHANGED
    judge = judge_of(session)
    verdict = judge.parts(operation, table)
    if verdict is Verdict.DO and operation.condition is None and judge.home(table) == session.cluster:
        return ask_for_table(session, operation, table)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, table)
    for name in names:
        constraints.drop(session, operation.table, name)
    return Outcome.APPLIED


def _put(session: Session, operation: PutConstraint, table: Any, columns: list[Any]) -> Outcome:
    there = constraints.rivals(session, operation.table, columns[0])
    wanted = [comparable(column) for column in columns]
    if same(wanted, there):
        return Outcome.UNCHANGED
    verdict = judge_of(session).part(operation, table, wanted, there or None)
    if verdict is Verdict.CONFLICT:
        return Outcome.CONFLICT
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, table)
    if there:
        constraints.drop(session, operation.table, name_of(there[0]))
    session.hms.call(lambda client: constraints.add(client, columns))
    return Outcome.APPLIED
