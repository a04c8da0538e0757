"""GlueStore: the AWS Glue Data Catalog as a store, by its own API.

A table is altered in place, so that what hangs on it at AWS (grants, readers) stays. An update names the version that
was looked at: a change of somebody else in between is refused, and the operation decided anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from botocore.exceptions import ClientError
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName, normalized, partition_name, partition_values
from pysync.targets.aws.errors import NOT_FOUND, RACES, classified, code, of_code
from pysync.targets.aws.inputs import partition_values as kept_values
from pysync.targets.aws.session import client, tell_calls
from pysync.targets.aws.translate import database_of, function_of, partition_of, table_of, translated
from pysync.targets.base import MissingDatabase, Unavailable
from pysync.targets.glue.batches import (
    Failures,
    Sender,
    chunks,
    create_partitions,
    delete_partitions,
    input_of,
    update_partitions,
)
from pysync.targets.glue.catalog import GET_PAGE, Catalog
from pysync.targets.glue.columns import columns_for, same_columns, spread
from pysync.targets.glue.settings import GlueSettings
from pysync.targets.glue.views import Views
from pysync.targets.hive import name_of
from pysync.targets.store import Capability, Store, Written
from pysync.text import count

_TABLES_PER_CALL = 100
_ROUNDS = 3  # of creating and updating, while somebody else creates and drops the same partitions
# What stays at Glue where the source says nothing: it may have been put there by hand.
_STAYS = ("Description", "LastAnalyzedTime", "LocationUri")


@dataclass(frozen=True, slots=True)
class Input:
    """The handle of what `as_kept` gives: the input of Glue's call, and what Glue cannot hold of the object."""

    fields: Mapping[str, Any]
    lost: Sequence[str]


class GlueStore(Store):
    """A Glue Data Catalog. It sends nothing before the first call; stores of one settings object share a client.

    The handle of what was read is the object as Glue gave it.
    """

    batch: ClassVar[int] = GET_PAGE
    decisions: ClassVar[int] = 3
    lacks: ClassVar[Mapping[Capability, str]] = {
        Capability.CONSTRAINTS: "Glue has no constraints",
        Capability.COLUMN_STATISTICS: "Glue stores column statistics in another format, which pysync does not write",
        Capability.RENAMES: "Glue has no rename call: pysync creates the new table and copies the partitions",
    }

    def __init__(self, settings: GlueSettings) -> None:
        self.catalog = Catalog(client(settings, "glue"), settings.catalog_id)
        catalog = f" {settings.catalog_id}" if settings.catalog_id else ""
        self._place = f"the Glue catalog{catalog} in {self.catalog.region}"
        super().__init__(settings, f"target {settings.name!r}, {self._place}")
        self._glue = settings
        self._send = Sender(self.catalog, settings.parallel)
        self._views = Views(settings.views, self.catalog.table, lambda what: self.classified(what, reading=True))

    # --- the connection

    def classified(self, what: str, *, reading: bool = False) -> AbstractContextManager[None]:
        """Sort AWS's errors (see Store.classified)."""
        return classified(what, reading=reading)

    def tell_calls(self, on_call: Callable[[str], object]) -> None:
        """Tell of requests to Glue: `glue.GetTable`."""
        tell_calls(self._glue, "glue", on_call)

    def is_race(self, error: Exception) -> bool:
        """Something has come, gone or changed since we looked."""
        return isinstance(error, ClientError) and code(error) in RACES

    @property
    def creates_missing_databases(self) -> bool:
        """As the settings say."""
        return self._glue.create_missing_databases

    def check(self) -> str:
        """`12 databases in the Glue catalog in eu-west-1`."""
        return f"{count(len(self.databases()), 'database')} in {self._place}"

    def close(self) -> None:
        """Close idle connections."""
        self.catalog.close()

    # --- what is there

    def databases(self) -> list[str]:
        """The names of all databases."""
        return [database["Name"] for database in self.catalog.databases()]

    def database(self, name: str) -> Any | None:
        """A Database, or None."""
        return _read(database_of, self.catalog.database(name))

    def table_names(self, database: str) -> list[str]:
        """The names of its tables and views."""
        return [table["Name"] for table in self.catalog.tables(database)]

    def tables(self, database: str) -> Iterator[Any]:
        """Its tables and views, each a Table."""
        return (_read(table_of, table) for table in self.catalog.tables(database))

    def table(self, name: TableName) -> Any | None:
        """A Table, or None."""
        return _read(table_of, self.catalog.table(name))

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, 1000 in memory at a time."""
        return (_read(partition_of, it) for it in self.catalog.partitions(name))

    def partition_names(self, table: Any, most: int | None = None) -> list[str]:
        """Their names."""
        keys = [key.name for key in table.partitionKeys or ()]
        found = self.catalog.partitions(name_of(table), ExcludeColumnSchema=True)
        return [partition_name(keys, it["Values"]) for it in islice(found, most)]

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        values = [partition_values(it) for it in names]
        return [it for some in chunks(values, GET_PAGE) for it in self._partitions(name, some)]

    def partitions_of(self, table: Any, values: Sequence[Sequence[str]]) -> list[Any]:
        """Those of the partitions with these values that are there."""
        return self._partitions(name_of(table), [kept_values(it) for it in values])

    def function(self, database: str, name: str) -> Any | None:
        """A Function, or None."""
        return _read(function_of, self.catalog.function(database, name))

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        return [_read(function_of, it) for it in self.catalog.functions(database)]

    # --- what becomes of an object here

    def as_kept(self, item: Any, table: Any | None = None) -> Any:
        """The item as Glue would give it back. A partition gets columns and place as the settings and its table say."""
        item, untranslated = self._views.kept(item) if isinstance(item, hive.Table) else (item, None)
        plain, lost = translated(item)
        if untranslated:
            lost = [*lost, f"view: not translated: {untranslated}"]
        is_of_table = isinstance(item, hive.Partition) and table is not None
        fields = self._placed(plain, table) if is_of_table else plain
        kept = _OBJECTS[type(item)]({**fields, **_belonging(item)})
        kept.handle = Input(fields, lost)
        return kept

    def lost(self, kept: Any) -> Sequence[str]:
        """What Glue cannot hold as it is."""
        return kept.handle.lost  # type: ignore[no-any-return]

    # --- databases and functions

    def create_database(self, wanted: Any) -> None:
        """Create it."""
        self.catalog.call("create_database", DatabaseInput=wanted.handle.fields)

    def alter_database(self, wanted: Any, there: Any) -> bool:
        """Update it."""
        self.catalog.call("update_database", Name=wanted.name, DatabaseInput=_filled(wanted, there))
        return True

    def drop_database(self, name: str, *, delete_data: bool) -> None:  # noqa: ARG002
        """Delete it; its functions go with it."""
        self.catalog.call("delete_database", Name=name)

    def create_function(self, wanted: Any) -> None:
        """Create it."""
        arguments = {"DatabaseName": wanted.dbName, "FunctionInput": wanted.handle.fields}
        self._into(wanted.dbName, lambda: self.catalog.call("create_user_defined_function", **arguments))

    def alter_function(self, wanted: Any, there: Any) -> None:
        """Update it."""
        arguments = {"DatabaseName": wanted.dbName, "FunctionInput": wanted.handle.fields}
        self.catalog.call("update_user_defined_function", FunctionName=there.functionName, **arguments)

    def drop_function(self, database: str, name: str) -> None:
        """Delete it."""
        self.catalog.call("delete_user_defined_function", DatabaseName=database, FunctionName=name)

    # --- tables

    def create_table(self, wanted: Any) -> None:
        """Create it."""
        arguments = {"DatabaseName": wanted.dbName, "TableInput": wanted.handle.fields}
        self._into(wanted.dbName, lambda: self.catalog.call("create_table", **arguments))

    def alter_table(self, wanted: Any, there: Any, *, cascade: bool = False) -> bool:  # noqa: ARG002
        """Update it. New columns go to its partitions, as the settings say, before they go to the table: after a crash
        the next try then still finds them new.
        """
        policy, columns = self._glue.partition_schema, _columns(wanted.handle.fields)
        if there.partitionKeys and policy != "none" and not same_columns(columns, _columns(there.handle)):
            spread(self._send, name_of(there), columns, policy)
        self._update(wanted, there)
        return True

    def replace_table(self, wanted: Any, there: Any) -> bool:
        """Update it when its partitions are gone."""
        name = name_of(there)
        for found in chunks(self.catalog.partitions(name, ExcludeColumnSchema=True), GET_PAGE):
            delete_partitions(self._send, name, [it["Values"] for it in found])
        self._update(wanted, there)
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

    # --- partitions

    def put_partitions(self, table: Any, absent: Sequence[Any], changed: Sequence[tuple[Any, Any]]) -> Written:
        """Create and update partitions (see Store.put_partitions)."""
        name, failures = name_of(table), Failures(name_of(table))
        new = [_partition_input(it) for it in absent]
        others = [_filled_in(_partition_input(it), its.handle) for it, its in changed]
        for _ in range(_ROUNDS):
            others = [*others, *create_partitions(self._send, name, new, failures)]
            new, others = update_partitions(self._send, name, others, failures), []
            if not new:
                return Written(any=True, refused=failures.as_refused())
        raise Unavailable(f"another client creates and deletes partitions of {name} at the same time")

    def drop_partitions(self, table: Any, there: Sequence[Any], *, delete_data: bool) -> None:  # noqa: ARG002
        """Delete partitions."""
        delete_partitions(self._send, name_of(table), [it.values for it in there])

    def spread_columns(self, table: Any, columns: Sequence[Any]) -> bool:
        """Give all partitions these columns."""
        wanted = translated(hive.Partition(values=[], sd=hive.StorageDescriptor(cols=list(columns))))[0]
        return spread(self._send, name_of(table), _columns(wanted), "full") > 0

    # --- within

    def _partitions(self, name: TableName, values: Sequence[Sequence[str]]) -> list[Any]:
        return [_read(partition_of, it) for it in self.catalog.partitions_of(name, values)]

    def _update(self, wanted: Any, there: Any) -> None:
        version = {"VersionId": there.handle["VersionId"]} if there.handle.get("VersionId") else {}
        self.catalog.call(
            "update_table",
            DatabaseName=wanted.dbName,
            TableInput=_filled(wanted, there),
            SkipArchive=self._glue.skip_archive,
            **version,
        )

    def _placed(self, fields: Mapping[str, Any], table: Any) -> Mapping[str, Any]:
        """A partition with the columns that the settings give it, and by default a location below its table's."""
        storage, of_table = dict(fields.get("StorageDescriptor") or {}), _storage_of(table)
        columns = columns_for(self._glue.partition_schema, storage.get("Columns") or [], _columns(of_table))
        if columns:
            storage["Columns"] = list(columns)
        if not storage.get("Location") and table.sd.location:
            keys = [key.name for key in table.partitionKeys or ()]
            storage["Location"] = f"{table.sd.location.rstrip('/')}/{partition_name(keys, fields['Values'])}"
        return {**fields, "StorageDescriptor": storage} if storage else fields

    def _into(self, database: str, write: Callable[[], object]) -> None:
        try:
            write()
        except ClientError as error:
            if code(error) != NOT_FOUND or self.catalog.database(database) is not None:
                raise
            raise MissingDatabase.of_target(self.settings.name, f"database {database}") from error


_OBJECTS: Mapping[Any, Callable[[Mapping[str, Any]], Any]] = {
    hive.Database: database_of,
    hive.Table: table_of,
    hive.Partition: partition_of,
    hive.Function: function_of,
}


def _read(translate: Callable[[Mapping[str, Any]], Any], found: Mapping[str, Any] | None) -> Any | None:
    """The struct of an object that was read, with its handle."""
    if found is None:
        return None
    item = translate(found)
    item.handle = found
    return item


def _belonging(item: Any) -> dict[str, str]:
    """The database of a table or function, which is in no input."""
    return {"DatabaseName": normalized(item.dbName)} if isinstance(item, hive.Table | hive.Function) else {}


def _partition_input(item: Any) -> Mapping[str, Any]:
    """The input of a wanted partition, or of one that was read and may have another location since."""
    if isinstance(item.handle, Input):
        return item.handle.fields
    found = input_of(item.handle)
    storage = {**(found.get("StorageDescriptor") or {})}
    if item.sd.location:
        storage["Location"] = item.sd.location
    return {**found, "StorageDescriptor": storage} if storage else found


def _filled(wanted: Any, there: Any) -> Mapping[str, Any]:
    return _filled_in(wanted.handle.fields, there.handle)


def _filled_in(wanted: Mapping[str, Any], there: Mapping[str, Any]) -> dict[str, Any]:
    """The input of an update, which replaces everything: it repeats what stays where the source says nothing."""
    found = {**{name: there[name] for name in _STAYS if there.get(name)}, **wanted}
    location = (there.get("StorageDescriptor") or {}).get("Location")
    if location and not (wanted.get("StorageDescriptor") or {}).get("Location"):
        found["StorageDescriptor"] = {**wanted.get("StorageDescriptor", {}), "Location": location}
    return found


def _storage_of(table: Any) -> Mapping[str, Any]:
    """A table in Glue's own words, with its StorageDescriptor; wanted or read."""
    handle = getattr(table, "handle", None)
    if handle is None:
        return translated(table)[0]
    return handle.fields if isinstance(handle, Input) else handle


def _columns(item: Mapping[str, Any]) -> Sequence[Any]:
    return (item.get("StorageDescriptor") or {}).get("Columns") or []


def _raise_any(errors: Sequence[Mapping[str, Any]], database: str) -> None:
    for failed in errors:
        detail: Mapping[str, Any] = failed.get("ErrorDetail") or {}
        if detail.get("ErrorCode") != NOT_FOUND:
            what = f"cannot drop table {database}.{failed.get('TableName')}"
            raise of_code(detail.get("ErrorCode", ""), detail.get("ErrorMessage", ""), what)
