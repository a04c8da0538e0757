"""The catalog of a Spark session, read and written in the structs of a metastore.

It is the Hive client of the session's own catalog (HiveExternalCatalog.client), which keeps tables as they are in the
metastore. What is above it in Spark, SQL and SessionCatalog, cannot change a column's type or a partition's parameters,
and hides what Spark notes of its own tables. Drops go to Hive's class below it: Spark's own delete the files of managed
tables, and all in a database's directory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import normalized, partition_values
from pysync.model.wire import decode
from pysync.targets.base import Unavailable
from pysync.targets.spark import forms
from pysync.targets.spark.errors import _absent_or_not, hive_errors
from pysync.targets.spark.jvm import Jvm
from pysync.targets.spark.session import SparkHost
from pysync.targets.spark.stored import uncounted, with_format

_SINGLY = 20
"""Up to so many partitions are read one by one, without listing the names of all."""
_SHARE = 10
"""For more than `_SINGLY`: all partitions are read if at least one in so many is wanted."""

_SLICE = 500
_STORED = frozenset({"EXTERNAL_TABLE", "MANAGED_TABLE"})

T = TypeVar("T")


class SparkCatalog:
    """The catalog, for one thread at a time.

    Raises what a metastore raises (pysync.targets.spark.catalog), and Unavailable while Spark does not start.
    """

    def __init__(self, host: SparkHost) -> None:
        """Starts nothing before the first call."""
        self._host = host
        self._session: Any = None
        self._jvm: Any = None
        self._client: Any = None
        self.on_call: Callable[[str], object] | None = None
        """Is called with the name of each call."""

    # --- what is there

    def databases(self) -> list[str]:
        """The names of all databases."""
        return self._call("listDatabases", lambda: self._jvm.read(self._client.listDatabases("*")))

    def database(self, name: str) -> Any | None:
        """A Database, or None."""

        def read() -> Any | None:
            if not self._client.databaseExists(name):
                return None
            return forms.database(self._jvm.read(self._client.getDatabase(name)))

        return self._call("getDatabase", read)

    def tables(self, database: str) -> list[str]:
        """The names of all tables and views; empty also for a database that is not there."""
        return self._call("listTables", lambda: self._jvm.read(self._client.listTables(database)))

    def table(self, database: str, name: str) -> Any | None:
        """A Table, or None if it or its database is not there."""

        def read() -> Any | None:
            option = self._client.getRawHiveTableOption(database, name)
            return self._table(option.get()) if option.isDefined() else None

        return self._call("getTable", read)

    def partition_names(self, database: str, table: str) -> list[str]:
        """The names of all partitions, as HMS has them."""

        def read() -> list[str]:
            of = self._client.getTable(database, table)
            return list(self._jvm.read(self._client.getPartitionNames(of, self._jvm.option(None))))

        return self._call("getPartitionNames", read)

    def partitions(self, database: str, table: str) -> Iterator[Any]:
        """Every Partition; all of them in Spark's memory, but 500 at a time here."""
        of = self.table(database, table)
        if of is None or not of.partitionKeys:
            return
        sequence = self._call(
            "getPartitions", lambda: self._client.getPartitions(database, table, self._jvm.option(None))
        )
        for start in range(0, sequence.size(), _SLICE):
            for form in self._call("getPartitions", lambda at=start: self._jvm.read(sequence.slice(at, at + _SLICE))):  # type: ignore[misc]
                yield forms.partition(form, of)

    def partitions_by_name(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """Those of the named Partitions that are there, in no promised order."""
        of = self.table(database, table)
        if of is None or not names or not of.partitionKeys:
            return []
        wanted = list(names)
        if len(wanted) > _SINGLY:
            known = set(self.partition_names(database, table))
            wanted = [name for name in wanted if name in known]
            if len(wanted) * _SHARE >= len(known):
                values = {tuple(partition_values(name)) for name in wanted}
                return [it for it in self.partitions(database, table) if tuple(it.values) in values]
        return self._call("getPartitionOption", lambda: self._some_partitions(of, wanted))

    def functions(self, database: str) -> list[Any]:
        """The database's Functions."""
        names = self._call("listFunctions", lambda: self._jvm.read(self._client.listFunctions(database, "*")))
        each = (self.function(database, name.rpartition(".")[2]) for name in names)
        return [function for function in each if function is not None]

    def function(self, database: str, name: str) -> Any | None:
        """A Function, or None."""

        def read() -> Any | None:
            option = self._client.getFunctionOption(database, name)
            if not option.isDefined():
                return None
            return forms.function(database, name, *self._jvm.function_form(option.get()))

        return self._call("getFunction", read)

    # --- what changes it

    def create_database(self, database: Any) -> None:
        """Create it. Raises AlreadyExistsException."""

        def write() -> None:
            place = f"{self._session.conf.get('spark.sql.warehouse.dir')}/{normalized(database.name)}.db"
            self._client.createDatabase(self._jvm.database(forms.database_form(database, place)), False)

        self._call("createDatabase", write)

    def alter_database(self, name: str, database: Any) -> None:
        """Alter its parameters and owner; Spark lets nobody alter its place."""

        def write() -> None:
            existing = self._jvm.read(self._client.getDatabase(name))
            form = forms.database_form(database, "")
            self._client.alterDatabase(self._jvm.database({**form, "locationUri": existing["locationUri"]}))

        self._call("alterDatabase", write)

    def drop_database(self, name: str) -> None:
        """Drop it, which has no tables any more; its directory stays."""
        self._call("dropDatabase", lambda: self._hive().dropDatabase(name, False, True, False))

    def create_table(self, table: Any) -> None:
        """Create it. Raises AlreadyExistsException."""
        self._call("createTable", lambda: self._client.createTable(self._jvm.table(table), False))

    def alter_table(self, database: str, name: str, table: Any) -> None:
        """Alter it, also to another name and another database; its partitions are kept.

        Hive itself alters it to no columns. Spark refuses that, but only so can a column get an incompatible type.
        """

        def write() -> None:
            if table.sd.cols or table.tableType not in _STORED:
                self._client.alterTable(database, name, self._jvm.table(table))
                return
            raw = self._client.getRawHiveTable(database, name).rawTable().getTTable()
            raw.getSd().setCols(self._jvm.no_columns())
            self._hive().getMSC().alter_table(database, name, raw)

        self._call("alterTable", write)

    def drop_table(self, database: str, name: str, delete_data: bool) -> None:
        """Drop it with its partitions; the files of a managed one go only if `delete_data`."""
        self._call("dropTable", lambda: self._hive().dropTable(database, name, delete_data, True))

    def add_partitions(self, database: str, table: str, partitions: Sequence[Any], *, if_not_exists: bool) -> None:
        """Add partitions; those that are there stay as they are, or none is added and AlreadyExistsException raised.

        Spark adds them with the format of their table. Those that have another are altered right after.
        """

        def write() -> None:
            raw = self._client.getRawHiveTable(database, table)
            of = self._table(raw)
            parts = self._partitions(partitions, of)
            self._client.createPartitions(*self._named(raw, database, table), parts, if_not_exists)
            others = [it for it in partitions if not forms.same_format(it.sd, of.sd)]
            if others:
                self._client.alterPartitions(database, table, self._partitions(others, of))

        self._call("createPartitions", write)

    def alter_partitions(self, database: str, table: str, partitions: Sequence[Any]) -> None:
        """Alter partitions that are there."""
        of = self.table(database, table)

        def write() -> None:
            self._client.alterPartitions(database, table, self._partitions(partitions, of))

        self._call("alterPartitions", write)

    def drop_partitions(self, database: str, table: str, values: Sequence[Sequence[str]], delete_data: bool) -> None:
        """Drop partitions: by Hive one by one, as Spark takes their values for patterns.

        Where Hive refuses one, those before it are gone: it is no error if some are, as in a repeat.
        """

        def write() -> None:
            target = self._hive()
            for it in values:
                with _absent_or_not():
                    target.dropPartition(database, table, list(it), delete_data)

        self._call("dropPartition", write)

    def create_function(self, function: Any) -> None:
        """Create it. Raises AlreadyExistsException."""
        self._call("createFunction", lambda: self._client.createFunction(function.dbName, self._function(function)))

    def alter_function(self, database: str, _: str, function: Any) -> None:
        """Alter it to be so."""
        self._call("alterFunction", lambda: self._client.alterFunction(database, self._function(function)))

    def drop_function(self, database: str, name: str) -> None:
        """Drop it."""
        self._call("dropFunction", lambda: self._client.dropFunction(database, name))

    # --- within a call

    def _call(self, action: str, do: Callable[[], T]) -> T:
        session = self._host.session()
        if self.on_call is not None:
            self.on_call(action)
        with hive_errors(self._host, session, action):
            # Another session than before, which has died: nothing of the old one can be used.
            if session is not self._session:
                self._client = _client(session)
                self._jvm, self._session = Jvm(session), session
            return do()

    def _table(self, raw: Any) -> Any:
        """The Table of a RawHiveTable, which is complete; a CatalogTable has only what Spark has a place for."""
        table = decode(hive.Table, self._jvm.thrift(raw.rawTable().getTTable()))
        with_format(table.sd)
        table.parameters = uncounted(table.parameters)
        return table

    def _named(self, raw: Any, database: str, table: str) -> tuple[Any, ...]:
        """A table as createPartitions of Spark's client takes it: Spark 3.5 takes its name."""
        return (database, table) if self._session.version.startswith("3.") else (raw.toCatalogTable(),)

    def _some_partitions(self, of: Any, names: Sequence[str]) -> list[Any]:
        raw = self._client.getRawHiveTable(of.dbName, of.tableName)
        keys = [key.name for key in of.partitionKeys]
        each = (self._client.getPartitionOption(raw, self._jvm.map(forms.spec(name, keys))) for name in names)
        return [forms.partition(self._jvm.read(option.get()), of) for option in each if option.isDefined()]

    def _partitions(self, parts: Sequence[Any], of: Any) -> Any:
        keys = [key.name for key in of.partitionKeys]
        return self._jvm.partitions([forms.partition_form(it, keys) for it in parts])

    def _function(self, function: Any) -> Any:
        class_name, resources = forms.function_form(function)
        return self._jvm.function(function.dbName, function.functionName, class_name, resources)

    def _hive(self) -> Any:
        """Hive's own class, with the settings and from the class loader of the session's catalog."""
        settings = self._client.conf()
        loader = settings.getClass().getClassLoader()
        return self._jvm.static(loader, "org.apache.hadoop.hive.ql.metadata.Hive", "get", settings)


def _client(session: Any) -> Any:
    """The Hive client of the session's catalog. Raises Unavailable for one of another kind."""
    catalog = session._jsparkSession.sharedState().externalCatalog().unwrapped()
    kind = catalog.getClass().getSimpleName()
    if kind != "HiveExternalCatalog":
        raise Unavailable(f"the catalog of the Spark session is {kind}, but it must be Hive's", "see docs/targets.md")
    return catalog.client()
