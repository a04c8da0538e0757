"""GlueStore: the AWS Glue Data Catalog as a store, by its own API.

A table is altered in place, so that what hangs on it at AWS (grants, readers) stays. An update names the version that
was looked at: a change of somebody else in between is refused, and the operation decided again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, ClassVar

from botocore.exceptions import ClientError
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.names import TableName
from pysync.targets.aws.errors import INVALID, NOT_FOUND, code, of_code
from pysync.targets.aws.inputs import translated
from pysync.targets.aws.rights import by_the_api, of_logs, simulated
from pysync.targets.base import MissingDatabase, Rejected, Unavailable
from pysync.targets.glue.catalog import GET_PAGE
from pysync.targets.glue.catalog_store import CatalogStore
from pysync.targets.glue.extras import Index
from pysync.targets.glue.handles import columns_of, fields_of, partition_fields
from pysync.targets.glue.partition_batches import (
    Failures,
    chunks,
    create_partitions,
    delete_partitions,
    update_partitions,
)
from pysync.targets.glue.partition_columns import same_columns, spread
from pysync.targets.glue.settings import GlueSettings
from pysync.targets.hive import name_of
from pysync.targets.store import Written

_TABLES_PER_CALL = 100
_ROUNDS = 3  # of creating and updating, while somebody else creates and drops the same partitions


class GlueStore(CatalogStore):
    """Writes definitions by the Glue API."""

    lost_by_copy: ClassVar[str] = "its versions, and Lake Formation's grants and tags"
    batch: ClassVar[int] = GET_PAGE

    def __init__(self, settings: GlueSettings) -> None:
        super().__init__(settings, settings)
        self._inherited: Sequence[Index] = ()

    # --- the connection

    def check_rights(self) -> str:
        """As IAM simulates them."""
        return simulated(self._glue, (*by_the_api(self._glue), *of_logs(self._glue)), self.databases())

    # --- databases and functions

    def create_database(self, wanted: Any) -> None:
        """Create it."""
        self.extras.forget(wanted.name)
        self.catalog.call("create_database", DatabaseInput=wanted.handle.fields)

    def alter_database(self, wanted: Any, existing: Any) -> bool:
        """Update it."""
        self.catalog.call("update_database", Name=wanted.name, DatabaseInput=self._handles.filled(wanted, existing))
        return True

    def drop_database(self, name: str) -> None:
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
            spread(self._send, name_of(existing), columns, policy, self._handles.preserved_patterns)
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
        return spread(self._send, name_of(table), columns_of(wanted), "full", self._handles.preserved_patterns) > 0

    # --- within

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
