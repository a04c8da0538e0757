"""What clients do: three numbers are a call of a metastore that makes sense there, or something like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.lab.memory import MemoryMetastore
from pysync.model.names import TableName, partition_name
from tests.support import partition, table

DATABASES = ("a", "b")
TABLES = ("t", "u", "v")
VALUES = ("1", "2", "3")
COLUMNS = (("x",), ("x", "y"), ("x", "y", "z"), ("x", "w"))
MORE_TABLES = (*TABLES, "w", "x", "y", "z")
FUNCTIONS = ("f", "g")
_MANAGED, _TWO_PARTITIONS = 66, 3
"""What makes a table managed and partitioned by `k`, and adds two partitions: see Client."""


class Client:
    """Somebody at one metastore. `intended` gets the same calls, and no others."""

    def __init__(
        self,
        metastore: MemoryMetastore,
        intended: MemoryMetastore,
        *,
        alike: bool = False,
        tables: Sequence[str] = TABLES,
    ) -> None:
        """With `alike` all tables have the same partition keys: an alter leads from each to each.

        `tables` are the names that it uses in each database.
        """
        self._hms = metastore
        self._intended = intended
        self._alike = alike
        self._tables = tables
        self.calls = 0
        self.renamed: dict[str, str] = {}
        """The tables that it has renamed, each with its last new name."""
        self.made = Counter[str]()
        """How often it has made each database and table, or renamed a table to it."""

    def fill(self, database: str) -> str:
        """Create a database with tables, every other of which has partitions."""
        self._create_database(database)
        for number, name in enumerate(self._tables[:-1]):
            self._create(TableName(database, name), _MANAGED + number)
            there = self._hms.table(database, name)
            if there.partitionKeys and number % 2:
                self._add_partitions(there, _TWO_PARTITIONS)
        return f"create database {database} with the tables {', '.join(self._tables[:-1])}"

    def do(self, a: int, b: int, c: int) -> str:
        """Do what the numbers say; returns it in words."""
        name = TableName(DATABASES[b % 2], self._tables[b // 2 % len(self._tables)])
        if self._hms.database(name.database) is None:
            return self._create_database(name.database)
        choice, what = CHOICES[a % len(CHOICES)], c
        if choice in OF_DATABASES:
            return choice(self, name.database, what)
        if (there := self._hms.table(*_both(name))) is None:
            return self._create(name, what)
        if choice in OF_PARTITIONS and not there.partitionKeys:
            choice = Client._alter
        return choice(self, there, what)

    def _call(self, call: Callable[[Any], Any], statement: str) -> str:
        self.calls += 1
        with suppress(TException):
            self._intended.call(call)
        try:
            self._hms.call(call)
        except (hive.InvalidOperationException, hive.AlreadyExistsException, hive.MetaException) as error:
            return f"{statement}: refused, {error.message}"
        return statement

    # --- databases and functions

    def _create_database(self, name: str) -> str:
        made = hive.Database(name=name, parameters={})
        self.made[name] += 1
        return self._call(lambda client: client.create_database(made), f"create database {name}")

    def _drop_database(self, name: str, _: int) -> str:
        return self._call(lambda client: client.drop_database(name, True, True), f"drop database {name} cascade")

    def _function(self, database: str, what: int) -> str:
        name = FUNCTIONS[what % 2]
        if self._hms.function(database, name) is not None:
            return self._call(lambda client: client.drop_function(database, name), f"drop function {database}.{name}")
        made = hive.Function(name, database, f"C{what // 2 % 3}", "ann", 1, 0, 1, [])
        statement = f"create function {database}.{name} as {made.className}"
        return self._call(lambda client: client.create_function(made), statement)

    # --- tables

    def _create(self, name: TableName, what: int) -> str:
        keys = _KEYS[-1] if self._alike else _KEYS[what % len(_KEYS)]
        made = table(name.database, name.table, partition_keys=keys, parameters={"v": str(what)})
        made.sd.cols = _columns(what // 8)
        if what // 64 % 2:
            made.tableType, made.sd.location = "MANAGED_TABLE", None
            del made.parameters["EXTERNAL"]
        kind = f"{'managed' if what // 64 % 2 else 'external'} by {[key for key, _ in keys]}"
        self.made[str(name)] += 1
        return self._call(lambda client: client.create_table(made), f"create table {name} v={what} {kind}")

    def _alter(self, there: Any, what: int) -> str:
        there.parameters["v"] = str(what)
        return self._put(there, {}, f"set v={what}")

    def _alter_columns(self, there: Any, what: int) -> str:
        there.sd.cols = _columns(what)
        cascade = {"CASCADE": "true"} if what // 4 % 2 else {}
        return self._put(there, cascade, f"columns {COLUMNS[what % 4]} {cascade or ''}")

    def _put(self, there: Any, environment: dict[str, str], statement: str) -> str:
        place, context = (there.dbName, there.tableName), hive.EnvironmentContext(environment)
        statement = f"alter table {there.dbName}.{there.tableName} {statement}"
        return self._call(lambda client: client.alter_table_with_environment_context(*place, there, context), statement)

    def _drop(self, there: Any, _: int) -> str:
        place = there.dbName, there.tableName
        return self._call(lambda client: client.drop_table(*place, True), f"drop table {'.'.join(place)}")

    def _recreate(self, there: Any, what: int) -> str:
        return f"{self._drop(there, what)}, {self._create(TableName(there.dbName, there.tableName), what)}"

    def _rename(self, there: Any, what: int) -> str:
        databases = [name for name in DATABASES if self._hms.database(name) is not None]
        new = TableName(databases[what % len(databases)], self._tables[what // 2 % len(self._tables)])
        place, context = (there.dbName, there.tableName), hive.EnvironmentContext({})
        there.dbName, there.tableName = _both(new)
        statement = f"rename table {'.'.join(place)} to {new}"
        said = self._call(lambda client: client.alter_table_with_environment_context(*place, there, context), statement)
        if self._hms.table(*place) is None:
            self.renamed[".".join(place)] = str(new)
            self.made[str(new)] += 1
        return said

    # --- partitions

    def _add_partitions(self, there: Any, what: int) -> str:
        values = [VALUES[what % 3], VALUES[(what + 1) % 3]][: 1 + what // 3 % 2]
        made = [partition(there, [value]) for value in values]
        for one in made:
            one.parameters, one.sd.cols = {"v": str(what)}, there.sd.cols
        request = hive.AddPartitionsRequest(there.dbName, there.tableName, made, bool(what % 2))
        statement = f"add partitions {values} v={what} to {there.dbName}.{there.tableName}"
        return self._call(lambda client: client.add_partitions_req(request), statement)

    def _drop_partition(self, there: Any, what: int) -> str:
        name = partition_name([key.name for key in there.partitionKeys], [VALUES[what % 3]])
        parts = hive.RequestPartsSpec(names=[name])
        request = hive.DropPartitionsRequest(there.dbName, there.tableName, parts, False, True, False, None, False)
        statement = f"drop partition {name} of {there.dbName}.{there.tableName}"
        return self._call(lambda client: client.drop_partitions_req(request), statement)

    def _alter_partition(self, there: Any, what: int) -> str:
        found = self._hms.first_partitions(there.dbName, there.tableName, -1)
        if not found:
            return self._add_partitions(there, what)
        one = found[what % len(found)]
        one.parameters["v"] = str(what)
        statement = f"alter partition {one.values} of {there.dbName}.{there.tableName} v={what}"
        return self._call(lambda client: client.alter_partition(there.dbName, there.tableName, one), statement)

    def _rename_partition(self, there: Any, what: int) -> str:
        found = self._hms.first_partitions(there.dbName, there.tableName, -1)
        if not found:
            return self._add_partitions(there, what)
        one = found[what % len(found)]
        old, one.values = one.values, [VALUES[what // 4 % 3]]
        statement = f"rename partition {old} of {there.dbName}.{there.tableName} to {one.values}"
        return self._call(lambda client: client.rename_partition(there.dbName, there.tableName, old, one), statement)


def numbers_of(*wanted: object) -> tuple[int, ...]:
    """The numbers that have clients make these calls."""
    return tuple(number for number, call in enumerate(CHOICES) if call in wanted)


def _both(name: TableName) -> tuple[str, str]:
    return name.database, name.table


def _columns(what: int) -> list[Any]:
    return [hive.FieldSchema(name, "string", None) for name in COLUMNS[what % 4]]


_KEYS: tuple[list[tuple[str, str]], ...] = ([], [("l", "string")], *([[("k", "string")]] * 6))
OF_DATABASES = (Client._drop_database, Client._function)
OF_PARTITIONS = (Client._add_partitions, Client._drop_partition, Client._alter_partition, Client._rename_partition)
CHOICES: tuple[Callable[..., str], ...] = (
    *([Client._add_partitions] * 6),
    *([Client._drop_partition] * 4),
    *([Client._alter_partition] * 3),
    Client._rename_partition,
    *([Client._alter] * 5),
    *([Client._alter_columns] * 2),
    *([Client._drop] * 4),
    *([Client._recreate] * 2),
    *([Client._rename] * 3),
    *([Client._function] * 3),
    Client._drop_database,
)
