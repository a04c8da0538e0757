"""Dumps: what a source had at one time, as it is read later."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

from pysync.dump.manifest import Manifest
from pysync.lab.memory import MemoryMetastore, MemoryStore
from pysync.metastore.client import Metastore


@dataclass(frozen=True, slots=True)
class Dumped:
    """What a source had at one time."""

    manifest: Manifest
    store: MemoryStore

    @classmethod
    def of(cls, source: str, store: MemoryStore, now: float) -> Dumped:
        """A dump of all of it, as it is now."""
        kept = MemoryStore()
        kept.databases = {name: copy(database) for name, database in store.databases.items()}
        for database in kept.databases.values():
            database.functions = dict(database.functions)
            database.tables = {name: copy(table) for name, table in database.tables.items()}
            for table in database.tables.values():
                table.partitions, table.keys = dict(table.partitions), list(table.keys)
        return cls(Manifest(id=str(now), source=source, within=(), began_at=now), kept)

    def opened(self) -> Metastore:
        """What reads it."""
        return MemoryMetastore(self.store)
