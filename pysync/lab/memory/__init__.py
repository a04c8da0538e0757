"""A Hive Metastore in memory: what a target of kind `faulty` writes to, by the very code that writes to a real one.

The thrift calls (`MemoryClient`) behave like those of HMS 2.3, as far as pysync or its tests make them. Everything
above them is the code of kind `hms`. There are no files.
"""

from __future__ import annotations

from pysync.lab.memory.store import MemoryStore, Notice
from pysync.lab.memory.target import MemoryClient, MemoryMetastore, MemoryTarget

__all__ = ["MemoryClient", "MemoryMetastore", "MemoryStore", "MemoryTarget", "Notice"]
