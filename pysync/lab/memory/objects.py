"""The calls of a metastore in memory, for databases, tables and partitions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.memory.store import DEFAULT, Calls, HeldDatabase, HeldTable, Values, environment_of, name_of
from pysync.model.copies import copied
from pysync.model.event import Kind
from pysync.model.names import DEFAULT_PARTITION, TableName, normalized, partition_name, partition_values

# --- Calls about databases and functions


class DatabaseCalls(Calls):
    """As in HMS 2.3, an alter of a database takes only parameters and owner, and alters of either fire no event."""

    def get_all_databases(self) -> list[str]:
        """Their names."""
        return sorted(self._store.databases)

    def get_database(self, name: str) -> Any:
        """Raises NoSuchObjectException."""
        return copied(self._store.database(name).struct)

    def create_database(self, wanted: Any) -> None:
        """Raises AlreadyExistsException."""
        struct = self._store.taken(wanted)
        if struct.name in self._store.databases:
            raise hive.AlreadyExistsException(f"Database {struct.name} already exists")
        struct.locationUri = struct.locationUri or f"/{struct.name}.db"
        self._store.databases[struct.name] = HeldDatabase(struct)
        self._notify(Kind.CREATE_DATABASE, after=[struct])

    def alter_database(self, name: str, wanted: Any) -> None:
        """Raises NoSuchObjectException."""
        held, given = self._store.database(name), self._store.taken(wanted)
        struct = copied(held.struct)
        struct.parameters = given.parameters
        struct.ownerName, struct.ownerType = given.ownerName or struct.ownerName, given.ownerType or struct.ownerType
        held.struct = struct

    def drop_database(self, name: str, delete_data: bool, cascade: bool) -> None:
        """Drop it. Functions go first, each with an event; events of its tables come before the drop is committed."""
        held = self._store.database(name)
        if held.struct.name == DEFAULT:
            raise hive.MetaException("Can not drop default database in catalog hive")
        if (held.tables or held.functions) and not cascade:
            raise hive.InvalidOperationException(f"Database {name} is not empty. One or more tables exist.")
        for function in sorted(held.functions):
            self.drop_function(name, function)
        for table in sorted(held.tables):
            # HMS 2.3 to 4 reports these to listeners while the transaction of the database is still open.
            self._notify(Kind.DROP_TABLE, before=[held.tables[table].struct], committed=False)
        del self._store.databases[held.struct.name]
        self._notify(Kind.DROP_DATABASE, before=[held.struct], delete_data=delete_data)

    def get_functions(self, database: str, pattern: str) -> list[str]:  # noqa: ARG002, it is always "*"
        """The names of all."""
        held = self._store.databases.get(normalized(database))
        return sorted(held.functions) if held else []

    def get_function(self, database: str, name: str) -> Any:
        """Raises NoSuchObjectException."""
        return copied(self._function(database, name))

    def create_function(self, wanted: Any) -> None:
        """Raises NoSuchObjectException, AlreadyExistsException."""
        struct = self._store.taken(wanted)
        held = self._store.database(struct.dbName)
        if struct.functionName in held.functions:
            raise hive.AlreadyExistsException(f"Function {struct.functionName} already exists")
        struct.createTime = int(self._store.clock())
        held.functions[struct.functionName] = struct
        self._notify(Kind.CREATE_FUNCTION, after=[struct])

    def alter_function(self, database: str, name: str, wanted: Any) -> None:
        """HMS 2.3 leaves the resources as they are."""
        existing, struct = self._function(database, name), self._store.taken(wanted)
        struct.createTime, struct.resourceUris = existing.createTime, existing.resourceUris
        held = self._store.database(database)
        # No event is fired: Hive has none for an alter, in any version.
        del held.functions[existing.functionName]
        held.functions[struct.functionName] = struct

    def drop_function(self, database: str, name: str) -> None:
        """Raises NoSuchObjectException."""
        struct = self._function(database, name)
        del self._store.database(database).functions[struct.functionName]
        self._notify(Kind.DROP_FUNCTION, before=[struct])

    def _function(self, database: str, name: str) -> Any:
        function = self._store.database(database).functions.get(normalized(name))
        if function is None:
            raise hive.NoSuchObjectException(f"Function {database}.{name} does not exist")
        return function


# --- Types of columns, as far as HMS looks at them: which there are, and which can be read as which. Pure

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TEXTS = frozenset({"string", "varchar", "char"})
_PRIMITIVE = frozenset({*_NUMBERS, *_TEXTS, "boolean", "date", "timestamp", "binary", "decimal", "void"})
_NAME = re.compile(r"(\w+)\s*(?:\(\s*\d+(?:\s*,\s*\d+)?\s*\))?")
_NESTED = re.compile(r"(array|map|struct|uniontype)\s*<.*>", re.DOTALL)


def is_type(text: str) -> bool:
    """Whether there is such a type."""
    return _primitive(text) is not None or _NESTED.fullmatch(text.strip().lower()) is not None


def incompatible(old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    """The names of the new columns as which the old columns of the same places cannot be read."""
    pairs = zip(old, new)  # noqa: B905, as far as both reach
    return [after.name for before, after in pairs if not _can_be_read_as(before.type, after.type)]


def _primitive(text: str) -> str | None:
    match = _NAME.fullmatch(text.strip().lower())
    return match[1] if match and match[1] in _PRIMITIVE else None


def _can_be_read_as(old: str, new: str) -> bool:
    before, after = _primitive(old), _primitive(new)
    if old == new or before is None or after is None:
        return old == new
    if before == "void" or (before in _TEXTS and after in {*_TEXTS, "double", "decimal"}):
        return True
    if before in _NUMBERS and after in _NUMBERS:
        return _NUMBERS.index(before) <= _NUMBERS.index(after)
    return after in _TEXTS and before != "binary"


# --- Calls about tables


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


# --- Calls about partitions


class PartitionCalls(Calls):
    """As in HMS 2.3, a call fires an event for each partition, but an add one for all. An alter loses its context."""

    def get_partition_names(self, database: str, table: str, most: int) -> list[str]:
        """The names of at most so many partitions, of all for -1."""
        held = self._store.table(database, table)
        names = sorted(_name(held, values) for values in held.partitions)
        return names if most < 0 else names[:most]

    def get_partitions(self, database: str, table: str, most: int) -> list[Any]:
        """At most so many partitions, all for -1."""
        return self.get_partitions_by_names(database, table, self.get_partition_names(database, table, most))

    def get_partitions_by_names(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """The named partitions that are there."""
        held = self._store.table(database, table)
        partitions = (held.partitions.get(tuple(partition_values(name))) for name in names)
        return [copied(partition) for partition in partitions if partition is not None]

    def get_partition(self, database: str, table: str, values: Sequence[str]) -> Any:
        """Raises NoSuchObjectException."""
        return copied(_partition(self._store.table(database, table), values))

    def add_partitions_req(self, request: Any) -> Any:
        """Add all, or with ifNotExists those that are not there yet; only those that are added are in the event.

        Raises InvalidObjectException for a table that is not there, AlreadyExistsException.
        """
        held = self._store.find(request.dbName, request.tblName)
        if held is None:
            raise hive.InvalidObjectException(f"database or table {request.dbName}.{request.tblName} doesn't exist")
        new = [self._taken(held, partition) for partition in request.parts]
        existing = [item for item in new if _key(item.values) in held.partitions]
        if existing and not request.ifNotExists:
            raise hive.AlreadyExistsException(f"Partition already exists: {existing[0].values}")
        added = [item for item in new if _key(item.values) not in held.partitions]
        held.partitions.update((_key(item.values), item) for item in added)
        if added:
            self._notify(Kind.ADD_PARTITION, table=held.struct, after=added)
        # Without needResult HMS sends no partitions back.
        return hive.AddPartitionsResult(copied(added) if request.needResult else None)

    def alter_partition(self, database: str, table: str, partition: Any) -> None:
        """As for several, with one partition and no context."""
        self.alter_partitions_with_environment_context(database, table, [partition], None)

    def alter_partitions_with_environment_context(
        self,
        database: str,
        table: str,
        partitions: Sequence[Any],
        context: Any,  # noqa: ARG002, it gets lost
    ) -> None:
        """Alter all or none. Raises InvalidOperationException."""
        held = self._store.find(database, table)
        if held is None or any(_key(item.values) not in held.partitions for item in partitions):
            raise hive.InvalidOperationException("alter is not possible")
        changes = [(held.partitions[_key(item.values)], self._taken(held, item)) for item in partitions]
        for before, after in changes:
            self._replace(held, before, after)

    def rename_partition(self, database: str, table: str, values: Sequence[str], partition: Any) -> None:
        """Raises InvalidOperationException."""
        held = self._store.table(database, table)
        before, after = _partition(held, values), self._taken(held, partition)
        if _key(after.values) in held.partitions and after.values != before.values:
            raise hive.InvalidOperationException(f"Partition already exists: {after.values}")
        # That of an external table keeps its location.
        if held.struct.tableType == "MANAGED_TABLE":
            after.sd.location = f"{held.struct.sd.location}/{_name(held, tuple(after.values))}"
        self._replace(held, before, after)

    def drop_partitions_req(self, request: Any) -> Any:
        """Drop partitions. Raises NoSuchObjectException; then none is dropped."""
        held = self._store.table(request.dbName, request.tblName)
        wanted = [tuple(partition_values(name)) for name in request.parts.names]
        dropped = [values for values in wanted if values in held.partitions]
        if len(dropped) < len(wanted) and not request.ifExists:
            raise hive.NoSuchObjectException("Some partitions to drop are missing")
        removed = [held.partitions.pop(values) for values in dropped]
        options = {"environment": environment_of(request.environmentContext), "delete_data": bool(request.deleteData)}
        for partition in removed:
            self._notify(Kind.DROP_PARTITION, table=held.struct, before=[partition], **options)
        return hive.DropPartitionsResult()

    def _replace(self, held: HeldTable, before: Any, after: Any) -> None:
        after.createTime = before.createTime
        del held.partitions[_key(before.values)]
        held.partitions[_key(after.values)] = after
        self._notify(Kind.ALTER_PARTITION, table=held.struct, before=[before], after=[after])

    def _taken(self, held: HeldTable, given: Any) -> Any:
        """A partition as it is kept. Raises MetaException where its values do not fit."""
        partition, table = self._store.taken(given), held.struct
        if len(partition.values) != len(table.partitionKeys or ()):
            raise hive.MetaException(f"Incorrect number of partition values: {partition.values}")
        partition.dbName, partition.tableName = table.dbName, table.tableName
        partition.sd.location = partition.sd.location or f"{table.sd.location}/{_name(held, tuple(partition.values))}"
        self._store.stamp(partition)
        return partition


def _name(held: HeldTable, values: Values) -> str:
    return partition_name([key.name for key in held.struct.partitionKeys], values)


def _key(values: Sequence[str]) -> Values:
    """Where a partition is kept: an empty value has the name of the default partition, and is the same."""
    return tuple(value or DEFAULT_PARTITION for value in values)


def _partition(held: HeldTable, values: Sequence[str]) -> Any:
    partition = held.partitions.get(_key(values))
    if partition is None:
        raise hive.NoSuchObjectException(f"partition values={values}")
    return partition
