"""Functions: put and drop. They carry no mark; that of their database counts."""

from __future__ import annotations

from pysync.model.names import normalized
from pysync.model.operation import DropFunction, PutFunction
from pysync.targets.apply.judge import Judge, Verdict
from pysync.targets.apply.writing import into, linked, tell_lost
from pysync.targets.base import Outcome
from pysync.targets.diff import same
from pysync.targets.watched import WatchedStore


def put_function(store: WatchedStore, operation: PutFunction, judge: Judge) -> Outcome:
    """Create the function, or alter or replace it."""
    database = store.reads.database(operation.database)
    kept = store.reads.as_kept(operation.definition)
    there = store.reads.function(operation.database, kept.functionName)
    verdict = judge.function(operation, database, kept, there)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, database)
    if there is not None and same(kept, there):
        return Outcome.UNCHANGED
    if there is None:
        into(store, operation, operation.database, lambda: store.create_function(kept))
    elif store.reads.is_linked(operation.database):
        raise linked(store, f"database {operation.database}")
    elif judge.alters_functions:
        store.alter_function(kept, there)
    else:
        store.drop_function(operation.database, kept.functionName)
        store.create_function(kept)
    tell_lost(store, operation, store.reads.lost(kept))
    return Outcome.APPLIED


def drop_function(store: WatchedStore, operation: DropFunction, judge: Judge) -> Outcome:
    """Drop the function if it is there."""
    name = normalized(operation.function)
    there = store.reads.function(operation.database, name)
    if there is None:
        return Outcome.UNCHANGED
    database = store.reads.database(operation.database)
    verdict = judge.function(operation, database, None, there)
    if verdict is not Verdict.DO:
        return judge.outcome_without_write(operation, verdict, database)
    store.drop_function(operation.database, name)
    return Outcome.APPLIED
