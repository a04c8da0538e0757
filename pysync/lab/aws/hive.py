"""Hive's compiler in a Java process, for statements of DDL: Athena's errors and habits come from it.

It runs on pyspark's jars and on the classes of `java/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes
from py4j.protocol import Py4JJavaError

from pysync.lab.aws.hive_process import HiveProcess
from pysync.lab.java import class_path, find_java, find_spark_jars
from pysync.model.wire import decode, encode

_SOURCES = Path(__file__).with_name("java")
_WAREHOUSE = "s3://embedded-warehouse/default"
_END = "\0"
# Those whose tables have the columns of the statement: the default of hive.serdes.using.metastore.for.schema, less what
# is not among pyspark's jars. The columns of others are what the serde says.
_KEEPING_COLUMNS = (
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
    "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
    "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe",
    "org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe",
    "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    "org.apache.hadoop.hive.serde2.lazybinary.LazyBinarySerDe",
)


class HiveRefused(Exception):
    """Hive's own words for why it did not do it."""


class Hive:
    """A Hive with a metastore in memory; one call at a time, from any thread. `directory` is for its files."""

    def __init__(self, directory: Path) -> None:
        """Start it, which takes some 4 s; PysyncError if there is no Java compiler."""
        sources, jars = sorted(_SOURCES.glob("*.java")), class_path([], find_spark_jars())
        self._process = HiveProcess(directory, find_java(), sources, jars, _SETTINGS)
        self._session = self._process.jvm.HiveSession()

    def close(self) -> None:
        """End the Java process."""
        self._process.close()

    def tree(self, statement: str) -> str | None:
        """The syntax tree, a line for each node; None if it is not Hive's language, which `run` explains."""
        try:
            tree: str = self._session.tree(statement)
        except Py4JJavaError:
            return None
        return tree

    def run(self, database: str, statement: str) -> list[str]:
        """Run a statement in a database, and say the rows of its result; HiveRefused if it fails."""
        outcome: str = self._session.run(database, statement)
        status, *rows = outcome.split(_END)[:-1]
        if status != "OK":
            raise HiveRefused(rows[0])
        return rows

    def database(self, name: str) -> Any:
        """A `ttypes.Database`, or None."""
        return _read(ttypes.Database, self._session.database(name))

    def put_database(self, database: Any) -> None:
        """Create a database that is not there. HiveRefused if Hive cannot have it."""
        _bring(self._session.putDatabase, database.name, encode(database))

    def drop_database(self, name: str) -> None:
        """Drop it with all that is in it, if it is there."""
        self._session.dropDatabase(name)

    def table(self, database: str, name: str) -> Any:
        """A `ttypes.Table`, or None."""
        return _read(ttypes.Table, self._session.table(database, name))

    def drop_table(self, database: str, name: str) -> None:
        """Drop it, if it is there."""
        self._session.dropTable(database, name)

    def put_table(self, table: Any, partitions: Sequence[Any]) -> None:
        """Put a table and its partitions in the place of what has its name. HiveRefused if Hive cannot have it."""
        request = ttypes.AddPartitionsRequest(table.dbName, table.tableName, list(partitions), False, False)
        _bring(self._session.putTable, table.tableName, encode(table), encode(request))

    def partitions(self, database: str, table: str) -> list[Any]:
        """All of a table's partitions, as `ttypes.Partition`."""
        request = _read(ttypes.AddPartitionsRequest, self._session.partitions(database, table))
        partitions: list[Any] = request.parts
        return partitions


_SETTINGS = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:athena;create=true",
    "datanucleus.connectionPoolingType": "dbcp",  # Hive's default is not among pyspark's jars
    "hive.metastore.warehouse.dir": _WAREHOUSE,
    "hive.metastore.disallow.incompatible.col.type.changes": "false",
    "fs.s3.impl": "pysync.lab.EmptyFileSystem",
    "hive.cbo.enable": "false",  # it wants Calcite, which pyspark does not bring
    "hive.serdes.using.metastore.for.schema": ",".join(_KEEPING_COLUMNS),
    "hive.exec.drop.ignorenonexistent": "false",  # Athena refuses a DROP of what is not there, Hive does not
}


def is_default_location(location: str | None) -> bool:
    """Whether Hive made the location up, because the statement had none."""
    return location is None or location.startswith(_WAREHOUSE)


def _bring(put: Callable[..., None], name: str, *definition: bytes) -> None:
    try:
        put(*definition)
    except Py4JJavaError as error:
        raise HiveRefused(
            f"FAILED: SemanticException Unable to fetch {name}. {error.java_exception.getMessage()}"
        ) from error


def _read(struct: type[Any], data: bytes | None) -> Any:
    return None if data is None else decode(struct, bytes(data))
