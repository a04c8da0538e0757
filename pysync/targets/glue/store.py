"""GlueStore: the AWS Glue Data Catalog as a store, by its own API.

A table is altered in place, so that what hangs on it at AWS (grants, readers) stays. An update names the version that
was looked at: a change of somebody else in between is refused, and the operation decided anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import partial
from itertools import islice
from typing import Any, ClassVar

from botocore.exceptions import ClientError
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import count
from pysync.metastore.client import Statistics
from pysync.model.locations import data_location
from pysync.model.names import TableName, normalized, partition_name, partition_values
from pysync.targets.aws.errors import INVALID, NOT_FOUND, RACES, classified, code, of_code
from pysync.targets.aws.rights import by_the_api, of_logs, simulated
from pysync.targets.aws.session import client, observe_calls
from pysync.targets.aws.translate import partition_values as kept_values
from pysync.targets.aws.translate import translated
from pysync.targets.base import MissingDatabase, Rejected, Unavailable
from pysync.targets.glue.catalog import (
    GET_PAGE,
    Catalog,
    Failures,
    Sender,
    chunks,
    create_partitions,
    delete_partitions,
    update_partitions,
)
from pysync.targets.glue.handles import (
    Handles,
    columns_for,
    columns_of,
    fields_of,
    is_link,
    partition_fields,
    same_columns,
    spread,
)
from pysync.targets.glue.log_columns import LogColumns
from pysync.targets.glue.settings import Extras, GlueSettings, Index
from pysync.targets.glue.statistics import delete_statistics, read_statistics, stored_statistics, write_statistics
from pysync.targets.glue.views import Views
from pysync.targets.hive import name_of
from pysync.targets.store import Capability, Store, Written

_TABLES_PER_CALL = 100
_FRESH_SECONDS = 60.0  # for which a database that was read, and was no link, is none
_ROUNDS = 3  # of creating and updating, while somebody else creates and drops the same partitions


class GlueStore(Store):
    """A Glue Data Catalog. It sends nothing before the first call; stores of one settings object share a client."""

    lost_by_copy: ClassVar[str] = "its versions, and Lake Formation's grants and tags"
    batch: ClassVar[int] = GET_PAGE
    decisions: ClassVar[int] = 3
    lacks: ClassVar[Mapping[Capability, str]] = {
        Capability.CONSTRAINTS: "Glue has no constraints",
        Capability.RENAMES: "Glue has no rename call: pysync creates the new table and copies the partitions",
    }

    def __init__(self, settings: GlueSettings) -> None:
        self.catalog = Catalog(client(settings, "glue"), settings.catalog_id)
        catalog = f" {settings.catalog_id}" if settings.catalog_id else ""
        self._place = f"the Glue catalog{catalog} in {self.catalog.region}"
        super().__init__(settings, f"target {settings.name!r}, {self._place}")
        self._glue = settings
        self._handles = Handles(settings.keep_parameters)
        self.extras = Extras(settings, self.catalog)
        self._inherited: Sequence[Index] = ()
        self._unlinked: dict[str, float] = {}
        self._send = Sender(self.catalog, settings.parallel)
        self._log_columns = LogColumns(settings, self.table)
        self._views = Views(settings.views, self.catalog.table, lambda action: self.classified(action, reading=True))

    # --- the connection

    def classified(self, action: str, *, reading: bool = False) -> AbstractContextManager[None]:
        """Sort AWS's errors (see Store.classified)."""
        return classified(action, reading=reading)

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Tell of requests to Glue: `glue.GetTable`."""
        observe_calls(self._glue, "glue", on_call)

    def is_race(self, error: Exception) -> bool:
        """Something has come, gone or changed since we looked."""
        return isinstance(error, ClientError) and code(error) in RACES

    def check(self) -> str:
        """`12 databases in the Glue catalog in eu-west-1`."""
        return f"{count(len(self.databases()), 'database')} in {self._place}"

    def check_rights(self) -> str:
        """As IAM simulates them."""
        return simulated(self._glue, (*by_the_api(self._glue), *of_logs(self._glue)), self.databases())

    def close(self) -> None:
        """Close idle connections."""
        self.catalog.close()

    # --- what is there

    def databases(self) -> list[str]:
        """The names of all databases."""
        return [database["Name"] for database in self.catalog.databases()]

    def database(self, name: str) -> Any | None:
        """A Database, or None."""
        database = self._handles.read(hive.Database, self.catalog.database(name))
        if database is not None and not self.is_link(database):
            self._unlinked[name] = time.monotonic()
        return database

    def table_names(self, database: str) -> list[str]:
        """The names of its tables and views."""
        return [table["Name"] for table in self.catalog.tables(database)]

    def tables(self, database: str) -> Iterator[Any]:
        """Its tables and views, each a Table."""
        return (self._handles.read(hive.Table, table) for table in self.catalog.tables(database))

    def table(self, name: TableName) -> Any | None:
        """A Table, or None."""
        return self._handles.read(hive.Table, self.catalog.table(name))

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, 1000 in memory at a time."""
        return (self._handles.read(hive.Partition, it) for it in self.catalog.partitions(name))

    def partition_names(self, table: Any, most: int | None = None) -> list[str]:
        """Their names."""
        keys = [key.name for key in table.partitionKeys or ()]
        partitions = self.catalog.partitions(name_of(table), ExcludeColumnSchema=True)
        return [partition_name(keys, it["Values"]) for it in islice(partitions, most)]

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        values = [partition_values(it) for it in names]
        return [it for some in chunks(values, GET_PAGE) for it in self._partitions(name, some)]

    def partitions_of(self, table: Any, values: Sequence[Sequence[str]]) -> list[Any]:
        """Those of the partitions with these values that are there."""
        return self._partitions(name_of(table), [kept_values(it) for it in values])

    def function(self, database: str, name: str) -> Any | None:
        """A Function, or None."""
        return self._handles.read(hive.Function, self.catalog.function(database, name))

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        return [self._handles.read(hive.Function, it) for it in self.catalog.functions(database)]

    def is_link(self, existing: Any) -> bool:
        """Whether it is a resource link of Lake Formation, or a table in a database that is one."""
        is_itself = isinstance(existing.handle, Mapping) and is_link(existing.handle)
        return is_itself or (isinstance(existing, hive.Table) and self.is_linked(existing.dbName))

    def is_linked(self, database: str) -> bool:
        """Whether a database is a resource link. One that was read lately, and was none, is not read again."""
        if time.monotonic() - self._unlinked.get(database, -_FRESH_SECONDS) < _FRESH_SECONDS:
            return False
        existing = self.database(database)
        return existing is not None and self.is_link(existing)

    # --- what becomes of an object here

    def as_stored(self, item: Any, table: Any | None = None) -> Any:
        """The item as Glue would give it back. A partition gets columns and place as the settings and its table say."""
        adapted, untranslated = self._adapted(item)
        plain, lost = translated(adapted)
        if untranslated:
            lost = [*lost, f"view: not translated: {untranslated}"]
        is_of_table = isinstance(item, hive.Partition) and table is not None
        fields = self._placed(plain, table) if is_of_table else plain
        return self._handles.as_stored(item, fields, lost)

    def lost(self, expected: Any) -> Sequence[str]:
        """What Glue cannot hold as it is."""
        return expected.handle.lost  # type: ignore[no-any-return]

    # --- databases and functions

    def create_database(self, wanted: Any) -> None:
        """Create it."""
        self.extras.forget(wanted.name)
        self.catalog.call("create_database", DatabaseInput=wanted.handle.fields)

    def alter_database(self, wanted: Any, existing: Any) -> bool:
        """Update it."""
        self.catalog.call("update_database", Name=wanted.name, DatabaseInput=self._handles.filled(wanted, existing))
        return True

    def drop_database(self, name: str, *, delete_data: bool) -> None:  # noqa: ARG002
        """Delete it; its functions go with it."""
        self.catalog.call("delete_database", Name=name)

    def create_function(self, wanted: Any) -> None:
        """Create it."""
        arguments = {"DatabaseName": wanted.dbName, "FunctionInput": wanted.handle.fields}
        self._into(wanted.dbName, lambda: self.catalog.call("create_user_defined_function", **arguments))

    def alter_function(self, wanted: Any, existing: Any) -> None:
        """Update it."""
        arguments = {"DatabaseName": wanted.dbName, "FunctionInput": wanted.handle.fields}
        self.catalog.call("update_user_defined_function", FunctionName=existing.functionName, **arguments)

    def drop_function(self, database: str, name: str) -> None:
        """Delete it."""
        self.catalog.call("delete_user_defined_function", DatabaseName=database, FunctionName=name)

    # --- tables

    def create_table(self, wanted: Any) -> None:
        """Create it."""
        arguments = {"DatabaseName": wanted.dbName, "TableInput": wanted.handle.fields}
        self.extras.forget(name_of(wanted))
        indexes = self.extras.indexes(wanted, self._inherited)
        if not indexes or not self._create_with(indexes, name_of(wanted), arguments):
            self._into(wanted.dbName, lambda: self.catalog.call("create_table", **arguments))

    def alter_table(self, wanted: Any, existing: Any, *, cascade: bool = False) -> bool:  # noqa: ARG002
        """Update it. New columns go to its partitions, as the settings say, before they go to the table: after a crash
        the next try then still finds them new.
        """
        policy, columns = self._glue.partition_schema, columns_of(wanted.handle.fields)
        if existing.partitionKeys and policy != "none" and not same_columns(columns, columns_of(existing.handle)):
            spread(self._send, name_of(existing), columns, policy, self._handles.kept_patterns)
        self._update(wanted, existing)
        return True

    def replace_table(self, wanted: Any, existing: Any) -> bool:
        """Update it when its partitions are gone."""
        name = name_of(existing)
        for page in chunks(self.catalog.partitions(name, ExcludeColumnSchema=True), GET_PAGE):
            delete_partitions(self._send, name, [it["Values"] for it in page])
        self._update(wanted, existing)
        return True

    def drop_tables(self, tables: Sequence[Any], *, delete_data: bool) -> None:  # noqa: ARG002
        """Delete them. Nobody sees their partitions any more; Glue removes them in its own time."""
        if len(tables) == 1:
            self.catalog.call("delete_table", DatabaseName=tables[0].dbName, Name=tables[0].tableName)
            return
        for some in chunks(tables, _TABLES_PER_CALL):
            names = [table.tableName for table in some]
            answer = self.catalog.call("batch_delete_table", DatabaseName=tables[0].dbName, TablesToDelete=names)
            _raise_any(answer.get("Errors") or (), tables[0].dbName)

    def for_copy_of(self, old: Any) -> GlueStore:
        """A store whose new table gets the partition indexes of the old one. Raises Rejected for `rename = "keep"`."""
        if self._glue.rename == "keep":
            raise Rejected(
                f"Glue has no rename call, and a copy of {name_of(old)} would lose {self.lost_by_copy}",
                'set rename = "copy", or drop or rename the table at the target yourself; then pysync parked retry',
            )
        made = copy(self)
        made._inherited = self.extras.existing_indexes(name_of(old)) if old.partitionKeys else ()
        return made

    def furnish(self, item: Any) -> None:
        """Add partition indexes and Lake Formation's tags of the settings."""
        if isinstance(item, hive.Database):
            self.extras.furnish_database(normalized(item.name))
        else:
            self.extras.furnish_table(item)

    def inherit(self, made: Any, old: Any) -> None:
        """Note the properties that others set at the old table."""
        made.handle = self._handles.filled_in(fields_of(made), fields_of(old))

    # --- partitions

    def put_partitions(self, table: Any, absent: Sequence[Any], changed: Sequence[tuple[Any, Any]]) -> Written:
        """Create and update partitions (see Store.put_partitions)."""
        name, failures = name_of(table), Failures(name_of(table))
        new = [partition_fields(it) for it in absent]
        others = [self._handles.filled_in(partition_fields(it), previous.handle) for it, previous in changed]
        for _ in range(_ROUNDS):
            others = [*others, *self._over(name, create_partitions(self._send, name, new, failures))]
            new, others = update_partitions(self._send, name, others, failures), []
            if not new:
                return Written(any=True, refused=failures.as_refused())
        raise Unavailable(f"another client creates and deletes partitions of {name} at the same time")

    def drop_partitions(self, table: Any, existing: Sequence[Any], *, delete_data: bool) -> None:  # noqa: ARG002
        """Delete partitions."""
        delete_partitions(self._send, name_of(table), [it.values for it in existing])

    def spread_columns(self, table: Any, columns: Sequence[Any]) -> bool:
        """Give all partitions these columns."""
        wanted = translated(hive.Partition(values=[], sd=hive.StorageDescriptor(cols=list(columns))))[0]
        return spread(self._send, name_of(table), columns_of(wanted), "full", self._handles.kept_patterns) > 0

    # --- column statistics

    def column_statistics(self, table: Any, parts: Sequence[str]) -> Statistics:
        """Those of these partitions, and of the table itself, which is the part ""."""
        return read_statistics(self._send, name_of(table), [column.name for column in table.sd.cols], parts)

    def put_column_statistics(self, name: TableName, statistics: Statistics) -> None:
        """Write them, 25 columns a call."""
        write_statistics(self._send, name, statistics)

    def drop_column_statistics(self, name: TableName, part: str, columns: Iterable[str]) -> None:
        """Delete them, a column a call."""
        delete_statistics(self._send, name, part, columns)

    def stored_statistics(self, item: Any) -> Any | None:
        """As Glue would give it back; None for what it cannot hold."""
        return stored_statistics(item)

    # --- within

    def _partitions(self, name: TableName, values: Sequence[Sequence[str]]) -> list[Any]:
        return [self._handles.read(hive.Partition, it) for it in self.catalog.partitions_of(name, values)]

    def _create_with(self, indexes: Sequence[Index], name: TableName, arguments: Mapping[str, Any]) -> bool:
        """Create a table with its indexes; False if Glue refuses that, perhaps because of an index."""
        create = partial(self.catalog.call, "create_table", **arguments, PartitionIndexes=indexes)
        try:
            self._into(name.database, create)
        except ClientError as error:
            if code(error) not in INVALID:
                raise
            self.extras.omit_indexes(name, error)
            return False
        return True

    def _over(self, name: TableName, inputs: Sequence[Any]) -> list[dict[str, Any]]:
        """The inputs of updates of partitions that somebody else has just created."""
        existing = self.catalog.partitions_of(name, [it["Values"] for it in inputs]) if inputs else ()
        previous = {tuple(it["Values"]): it for it in existing}
        return [self._handles.filled_in(it, previous.get(tuple(it["Values"]), {})) for it in inputs]

    def _update(self, wanted: Any, existing: Any) -> None:
        version = {"VersionId": existing.handle["VersionId"]} if existing.handle.get("VersionId") else {}
        self.catalog.call(
            "update_table",
            DatabaseName=wanted.dbName,
            TableInput=self._handles.filled(wanted, existing),
            SkipArchive=self._glue.skip_archive,
            **version,
        )

    def _adapted(self, item: Any) -> tuple[Any, str | None]:
        """A Delta table with the columns of its log; a view in Athena's SQL, or the reason why it is not."""
        return self._views.as_stored(self._log_columns.applied(item)) if isinstance(item, hive.Table) else (item, None)

    def _placed(self, fields: Mapping[str, Any], table: Any) -> Mapping[str, Any]:
        """A partition with the columns that the settings give it, and by default a location below its table's."""
        storage, of_table = dict(fields.get("StorageDescriptor") or {}), fields_of(table)
        columns = columns_for(self._glue.partition_schema, storage.get("Columns") or [], columns_of(of_table))
        if columns:
            storage["Columns"] = list(columns)
        root = data_location(table).rstrip("/")
        if not storage.get("Location") and root:
            keys = [key.name for key in table.partitionKeys or ()]
            storage["Location"] = f"{root}/{partition_name(keys, fields['Values'])}"
        return {**fields, "StorageDescriptor": storage} if storage else fields

    def _into(self, database: str, write: Callable[[], object]) -> None:
        try:
            write()
        except ClientError as error:
            if code(error) != NOT_FOUND or self.catalog.database(database) is not None:
                raise
            raise MissingDatabase.of_target(self.settings.name, f"database {database}") from error


def _raise_any(errors: Sequence[Mapping[str, Any]], database: str) -> None:
    for failed in errors:
        detail: Mapping[str, Any] = failed.get("ErrorDetail") or {}
        if detail.get("ErrorCode") != NOT_FOUND:
            action = f"cannot drop table {database}.{failed.get('TableName')}"
            raise of_code(detail.get("ErrorCode", ""), detail.get("ErrorMessage", ""), action)
