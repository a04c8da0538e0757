"""Functions both ways. They carry no mark: their database's home is theirs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pysync.model.names import normalized
from pysync.model.operation import DropFunction, PutFunction
from pysync.targets.base import MissingDatabase, Outcome
from pysync.targets.hms.both_ways.verdicts import ask_for_place, judge_of, settled
from pysync.targets.hms.databases import drop_function_of
from pysync.targets.hms.same import same
from pysync.targets.hms.session import Session, missing, within
from pysync.targets.judging import Verdict


def put_function(session: Session, operation: PutFunction) -> Outcome:
    """Create the function, make it anew as an alter is told to nobody, or leave it and have the home say it again."""
    database = session.hms.database(operation.database)
    if database is None:
        raise missing(session, f"database {operation.database}", MissingDatabase)
    wanted = deepcopy(operation.definition)
    wanted.functionName = normalized(wanted.functionName)
    there = session.hms.function(operation.database, wanted.functionName)
    verdict = _verdict(session, operation, database, wanted, there)
    if verdict is Verdict.CONFLICT:
        return ask_for_place(session, operation, database, wanted.functionName)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, database)
    if there is None:
        with within(session, operation.database):
            session.hms.call(lambda client: client.create_function(wanted))
        return Outcome.APPLIED
    if same(wanted, there):
        return Outcome.UNCHANGED
    drop_function_of(session, operation.database, wanted.functionName)
    session.hms.call(lambda client: client.create_function(wanted))
    return Outcome.APPLIED


def drop_function(session: Session, operation: DropFunction) -> Outcome:
    """Drop the function, or leave it and have the home say it again."""
    name = normalized(operation.function)
    database = session.hms.database(operation.database)
    there = None if database is None else session.hms.function(operation.database, name)
    if there is None:
        return Outcome.UNCHANGED
    verdict = _verdict(session, operation, database, None, there)
    if verdict is Verdict.CONFLICT:
        return ask_for_place(session, operation, database, name)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, database)
    drop_function_of(session, operation.database, name)
    return Outcome.APPLIED


def _verdict(
    session: Session, operation: PutFunction | DropFunction, database: Any, wanted: Any, there: Any
) -> Verdict:
    """Where the two ends do not agree who has to say it, and it is not so here already, the home is asked."""
    judge = judge_of(session)
    found = judge.parts(operation, database)
    if found is Verdict.DO:
        return judge.part(operation, database, wanted, there)
    is_so = wanted is there or (wanted is not None and there is not None and same(wanted, there))
    return found if is_so or judge.agrees(operation, database) else Verdict.CONFLICT
