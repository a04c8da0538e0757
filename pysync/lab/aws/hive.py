"""Hive's compiler in a Java process, for statements of DDL: Athena's errors and habits come from it.

It runs on pyspark's jars and on the classes of `java/`, which are compiled at the start. The Java process ends with
this one: it reads a pipe that this one holds open.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from hmsclient.genthrift.hive_metastore import ttypes
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from pysync import hive_site
from pysync.base.errors import PysyncError
from pysync.lab.metastore import class_path, find_java, find_spark_jars
from pysync.model.wire import decode, encode

_SOURCES = Path(__file__).with_name("java")
_WAREHOUSE = "s3://embedded-warehouse/default"
# Hive reads private fields of theirs.
_OPENED = ("java.net", "java.lang", "java.util", "java.util.concurrent.atomic", "java.nio")
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


class Refused(Exception):
    """Hive's own words for why it did not do it."""


class Hive:
    """A Hive with a metastore in memory; one call at a time, from any thread. `directory` is for its files."""

    def __init__(
        self,
        directory: Path,
        *,
        settings: Mapping[str, str] | None = None,
        sources: Sequence[Path] = (),
        jars: Sequence[Path] = (),
    ) -> None:
        """Start it, which takes some 4 s; PysyncError if there is no Java compiler.

        `settings` replace those for DDL; `sources` are compiled, and `jars` are loaded, beside what it has.
        """
        directory.mkdir(parents=True, exist_ok=True)
        hive_site.write(directory / "hive-site.xml", {**_settings(directory), **(settings or {})})
        (directory / "hive-log4j2.properties").write_text(_LOG_SETTINGS, encoding="utf-8")
        classes = _compiled(directory, sources, jars)
        self._log = (directory / "hive.log").open("a", encoding="utf-8", buffering=1)
        self._gateway, self._process = _launch(directory, classes, jars, self._log)
        self._session = self._gateway.jvm.pysync.lab.HiveSession()

    def close(self) -> None:
        """End the Java process."""
        self._gateway.shutdown()
        self._process.stdin.close()
        self._process.wait()
        self._log.close()

    def tree(self, statement: str) -> str | None:
        """The syntax tree, a line for each node; None if it is not Hive's language, which `run` explains."""
        try:
            tree: str = self._session.tree(statement)
        except Py4JJavaError:
            return None
        return tree

    def run(self, database: str, statement: str) -> list[str]:
        """Run a statement in a database, and say the rows of its result; Refused if it fails."""
        try:
            outcome: str = self._session.run(database, statement)
        except Py4JJavaError as error:
            raise Refused(f"FAILED: {error.java_exception.getMessage()}") from error
        status, *rows = outcome.split(_END)[:-1]
        if status != "OK":
            raise Refused(rows[0])
        return rows

    def database(self, name: str) -> Any:
        """A `ttypes.Database`, or None."""
        return _read(ttypes.Database, self._session.database(name))

    def put_database(self, database: Any) -> None:
        """Create a database that is not there. Refused if Hive cannot have it."""
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
        """Put a table and its partitions in the place of what has its name. Refused if Hive cannot have it."""
        request = ttypes.AddPartitionsRequest(table.dbName, table.tableName, list(partitions), False, False)
        _bring(self._session.putTable, table.tableName, encode(table), encode(request))

    def partitions(self, database: str, table: str) -> list[Any]:
        """All of a table's partitions, as `ttypes.Partition`."""
        request = _read(ttypes.AddPartitionsRequest, self._session.partitions(database, table))
        partitions: list[Any] = request.parts
        return partitions


def _launch(directory: Path, classes: Path, others: Sequence[Path], log: IO[str]) -> tuple[Any, Any]:
    java_path, jars = str(find_java()), find_spark_jars()
    # As the embedded metastore: a short life, mostly of class loading.
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx512m", "-Duser.timezone=UTC"]
    options += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    options += [f"-Dlog4j2.configurationFile={(directory / 'hive-log4j2.properties').as_uri()}"]
    options += [f"-Dderby.stream.error.file={directory / 'derby.log'}", "-Dderby.system.durability=test"]
    port, token, process = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=class_path([directory, classes], jars, others),
        javaopts=options,
        java_path=java_path,
        die_on_exit=True,
        redirect_stdout=log,
        redirect_stderr=log,
        enable_auth=True,
        return_proc=True,
        cwd=str(directory),
    )
    # Python's finalizers would make calls of their own, from any thread, while another call is on its way.
    parameters = GatewayParameters(port=port, auth_token=token, enable_memory_management=False)
    return JavaGateway(gateway_parameters=parameters), process


def _compiled(directory: Path, sources: Sequence[Path], jars: Sequence[Path]) -> Path:
    """The directory of our classes."""
    javac = shutil.which("javac", path=str(find_java().parent)) or shutil.which("javac")
    if javac is None:
        raise PysyncError(
            "the embedded Athena needs a Java compiler, but there is no javac", "install a JDK, or use Glue only"
        )
    classes, files = directory / "classes", [str(path) for path in [*sorted(_SOURCES.glob("*.java")), *sources]]
    command = [
        javac,
        "-J-XX:TieredStopAtLevel=1",
        "-J-XX:+UseSerialGC",
        "--release",
        "17",
        "-proc:none",
        "-nowarn",
        "-encoding",
        "UTF-8",
    ]
    command += ["-cp", class_path([], find_spark_jars(), jars), "-d", str(classes), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PysyncError("the embedded Athena cannot start: javac failed", f"{done.stdout}{done.stderr}")
    return classes


def _settings(directory: Path) -> dict[str, str]:
    return {
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:athena;create=true",
        "datanucleus.connectionPoolingType": "dbcp",  # Hive's default is not among pyspark's jars
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": _WAREHOUSE,
        "hive.metastore.disallow.incompatible.col.type.changes": "false",
        "fs.s3.impl": "pysync.lab.EmptyFileSystem",
        "hive.exec.scratchdir": f"file:{directory / 'scratch'}",
        "hive.exec.local.scratchdir": str(directory / "local"),
        "hive.downloaded.resources.dir": str(directory / "resources"),
        "hive.querylog.location": str(directory / "querylog"),
        "hive.cbo.enable": "false",  # it wants Calcite, which pyspark does not bring
        "hive.serdes.using.metastore.for.schema": ",".join(_KEEPING_COLUMNS),
        "hive.stats.autogather": "false",
        "hive.variable.substitute": "false",
        "hive.exec.drop.ignorenonexistent": "false",  # Athena refuses a DROP of what is not there, Hive does not
        "hive.async.log.enabled": "false",  # it wants the LMAX disruptor, which pyspark does not bring
        "hive.session.silent": "true",
    }


def is_default_location(location: str | None) -> bool:
    """Whether Hive made the location up, because the statement had none."""
    return location is None or location.startswith(_WAREHOUSE)


def _bring(put: Callable[..., None], name: str, *definition: bytes) -> None:
    try:
        put(*definition)
    except Py4JJavaError as error:
        raise Refused(
            f"FAILED: SemanticException Unable to fetch {name}. {error.java_exception.getMessage()}"
        ) from error


def _read(struct: type[Any], data: bytes | None) -> Any:
    return None if data is None else decode(struct, bytes(data))


_LOG_SETTINGS = """\
# Hive looks for this file by its name and would otherwise write below the system's temporary directory.
status = error
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1} [%t] %m%n%throwable
"""
