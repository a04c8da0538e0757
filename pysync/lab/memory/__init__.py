"""A Hive Metastore in memory: what a target of kind `faulty` writes to, by the very code that writes to a real one.

The thrift calls (`Client`) behave like those of HMS 2.3, as far as pysync or its tests make them. Everything above them
is the code of kind `hms`. There are no files.
"""

from __future__ import annotations

from pysync.lab.memory.store import Notice, Store
from pysync.lab.memory.target import Client, MemoryMetastore, MemoryTarget

__all__ = ["Client", "MemoryMetastore", "MemoryTarget", "Notice", "Store"]
