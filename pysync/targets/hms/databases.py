"""Databases and their functions: put and drop. `default` belongs to every metastore: it is never dropped."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.mark import Mark
from pysync.model.names import normalized
from pysync.model.operation import DropDatabase, DropFunction, PutDatabase, PutFunction
from pysync.targets.base import Outcome
from pysync.targets.hms.same import same, same_location, up_to_date
from pysync.targets.hms.session import Session, stamped, within
from pysync.targets.hms.tables import drop_found, is_view
from pysync.targets.ownership import Standing, standing, standing_for_drop, standing_of_part

_DEFAULT = "default"
_MANAGED_PLACE = "Unable to create database managed directory"


def put_database(session: Session, operation: PutDatabase) -> Outcome:
    """Create the database or alter it. One that is not its source's is adopted, or left as it is: never parked."""
    there = session.hms.database(operation.database)
    written = Mark.read(there.parameters) if there is not None else None
    mark = operation.mark.following(written)
    wanted = stamped(operation.definition, mark)
    if there is None:
        create(session, wanted)
        return Outcome.APPLIED
    found = standing(True, there.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    if found is Standing.FOREIGN and (operation.database == _DEFAULT or session.settings.on_conflict != "adopt"):
        return Outcome.FOREIGN
    # What HMS did not take from this very event (2.3: description and location) it never takes.
    if up_to_date(wanted, there, mark) or (written == mark and not _lacks_managed_place(wanted, there)):
        return Outcome.UNCHANGED
    session.hms.call(lambda client: client.alter_database(operation.database, wanted))
    return Outcome.APPLIED


def create(session: Session, wanted: Any) -> None:
    """Create the database. Hive 4 refuses a directory for managed tables that is there, but for an alter."""
    try:
        session.hms.call(lambda client: client.create_database(wanted))
    except hive.MetaException as error:
        if not wanted.managedLocationUri or _MANAGED_PLACE not in (error.message or ""):
            raise
        placeless = deepcopy(wanted)
        placeless.managedLocationUri = None
        session.hms.call(lambda client: client.create_database(placeless))
        session.hms.call(lambda client: client.alter_database(wanted.name, wanted))


def _lacks_managed_place(wanted: Any, there: Any) -> bool:
    """Whether a create has ended between its two calls, see `create`; Hive 4 alone sets a type."""
    return there.type is not None and not same_location(wanted.managedLocationUri, there.managedLocationUri)


def drop_database(session: Session, operation: DropDatabase) -> Outcome:
    """Drop the database with what its source has in it; it stays if anything else is left, or somebody else made it.

    A newer one stays, too, but for its tables from before the drop: a replay after a crash has put them there again.
    """
    there = session.hms.database(operation.database)
    if there is None:
        return Outcome.UNCHANGED
    found = standing_for_drop(True, there.parameters, operation.mark)
    if operation.database == _DEFAULT:
        return Outcome.FOREIGN
    left = _drop_tables(session, operation)
    if found is Standing.NEWER:
        return Outcome.STALE
    if found is Standing.FOREIGN or left:
        return Outcome.FOREIGN if Standing.FOREIGN in (found, *left) else Outcome.STALE
    for function in session.hms.functions(operation.database):
        drop_function_of(session, operation.database, function.functionName)
    deletes = session.deletes(operation.delete_data)
    session.hms.call(lambda client: client.drop_database(operation.database, deletes, False))
    return Outcome.APPLIED


def put_function(session: Session, operation: PutFunction) -> Outcome:
    """Create the function or alter it. One that is in another's database is altered only if that may be adopted."""
    found = _database_standing(session, operation)
    if found is Standing.NEWER:
        return Outcome.STALE
    wanted = deepcopy(operation.definition)
    wanted.functionName = normalized(wanted.functionName)  # HMS 2.3 and 3.1 cannot drop a database with Mixed ones
    there = session.hms.function(operation.database, wanted.functionName)
    if there is None:
        with within(session, operation.database):
            session.hms.call(lambda client: client.create_function(wanted))
        return Outcome.APPLIED
    if same(wanted, there):
        return Outcome.UNCHANGED
    if found is Standing.FOREIGN and session.settings.on_conflict != "adopt":
        return Outcome.FOREIGN
    alter_function(session, wanted, there)
    return Outcome.APPLIED


def drop_function(session: Session, operation: DropFunction) -> Outcome:
    """Drop the function if its database is its source's."""
    name = normalized(operation.function)
    if session.hms.function(operation.database, name) is None:
        return Outcome.UNCHANGED
    found = _database_standing(session, operation)
    if found is not Standing.OWN:
        return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
    drop_function_of(session, operation.database, name)
    return Outcome.APPLIED


def _drop_tables(session: Session, operation: DropDatabase) -> list[Standing]:
    """Drop the source's tables, views first; the standings of those that are left."""
    found = (session.hms.table(operation.database, name) for name in session.hms.tables(operation.database))
    tables = sorted((table for table in found if table is not None), key=is_view, reverse=True)
    left: list[Standing] = []
    for table in tables:
        its_standing = standing_for_drop(True, table.parameters, operation.mark)
        if its_standing is Standing.OWN:
            drop_found(session, operation, table, delete_data=operation.delete_data)
        else:
            left.append(its_standing)
    return left


def _database_standing(session: Session, operation: PutFunction | DropFunction) -> Standing:
    there = session.hms.database(operation.database)
    return Standing.ABSENT if there is None else standing_of_part(there.parameters, operation.mark)


def alter_function(session: Session, wanted: Any, there: Any) -> None:
    """Alter it; HMS leaves its resources as they are, so with others it is dropped and created."""
    database, name = wanted.dbName, wanted.functionName
    if same(wanted.resourceUris, there.resourceUris):
        session.hms.call(lambda client: client.alter_function(database, name, wanted))
    else:
        drop_function_of(session, database, name)
        session.hms.call(lambda client: client.create_function(wanted))


def drop_function_of(session: Session, database: str, name: str) -> None:
    """Drop the function if it is there."""
    try:
        session.hms.call(lambda client: client.drop_function(database, name))
    except hive.NoSuchObjectException:
        return
