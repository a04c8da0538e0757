"""A real Hive Metastore from pyspark's own jars, for the demo, the tests and trying things out."""

from pysync.embedded.ports import free_port
from pysync.embedded.server import EmbeddedMetastore

__all__ = ["EmbeddedMetastore", "free_port"]
