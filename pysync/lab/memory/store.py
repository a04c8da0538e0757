"""What a metastore in memory holds, who gets its changes, and what the calls of a connection share.

A struct that is held is never altered, only replaced: so an event can hold it as it was.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model import idl
from pysync.model.event import Kind
from pysync.model.names import TableName, normalized
from pysync.model.objects import as_stored
from pysync.model.struct_copies import copied

DEFAULT = "default"

_NEWER = {kind: tuple(spec[2] for spec in specs) for kind, specs in idl.NEWER_FIELDS.items()}

Values = tuple[str, ...]


@dataclass(slots=True)
class HeldTable:
    """A table with what belongs to it; `keys` are the columns of its constraints, of whatever kind."""

    struct: Any
    partitions: dict[Values, Any] = field(default_factory=dict)
    keys: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class HeldDatabase:
    """A database with what is in it."""

    struct: Any
    tables: dict[str, HeldTable] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """What a listener of the metastore gets for one change: the structs of before and after it.

    `table` is the one that partitions belong to, `environment` what the call's EnvironmentContext says, `user` who made
    the call ("" where it did not say). `committed` is false for the tables that go with their database.
    """

    kind: Kind
    user: str
    before: Sequence[Any] = ()
    after: Sequence[Any] = ()
    table: Any = None
    environment: Mapping[str, str] = field(default_factory=dict)
    delete_data: bool = False
    committed: bool = True


def _nobody(_: Notice) -> None:
    """The listener of a metastore without one."""


class MemoryStore:
    """The objects of one metastore; `lock` is held during each call.

    `listener` is called in the thread of the call, after the change, in the order of the changes. `clock` gives the
    time in seconds since the epoch.
    """

    def __init__(self, listener: Callable[[Notice], None] = _nobody, clock: Callable[[], float] = time.time) -> None:
        self.lock = threading.RLock()
        self.listener = listener
        self.clock = clock
        self.databases = {DEFAULT: HeldDatabase(hive.Database(DEFAULT, "Default Hive database", f"/{DEFAULT}", {}))}

    @property
    def size(self) -> int:
        """How many tables there are."""
        with self.lock:
            return sum(len(database.tables) for database in self.databases.values())

    def database(self, name: str) -> HeldDatabase:
        """The database. Raises NoSuchObjectException."""
        database = self.databases.get(normalized(name))
        if database is None:
            raise hive.NoSuchObjectException(f"There is no database named {name}")
        return database

    def find(self, database: str, table: str) -> HeldTable | None:
        """The table, or None."""
        held = self.databases.get(normalized(database))
        return held.tables.get(normalized(table)) if held else None

    def table(self, database: str, table: str) -> HeldTable:
        """The table. Raises NoSuchObjectException."""
        held = self.find(database, table)
        if held is None:
            raise hive.NoSuchObjectException(f"{database}.{table} table not found")
        return held

    def taken(self, struct: Any) -> Any:
        """A copy of what a client sent, as this metastore keeps it: lower case, and without fields of later Hives."""
        copy = copied(struct)
        as_stored(copy)
        for name in _NEWER.get(type(copy), ()):
            setattr(copy, name, None)
        return copy

    def stamp(self, struct: Any, created: int | None = None) -> None:
        """Give a table or partition its times; `created` is when, if it is not new."""
        now = int(self.clock())
        # As HMS: createTime is its own, and a transient_lastDdlTime that is given stays.
        struct.createTime = now if created is None else created
        struct.parameters = {"transient_lastDdlTime": str(now), **(struct.parameters or {})}


def name_of(table: Any) -> TableName:
    """The name of a table that is held."""
    return TableName(table.dbName, table.tableName)


def environment_of(context: Any) -> dict[str, str]:
    """The properties of an EnvironmentContext; none of None."""
    return dict(context.properties or {}) if context is not None else {}


class Calls:
    """One connection."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._user = ""

    def set_ugi(self, user: str, groups: list[str]) -> list[str]:
        """Make the calls of this connection as this user. As HMS does, answers with the groups, without the user."""
        self._user = user
        return groups

    def _notify(self, kind: Kind, **details: Any) -> None:
        self._store.listener(Notice(kind, self._user, **details))
