"""A history of the model, done at a real metastore as a client would do it: one call for each event of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.metastore.client import Metastore
from pysync.model.change import Change, decode_change
from pysync.model.event import Event, Kind
from pysync.model.names import TableName, partition_name
from tests.support import partition, table
from tests.support.model.world import World

UNTOLD = frozenset({Kind.ALTER_DATABASE, Kind.ADD_PRIMARYKEY, Kind.DROP_CONSTRAINT})
"""What Hive 2.3 tells its listeners nothing of."""


def statements(events: Sequence[Event]) -> list[Change]:
    """The events that have a call of their own; those of a database's drop are HMS's own doing (CASCADE)."""
    kept: list[Change] = []
    for position, item in enumerate(events, 1):
        change = decode_change(item, position)
        assert change is not None, item
        if item.kind is Kind.DROP_DATABASE:
            while kept and kept[-1].kind is Kind.DROP_FUNCTION and kept[-1].database == change.database:
                kept.pop()
        if item.kind not in UNTOLD and not item.uncommitted:
            kept.append(change)
    return kept


class HistoryClient:
    """Does changes of the model at a metastore, in databases `PREFIX_a` and `PREFIX_b`.

    Managed tables and their partitions lie where the metastore puts them, all other files below the location `files`.
    """

    def __init__(self, metastore: Metastore, prefix: str, files: str) -> None:
        self._metastore = metastore
        self._prefix = prefix
        self._files = files

    def name(self, database: str) -> str:
        """What a database of the model is called here."""
        return f"{self._prefix}_{database}"

    def perform(self, change: Change) -> None:
        """Do it; the metastore's refusal is an error, because the model's histories are valid."""
        CALLS[change.kind](self, change)

    def differences(self, world: World) -> dict[str, Any]:
        """Where the metastore holds something else than the model's source: (wanted, found) by name.

        It would mean that a call did not do what the model thinks, and that the history went astray.
        """
        wanted: dict[str, Any] = {self.name(it): sorted(db.functions.items()) for it, db in world.databases.items()}
        for name, its in world.tables.items():
            parts = {key: (part.cols, part.version) for key, part in its.parts.items()}
            wanted[f"{self.name(name.database)}.{name.table}"] = (its.managed, its.cols, its.version, parts)
        found: dict[str, Any] = {}
        for database in self._metastore.databases():
            if database.startswith(f"{self._prefix}_"):
                functions = self._metastore.functions(database)
                found[database] = sorted((it.functionName, it.className) for it in functions)
                for it in self._metastore.tables(database):
                    found[f"{database}.{it}"] = self._found(database, it)
        names = sorted(wanted.keys() | found.keys())
        return {it: (wanted.get(it), found.get(it)) for it in names if wanted.get(it) != found.get(it)}

    def _found(self, database: str, name: str) -> tuple[Any, ...]:
        there = self._metastore.table(database, name)
        assert there is not None, f"{database}.{name}"
        parts = {
            tuple(part.values): (_names(part.sd.cols), part.parameters["version"])
            for part in self._metastore.partitions(database, name)
        }
        return there.tableType == "MANAGED_TABLE", _names(there.sd.cols), there.parameters["version"], parts

    def _table(self, name: TableName | None) -> Any:
        assert name is not None
        found = self._metastore.table(self.name(name.database), name.table)
        assert found is not None, f"{name} is not there"
        return found

    # databases and functions

    def _create_database(self, change: Change) -> None:
        new = hive.Database(name=self.name(change.database), parameters=change.after[0].parameters)
        self._metastore.call(lambda client: client.create_database(new))

    def _drop_database(self, change: Change) -> None:
        self._metastore.call(lambda client: client.drop_database(self.name(change.database), True, True))

    def _create_function(self, change: Change) -> None:
        function = change.after[0]
        function.dbName, function.ownerName, function.ownerType = self.name(change.database), "tester", 1
        function.resourceUris = []
        self._metastore.call(lambda client: client.create_function(function))

    def _drop_function(self, change: Change) -> None:
        name = change.before[0].functionName
        self._metastore.call(lambda client: client.drop_function(self.name(change.database), name))

    # tables

    def _create_table(self, change: Change) -> None:
        item = change.after[0]
        keys = [(key.name, key.type) for key in item.partitionKeys]
        new = table(self.name(item.dbName), item.tableName, partition_keys=keys, parameters=item.parameters)
        new.sd.cols = item.sd.cols
        if _managed(item):
            new.tableType = item.tableType
            del new.parameters["EXTERNAL"]
        else:
            new.sd.location = self._files + item.sd.location
        self._metastore.call(lambda client: client.create_table(new))

    def _alter_table(self, change: Change) -> None:
        """A rename too."""
        there, item = self._table(change.table_name), change.after[0]
        old = there.dbName, there.tableName
        there.dbName, there.tableName = self.name(item.dbName), item.tableName
        there.sd.cols = item.sd.cols
        there.parameters |= item.parameters
        if not _managed(item):
            there.sd.location = self._files + item.sd.location
        context = hive.EnvironmentContext(dict(change.event.environment))
        self._metastore.call(lambda client: client.alter_table_with_environment_context(*old, there, context))

    def _drop_table(self, change: Change) -> None:
        there = self._table(change.table_name)
        self._metastore.call(lambda client: client.drop_table(there.dbName, there.tableName, change.deletes_files))

    def _insert(self, change: Change) -> None:
        there = self._table(change.table_name)
        data = hive.FireEventRequestData(hive.InsertEventRequestData([f"{there.sd.location}/file"]))
        request = hive.FireEventRequest(True, data, there.dbName, there.tableName)
        self._metastore.call(lambda client: client.fire_listener_event(request))

    # partitions

    def _add_partitions(self, change: Change) -> None:
        there = self._table(change.table_name)
        new = [self._partition(there, change.table, item) for item in change.after]
        request = hive.AddPartitionsRequest(there.dbName, there.tableName, new, False, False)
        self._metastore.call(lambda client: client.add_partitions_req(request))

    def _partition(self, there: Any, owner: Any, item: Any) -> Any:
        new = partition(there, item.values)
        new.sd.cols, new.parameters = item.sd.cols, item.parameters
        if not (_managed(owner) and item.sd.location.startswith(f"{owner.sd.location}/")):
            new.sd.location = self._files + item.sd.location
        return new

    def _alter_partition(self, change: Change) -> None:
        """A rename too."""
        there, old, new = self._table(change.table_name), change.before[0], change.after[0]
        place = there.dbName, there.tableName
        found = self._metastore.call(lambda client: client.get_partition(*place, old.values))
        found.values, found.sd.cols = new.values, new.sd.cols
        found.parameters |= new.parameters
        if new.values == old.values:
            self._metastore.call(lambda client: client.alter_partition(*place, found))
        else:
            self._metastore.call(lambda client: client.rename_partition(*place, old.values, found))

    def _drop_partitions(self, change: Change) -> None:
        there = self._table(change.table_name)
        keys = [key.name for key in there.partitionKeys]
        which = hive.RequestPartsSpec(names=[partition_name(keys, item.values) for item in change.before])
        # A directory that stayed would be in the way of a later rename, and HMS would refuse that.
        deletes = change.deletes_files or _managed(there)
        request = hive.DropPartitionsRequest(there.dbName, there.tableName, which, deletes, False, False, None, False)
        self._metastore.call(lambda client: client.drop_partitions_req(request))


def _managed(item: Any) -> bool:
    return bool(item.tableType == "MANAGED_TABLE")


def _names(columns: Sequence[Any]) -> tuple[str, ...]:
    return tuple(column.name for column in columns)


CALLS: dict[Kind, Any] = {
    Kind.CREATE_DATABASE: HistoryClient._create_database,
    Kind.DROP_DATABASE: HistoryClient._drop_database,
    Kind.CREATE_FUNCTION: HistoryClient._create_function,
    Kind.DROP_FUNCTION: HistoryClient._drop_function,
    Kind.CREATE_TABLE: HistoryClient._create_table,
    Kind.ALTER_TABLE: HistoryClient._alter_table,
    Kind.DROP_TABLE: HistoryClient._drop_table,
    Kind.INSERT: HistoryClient._insert,
    Kind.ADD_PARTITION: HistoryClient._add_partitions,
    Kind.ALTER_PARTITION: HistoryClient._alter_partition,
    Kind.DROP_PARTITION: HistoryClient._drop_partitions,
}
