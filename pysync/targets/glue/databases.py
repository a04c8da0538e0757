"""Databases and their functions: put and drop. `default` is never dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pysync.model.mark import Mark
from pysync.model.names import normalized
from pysync.model.operation import DropDatabase, DropFunction, PutDatabase, PutFunction
from pysync.targets.aws.errors import NOT_FOUND, of_code
from pysync.targets.aws.translate import database_input, function_input
from pysync.targets.base import Outcome
from pysync.targets.glue.same import filled, same, up_to_date
from pysync.targets.glue.session import Session, chunks, into, stamped
from pysync.targets.ownership import Standing, standing, standing_for_drop, standing_of_part

_DEFAULT = "default"
_TABLES_PER_CALL = 100


def put_database(session: Session, operation: PutDatabase) -> Outcome:
    """Create the database or alter it. One that is not its source's is adopted, or left as it is: never parked."""
    there = session.catalog.database(operation.database)
    written = Mark.read(there.get("Parameters")) if there is not None else None
    plain, changes = database_input(operation.definition)
    wanted = stamped(plain, operation.mark.following(written))
    if there is None:
        session.catalog.call("create_database", DatabaseInput=wanted)
        session.report(operation, changes)
        return Outcome.APPLIED
    found = standing(True, there.get("Parameters"), operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    if found is Standing.FOREIGN and (operation.database == _DEFAULT or session.settings.on_conflict != "adopt"):
        return Outcome.FOREIGN
    if up_to_date(wanted, there, operation.mark):
        return Outcome.UNCHANGED
    session.catalog.call("update_database", Name=operation.database, DatabaseInput=filled(wanted, there))
    session.report(operation, changes)
    return Outcome.APPLIED


def drop_database(session: Session, operation: DropDatabase) -> Outcome:
    """Drop the database with what its source has in it; it stays if anything else is left, or somebody else made it.

    A newer one stays, too, but for its tables from before the drop: a replay after a crash has put them there again.
    """
    there = session.catalog.database(operation.database)
    if there is None:
        return Outcome.UNCHANGED
    found = standing_for_drop(True, there.get("Parameters"), operation.mark)
    if operation.database == _DEFAULT:
        return Outcome.FOREIGN
    left = _drop_tables(session, operation)
    if found is Standing.NEWER:
        return Outcome.STALE
    if found is Standing.FOREIGN or left:
        return Outcome.FOREIGN if Standing.FOREIGN in (found, *left) else Outcome.STALE
    session.catalog.call("delete_database", Name=operation.database)  # its functions go with it
    return Outcome.APPLIED


def put_function(session: Session, operation: PutFunction) -> Outcome:
    """Create the function or alter it. One that is in another's database is altered only if that may be adopted."""
    found = _database_standing(session, operation)
    if found is Standing.NEWER:
        return Outcome.STALE
    wanted, changes = function_input(operation.definition)
    database, name = operation.database, wanted["FunctionName"]
    there = session.catalog.function(database, name)
    arguments = {"DatabaseName": database, "FunctionInput": wanted}
    if there is not None and same(wanted, there):
        return Outcome.UNCHANGED
    if there is None:
        create = "create_user_defined_function"
        into(session, operation, database, lambda: session.catalog.call(create, **arguments))
    elif found is Standing.FOREIGN and session.settings.on_conflict != "adopt":
        return Outcome.FOREIGN
    else:
        session.catalog.call("update_user_defined_function", FunctionName=name, **arguments)
    session.report(operation, changes)
    return Outcome.APPLIED


def drop_function(session: Session, operation: DropFunction) -> Outcome:
    """Drop the function if its database is its source's."""
    name = normalized(operation.function)
    if session.catalog.function(operation.database, name) is None:
        return Outcome.UNCHANGED
    found = _database_standing(session, operation)
    if found is not Standing.OWN:
        return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
    session.catalog.call("delete_user_defined_function", DatabaseName=operation.database, FunctionName=name)
    return Outcome.APPLIED


def _drop_tables(session: Session, operation: DropDatabase) -> list[Standing]:
    """Drop the source's tables; the standings of those that are left."""
    own, left = list[str](), list[Standing]()
    for table in session.catalog.tables(operation.database):
        its_standing = standing_for_drop(True, table.get("Parameters"), operation.mark)
        if its_standing is Standing.OWN:
            own.append(table["Name"])
        else:
            left.append(its_standing)
    for names in chunks(own, _TABLES_PER_CALL):
        _drop_batch(session, operation.database, names)
    return left


def _drop_batch(session: Session, database: str, names: Sequence[str]) -> None:
    answer = session.catalog.call("batch_delete_table", DatabaseName=database, TablesToDelete=list(names))
    for failed in answer.get("Errors") or ():
        detail: dict[str, Any] = failed.get("ErrorDetail") or {}
        if detail.get("ErrorCode") != NOT_FOUND:
            what = f"table {database}.{failed.get('TableName')} cannot be dropped"
            raise of_code(detail.get("ErrorCode", ""), detail.get("ErrorMessage", ""), what)


def _database_standing(session: Session, operation: PutFunction | DropFunction) -> Standing:
    there = session.catalog.database(operation.database)
    return Standing.ABSENT if there is None else standing_of_part(there.get("Parameters"), operation.mark)
