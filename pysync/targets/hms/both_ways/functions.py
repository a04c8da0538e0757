"""Functions both ways. They carry no mark: their database's home is theirs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pysync.model.names import normalized
from pysync.model.operation import DropFunction, PutFunction
from pysync.targets.base import MissingDatabase, Outcome
from pysync.targets.hms.both_ways.touching import judge_of, settled, tell_conflict
from pysync.targets.hms.databases import alter_function, drop_function_of
from pysync.targets.hms.same import same
from pysync.targets.hms.session import Session, missing, within
from pysync.targets.judging import Verdict


def put_function(session: Session, operation: PutFunction) -> Outcome:
    """Create the function, alter it, or leave it and touch it."""
    database = session.hms.database(operation.database)
    if database is None:
        raise missing(session, f"database {operation.database}", MissingDatabase)
    wanted = deepcopy(operation.definition)
    wanted.functionName = normalized(wanted.functionName)
    there = session.hms.function(operation.database, wanted.functionName)
    verdict = _verdict(session, operation, database, wanted, there)
    if verdict is Verdict.CONFLICT:
        return _touch(session, operation, database, there)
    if verdict is Verdict.STALE and there is None and judge_of(session).is_unheard_of(operation):
        return _touch_absent(session, operation, database, wanted)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, database)
    if there is None:
        with within(session, operation.database):
            session.hms.call(lambda client: client.create_function(wanted))
        return Outcome.APPLIED
    if same(wanted, there):
        return Outcome.UNCHANGED
    alter_function(session, wanted, there)
    return Outcome.APPLIED


def drop_function(session: Session, operation: DropFunction) -> Outcome:
    """Drop the function, or leave it and touch it."""
    name = normalized(operation.function)
    database = session.hms.database(operation.database)
    there = None if database is None else session.hms.function(operation.database, name)
    if there is None:
        return Outcome.UNCHANGED
    verdict = _verdict(session, operation, database, None, there)
    if verdict is Verdict.CONFLICT:
        return _touch(session, operation, database, there)
    if verdict is not Verdict.DO:
        return settled(session, operation, verdict, database)
    drop_function_of(session, operation.database, name)
    return Outcome.APPLIED


def _verdict(
    session: Session, operation: PutFunction | DropFunction, database: Any, wanted: Any, there: Any
) -> Verdict:
    judge = judge_of(session)
    found = judge.parts(operation, database)
    return judge.part(operation, database, wanted, there) if found is Verdict.DO else found


def _touch(session: Session, operation: PutFunction | DropFunction, database: Any, there: Any) -> Outcome:
    """Drop the function and create it as it is: both are told as this cluster's own, and so are done elsewhere.

    By the path of these calls others see whether it was the home that did so.
    """
    tell_conflict(session, operation, database)
    at_home = judge_of(session).home(database) == session.cluster
    own = session.on_behalf_of((session.cluster,) * (2 if at_home else 1))
    drop_function_of(own, operation.database, there.functionName)
    own.hms.call(lambda client: client.create_function(there))
    return Outcome.CONFLICT


def _touch_absent(session: Session, operation: PutFunction, database: Any, wanted: Any) -> Outcome:
    """Tell that the home has no such function: no event may ever have told it of the one that the source has."""
    tell_conflict(session, operation, database)
    own = session.on_behalf_of((session.cluster,) * 2)
    own.hms.call(lambda client: client.create_function(wanted))
    drop_function_of(own, operation.database, wanted.functionName)
    return Outcome.CONFLICT
