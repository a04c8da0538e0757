"""Constraints both ways: put and drop."""

from __future__ import annotations

from typing import Any

from pysync.metastore.errors import MetastoreUnsupported
from pysync.model.constraints import by_name, comparable
from pysync.model.operation import DropConstraint, PutConstraint
from pysync.targets.apply.both_ways.verdicts import ask_for_table, judge_of, settled
from pysync.targets.apply.constraints import names_like, replace, rivals
from pysync.targets.apply.judging import Verdict
from pysync.targets.base import Outcome, total
from pysync.targets.diff import same
from pysync.targets.store import Store


def put_constraint(store: Store, operation: PutConstraint) -> Outcome:
    """Add each constraint. It replaces the one of its name; a primary key replaces the table's primary key."""
    table = store.table(operation.table)
    if table is None:
        # The cluster that has the table must hear what the home has. An echo is old news.
        is_echo = store.cluster in operation.visited
        return Outcome.STALE if is_echo else ask_for_table(store, operation, None)
    verdict = judge_of(store).parts(operation, table)
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, table)
    try:
        outcome = total([_put(store, operation, table, columns) for columns in by_name(operation.columns)])
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED
    return ask_for_table(store, operation, table) if outcome is Outcome.CONFLICT else outcome


def drop_constraint(store: Store, operation: DropConstraint) -> Outcome:
    """Drop the constraint of that name if it is there. The event does not tell what the constraint was.

    A refresh that was read at another cluster than the home drops nothing: the home is asked.
    """
    table = store.table(operation.table)
    if table is None:
        return Outcome.UNCHANGED
    names = names_like(store, table, operation.constraint)
    if not names:
        return Outcome.UNCHANGED
    verdict = judge_of(store).parts(operation, table)
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, table)
    if operation.asks_only:
        return ask_for_table(store, operation, table)
    for name in names:
        store.drop_constraint(operation.table, name)
    return Outcome.APPLIED


def _put(store: Store, operation: PutConstraint, table: Any, columns: list[Any]) -> Outcome:
    there = rivals(store, operation.table, columns[0])
    wanted = [comparable(column) for column in columns]
    if same(wanted, there):
        return Outcome.UNCHANGED
    verdict = judge_of(store).part(operation, table, wanted, there or None)
    if verdict is Verdict.CONFLICT:
        return Outcome.CONFLICT
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, table)
    replace(store, operation.table, there, columns)
    return Outcome.APPLIED
