"""GlueTarget: the Target protocol on the Glue Data Catalog; each kind of operation is a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

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
from pysync.targets.aws.errors import RACES, classified, code
from pysync.targets.aws.session import client
from pysync.targets.aws.translate import database_of, partition_of, table_of
from pysync.targets.base import Outcome, Rejected
from pysync.targets.glue.catalog import Catalog
from pysync.targets.glue.databases import drop_database, drop_function, put_database, put_function
from pysync.targets.glue.partitions import drop_partitions, put_partitions, put_table_and_columns
from pysync.targets.glue.renames import rename_table
from pysync.targets.glue.session import GlueSettings, Session
from pysync.targets.glue.tables import drop_table

_DECISIONS = 3
"""How often an operation is decided, while others change what it looks at."""


def _no_constraint(session: Session, _: PutConstraint | DropConstraint) -> Outcome:
    session.report_once("constraints: Glue has none")
    return Outcome.UNCHANGED


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
    PutConstraint: _no_constraint,
    DropConstraint: _no_constraint,
}


class GlueTarget:
    """A Glue Data Catalog. It sends nothing before the first call; targets of one settings object share a client."""

    def __init__(self, settings: GlueSettings) -> None:
        self._catalog = Catalog(client(settings, "glue"), settings.catalog_id)
        self._session = Session(self._catalog, settings)
        catalog = f" {settings.catalog_id}" if settings.catalog_id else ""
        self._place = f"the Glue catalog{catalog} in {self._catalog.region}"
        self._where = f"target {settings.name!r}, {self._place}"

    def check(self) -> str:
        """`12 databases in the Glue catalog in eu-west-1`."""
        return f"{len(self.databases())} databases in {self._place}"

    def apply(self, operation: Operation) -> Outcome:
        """Apply the operation (see Target.apply)."""
        apply = _APPLY.get(type(operation))
        if apply is None:
            raise Rejected(f"Glue cannot do {type(operation).__name__}")
        with classified(f"{type(operation).__name__} of {operation.key} on {self._where}"):
            return self._decided(apply, operation)

    def databases(self) -> list[str]:
        """The names of its databases, sorted."""
        with classified(f"cannot list the databases of {self._where}", reading=True):
            return sorted(database["Name"] for database in self._catalog.databases())

    def database(self, name: str) -> Any | None:
        """The database, or None."""
        with classified(f"cannot read the database {name} of {self._where}", reading=True):
            found = self._catalog.database(name)
        return None if found is None else database_of(found)

    def tables(self, database: str) -> list[str]:
        """The names of its tables and views, sorted."""
        with classified(f"cannot list the tables of {database} on {self._where}", reading=True):
            return sorted(table["Name"] for table in self._catalog.tables(database))

    def table(self, name: TableName) -> Any | None:
        """The table, or None."""
        with classified(f"cannot read the table {name} of {self._where}", reading=True):
            found = self._catalog.table(name)
        return None if found is None else table_of(found)

    def partitions(self, name: TableName) -> Iterator[Any]:
        """The table's partitions, 1000 in memory at a time."""
        with classified(f"cannot read the partitions of {name} on {self._where}", reading=True):
            yield from map(partition_of, self._catalog.partitions(name))

    def close(self) -> None:
        """Close idle connections."""
        with suppress(Exception):
            self._catalog.close()

    def _decided(self, apply: Callable[[Session, Any], Outcome], operation: Operation) -> Outcome:
        for _ in range(_DECISIONS - 1):
            try:
                return apply(self._session, operation)
            except ClientError as error:
                if code(error) not in RACES:
                    raise
        return apply(self._session, operation)
