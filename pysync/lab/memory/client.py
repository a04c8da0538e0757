"""The thrift client of a metastore in memory."""

from __future__ import annotations

from pysync.lab.memory.constraints import ConstraintCalls
from pysync.lab.memory.databases import DatabaseCalls
from pysync.lab.memory.partitions import PartitionCalls
from pysync.lab.memory.tables import TableCalls


class Client(DatabaseCalls, TableCalls, PartitionCalls, ConstraintCalls):
    """One connection: the calls of `ThriftHiveMetastore.Client` that pysync makes, and those that fire events.

    Arguments are kept, and answers given, as copies. Not to be called outside of the store's lock.
    """
