"""Constraints: put and drop. They carry no mark: they follow their table.

Hive 2.3 has primary and foreign keys only; what a target does not have is left out there (Outcome.UNSUPPORTED).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore import MetastoreUnsupported
from pysync.model import idl
from pysync.model.names import TableName, normalized
from pysync.model.operation import DropConstraint, PutConstraint
from pysync.targets.base import Outcome, total
from pysync.targets.hms.same import same
from pysync.targets.hms.session import Session
from pysync.targets.hms.tables import existing
from pysync.targets.ownership import Standing, standing_of_part


@dataclass(frozen=True, slots=True)
class _Kind:
    """`name` is the field of a column that holds the constraint's name; the calls get a client."""

    name: str
    read: Callable[[Any, TableName], list[Any]]
    add: Callable[[Any, list[Any]], None]


def put_constraint(session: Session, operation: PutConstraint) -> Outcome:
    """Add each constraint, in place of one that has its name, or, for a primary key, of the table's other one."""
    # HMS 2.3 answers a constraint of a missing table with an internal error, so we look first.
    table = existing(session, operation.table, "constraint")
    found = standing_of_part(table.parameters, operation.mark)
    if found is Standing.NEWER:
        return Outcome.STALE
    try:
        return total([_put(session, operation, found, columns) for columns in _by_name(operation.columns)])
    except MetastoreUnsupported:
        return Outcome.UNSUPPORTED


def drop_constraint(session: Session, operation: DropConstraint) -> Outcome:
    """Drop the constraint of that name if it is there."""
    table = session.hms.table(operation.table.database, operation.table.table)
    if table is None:
        return Outcome.UNCHANGED
    wanted = normalized(operation.constraint)
    names = {name for name in _names(session, operation.table) if normalized(name) == wanted}
    if not names:
        return Outcome.UNCHANGED
    found = standing_of_part(table.parameters, operation.mark)
    if found is not Standing.OWN:
        return Outcome.STALE if found is Standing.NEWER else Outcome.FOREIGN
    for name in names:
        _drop(session, operation.table, name)
    return Outcome.APPLIED


def _by_name(columns: Sequence[Any]) -> list[list[Any]]:
    """The columns of each constraint, in their order: one event may add several constraints of a kind."""
    found: dict[str, list[Any]] = {}
    for column in sorted(columns, key=_sequence):
        found.setdefault(_name(column), []).append(column)
    return list(found.values())


def _put(session: Session, operation: PutConstraint, found: Standing, wanted: list[Any]) -> Outcome:
    there = _rivals(session, operation.table, wanted[0])
    if same([_comparable(column) for column in wanted], there):
        return Outcome.UNCHANGED
    conflict = session.conflict(f"table {operation.table}") if found is Standing.FOREIGN else None
    if conflict is not None:
        return conflict
    if there:
        _drop(session, operation.table, _name(there[0]))
    session.hms.call(lambda client: _KINDS[type(wanted[0])].add(client, wanted))
    return Outcome.APPLIED


def _rivals(session: Session, name: TableName, column: Any) -> list[Any]:
    """The columns of the constraint that the new one would replace, in their order."""
    there = _read(session, name, type(column))
    if isinstance(column, hive.SQLPrimaryKey):
        return there
    if isinstance(column, hive.SQLForeignKey):
        existing(session, TableName.of(column.pktable_db, column.pktable_name), "constraint")
    wanted = normalized(_name(column))
    return [other for other in there if wanted and normalized(_name(other)) == wanted]


def _comparable(column: Any) -> Any:
    """A foreign key without the name of the primary key that it refers to: HMS puts the parent's real one there."""
    if not isinstance(column, hive.SQLForeignKey):
        return column
    copy = deepcopy(column)
    copy.pk_name = None
    return copy


def _names(session: Session, name: TableName) -> set[str]:
    """The names of all constraints of a table."""
    found: set[str] = set()
    for kind in _KINDS:
        try:
            found.update(map(_name, _read(session, name, kind)))
        except MetastoreUnsupported:
            continue
    return found


def _read(session: Session, name: TableName, kind: type) -> list[Any]:
    columns = session.hms.call(lambda client: _KINDS[kind].read(client, name))
    return sorted(columns, key=_sequence)


def _sequence(column: Any) -> int:
    return getattr(column, "key_seq", None) or 0


def _name(column: Any) -> str:
    return getattr(column, _KINDS[type(column)].name) or ""


def _drop(session: Session, name: TableName, constraint: str) -> None:
    request = hive.DropConstraintRequest(name.database, name.table, constraint)
    session.hms.call(lambda client: client.drop_constraint(request))


def _primary_keys(client: Any, name: TableName) -> list[Any]:
    return list(client.get_primary_keys(hive.PrimaryKeysRequest(name.database, name.table)).primaryKeys)


def _foreign_keys(client: Any, name: TableName) -> list[Any]:
    return list(client.get_foreign_keys(hive.ForeignKeysRequest(None, None, name.database, name.table)).foreignKeys)


def _newer(kind: Any) -> _Kind:
    call, name = idl.CONSTRAINTS[kind]

    def read(client: Any, table: TableName) -> list[Any]:
        request = idl.ConstraintsRequest(catName=idl.CATALOG, db_name=table.database, tbl_name=table.table)
        return list(getattr(client, f"get_{call}s")(request))

    def add(client: Any, columns: list[Any]) -> None:
        getattr(client, f"add_{call}")(idl.constraint_request(kind, columns))

    return _Kind(name, read, add)


_KINDS: Mapping[type, _Kind] = {
    hive.SQLPrimaryKey: _Kind(
        "pk_name", _primary_keys, lambda c, its: c.add_primary_key(hive.AddPrimaryKeyRequest(its))
    ),
    hive.SQLForeignKey: _Kind(
        "fk_name", _foreign_keys, lambda c, its: c.add_foreign_key(hive.AddForeignKeyRequest(its))
    ),
    **{kind: _newer(kind) for kind in idl.CONSTRAINTS},
}
