"""Calls about partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.memory.store import Calls, HeldTable, Values, environment_of
from pysync.model.event import Kind
from pysync.model.names import DEFAULT_PARTITION, partition_name, partition_values
from pysync.model.struct_copies import copied


class PartitionCalls(Calls):
    """As in HMS 2.3, a call fires an event for each partition, but an add one for all. An alter loses its context."""

    def get_partition_names(self, database: str, table: str, most: int) -> list[str]:
        """The names of at most so many partitions, of all for -1."""
        held = self._store.table(database, table)
        names = sorted(_name(held, values) for values in held.partitions)
        return names if most < 0 else names[:most]

    def get_partitions(self, database: str, table: str, most: int) -> list[Any]:
        """At most so many partitions, all for -1."""
        return self.get_partitions_by_names(database, table, self.get_partition_names(database, table, most))

    def get_partitions_by_names(self, database: str, table: str, names: Sequence[str]) -> list[Any]:
        """The named partitions that are there."""
        held = self._store.table(database, table)
        partitions = (held.partitions.get(tuple(partition_values(name))) for name in names)
        return [copied(partition) for partition in partitions if partition is not None]

    def get_partition(self, database: str, table: str, values: Sequence[str]) -> Any:
        """Raises NoSuchObjectException."""
        return copied(_partition(self._store.table(database, table), values))

    def add_partitions_req(self, request: Any) -> Any:
        """Add all, or with ifNotExists those that are not there yet; only those that are added are in the event.

        Raises InvalidObjectException for a table that is not there, AlreadyExistsException.
        """
        held = self._store.find(request.dbName, request.tblName)
        if held is None:
            raise hive.InvalidObjectException(f"database or table {request.dbName}.{request.tblName} doesn't exist")
        new = [self._taken(held, partition) for partition in request.parts]
        existing = [item for item in new if _key(item.values) in held.partitions]
        if existing and not request.ifNotExists:
            raise hive.AlreadyExistsException(f"Partition already exists: {existing[0].values}")
        added = [item for item in new if _key(item.values) not in held.partitions]
        held.partitions.update((_key(item.values), item) for item in added)
        if added:
            self._notify(Kind.ADD_PARTITION, table=held.struct, after=added)
        # Without needResult HMS sends no partitions back.
        return hive.AddPartitionsResult(copied(added) if request.needResult else None)

    def alter_partition(self, database: str, table: str, partition: Any) -> None:
        """As for several, with one partition and no context."""
        self.alter_partitions_with_environment_context(database, table, [partition], None)

    def alter_partitions_with_environment_context(
        self,
        database: str,
        table: str,
        partitions: Sequence[Any],
        context: Any,  # noqa: ARG002, it gets lost
    ) -> None:
        """Alter all or none. Raises InvalidOperationException."""
        held = self._store.find(database, table)
        if held is None or any(_key(item.values) not in held.partitions for item in partitions):
            raise hive.InvalidOperationException("alter is not possible")
        changes = [(held.partitions[_key(item.values)], self._taken(held, item)) for item in partitions]
        for before, after in changes:
            self._replace(held, before, after)

    def rename_partition(self, database: str, table: str, values: Sequence[str], partition: Any) -> None:
        """Raises InvalidOperationException."""
        held = self._store.table(database, table)
        before, after = _partition(held, values), self._taken(held, partition)
        if _key(after.values) in held.partitions and after.values != before.values:
            raise hive.InvalidOperationException(f"Partition already exists: {after.values}")
        # That of an external table keeps its location.
        if held.struct.tableType == "MANAGED_TABLE":
            after.sd.location = f"{held.struct.sd.location}/{_name(held, tuple(after.values))}"
        self._replace(held, before, after)

    def drop_partitions_req(self, request: Any) -> Any:
        """Drop partitions. Raises NoSuchObjectException; then none is dropped."""
        held = self._store.table(request.dbName, request.tblName)
        wanted = [tuple(partition_values(name)) for name in request.parts.names]
        dropped = [values for values in wanted if values in held.partitions]
        if len(dropped) < len(wanted) and not request.ifExists:
            raise hive.NoSuchObjectException("Some partitions to drop are missing")
        removed = [held.partitions.pop(values) for values in dropped]
        options = {"environment": environment_of(request.environmentContext), "delete_data": bool(request.deleteData)}
        for partition in removed:
            self._notify(Kind.DROP_PARTITION, table=held.struct, before=[partition], **options)
        return hive.DropPartitionsResult()

    def _replace(self, held: HeldTable, before: Any, after: Any) -> None:
        after.createTime = before.createTime
        del held.partitions[_key(before.values)]
        held.partitions[_key(after.values)] = after
        self._notify(Kind.ALTER_PARTITION, table=held.struct, before=[before], after=[after])

    def _taken(self, held: HeldTable, given: Any) -> Any:
        """A partition as it is kept. Raises MetaException where its values do not fit."""
        partition, table = self._store.taken(given), held.struct
        if len(partition.values) != len(table.partitionKeys or ()):
            raise hive.MetaException(f"Incorrect number of partition values: {partition.values}")
        partition.dbName, partition.tableName = table.dbName, table.tableName
        partition.sd.location = partition.sd.location or f"{table.sd.location}/{_name(held, tuple(partition.values))}"
        self._store.stamp(partition)
        return partition


def _name(held: HeldTable, values: Values) -> str:
    return partition_name([key.name for key in held.struct.partitionKeys], values)


def _key(values: Sequence[str]) -> Values:
    """Where a partition is kept: an empty value has the name of the default partition, and is the same."""
    return tuple(value or DEFAULT_PARTITION for value in values)


def _partition(held: HeldTable, values: Sequence[str]) -> Any:
    partition = held.partitions.get(_key(values))
    if partition is None:
        raise hive.NoSuchObjectException(f"partition values={values}")
    return partition
