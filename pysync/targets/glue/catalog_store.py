"""CatalogStore: what all stores of a Glue Data Catalog have in common, by whatever API they write definitions.

That is all reads, the form that objects have there, and what the Glue API alone can write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, ClassVar

from botocore.exceptions import ClientError
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.text import count
from pysync.metastore.statistics import Statistics
from pysync.model.names import TableName, normalized, partition_name, partition_values
from pysync.model.table_formats import data_location
from pysync.targets.aws import spark_sources
from pysync.targets.aws.clients import client, observe_calls
from pysync.targets.aws.errors import RACES, classified, code
from pysync.targets.aws.inputs import partition_values as kept_values
from pysync.targets.aws.inputs import translated
from pysync.targets.base import Rejected
from pysync.targets.glue.catalog import GET_PAGE, Catalog
from pysync.targets.glue.extras import Extras
from pysync.targets.glue.handles import Handles, columns_of, fields_of, is_link
from pysync.targets.glue.log_columns import LogColumns
from pysync.targets.glue.partition_batches import Sender, chunks
from pysync.targets.glue.partition_columns import columns_for
from pysync.targets.glue.settings import GlueSettings
from pysync.targets.glue.statistics import delete_statistics, read_statistics, stored_statistics, write_statistics
from pysync.targets.glue.views import Views
from pysync.targets.hive import name_of
from pysync.targets.settings import TargetSettings
from pysync.targets.store import Capability, HasColumnStatistics, HasFunctions, Store

_FRESH_SECONDS = 60.0  # for which a database that was read, and was no link, is none
_ALIKE = "(set source.hive_version): only views that Hive 2.3, 3.1 and 4 read alike are translated"


class CatalogStore(Store, HasFunctions, HasColumnStatistics):
    """A Glue Data Catalog. It sends nothing before the first call; stores of one settings object share a client."""

    decisions: ClassVar[int] = 3
    lacks: ClassVar[Mapping[Capability, str]] = {
        Capability.CONSTRAINTS: "Glue has no constraints",
        Capability.RENAMES: "Glue has no rename call: pysync creates the new table and copies the partitions",
    }

    def __init__(self, settings: TargetSettings, glue: GlueSettings) -> None:
        """`glue` says how the Glue API is used: the settings themselves for a target of kind glue."""
        self.catalog = Catalog(client(glue, "glue"), glue.catalog_id)
        catalog = f" {glue.catalog_id}" if glue.catalog_id else ""
        self._place = f"the Glue catalog{catalog} in {self.catalog.region}"
        super().__init__(settings, f"target {settings.name!r}, {self._place}")
        self._glue = glue
        self._handles = Handles(glue.keep_parameters)
        self.extras = Extras(glue, self.catalog)
        self._unlinked: dict[str, float] = {}
        self._send = Sender(self.catalog, glue.parallel)
        self._log_columns = LogColumns(glue, self.table)
        self._source_hive = settings.source_hive
        self._views = Views(
            glue.views,
            settings.source_hive,
            self.catalog.table,
            lambda action: self.classified(action, reading=True),
            glue.views_accept,
        )

    def share_links(self, other: CatalogStore) -> None:
        """Know together with `other`, a store of the same catalog, which databases are no links: each is read once."""
        self._unlinked = other._unlinked

    # --- the connection

    def classified(self, action: str, *, reading: bool = False) -> AbstractContextManager[None]:
        """Sort AWS's errors (see Store.classified)."""
        return classified(action, reading=reading)

    def observe_calls(self, on_call: Callable[[str], object]) -> None:
        """Call `on_call` with the name of each request to Glue: `glue.GetTable`."""
        observe_calls(self._glue, "glue", on_call)

    def is_race(self, error: Exception) -> bool:
        """Something has come, gone or changed since we looked."""
        return isinstance(error, ClientError) and code(error) in RACES

    def check(self) -> str:
        """`12 databases in the Glue catalog in eu-west-1`, and what to set for more views to be translated."""
        databases = f"{count(len(self.databases()), 'database')} in {self._place}"
        unexpected = self._source_hive.unexpected() if self._glue.translates_views else None
        return f"{databases}; {unexpected} {_ALIKE}" if unexpected else databases

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

    # --- what happens to an object here

    def as_stored(self, item: Any, table: Any | None = None) -> Any:
        """The item as Glue would give it back. A partition gets columns and place as the settings and its table say."""
        adapted, of_view = self._adapted(item)
        unread: list[str] = []
        if isinstance(item, hive.Table):
            adapted, unread = spark_sources.as_read(adapted)
        plain, lost = translated(adapted)
        self._refuse_unreadable(plain)
        lost = [*lost, *unread, *of_view]
        is_of_table = isinstance(item, hive.Partition) and table is not None
        fields = self._placed(plain, table) if is_of_table else plain
        return self._handles.as_stored(item, fields, lost)

    def _refuse_unreadable(self, fields: Mapping[str, Any]) -> None:
        if reason := self._glue.unreadable((fields.get("StorageDescriptor") or {}).get("Location") or ""):
            raise Rejected(reason, self._glue.unreadable_hint)

    def lost(self, expected: Any) -> Sequence[str]:
        """What Glue cannot hold as it is."""
        return expected.handle.lost  # type: ignore[no-any-return]

    # --- what the Glue API alone can write

    def furnish(self, item: Any) -> None:
        """Add partition indexes and Lake Formation's tags of the settings."""
        if isinstance(item, hive.Database):
            self.extras.furnish_database(normalized(item.name))
        else:
            self.extras.furnish_table(item)

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

    def _adapted(self, item: Any) -> tuple[Any, Sequence[str]]:
        """A Delta table with the columns of its log; a view in Athena's SQL, and what is to be said of that."""
        return self._views.as_stored(self._log_columns.applied(item)) if isinstance(item, hive.Table) else (item, ())

    def _placed(self, fields: Mapping[str, Any], table: Any) -> Mapping[str, Any]:
        """A partition with the columns that the settings give it, and by default a location below its table's."""
        storage, of_table = dict(fields.get("StorageDescriptor") or {}), fields_of(table)
        if spark_sources.is_placeholder(storage.get("Columns") or ()):
            storage |= spark_sources.format_of(of_table.get("StorageDescriptor") or {})
        columns = columns_for(self._glue.partition_schema, storage.get("Columns") or [], columns_of(of_table))
        if columns:
            storage["Columns"] = list(columns)
        root = data_location(table).rstrip("/")
        if not storage.get("Location") and root:
            keys = [key.name for key in table.partitionKeys or ()]
            storage["Location"] = f"{root}/{partition_name(keys, fields['Values'])}"
        return {**fields, "StorageDescriptor": storage} if storage else fields
