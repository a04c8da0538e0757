"""pysync keeps the tables of a Hive Metastore in sync with another metastore."""

__version__ = "0.1.0"
