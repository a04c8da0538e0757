"""HmsStore: a metastore as a store, by its thrift calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from copy import deepcopy
from functools import partial
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import count
from pysync.metastore.client import Metastore
from pysync.metastore.statistics import Statistics, read_statistics
from pysync.model import constraints, idl
from pysync.model.catalogs import catalog_of, name_in_catalog
from pysync.model.constraints import Constraints
from pysync.model.event import VISITED
from pysync.model.names import DEFAULT_CATALOG, TableName, partition_name
from pysync.model.reread import PLACE, is_request_name
from pysync.model.table_formats import POINTER_KEY, pointer
from pysync.targets.diff import same_counts, same_location
from pysync.targets.hive import HiveStore, is_view, name_of, with_known_sources
from pysync.targets.hms.connections import Connections
from pysync.targets.hms.errors import classified, is_race
from pysync.targets.settings import TargetSettings
from pysync.targets.store import HasColumnStatistics, HasConstraints

_NO_CATALOG = "No such catalog"
_MANAGED_PLACE = "Unable to create database managed directory"


class HmsStore(HiveStore, HasConstraints, HasColumnStatistics):
    """A metastore. It connects at the first call, and again after a failure.

    What a change has `visited` travels with each call, in its EnvironmentContext or as the user who makes it.
    """

    def __init__(self, settings: TargetSettings, connections: Connections, place_name: str) -> None:
        super().__init__(settings, place_name)
        self._connections = connections

    @property
    def hms(self) -> Metastore:
        """The connection of the user who writes what has `visited` these clusters."""
        return self._connections.of(self.visited)

    # --- the connection

    def classified(self, action: str, *, reading: bool = False) -> AbstractContextManager[None]:
        """Sort a metastore's errors (see Store.classified)."""
        return classified(action, reading=reading)

    def is_race(self, error: Exception) -> bool:
        """Any refusal may be one: which of them says 'missing' or 'in the way' differs by call and version."""
        return is_race(error)

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each thrift call: `get_table_req`."""
        self._connections.observe_calls(on_call)

    def check(self) -> str:
        """`12 databases at thrift://host:port`. No version: until Hive 4 every HMS says that it is 3.0."""
        return f"{count(len(self.hms.databases()), 'database')} at {self.hms.uri}{self._connections.known_by()}"

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    # --- what is there

    def databases(self) -> list[str]:
        """The names of all databases."""
        return self.hms.databases()

    def database(self, name: str) -> Any | None:
        """A Database, or None."""
        return self.hms.database(name)

    def table_names(self, database: str) -> list[str]:
        """The names of its tables and views."""
        return self.hms.tables(database)

    def table(self, name: TableName) -> Any | None:
        """A Table, or None."""
        return self.hms.table(name.database, name.table)

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, 500 in memory at a time. HMS 2.3 fails on those of a missing table: we look first."""
        if self.table(name) is not None:
            yield from self.hms.partitions(name.database, name.table)

    def partition_names(self, table: Any, most: int | None = None) -> list[str]:
        """Their names."""
        limit = -1 if most is None else most
        return list(self.hms.call(lambda client: client.get_partition_names(table.dbName, table.tableName, limit)))

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        return self.hms.partitions_by_name(name.database, name.table, names)

    def function(self, database: str, name: str) -> Any | None:
        """A Function, or None."""
        return self.hms.function(database, name)

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        return self.hms.functions(database)

    def constraints(self, table: Any) -> Constraints:
        """The table's constraints, of the kinds that this version of Hive has."""
        return self.hms.constraints(table)

    # --- databases

    def create_database(self, wanted: Any) -> None:
        """Create it, and its catalog beside the database if there is none.

        Hive 4 refuses to create with a managed directory that exists, but not to alter to one.
        """
        try:
            self.hms.call(lambda client: client.create_database(wanted))
        except hive.InvalidObjectException as error:
            catalog = catalog_of(wanted.name)
            if catalog is None or _NO_CATALOG not in (error.message or ""):
                raise
            self.hms.call(lambda client: client.create_catalog(catalog, wanted.locationUri.rpartition("/")[0]))
            self.create_database(wanted)
        except hive.MetaException as error:
            if not wanted.managedLocationUri or _MANAGED_PLACE not in (error.message or ""):
                raise
            placeless = deepcopy(wanted)
            placeless.managedLocationUri = None
            self.hms.call(lambda client: client.create_database(placeless))
            self.hms.call(lambda client: client.alter_database(wanted.name, wanted))

    def alter_database(self, wanted: Any, existing: Any) -> bool:
        """Alter it; HMS 2.3 takes parameters and owner alone."""
        self.hms.call(lambda client: client.alter_database(existing.name, wanted))
        return True

    def is_half_made(self, wanted: Any, existing: Any) -> bool:
        """Whether a create has ended between its two calls; Hive 4 alone sets a type."""
        return existing.type is not None and not same_location(wanted.managedLocationUri, existing.managedLocationUri)

    def drop_database(self, name: str) -> None:
        """Drop it; HMS wants its functions to go before."""
        for function in self.hms.functions(name):
            self.drop_function(name, function.functionName)
        self.hms.call(lambda client: client.drop_database(name, False, False))

    # --- tables and partitions, by the plain calls

    def create_table(self, wanted: Any) -> None:
        """Create the table. HMS makes its directory; files that are in it already stay.

        HMS counts the files of a table without partition keys (`MetaStoreUtils.updateTableStatsFast`), whatever numbers
        it was given. The numbers are corrected afterwards.
        """
        new, context = with_known_sources(wanted), self._environment()
        with self.within(wanted.dbName):
            self.hms.call(lambda client: client.create_table_with_environment_context(new, context))
        # Seen on 2.3.10, 3.1.3 and 4.1.0: HMS counts no files for partitioned tables, so those need no second call.
        counts = not (is_view(wanted) or wanted.partitionKeys)
        existing = self.table(name_of(wanted)) if counts else None
        if existing is not None and not same_counts(wanted.parameters, existing.parameters):
            self._write(wanted, existing)

    def write_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> None:
        """Alter the table, under another name and in another database if it has those.

        HMS refuses if an Iceberg table has had a commit since it was read as `existing`. A version without
        HIVE-26882 (2.3.10 has it) ignores that, and overwrites the commit. So does an alter that takes the pointer
        away: HMS compares only with a new one.
        """
        context = self._environment(**({"CASCADE": "true"} if cascade else {}), **_expected(wanted, existing))
        of = existing.dbName, existing.tableName
        # Only a move can meet a database that is missing.
        if wanted.dbName == existing.dbName:
            self.hms.call(lambda client: client.alter_table_with_environment_context(*of, wanted, context))
            return
        with self.within(wanted.dbName):
            self.hms.call(lambda client: client.alter_table_with_environment_context(*of, wanted, context))

    def write_sources(self, wanted: Any) -> None:
        """Write what a materialized view is made of."""
        of = catalog_of(wanted.dbName) or DEFAULT_CATALOG, name_in_catalog(wanted.dbName), wanted.tableName
        self.hms.call(lambda client: client.update_creation_metadata(*of, wanted.creationMetadata))

    def write_no_table(self, name: TableName, *, delete_data: bool) -> None:
        """Drop the table and its partitions."""
        of, context = (name.database, name.table), self._environment()
        self.hms.call(lambda client: client.drop_table_with_environment_context(*of, delete_data, context))

    def write_new_partitions(
        self, table: Any, partitions: Sequence[Any], *, if_not_exists: bool, answer: bool
    ) -> Sequence[Any]:
        """Add the partitions in one call."""
        request = hive.AddPartitionsRequest(table.dbName, table.tableName, list(partitions), ifNotExists=if_not_exists)
        request.needResult, request.environmentContext = answer, self._environment()
        return self.hms.call(lambda client: client.add_partitions_req(request)).partitions or ()

    def write_partitions(self, name: TableName, partitions: Sequence[Any]) -> None:
        """Alter the partitions. HMS moves no files for it."""
        of, wanted, context = (name.database, name.table), list(partitions), self._environment()
        self.hms.call(lambda client: client.alter_partitions_with_environment_context(*of, wanted, context))

    def write_no_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:
        """Drop the partitions."""
        name, keys = name_of(table), [key.name for key in table.partitionKeys or ()]
        request = hive.DropPartitionsRequest(
            name.database,
            name.table,
            hive.RequestPartsSpec(names=[partition_name(keys, item.values) for item in existing]),
            deleteData=delete_data,
            ifExists=True,
            environmentContext=self._environment(),
            # True by default: the answer would repeat every partition.
            needResult=False,
        )
        self.hms.call(lambda client: client.drop_partitions_req(request))

    # --- functions, constraints, column statistics

    def create_function(self, wanted: Any) -> None:
        """Create it."""
        with self.within(wanted.dbName):
            self.hms.call(lambda client: client.create_function(wanted))

    def write_function(self, wanted: Any) -> None:
        """Alter it; HMS leaves its resources as they are."""
        database, name = wanted.dbName, wanted.functionName
        self.hms.call(lambda client: client.alter_function(database, name, wanted))

    def drop_function(self, database: str, name: str) -> None:
        """Drop it if it is there."""
        with suppress(hive.NoSuchObjectException):
            self.hms.call(lambda client: client.drop_function(database, name))

    def broadcast(self, function: Any) -> None:
        """Create and drop the function, so that all listeners get its events. The first call also drops such functions
        that a crash left.
        """
        try:
            self.hms.call(lambda client: client.create_function(function))
        except hive.AlreadyExistsException:  # left by a crash, or sent at this very moment
            self.drop_function(PLACE, function.functionName)
            with suppress(hive.AlreadyExistsException):
                self.hms.call(lambda client: client.create_function(function))
        self.drop_function(PLACE, function.functionName)
        if not self._connections.are_swept:
            for name in filter(is_request_name, self.hms.call(lambda client: client.get_functions(PLACE, "*"))):
                self.drop_function(PLACE, name)
            self._connections.are_swept = True

    def constraints_of(self, kind: type[Any], name: TableName) -> list[Any]:
        """The columns of one kind."""
        return self.hms.call(lambda client: constraints.read(client, kind, name.database, name.table))

    def add_constraint(self, columns: Sequence[Any]) -> None:
        """Add one constraint."""
        self.hms.call(partial(_add, list(columns)))

    def drop_constraint(self, name: TableName, constraint: str) -> None:
        """Drop the constraint of that name."""
        request = hive.DropConstraintRequest(name.database, name.table, constraint)
        self.hms.call(lambda client: client.drop_constraint(request))

    def column_statistics(self, table: Any, parts: Sequence[str]) -> Statistics:
        """Column statistics of these partitions, and of the table itself, which is the part ""."""
        name, columns = name_of(table), [column.name for column in table.sd.cols]
        partitions = [part for part in parts if part]
        of_partitions = read_statistics(self.hms, name, columns, partitions) if partitions else {}
        return {**of_partitions, **read_statistics(self.hms, name, columns)} if "" in parts else of_partitions

    def put_column_statistics(self, name: TableName, statistics: Statistics) -> None:
        """Write them in one call."""
        written = []
        for part, items in statistics.items():
            key = hive.ColumnStatisticsDesc(not part, name.database, name.table, part or None)
            written.append(hive.ColumnStatistics(key, list(items)))
        request = hive.SetPartitionsStatsRequest(written)
        self.hms.call(lambda client: client.set_aggr_stats_for(request))

    def drop_column_statistics(self, name: TableName, part: str, columns: Iterable[str]) -> None:
        """Drop them, one call a column."""
        call = "delete_partition_column_statistics" if part else "delete_table_column_statistics"
        for column in sorted(columns):
            of = (name.database, name.table, *filter(None, [part]), column)
            self.hms.call(partial(_named, call, of))

    def knows_timestamps(self, database: str) -> bool:
        """Whether it is a Hive 4: older ones do not answer a request with those in it."""
        answer = self.hms.database(database)
        return answer is not None and answer.type is not None  # which only Hive 4 sets

    # --- within

    def _environment(self, **properties: str) -> Any:
        """The EnvironmentContext of a call: where the change has been, and that its statistics are to be kept.

        Without DO_NOT_UPDATE_STATS an alter lists the directory and overwrites numFiles and totalSize (HMS 2.3 to 4.0).
        """
        visited = {VISITED: ",".join(self.visited)} if self.visited else {}
        return hive.EnvironmentContext({**visited, "DO_NOT_UPDATE_STATS": "true", **properties})


def _expected(wanted: Any, existing: Any) -> dict[str, str]:
    """The properties by which HMS compares an Iceberg table's pointer with the one that was read, as it alters.

    HMS refuses them for an alter to a table without the parameter.
    """
    existing_pointer = pointer(existing.parameters)
    if existing_pointer is None or POINTER_KEY not in (wanted.parameters or {}):
        return {}
    return {"expected_parameter_key": POINTER_KEY, "expected_parameter_value": existing_pointer}


def _add(columns: list[Any], client: Any) -> None:
    kind = type(columns[0])
    if kind is hive.SQLPrimaryKey:
        client.add_primary_key(hive.AddPrimaryKeyRequest(columns))
    elif kind is hive.SQLForeignKey:
        client.add_foreign_key(hive.AddForeignKeyRequest(columns))
    else:
        getattr(client, f"add_{idl.CONSTRAINTS[kind][0]}")(idl.constraint_request(kind, columns))


def _named(call: str, arguments: tuple[str, ...], client: Any) -> Any:
    return getattr(client, call)(*arguments)
