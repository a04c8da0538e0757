"""Calls about databases and functions."""

from __future__ import annotations

from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.lab.memory.store import DEFAULT, Calls, HeldDatabase
from pysync.model.event import Kind
from pysync.model.names import normalized
from pysync.model.struct_copies import copied


class DatabaseCalls(Calls):
    """As in HMS 2.3, an alter of a database takes only parameters and owner, and alters of either fire no event."""

    def get_all_databases(self) -> list[str]:
        """Their names."""
        return sorted(self._store.databases)

    def get_database(self, name: str) -> Any:
        """Raises NoSuchObjectException."""
        return copied(self._store.database(name).struct)

    def create_database(self, wanted: Any) -> None:
        """Raises AlreadyExistsException."""
        struct = self._store.taken(wanted)
        if struct.name in self._store.databases:
            raise hive.AlreadyExistsException(f"Database {struct.name} already exists")
        struct.locationUri = struct.locationUri or f"/{struct.name}.db"
        self._store.databases[struct.name] = HeldDatabase(struct)
        self._notify(Kind.CREATE_DATABASE, after=[struct])

    def alter_database(self, name: str, wanted: Any) -> None:
        """Raises NoSuchObjectException."""
        held, given = self._store.database(name), self._store.taken(wanted)
        struct = copied(held.struct)
        struct.parameters = given.parameters
        struct.ownerName, struct.ownerType = given.ownerName or struct.ownerName, given.ownerType or struct.ownerType
        held.struct = struct

    def drop_database(self, name: str, delete_data: bool, cascade: bool) -> None:
        """Drop it. Functions go first, each with an event; events of its tables come before the drop is committed."""
        held = self._store.database(name)
        if held.struct.name == DEFAULT:
            raise hive.MetaException("Can not drop default database in catalog hive")
        if (held.tables or held.functions) and not cascade:
            raise hive.InvalidOperationException(f"Database {name} is not empty. One or more tables exist.")
        for function in sorted(held.functions):
            self.drop_function(name, function)
        for table in sorted(held.tables):
            # HMS 2.3 to 4 reports these to listeners while the transaction of the database is still open.
            self._notify(Kind.DROP_TABLE, before=[held.tables[table].struct], committed=False)
        del self._store.databases[held.struct.name]
        self._notify(Kind.DROP_DATABASE, before=[held.struct], delete_data=delete_data)

    def get_functions(self, database: str, pattern: str) -> list[str]:  # noqa: ARG002, it is always "*"
        """The names of all."""
        held = self._store.databases.get(normalized(database))
        return sorted(held.functions) if held else []

    def get_function(self, database: str, name: str) -> Any:
        """Raises NoSuchObjectException."""
        return copied(self._function(database, name))

    def create_function(self, wanted: Any) -> None:
        """Raises NoSuchObjectException, AlreadyExistsException."""
        struct = self._store.taken(wanted)
        held = self._store.database(struct.dbName)
        if struct.functionName in held.functions:
            raise hive.AlreadyExistsException(f"Function {struct.functionName} already exists")
        struct.createTime = int(self._store.clock())
        held.functions[struct.functionName] = struct
        self._notify(Kind.CREATE_FUNCTION, after=[struct])

    def alter_function(self, database: str, name: str, wanted: Any) -> None:
        """HMS 2.3 leaves the resources as they are."""
        existing, struct = self._function(database, name), self._store.taken(wanted)
        struct.createTime, struct.resourceUris = existing.createTime, existing.resourceUris
        held = self._store.database(database)
        # No event is fired: Hive has none for an alter, in any version.
        del held.functions[existing.functionName]
        held.functions[struct.functionName] = struct

    def drop_function(self, database: str, name: str) -> None:
        """Raises NoSuchObjectException."""
        struct = self._function(database, name)
        del self._store.database(database).functions[struct.functionName]
        self._notify(Kind.DROP_FUNCTION, before=[struct])

    def _function(self, database: str, name: str) -> Any:
        function = self._store.database(database).functions.get(normalized(name))
        if function is None:
            raise hive.NoSuchObjectException(f"Function {database}.{name} does not exist")
        return function
