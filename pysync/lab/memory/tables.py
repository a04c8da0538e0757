"""Calls about tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.memory.column_types import incompatible, is_type
from pysync.lab.memory.store import Calls, HeldTable, environment_of, name_of
from pysync.model.event import Kind
from pysync.model.names import TableName, normalized
from pysync.model.struct_copies import copied


class TableCalls(Calls):
    """A managed table lies where its name says. A rename moves it and its partitions, which get no events."""

    def get_all_tables(self, database: str) -> list[str]:
        """The names of its tables; none if there is no such database."""
        held = self._store.databases.get(normalized(database))
        return sorted(held.tables) if held else []

    def get_table_req(self, request: Any) -> Any:
        """Raises NoSuchObjectException."""
        return hive.GetTableResult(copied(self._store.table(request.dbName, request.tblName).struct))

    def get_table_objects_by_name_req(self, request: Any) -> Any:
        """The named tables that are there."""
        tables = (self._store.find(request.dbName, name) for name in request.tblNames)
        return hive.GetTablesResult([copied(held.struct) for held in tables if held is not None])

    def create_table(self, wanted: Any) -> None:
        """Create a table, without an EnvironmentContext."""
        self.create_table_with_environment_context(wanted, None)

    def create_table_with_environment_context(self, wanted: Any, context: Any) -> None:
        """Raises NoSuchObjectException (its database), AlreadyExistsException, InvalidObjectException."""
        struct = self._store.taken(wanted)
        database = self._store.database(struct.dbName)
        if struct.tableName in database.tables:
            raise hive.AlreadyExistsException(f"Table {struct.tableName} already exists")
        _check(struct)
        if struct.sd.location is None and struct.tableType != "VIRTUAL_VIEW":
            struct.sd.location = self._default_place(name_of(struct))
        self._store.stamp(struct)
        database.tables[struct.tableName] = HeldTable(struct)
        self._notify(Kind.CREATE_TABLE, after=[struct], environment=environment_of(context))

    def drop_table(self, database: str, table: str, delete_data: bool) -> None:
        """Drop a table, without an EnvironmentContext."""
        self.drop_table_with_environment_context(database, table, delete_data, None)

    def drop_table_with_environment_context(self, database: str, table: str, delete_data: bool, context: Any) -> None:
        """Drop it with partitions, constraints and foreign keys that refer to it. Raises NoSuchObjectException."""
        held = self._store.table(database, table)
        name = name_of(held.struct)
        del self._store.databases[name.database].tables[name.table]
        self._forget_references(name)
        options = {"environment": environment_of(context), "delete_data": delete_data}
        # As in HMS, its partitions have no events of their own.
        self._notify(Kind.DROP_TABLE, before=[held.struct], **options)

    def alter_table_with_environment_context(self, database: str, table: str, wanted: Any, context: Any) -> None:
        """Alter or rename a table. Raises InvalidOperationException, and MetaException for an unexpected parameter."""
        held, struct, environment = (
            self._store.find(database, table),
            self._store.taken(wanted),
            environment_of(context),
        )
        if held is None:
            raise hive.InvalidOperationException(f"table {database}.{table} doesn't exist")
        before = held.struct
        _check_expected(before, struct, environment)
        _check(struct)
        _check_alter(before, struct)
        self._place(before, struct)
        self._store.stamp(struct, before.createTime)
        if environment.get("CASCADE") == "true" and before.sd.cols != struct.sd.cols:
            _give_columns(held, struct.sd.cols)
        held.struct = struct
        if name_of(before) != name_of(struct):
            self._move(held, before)
        self._notify(Kind.ALTER_TABLE, before=[before], after=[struct], environment=environment)

    def _place(self, before: Any, struct: Any) -> None:
        """Check that the new name of a renamed table is free, and give it its place."""
        name = name_of(struct)
        if name != name_of(before):
            if name.database not in self._store.databases:
                raise hive.InvalidOperationException(f"Unable to alter table: database {name.database} not found")
            if self._store.find(name.database, name.table):
                raise hive.InvalidOperationException(f"new table {name} already exists")
            if before.tableType == "MANAGED_TABLE" and (struct.sd.location or "") in {"", before.sd.location}:
                struct.sd.location = self._default_place(name)
        if struct.tableType != "VIRTUAL_VIEW":
            struct.sd.location = struct.sd.location or before.sd.location

    def _move(self, held: HeldTable, before: Any) -> None:
        """Give a table that has been renamed, and what belongs to it, its new name."""
        old, new = name_of(before), name_of(held.struct)
        del self._store.databases[old.database].tables[old.table]
        self._store.databases[new.database].tables[new.table] = held
        managed = before.tableType == "MANAGED_TABLE"
        places = (before.sd.location, held.struct.sd.location) if managed else (None, None)
        held.partitions = {values: _moved(it, new, *places) for values, it in held.partitions.items()}
        self._rename_references(old, new)

    def _default_place(self, name: TableName) -> str:
        return f"{self._store.databases[name.database].struct.locationUri.rstrip('/')}/{name.table}"

    def _forget_references(self, name: TableName) -> None:
        """Drop the foreign keys that refer to a table that is gone."""
        for held in self._tables():
            held.keys = [key for key in held.keys if _parent(key) != name]

    def _rename_references(self, old: TableName, new: TableName) -> None:
        for held in self._tables():
            held.keys = [_renamed(key, old, new) for key in held.keys]

    def _tables(self) -> list[HeldTable]:
        return [held for database in self._store.databases.values() for held in database.tables.values()]

    def fire_listener_event(self, request: Any) -> Any:
        """Fire the event of an INSERT; changes nothing."""
        held = self._store.table(request.dbName, request.tableName)
        self._notify(Kind.INSERT, table=held.struct)
        return hive.FireEventResponse()


def _check(struct: Any) -> None:
    columns = [*(struct.sd.cols or ()), *(struct.partitionKeys or ())]
    wrong = [column.type for column in columns if not is_type(column.type)]
    if wrong:
        raise hive.InvalidObjectException(f"{struct.tableName} is not a valid object: type {wrong[0]}")
    for column in columns:
        column.name = column.name.lower()


def _check_expected(before: Any, after: Any, environment: Mapping[str, str]) -> None:
    """HMS compares the parameter that an alter expects, but only with a new value."""
    key, expected = environment.get("expected_parameter_key"), environment.get("expected_parameter_value")
    if key is None or expected is None:
        return
    if key not in (after.parameters or {}):
        raise hive.MetaException(f"New value for expected key {key} is not set")
    if (before.parameters or {}).get(key) != expected:
        raise hive.MetaException(f"The table has been modified. The parameter value for key '{key}' is not {expected}")


def _check_alter(before: Any, after: Any) -> None:
    """HMS lets the types of partition keys be changed, but not their names."""
    if "VIRTUAL_VIEW" not in {before.tableType, after.tableType} and _key_names(before) != _key_names(after):
        raise hive.InvalidOperationException("partition keys can not be changed.")
    wrong = incompatible(before.sd.cols or (), after.sd.cols or ())
    if wrong:
        message = (
            "The following columns have types incompatible with the existing columns in their respective positions"
        )
        raise hive.InvalidOperationException(f"{message} :\n{','.join(wrong)}")


def _key_names(table: Any) -> Sequence[str]:
    return [key.name for key in table.partitionKeys or ()]


def _give_columns(held: HeldTable, columns: list[Any]) -> None:
    for values, before in held.partitions.items():
        partition = copied(before)
        partition.sd.cols = copied(columns)
        held.partitions[values] = partition


def _moved(before: Any, name: TableName, old: str | None, new: str | None) -> Any:
    partition = copied(before)
    partition.dbName, partition.tableName = name.database, name.table
    if old and new and (partition.sd.location or "").startswith(f"{old}/"):
        partition.sd.location = new + partition.sd.location[len(old) :]
    return partition


def _parent(key: Any) -> TableName | None:
    """The table that a foreign key refers to."""
    return TableName.of(key.pktable_db, key.pktable_name) if isinstance(key, hive.SQLForeignKey) else None


def _renamed(key: Any, old: TableName, new: TableName) -> Any:
    copy = copied(key)
    for database, table in (("table_db", "table_name"), ("fktable_db", "fktable_name"), ("pktable_db", "pktable_name")):
        if (getattr(copy, database, None), getattr(copy, table, None)) == (old.database, old.table):
            setattr(copy, database, new.database)
            setattr(copy, table, new.table)
    return copy
