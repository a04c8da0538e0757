"""SparkStore: the catalog of a Spark session as a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, ClassVar

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import count
from pysync.model.names import TableName
from pysync.targets.hive import HiveStore, name_of
from pysync.targets.hms.errors import classified, is_race
from pysync.targets.spark.catalog import SparkCatalog
from pysync.targets.spark.settings import SparkSettings
from pysync.targets.spark.stored import as_stored
from pysync.targets.store import Capability


class SparkStore(HiveStore):
    """The catalog of the process's Spark session, which starts at the first call, and again after its death."""

    lacks: ClassVar[Mapping[Capability, str]] = {
        Capability.CONSTRAINTS: "Spark's catalog has no constraints",
        Capability.COLUMN_STATISTICS: "Spark writes only statistics that it computed itself, in another format",
        Capability.FILE_STATISTICS: "Spark's metastore recomputes them at every change",
        Capability.OWN_PARTITION_COLUMNS: "Spark reads all partitions with the columns of their table",
    }

    def __init__(self, settings: SparkSettings) -> None:
        super().__init__(settings, f"target {settings.name!r}")
        self.catalog = SparkCatalog(settings.host())

    # --- the connection, which is the process's: nothing is closed

    def classified(self, action: str, *, reading: bool = False) -> AbstractContextManager[None]:
        """Sort errors, which are those of a metastore (see Store.classified)."""
        return classified(action, reading=reading)

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each call of Spark's catalog: `getTable`."""
        self.catalog.on_call = on_call

    def is_race(self, error: Exception) -> bool:
        """As for a metastore: any refusal."""
        return is_race(error)

    def check(self) -> str:
        """`12 databases in the catalog of Spark`."""
        return f"{count(len(self.catalog.databases()), 'database')} in the catalog of Spark"

    # --- what is there

    def databases(self) -> list[str]:
        """The names of all databases."""
        return self.catalog.databases()

    def database(self, name: str) -> Any | None:
        """A Database, or None."""
        return self.catalog.database(name)

    def table_names(self, database: str) -> list[str]:
        """The names of its tables and views."""
        return self.catalog.tables(database)

    def table(self, name: TableName) -> Any | None:
        """A Table, or None."""
        return self.catalog.table(name.database, name.table)

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions."""
        return self.catalog.partitions(name.database, name.table)

    def partition_names(self, table: Any, most: int | None = None) -> list[str]:
        """Their names; none of a table without partition keys, which Spark refuses to list."""
        return self.catalog.partition_names(table.dbName, table.tableName)[:most] if table.partitionKeys else []

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        return self.catalog.partitions_by_name(name.database, name.table, names)

    def function(self, database: str, name: str) -> Any | None:
        """A Function, or None."""
        return self.catalog.function(database, name)

    def functions(self, database: str) -> list[Any]:
        """The database's functions; Spark refuses to list those of one that is not there."""
        return [] if self.database(database) is None else self.catalog.functions(database)

    def as_stored(self, item: Any, table: Any | None = None) -> Any:  # noqa: ARG002
        """The item without what Spark's catalog has no place for."""
        return as_stored(item)

    # --- databases and functions

    def create_database(self, wanted: Any) -> None:
        """Create it."""
        self.catalog.create_database(wanted)

    def alter_database(self, wanted: Any, existing: Any) -> bool:
        """Alter its parameters and owner; Spark lets nobody alter its place."""
        self.catalog.alter_database(existing.name, wanted)
        return True

    def drop_database(self, name: str) -> None:
        """Drop it with its functions."""
        for function in self.catalog.functions(name):
            self.drop_function(name, function.functionName)
        self.catalog.drop_database(name)

    def create_function(self, wanted: Any) -> None:
        """Create it."""
        with self.within(wanted.dbName):
            self.catalog.create_function(wanted)

    def write_function(self, wanted: Any) -> None:
        """Alter it."""
        self.catalog.alter_function(wanted.dbName, wanted.functionName, wanted)

    def drop_function(self, database: str, name: str) -> None:
        """Drop it if it is there."""
        with suppress(hive.NoSuchObjectException):
            self.catalog.drop_function(database, name)

    # --- tables and partitions, by the plain calls

    def create_table(self, wanted: Any) -> None:
        """Create the table."""
        with self.within(wanted.dbName):
            self.catalog.create_table(wanted)

    def write_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> None:  # noqa: ARG002
        """Alter the table; partitions have its columns anyway."""
        with self.within(wanted.dbName):
            self.catalog.alter_table(existing.dbName, existing.tableName, wanted)

    def write_sources(self, wanted: Any) -> None:
        """Do nothing: Spark's catalog holds no materialized views."""

    def write_no_table(self, name: TableName, *, delete_data: bool) -> None:
        """Drop the table."""
        self.catalog.drop_table(name.database, name.table, delete_data)

    def write_new_partitions(
        self, table: Any, partitions: Sequence[Any], *, if_not_exists: bool, answer: bool
    ) -> Sequence[Any]:
        """Add the partitions."""
        self.catalog.add_partitions(table.dbName, table.tableName, partitions, if_not_exists=if_not_exists)
        return self.partitions_of(table, [it.values for it in partitions]) if answer else ()

    def write_partitions(self, name: TableName, partitions: Sequence[Any]) -> None:
        """Alter the partitions."""
        self.catalog.alter_partitions(name.database, name.table, partitions)

    def write_no_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """Drop the partitions."""
        name = name_of(table)
        self.catalog.drop_partitions(name.database, name.table, [it.values for it in existing], delete_data)
