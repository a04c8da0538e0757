"""Databases both ways: put and drop."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pysync.model.births import births_of, with_births
from pysync.model.home import Stance, home_of
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DatabaseOperation, DropDatabase, PutDatabase, SayAgain
from pysync.targets.base import Outcome
from pysync.targets.hms import databases, tables
from pysync.targets.hms.both_ways.verdicts import (
    ask_for_place,
    ask_for_table,
    judge_of,
    marked,
    say_again,
    settled,
    unmark,
    up_to_date,
)
from pysync.targets.hms.same import alike
from pysync.targets.hms.session import Session
from pysync.targets.judging import DEFAULT, Verdict


def put_database(session: Session, operation: PutDatabase) -> Outcome:
    """Create the database or alter it. One that was born at both ends is never parked: it is a place.

    Its functions bear no mark: where it has another home afterwards, what that has of them was never asked for.
    """
    there = session.hms.database(operation.database)
    if there is None:
        return _put(session, operation, None)
    if operation.database == DEFAULT:
        return Outcome.FOREIGN
    judge = judge_of(session)
    home = judge.home_within(there)
    _note(session, there, births_of(operation.definition.parameters, operation.mark.source))
    outcome = _put(session, operation, there)
    if judge.home_within(there) != home:
        _ask_for_functions(session, operation, there)
    return outcome


def _put(session: Session, operation: PutDatabase, there: Any | None) -> Outcome:
    """Bring the database to what the operation says; `there` gets the parameters that it has then."""
    judge = judge_of(session)
    verdict = judge.put(operation, operation.definition, there)
    third = judge.home(there) not in {None, session.cluster, operation.mark.source}
    if verdict is Verdict.CONFLICT and third:
        verdict = Verdict.DO  # that it was dropped there may be told here later, and it is but a place
    if verdict is Verdict.CONFLICT:
        return ask_for_place(session, operation, there)
    if verdict not in {Verdict.DO, Verdict.PARK}:
        return settled(session, operation, verdict, there)
    wanted = marked(judge, operation, operation.definition, there)
    if there is None:
        databases.create(session, wanted)
        return Outcome.APPLIED
    wanted.parameters = with_births(wanted.parameters, births_of(there.parameters, session.cluster))
    if judge.home(there) == session.cluster:
        unmark(wanted)  # born at both ends: who has it from here would not be told that it is another's now
    if up_to_date(wanted, there):
        return Outcome.UNCHANGED
    session.hms.call(lambda client: client.alter_database(operation.database, wanted))
    there.parameters = wanted.parameters
    return Outcome.APPLIED


def _ask_for_functions(session: Session, operation: DatabaseOperation, place: Any) -> None:
    for function in session.hms.functions(operation.database):
        ask_for_place(session, operation, place, function.functionName)


def _note(session: Session, there: Any, births: Iterable[str]) -> None:
    """Remember in a database where else it was born, so that its drop tells what was known."""
    known = births_of(there.parameters, session.cluster)
    if not known.issuperset(births):
        there.parameters = with_births(there.parameters, known.union(births))
        session.hms.call(lambda client: client.alter_database(there.name, there))


def drop_database(session: Session, operation: DropDatabase) -> Outcome:
    """Drop the database with what may go of its tables; it stays if others are left.

    With them it is born here anew, and all that is in it is told again: no other may have heard of it. It stays, too,
    where it has been born at a cluster of which the source did not know.

    What may go are the tables of the home whose word it is, and those that the source has told of, if they are here as
    they were there. A database is a place, and worth nothing without what is in it: wherever it was born, it may go.
    """
    there = session.hms.database(operation.database)
    if there is None:
        return _passed_on(session, operation)
    if operation.tables_alone:
        return _drop_own(session, operation, there)
    judge = judge_of(session)
    verdict = judge.drop(operation, there)
    if operation.database == DEFAULT or verdict is Verdict.STALE:
        return Outcome.STALE if verdict is Verdict.STALE else Outcome.FOREIGN
    left = _drop_tables(session, operation)
    births = judge.unseen(operation, there) or frozenset({session.cluster} if left else ())
    if not births:
        _drop(session, operation)
        return Outcome.APPLIED
    _leave_to(session, there, births)
    for table in left:
        ask_for_table(session, operation, table)
    _ask_for_functions(session, operation, there)
    return ask_for_place(session, operation, there)


def _passed_on(session: Session, operation: DropDatabase) -> Outcome:
    """Have those hear of it whose births are meant, too, and to whom no event of the target tells of it."""
    unheard = judge_of(session).known(operation) - {session.cluster, *operation.visited}
    if not unheard or not session.settings.relay:
        return Outcome.UNCHANGED
    way: dict[str, Any] = {"mark": operation.mark, "visited": operation.visited}
    return say_again(session, SayAgain(database=operation.database, home=operation.mark.source, **way))


def _leave_to(session: Session, there: Any, births: frozenset[str]) -> None:
    """Have the database be of these births alone."""
    if births == births_of(there.parameters, session.cluster):
        return
    mark = Mark.read(there.parameters)
    there.parameters = with_births(there.parameters, births)
    if session.cluster in births:
        unmark(there)
    elif mark is None or mark.source not in births:
        there.parameters |= Mark(min(births), 0, 0).parameters()
    session.hms.call(lambda client: client.alter_database(there.name, there))


def _drop(session: Session, operation: DropDatabase) -> None:
    there = session.hms.database(operation.database)
    if there is not None:  # whom the drop is passed on to hears what was known
        _note(session, there, judge_of(session).known(operation))
    for function in session.hms.functions(operation.database):
        databases.drop_function_of(session, operation.database, function.functionName)
    deletes = session.deletes(operation.delete_data)
    session.hms.call(lambda client: client.drop_database(operation.database, deletes, False))


def _drop_own(session: Session, operation: DropDatabase, place: Any) -> Outcome:
    """Drop those of the tables that were told of which were born where they were dropped; and with them the database,
    unless it was born here or has more in it: whose it is has been asked to drop it, too.
    """
    judge, dropped = judge_of(session), 0
    for told in operation.told:
        there = session.hms.table(operation.database, told.tableName)
        if there is not None and judge.home(there) == operation.mark.source and judge.home(there) != session.cluster:
            tables.drop(session, operation, TableName.of(there.dbName, there.tableName))
            dropped += 1
    if _is_left_over(session, operation, place):
        _drop(session, operation)
        dropped += 1
    return Outcome.APPLIED if dropped else Outcome.UNCHANGED


def _is_left_over(session: Session, operation: DropDatabase, place: Any) -> bool:
    judge = judge_of(session)
    home = judge.home(place)
    if judge.unseen(operation, place):
        return False
    if operation.database == DEFAULT or home == session.cluster or session.hms.tables(operation.database):
        return False
    return home == operation.mark.source or not session.hms.functions(operation.database)


def _drop_tables(session: Session, operation: DropDatabase) -> list[Any]:
    """Drop the tables that may go, views first; those that are left."""
    found = (session.hms.table(operation.database, name) for name in session.hms.tables(operation.database))
    there = sorted((table for table in found if table is not None), key=tables.is_view, reverse=True)
    told = {table.tableName: table for table in operation.told}
    left: list[Any] = []
    for table in there:
        if _may_go(session, operation, told.get(table.tableName), table):
            name = TableName.of(table.dbName, table.tableName)
            tables.drop(session, operation, name, delete_data=operation.delete_data)
        else:
            left.append(table)
    return left


def _may_go(session: Session, operation: DropDatabase, told: Any | None, there: Any) -> bool:
    judge = judge_of(session)
    source, home = operation.visited[-1], judge.home(there)
    if told is not None and home_of(told.parameters, source) == home and (home == source or alike(told, there)):
        return True
    if judge.asked(operation).stance is Stance.REQUEST:
        return False
    # What comes by way of another has the database's mark, which is older than those of its tables.
    relayed = source != operation.mark.source == home
    return relayed or judge.drop(operation, there) is Verdict.DO
