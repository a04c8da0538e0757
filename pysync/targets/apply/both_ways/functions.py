"""Functions both ways. They carry no mark; their home is that of their database."""

from __future__ import annotations

from typing import Any

from pysync.model.names import normalized
from pysync.model.operation import DropFunction, PutFunction
from pysync.targets.apply.both_ways.verdicts import ask_for_place, judge_of, settled
from pysync.targets.apply.judging import Verdict
from pysync.targets.base import MissingDatabase, Outcome
from pysync.targets.diff import same
from pysync.targets.store import Store


def put_function(store: Store, operation: PutFunction) -> Outcome:
    """Create the function or replace it; in a conflict it stays, and the home is asked to say it again."""
    database = store.database(operation.database)
    if database is None:
        raise MissingDatabase.of_target(store.settings.name, f"database {operation.database}")
    wanted = store.as_kept(operation.definition)
    there = store.function(operation.database, wanted.functionName)
    verdict = _verdict(store, operation, database, wanted, there)
    if verdict is Verdict.CONFLICT:
        return ask_for_place(store, operation, database, wanted.functionName)
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, database)
    if there is None:
        store.create_function(wanted)
        return Outcome.APPLIED
    if same(wanted, there):
        return Outcome.UNCHANGED
    # Not altered: HMS tells no listener of alter_function, in any version, so the other clusters would not hear of it.
    store.drop_function(operation.database, wanted.functionName)
    store.create_function(wanted)
    return Outcome.APPLIED


def drop_function(store: Store, operation: DropFunction) -> Outcome:
    """Drop the function; in a conflict it stays, and the home is asked to say it again."""
    name = normalized(operation.function)
    database = store.database(operation.database)
    there = None if database is None else store.function(operation.database, name)
    if there is None:
        return Outcome.UNCHANGED
    verdict = _verdict(store, operation, database, None, there)
    if verdict is Verdict.CONFLICT:
        return ask_for_place(store, operation, database, name)
    if verdict is not Verdict.DO:
        return settled(store, operation, verdict, database)
    store.drop_function(operation.database, name)
    return Outcome.APPLIED


def _verdict(store: Store, operation: PutFunction | DropFunction, database: Any, wanted: Any, there: Any) -> Verdict:
    """The verdict; a conflict if the two ends disagree about the home and the function is not as wanted."""
    judge = judge_of(store)
    found = judge.parts(operation, database)
    if found is Verdict.DO:
        return judge.part(operation, database, wanted, there)
    is_so = wanted is there or (wanted is not None and there is not None and same(wanted, there))
    return found if is_so or judge.agrees(operation, database) else Verdict.CONFLICT
