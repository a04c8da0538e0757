"""The target kind `hms` on a metastore in memory, and the thrift client in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from pysync.lab.memory.constraints import ConstraintCalls
from pysync.lab.memory.databases import DatabaseCalls
from pysync.lab.memory.partitions import PartitionCalls
from pysync.lab.memory.store import MemoryStore
from pysync.lab.memory.tables import TableCalls
from pysync.metastore.client import Metastore
from pysync.targets.hms.connections import Connections
from pysync.targets.hms.store import HmsStore
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget

T = TypeVar("T")

_NOWHERE = "thrift://memory:9083"


class MemoryClient(DatabaseCalls, TableCalls, PartitionCalls, ConstraintCalls):
    """One connection: the calls of `ThriftHiveMetastore.Client` that pysync makes, and those that fire events.

    Arguments are kept, and answers given, as copies. Not to be called outside of the store's lock.
    """


class MemoryMetastore(Metastore):
    """A connection to a metastore in memory; each is used by one thread, and a store may have many."""

    def __init__(self, store: MemoryStore, user: str | None = None) -> None:
        super().__init__(_NOWHERE)
        self._store = store
        self._client = MemoryClient(store)
        if user is not None:
            self._client.set_ugi(user, [])

    def call(self, request: Callable[[Any], T]) -> T:
        """The answer to one request (see Metastore.call)."""
        with self._store.lock:
            return request(self._client if self.on_call is None else _ObservedClient(self._client, self.on_call))

    def close(self) -> None:
        """Do nothing: what the store holds stays."""


class _ObservedClient:
    """A client that reports each of its calls."""

    def __init__(self, client: MemoryClient, on_call: Callable[[str], object]) -> None:
        self._client = client
        self._on_call = on_call

    def __getattr__(self, name: str) -> Any:
        self._on_call(name)
        return getattr(self._client, name)


class MemoryTarget(StoreTarget):
    """What kind `hms` does, on a metastore in memory."""

    def __init__(self, settings: TargetSettings, store: MemoryStore) -> None:
        connections = Connections(settings, partial(MemoryMetastore, store))
        super().__init__(HmsStore(settings, connections, f"target {settings.name!r} in memory"))
