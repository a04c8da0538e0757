"""Functions: put and drop. They carry no mark; that of their database counts."""

from __future__ import annotations

from pysync.model.names import normalized
from pysync.model.operation import DropFunction, PutFunction
from pysync.targets.apply.door import Door
from pysync.targets.apply.judge import Judge, Verdict
from pysync.targets.base import Outcome
from pysync.targets.diff import same


def put_function(store: Door, operation: PutFunction, judge: Judge) -> Outcome:
    """Create the function, or alter or replace it."""
    database = store.reads.database(operation.database)
    expected = store.reads.as_stored(operation.definition)
    existing = store.functions.function(operation.database, expected.functionName)
    verdict = judge.function(operation, database, expected, existing)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, database)
    if existing is not None and same(expected, existing):
        return Outcome.UNCHANGED
    if existing is None:
        store.create_function(expected)
    elif judge.alters_functions:
        store.alter_function(expected, existing)
    else:
        store.replace_function(expected)
    store.log_lost(store.reads.lost(expected))
    return Outcome.APPLIED


def drop_function(store: Door, operation: DropFunction, judge: Judge) -> Outcome:
    """Drop the function if it is there."""
    name = normalized(operation.function)
    existing = store.functions.function(operation.database, name)
    if existing is None:
        return Outcome.UNCHANGED
    database = store.reads.database(operation.database)
    verdict = judge.function(operation, database, None, existing)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, database)
    if store.keeps_part(f"{operation.database}.{name}()"):
        return Outcome.KEPT
    store.remove_function(operation.database, name)
    return Outcome.APPLIED
