"""Constraints: structs of one column each, in six kinds; which belong together, and how a metastore is asked for them.

Hive 2.3 has primary and foreign keys only. Each constraint has a name. A primary key's name means nothing, since a
table has at most one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.definition import VIEWS
from pysync.model.names import normalized

Columns = list[Any]
"""The columns of one constraint, in their order."""

Constraints = Mapping[Any, Columns]
"""By struct: the columns of all constraints of that kind. Kinds that the place does not have are missing."""

_OLDER = (hive.SQLPrimaryKey, hive.SQLForeignKey)
_NAMES: Mapping[Any, str] = {
    hive.SQLPrimaryKey: "pk_name",
    hive.SQLForeignKey: "fk_name",
    **{kind: name for kind, (_, name) in idl.CONSTRAINTS.items()},
}


def kinds_at(table: Any) -> tuple[Any, ...]:
    """The kinds that the metastore of this table has. One with the newer kinds always sets ownerType.

    Views have none.
    """
    if table.tableType in VIEWS:
        return ()
    return _OLDER if table.ownerType is None else (*_OLDER, *idl.CONSTRAINTS)


def read(client: Any, kind: Any, database: str, table: str) -> Columns:
    """Ask a metastore's client for all columns of a kind, in their order."""
    if kind is hive.SQLPrimaryKey:
        columns = client.get_primary_keys(hive.PrimaryKeysRequest(database, table)).primaryKeys
    elif kind is hive.SQLForeignKey:
        # The first two would name the parent: unset, all foreign keys of this table come.
        columns = client.get_foreign_keys(hive.ForeignKeysRequest(None, None, database, table)).foreignKeys
    else:
        request = idl.ConstraintsRequest(catName=idl.CATALOG, db_name=database, tbl_name=table)
        columns = getattr(client, f"get_{idl.CONSTRAINTS[kind][0]}s")(request)
    return sorted(columns, key=_sequence)


def name_of(column: Any) -> str:
    """The name of the constraint that a column belongs to."""
    return getattr(column, _NAMES[type(column)]) or ""


def by_name(columns: Iterable[Any]) -> list[Columns]:
    """The columns of each constraint: one event or answer may hold several constraints of a kind."""
    together: dict[str, Columns] = {}
    for column in sorted(columns, key=_sequence):
        together.setdefault(name_of(column), []).append(column)
    return list(together.values())


def pairs(wanted: Sequence[Any], there: Sequence[Any]) -> Iterator[tuple[Columns, Columns]]:
    """Each constraint of one kind that is wanted, there, or both, with its columns on either side ([] if missing)."""
    mine = {_identity(columns[0]): columns for columns in by_name(wanted)}
    theirs = {_identity(columns[0]): columns for columns in by_name(there)}
    for key in sorted(mine.keys() | theirs.keys()):
        yield mine.get(key, []), theirs.get(key, [])


def comparable(column: Any) -> Any:
    """A foreign key without the name of the primary key that it refers to: HMS overwrites that with the real one."""
    if not isinstance(column, hive.SQLForeignKey):
        return column
    copy = deepcopy(column)
    copy.pk_name = None
    return copy


def _identity(column: Any) -> str:
    return "" if isinstance(column, hive.SQLPrimaryKey) else normalized(name_of(column))


def _sequence(column: Any) -> int:
    return getattr(column, "key_seq", None) or 0
