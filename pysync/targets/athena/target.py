"""AthenaTarget: the Target protocol by Athena's DDL, with the Glue API to see what is there and for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pysync.model.constraints import Constraints
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
    PutTable,
    RenameTable,
)
from pysync.targets.athena.differences import written_differences
from pysync.targets.athena.execution import Athena
from pysync.targets.athena.glue import GlueSide
from pysync.targets.athena.operations import (
    drop_database,
    drop_partitions,
    drop_table,
    put_database,
    put_partitions,
    put_table,
)
from pysync.targets.athena.session import Session
from pysync.targets.athena.settings import AthenaSettings
from pysync.targets.base import Outcome


def _by_glue(reason: str) -> Callable[[Session, Operation], Outcome]:
    return lambda session, operation: session.by_glue(operation, [reason])


def _nowhere(session: Session, operation: Operation) -> Outcome:
    """Constraints, which neither Athena nor Glue has: it says so, and writes nothing."""
    return session.glue.apply(operation)


_APPLY: Mapping[type[Operation], Callable[[Session, Any], Outcome]] = {
    PutDatabase: put_database,
    DropDatabase: drop_database,
    PutFunction: _by_glue("a function of Hive's"),
    DropFunction: _by_glue("a function of Hive's"),
    PutTable: put_table,
    RenameTable: _by_glue("another name"),
    DropTable: drop_table,
    PutPartitions: put_partitions,
    DropPartitions: drop_partitions,
    PutConstraint: _nowhere,
    DropConstraint: _nowhere,
}


class AthenaTarget:
    """A Glue Data Catalog that is written by Athena's statements. It sends nothing before the first call."""

    def __init__(self, settings: AthenaSettings) -> None:
        self._glue = GlueSide(settings)
        self._athena = Athena(settings)
        self._session = Session(self._athena, self._glue, settings)
        self._name = settings.name

    def check(self) -> str:
        """`12 databases in the Glue catalog in eu-west-1; Athena's work group primary`."""
        return f"{self._glue.check()}; {self._athena.check()}"

    def apply(self, operation: Operation) -> Outcome:
        """Apply the operation (see Target.apply)."""
        apply = _APPLY.get(type(operation), _by_glue("nothing of its kind"))
        return apply(self._session, operation)

    def databases(self) -> list[str]:
        """The names of its databases, sorted."""
        return self._glue.databases()

    def database(self, name: str) -> Any | None:
        """The database, or None."""
        return self._glue.database(name)

    def tables(self, database: str) -> list[str]:
        """The names of its tables and views, sorted."""
        return self._glue.tables(database)

    def table(self, name: TableName) -> Any | None:
        """The table, or None."""
        return self._glue.table(name)

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, 1000 in memory at a time."""
        yield from self._glue.partitions(name)

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:
        """The names of the table's partitions (see Target.partition_names)."""
        return self._glue.partition_names(name, most)

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        return self._glue.partitions_by_name(name, names)

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        return self._glue.functions(database)

    def constraints(self, table: Any) -> Constraints:
        """None: Glue has no constraints."""
        return self._glue.constraints(table)

    def differences(self, wanted: Any, there: Any | None, table: Any | None = None) -> list[str]:
        """What it would write (see Target.differences); with `glue_api = "never"` what statements would."""
        found = self._glue.differences(wanted, there, table)
        if not found:
            return []
        return written_differences(found, wanted, there, table, only_ddl=self._session.only_ddl)

    def close(self) -> None:
        """Close idle connections."""
        self._athena.close()
        self._glue.close()
