"""Constraints: put and drop. They carry no mark: they follow their table.

Hive 2.3 has primary and foreign keys only; what a target does not have is left out there (Outcome.UNSUPPORTED).
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.errors import MetastoreUnsupported
from pysync.model import constraints, idl
from pysync.model.constraints import by_name, comparable, name_of
from pysync.model.names import TableName, normalized
from pysync.model.operation import DropConstraint, PutConstraint
from pysync.targets.base import Outcome, total
from pysync.targets.hms.same import same
from pysync.targets.hms.session import Session
from pysync.targets.hms.tables import existing
from pysync.targets.ownership import Standing, standing_of_part


def put_constraint(session: Session, operation: PutConstraint) -> Outcome:
    """Add each constraint, in place of one that has its name, or, for a primary key, of the table's other one."""
    # HMS 2.3 answers a constraint of a missing table with an internal error, so we look first.
    table = existing(session, operation.table, "constraint")
    found = standing_of_part(table.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    try:
        return total([_put(session, operation, found, columns) for columns in by_name(operation.columns)])
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED


def drop_constraint(session: Session, operation: DropConstraint) -> Outcome:
    """Drop the constraint of that name if it is there."""
    table = session.hms.table(operation.table.database, operation.table.table)
    if table is None:
        return Outcome.UNCHANGED
    wanted = normalized(operation.constraint)
    columns = chain.from_iterable(session.hms.constraints(table).values())
    names = {name for name in map(name_of, columns) if normalized(name) == wanted}
    if not names:
        return Outcome.UNCHANGED
    found = standing_of_part(table.parameters, operation.mark)
    if found is not Standing.OWN:
        return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
    for name in names:
        drop(session, operation.table, name)
    return Outcome.APPLIED


def _put(session: Session, operation: PutConstraint, found: Standing, wanted: list[Any]) -> Outcome:
    there = rivals(session, operation.table, wanted[0])
    if same([comparable(column) for column in wanted], there):
        return Outcome.UNCHANGED
    conflict = session.conflict(f"table {operation.table}") if found is Standing.FOREIGN else None
    if conflict is not None:
        return conflict
    if there:
        drop(session, operation.table, name_of(there[0]))
    session.hms.call(lambda client: add(client, wanted))
    return Outcome.APPLIED


def rivals(session: Session, name: TableName, column: Any) -> list[Any]:
    """The columns of the constraint that the new one would replace, in their order."""
    there = session.hms.call(lambda client: constraints.read(client, type(column), name.database, name.table))
    if isinstance(column, hive.SQLPrimaryKey):
        return there
    if isinstance(column, hive.SQLForeignKey):
        existing(session, TableName.of(column.pktable_db, column.pktable_name), "constraint")
    wanted = normalized(name_of(column))
    return [other for other in there if wanted and normalized(name_of(other)) == wanted]


def add(client: Any, columns: list[Any]) -> None:
    """Add one constraint."""
    kind = type(columns[0])
    if kind is hive.SQLPrimaryKey:
        client.add_primary_key(hive.AddPrimaryKeyRequest(columns))
    elif kind is hive.SQLForeignKey:
        client.add_foreign_key(hive.AddForeignKeyRequest(columns))
    else:
        getattr(client, f"add_{idl.CONSTRAINTS[kind][0]}")(idl.constraint_request(kind, columns))


def drop(session: Session, name: TableName, constraint: str) -> None:
    """Drop the constraint of that name, which is there."""
    request = hive.DropConstraintRequest(name.database, name.table, constraint)
    session.hms.call(lambda client: client.drop_constraint(request))
