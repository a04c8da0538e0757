"""HmsTarget: the Target protocol on a metastore; each kind of operation is a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.model.constraints import Constraints, comparable
from pysync.model.names import TableName
from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutStatistics,
    PutTable,
    RenameTable,
)
from pysync.targets.base import Outcome, Rejected
from pysync.targets.hms.both_ways import APPLY
from pysync.targets.hms.constraints import drop_constraint, put_constraint
from pysync.targets.hms.databases import drop_database, drop_function, put_database, put_function
from pysync.targets.hms.errors import REFUSALS, classified
from pysync.targets.hms.partitions import drop_partitions, put_partitions, put_table_and_columns
from pysync.targets.hms.renames import rename_table
from pysync.targets.hms.same import countless, differences
from pysync.targets.hms.session import HmsSettings, Session, Sessions
from pysync.targets.hms.statistics import put_statistics
from pysync.targets.hms.tables import drop_table
from pysync.targets.transactional import refuse_transactional

_APPLY: Mapping[type[Operation], Callable[[Session, Any], Outcome]] = {
    PutDatabase: put_database,
    DropDatabase: drop_database,
    PutFunction: put_function,
    DropFunction: drop_function,
    PutTable: put_table_and_columns,
    RenameTable: rename_table,
    DropTable: drop_table,
    PutPartitions: put_partitions,
    DropPartitions: drop_partitions,
    PutConstraint: put_constraint,
    DropConstraint: drop_constraint,
    PutStatistics: put_statistics,
}


class HmsTarget:
    """Another Hive Metastore. It connects at the first call, and again after a failure.

    Each user who writes there (`TargetSettings.user_for`) has a connection of its own.
    """

    operations: ClassVar[Mapping[type[Operation], Callable[[Session, Any], Outcome]]] = _APPLY

    def __init__(self, settings: HmsSettings) -> None:
        self._open(Sessions(settings, partial(_connection, settings, settings.access())))
        self.keeps_statistics = settings.statistics == "columns"
        self._where = f"target {settings.name!r} at {settings.metastore}"

    def _open(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._hms = sessions.of(()).hms

    def check(self) -> str:
        """`12 databases at thrift://host:port`. No version: until Hive 4 every HMS says that it is 3.0."""
        with classified(f"cannot list the databases of {self._where}", reading=True):
            return f"{len(self._hms.databases())} databases at {self._hms.uri}{self._sessions.known_by()}"

    def apply(self, operation: Operation) -> Outcome:
        """Apply the operation (see Target.apply)."""
        apply = (APPLY if self._sessions.both_ways else self.operations).get(type(operation))
        if apply is None:
            raise Rejected(f"a metastore cannot do {type(operation).__name__}")
        with classified(f"{type(operation).__name__} of {operation.key} on {self._where}"):
            session = self._sessions.of(operation.visited)
            try:
                return apply(session, operation)
            except REFUSALS:
                return apply(session, operation)

    def databases(self) -> list[str]:
        """The names of its databases, sorted."""
        with classified(f"cannot list the databases of {self._where}", reading=True):
            return sorted(self._hms.databases())

    def database(self, name: str) -> Any | None:
        """The database, or None."""
        with classified(f"cannot read the database {name} of {self._where}", reading=True):
            return self._hms.database(name)

    def tables(self, database: str) -> list[str]:
        """The names of its tables and views, sorted."""
        with classified(f"cannot list the tables of {database} on {self._where}", reading=True):
            return sorted(self._hms.tables(database))

    def table(self, name: TableName) -> Any | None:
        """The table, or None."""
        with classified(f"cannot read the table {name} of {self._where}", reading=True):
            return self._hms.table(name.database, name.table)

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, 500 in memory at a time. HMS 2.3 fails on those of a missing table: we look first."""
        if self.table(name) is None:
            return
        with classified(f"cannot read the partitions of {name} on {self._where}", reading=True):
            yield from self._hms.partitions(name.database, name.table)

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:
        """The names of the table's partitions (see Target.partition_names)."""
        if self.table(name) is None:
            return []
        limit = -1 if most is None else most
        with classified(f"cannot list the partitions of {name} on {self._where}", reading=True):
            return list(self._hms.call(lambda client: client.get_partition_names(name.database, name.table, limit)))

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        with classified(f"cannot read the partitions of {name} on {self._where}", reading=True):
            return self._hms.partitions_by_name(name.database, name.table, names)

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        with classified(f"cannot list the functions of {database} on {self._where}", reading=True):
            return self._hms.functions(database)

    def constraints(self, table: Any) -> Constraints:
        """The table's constraints, of the kinds that this version of Hive has."""
        with classified(f"cannot read the constraints of {table.tableName} on {self._where}", reading=True):
            return self._hms.constraints(table)

    def differences(self, wanted: Any, there: Any | None, table: Any | None = None) -> list[str]:  # noqa: ARG002
        """What it would write (see Target.differences)."""
        if isinstance(wanted, hive.Table):
            refuse_transactional(self._sessions.of(()).settings, wanted)
        if there is None:
            return ["missing"]
        if self._sessions.both_ways:
            wanted, there = countless(wanted), countless(there)
        return differences([comparable(it) for it in wanted] if isinstance(wanted, list) else wanted, there)

    def close(self) -> None:
        """Close the connections."""
        self._sessions.close()


def _connection(settings: HmsSettings, access: MetastoreAccess, user: str | None) -> Metastore:
    wait = {"timeout": settings.timeout_seconds, "connect_timeout": settings.connect_timeout_seconds}
    return Metastore(access.as_user(user), **wait)
