"""A real Hive Metastore from pyspark's own jars, for the demo, the tests and trying things out."""

from pysync.lab.ports import free_port
from pysync.lab.server import EmbeddedMetastore

__all__ = ["EmbeddedMetastore", "free_port"]
