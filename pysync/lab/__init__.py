"""A real Hive Metastore from pyspark's own jars, for the demo, the tests and trying things out."""

from pysync.lab.metastore import EmbeddedMetastore
from pysync.lab.ports import free_port

__all__ = ["EmbeddedMetastore", "free_port"]
