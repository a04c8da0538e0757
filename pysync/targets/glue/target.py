"""GlueTarget: the Target protocol on the Glue Data Catalog; each kind of operation is a function of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

from botocore.exceptions import ClientError
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.constraints import Constraints
from pysync.model.names import TableName, partition_name, partition_values
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
from pysync.targets.aws.translate import as_input, database_of, function_of, partition_of, table_input, table_of
from pysync.targets.base import Outcome, Rejected
from pysync.targets.glue.catalog import GET_PAGE, Catalog
from pysync.targets.glue.databases import drop_database, drop_function, put_database, put_function
from pysync.targets.glue.partitions import drop_partitions, placed, put_partitions, put_table_and_columns
from pysync.targets.glue.renames import rename_table
from pysync.targets.glue.same import differences
from pysync.targets.glue.session import GlueSettings, Session, chunks
from pysync.targets.glue.tables import drop_table
from pysync.targets.transactional import refuse_transactional

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

    def partition_names(self, name: TableName, most: int | None = None) -> list[str]:
        """The names of the table's partitions (see Target.partition_names)."""
        with classified(f"cannot list the partitions of {name} on {self._where}", reading=True):
            table = self._catalog.table(name)
            keys = [key["Name"] for key in (table or {}).get("PartitionKeys") or ()]
            found = self._catalog.partitions(name, ExcludeColumnSchema=True) if table else iter(())
            return [partition_name(keys, it["Values"]) for it in islice(found, most)]

    def partitions_by_name(self, name: TableName, names: Sequence[str]) -> list[Any]:
        """Those of the partitions that are there."""
        return list(self.partitions_by_values(name, [partition_values(it) for it in names]))

    def partitions_by_values(self, name: TableName, values: Sequence[Sequence[str]]) -> Iterator[Any]:
        """Those of these partitions that are there (hmsclient's Partition), in no promised order."""
        with classified(f"cannot read the partitions of {name} on {self._where}", reading=True):
            for some in chunks(values, GET_PAGE):
                yield from map(partition_of, self._catalog.partitions_of(name, some))

    def functions(self, database: str) -> list[Any]:
        """The database's functions."""
        with classified(f"cannot list the functions of {database} on {self._where}", reading=True):
            return [function_of(it) for it in self._catalog.functions(database)]

    def constraints(self, table: Any) -> Constraints:  # noqa: ARG002
        """None: Glue has no constraints."""
        return {}

    def differences(self, wanted: Any, there: Any | None, table: Any | None = None) -> list[str]:
        """What it would write (see Target.differences)."""
        if isinstance(wanted, hive.Table):
            refuse_transactional(self._session.settings, wanted)
        mine = self._input(wanted, table)
        if there is None:
            return ["missing"]
        try:
            return differences(mine, as_input(there))
        except Rejected as error:  # somebody else wrote what we could not
            return [error.message]

    def close(self) -> None:
        """Close idle connections."""
        with suppress(Exception):
            self._catalog.close()

    def _input(self, wanted: Any, table: Any | None) -> dict[str, Any]:
        """What it writes for an object; a partition gets its columns and place as the settings and its table say."""
        found = as_input(wanted)
        if isinstance(wanted, hive.Partition) and table is not None:
            return placed(self._session, found, table_input(table)[0])
        return found

    def _decided(self, apply: Callable[[Session, Any], Outcome], operation: Operation) -> Outcome:
        for _ in range(_DECISIONS - 1):
            try:
                return apply(self._session, operation)
            except ClientError as error:
                if code(error) not in RACES:
                    raise
        return apply(self._session, operation)
