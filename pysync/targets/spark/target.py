"""SparkTarget: the operations of an hms target, on the catalog of a Spark session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from pysync.metastore.client import Metastore
from pysync.model.constraints import Constraints
from pysync.model.names import TableName
from pysync.model.operation import (
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    Operation,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTable,
    RenameTable,
)
from pysync.targets.base import Outcome
from pysync.targets.hms.databases import drop_database, drop_function, put_database, put_function
from pysync.targets.hms.errors import classified
from pysync.targets.hms.partitions import drop_partitions, put_partitions
from pysync.targets.hms.renames import rename_table
from pysync.targets.hms.session import Session, Sessions
from pysync.targets.hms.tables import drop_table, put_table
from pysync.targets.hms.target import HmsTarget
from pysync.targets.spark.catalog import SparkCatalog
from pysync.targets.spark.kept import kept
from pysync.targets.spark.settings import SparkSettings

_APPLY: Mapping[type[Operation], Callable[[Session, Any], Outcome]] = {
    PutDatabase: put_database,
    DropDatabase: drop_database,
    PutFunction: put_function,
    DropFunction: drop_function,
    PutTable: put_table,
    RenameTable: rename_table,
    DropTable: drop_table,
    PutPartitions: put_partitions,
    DropPartitions: drop_partitions,
}


class SparkTarget(HmsTarget):
    """The catalog of the process's Spark session, which starts at the first call, and again after its death."""

    operations = _APPLY

    def __init__(self, settings: SparkSettings) -> None:
        self._catalog = SparkCatalog(settings.host())
        self._open(Sessions(settings, lambda _: cast(Metastore, self._catalog)))
        self._where = f"target {settings.name!r}"

    def check(self) -> str:
        """`12 databases in the catalog of Spark`."""
        with classified(f"cannot list the databases of {self._where}", reading=True):
            return f"{len(self._catalog.databases())} databases in the catalog of Spark"

    def apply(self, operation: Operation) -> Outcome:
        """Apply the operation (see Target.apply); Spark's catalog has neither constraints nor column statistics."""
        if type(operation) not in self.operations:
            return Outcome.UNSUPPORTED
        return super().apply(_kept(operation))

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:
        """The names of the table's partitions (see Target.partition_names)."""
        table = self.table(name)
        if table is None or not table.partitionKeys:
            return []
        with classified(f"cannot list the partitions of {name} on {self._where}", reading=True):
            return self._catalog.get_partition_names(name.database, name.table, -1 if most is None else most)

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        if self.database(database) is None:
            return []
        with classified(f"cannot list the functions of {database} on {self._where}", reading=True):
            return self._catalog.functions(database)

    def constraints(self, table: Any) -> Constraints:  # noqa: ARG002
        """None: Spark's catalog has no constraints of Hive's."""
        return {}

    def differences(self, wanted: Any, there: Any | None, table: Any | None = None) -> list[str]:  # noqa: ARG002
        """What it would write (see Target.differences)."""
        if isinstance(wanted, list):  # of constraints
            return []
        return super().differences(kept(wanted), there)

    def close(self) -> None:
        """Nothing: the session is the process's."""


def _kept(operation: Operation) -> Operation:
    """The operation with what it puts as Spark's catalog keeps it. Raises Rejected where it cannot."""
    if isinstance(operation, PutPartitions):
        parts = [kept(partition) for partition in operation.partitions]
        return replace(operation, definition=kept(operation.definition), partitions=parts)
    if isinstance(operation, PutTable | RenameTable | PutDatabase | PutFunction):
        return replace(operation, definition=kept(operation.definition))
    return operation
