"""Calls about constraints: primary and foreign keys, as Hive 2.3 has them. They fire no events there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.memory.store import Calls, HeldTable
from pysync.model.constraints import name_of
from pysync.model.names import normalized
from pysync.model.struct_copies import copied


class ConstraintCalls(Calls):
    """A table has one primary key; a foreign key refers to columns of one."""

    def get_primary_keys(self, request: Any) -> Any:
        """The columns of a table's primary key."""
        return hive.PrimaryKeysResponse(self._keys(request.db_name, request.tbl_name, hive.SQLPrimaryKey))

    def get_foreign_keys(self, request: Any) -> Any:
        """The columns of the foreign keys of a table."""
        return hive.ForeignKeysResponse(
            self._keys(request.foreign_db_name, request.foreign_tbl_name, hive.SQLForeignKey)
        )

    def add_primary_key(self, request: Any) -> None:
        """Add a primary key. Raises MetaException if there is one already."""
        first = request.primaryKeyCols[0]
        held = self._owner(first.table_db, first.table_name)
        if _of(held, hive.SQLPrimaryKey):
            raise hive.MetaException(f"Primary key already exists for: {first.table_db}.{first.table_name}")
        self._add(held, request.primaryKeyCols, "pk_name")

    def add_foreign_key(self, request: Any) -> None:
        """Add a foreign key. Raises MetaException if it does not refer to a primary key."""
        first = request.foreignKeyCols[0]
        held = self._owner(first.fktable_db, first.fktable_name)
        parent = self._owner(first.pktable_db, first.pktable_name)
        columns = {key.column_name for key in _of(parent, hive.SQLPrimaryKey)}
        if not {normalized(key.pkcolumn_name) for key in request.foreignKeyCols} <= columns:
            raise hive.MetaException("Foreign key references a column that is in no primary key")
        self._add(held, request.foreignKeyCols, "fk_name")

    def drop_constraint(self, request: Any) -> None:
        """Drop a constraint. Raises NoSuchObjectException."""
        held = self._store.table(request.dbname, request.tablename)
        wanted = normalized(request.constraintname)
        remaining = [key for key in held.keys if normalized(name_of(key)) != wanted]
        if len(remaining) == len(held.keys):
            raise hive.NoSuchObjectException(f"The constraint: {request.constraintname} does not exist")
        held.keys = remaining

    def _keys(self, database: str, table: str, kind: Any) -> list[Any]:
        held = self._store.find(database, table)
        return copied(_of(held, kind)) if held else []

    def _owner(self, database: str, table: str) -> HeldTable:
        held = self._store.find(database, table)
        if held is None:
            raise hive.InvalidObjectException(f"table {database}.{table} of the constraint not found")
        return held

    def _add(self, held: HeldTable, columns: Sequence[Any], name: str) -> None:
        given = getattr(columns[0], name) or f"{name}_{held.struct.tableName}_{len(held.keys)}"
        for column in columns:
            key = copied(column)
            setattr(key, name, normalized(given))
            for field in ("column_name", "fkcolumn_name", "pkcolumn_name"):
                if hasattr(key, field):
                    setattr(key, field, normalized(getattr(key, field)))
            held.keys.append(key)


def _of(held: HeldTable, kind: Any) -> list[Any]:
    return [key for key in held.keys if isinstance(key, kind)]
