"""The embedded metastore: HiveMetaStore in a Java process of its own, on a Derby database.

Its jars are pyspark's, and it ends with the process that started it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal

from pysync import hive_site
from pysync.base.errors import PysyncError, UsageError
from pysync.lab.bound_process import BoundProcess, tail
from pysync.lab.java import class_archive, class_path, find_java, find_spark_jars
from pysync.lab.ports import free_port, wait_until_free
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.metastore.settings import KerberosSettings, TlsSettings

MAIN_CLASS = "org.apache.hadoop.hive.metastore.HiveMetaStore"
HOST = "127.0.0.1"

# It ends with its process, and so needs no name of its own.
_MEMORY_URL = "jdbc:derby:memory:metastore;create=true"

_PATIENCE = 10.0
_TAIL_LINES = 30

_POLL = 0.05


def log_settings(level: str) -> str:
    """The text of a log4j2.properties that writes to standard output from this level on."""
    return f"""\
status = error
rootLogger.level = {level}
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{{ISO8601}} %p %c{{1}} [%t] %m%n%throwable
"""


class EmbeddedMetastore:
    """A Hive Metastore (the version in pyspark: 2.3.10 for pyspark 3.5 to 4.3); a context manager.

    For trying things out and for tests, not for production: **it listens on all network interfaces without
    authentication**. HiveMetaStore 2.3 has no setting for the address (HiveAuthUtils.getServerSocket gets null).

    - `directory`: its settings, log and (on disk) its data; created if need be. A second start finds the data again.
    - `port`: 0 takes a free one, which it then keeps.
    - `database`: "memory" ends with the process; "disk" survives `kill()`: what was answered is on disk.
    - `warehouse`: where tables without a location lie; `directory/warehouse` unless given.
    - `overrides`: further settings for hive-site.xml, or other values for ours.
    - `jars`: put on the class path after pyspark's, for example the listener.
    - `name`: what it is called in errors.
    - `heap_mb`: the most memory that Java takes for its objects, in MiB.
    - `timeout`: how long a start may take, in seconds.
    - `tls`, `kerberos`: how its clients reach it, where `overrides` make it ask for these.
    """

    def __init__(
        self,
        directory: Path,
        *,
        port: int = 0,
        database: Literal["memory", "disk"] = "memory",
        warehouse: Path | None = None,
        overrides: Mapping[str, str] | None = None,
        jars: Sequence[Path] = (),
        name: str = "embedded",
        heap_mb: int = 512,
        timeout: float = 120.0,
        tls: TlsSettings | None = None,
        kerberos: KerberosSettings | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self.warehouse = (warehouse or self.directory / "warehouse").absolute()
        self.name = name
        self.log_file = self.directory / "metastore.log"
        self._log_settings = self.directory / "hive-log4j2.properties"
        self._port = port
        self._database = database
        self._overrides = dict(overrides or {})
        self._jars = [jar.absolute() for jar in jars]
        self._heap_mb = heap_mb
        self._timeout = timeout
        self._tls, self._kerberos = tls, kerberos
        self._process: BoundProcess | None = None

    def __enter__(self) -> EmbeddedMetastore:
        return self if self.running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def port(self) -> int:
        """The port that it listens on; 0 before the first start if none was given."""
        return self._port

    @property
    def uri(self) -> str:
        """Its address for clients on this machine: `thrift://127.0.0.1:port`."""
        return f"thrift://{HOST}:{self._port}"

    @property
    def access(self) -> MetastoreAccess:
        """How clients on this machine reach it."""
        return MetastoreAccess.of(self.uri, self._tls, self._kerberos)

    @property
    def running(self) -> bool:
        """Whether the process is there; a stopped one (SIGSTOP) is."""
        return self._process is not None and self._process.running

    @property
    def pid(self) -> int:
        """The id of the Java process; PysyncError if it does not run."""
        if self._process is None or not self._process.running:
            raise PysyncError(f"the metastore {self.name!r} is not running")
        return self._process.pid

    def start(self) -> EmbeddedMetastore:
        """Start it and return when it answers calls; PysyncError, with the end of its log, if it does not."""
        if self.running:
            raise PysyncError(f"the metastore {self.name!r} is already running, at {self.uri}")
        options = [*self._java_options(), *self._class_archive()]
        command = [str(self._java()), *options, "-cp", self._class_path(), MAIN_CLASS]
        self._prepare()
        self._port = self._port or free_port()
        # A port that was ours may be another's for a moment: of a client, say, which was given it while we were away.
        if not wait_until_free(self._port, _PATIENCE if self._process else 0.0):
            raise PysyncError(
                f"the metastore {self.name!r} cannot start: port {self._port} is in use",
                "use another port, or 0 for a free port",
            )
        # Hive would look there for another hive-site.xml.
        env = {key: value for key, value in os.environ.items() if key not in {"HIVE_HOME", "HIVE_CONF_DIR"}}
        command += ["-p", str(self._port)]
        self._process = BoundProcess(command, log=self.log_file, cwd=self.directory, env=env)
        try:
            self._wait_until_ready(self._process)
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """End it in order, or by force if it does not react. Harmless if it does not run."""
        if self._process is not None:
            self._process.stop(_PATIENCE)

    def kill(self) -> None:
        """End it as a crash would (SIGKILL). Harmless if it does not run."""
        if self._process is not None:
            self._process.kill()

    def restart(self) -> EmbeddedMetastore:
        """Stop and start again, on the same port; with database="disk" with the same data."""
        self.stop()
        return self.start()

    def _prepare(self) -> None:
        """Write what the process will read."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.warehouse.mkdir(parents=True, exist_ok=True)
        url = _MEMORY_URL if self._database == "memory" else _disk_url(self.directory / "derby")
        hive_site.write(self.directory / "hive-site.xml", {**self._settings(url), **self._overrides})
        self._log_settings.write_text(log_settings("info"), encoding="utf-8")

    def _settings(self, database_url: str) -> dict[str, str]:
        return {
            "javax.jdo.option.ConnectionURL": database_url,
            # Not as_uri(): Hadoop's Path takes a %20 as it stands.
            "hive.metastore.warehouse.dir": f"file:{self.warehouse}",
            # Hive's default pool, BoneCP, is not among pyspark's jars, and drop_database would close the connection.
            "datanucleus.connectionPoolingType": "dbcp",
            "datanucleus.schema.autoCreateAll": "true",
            "hive.metastore.schema.verification": "false",
            # Else it takes one of those on its class path, and writes below the system's temporary directory.
            "hive.log4j.file": str(self._log_settings),
            # It wants the LMAX disruptor, which pyspark does not bring.
            "hive.async.log.enabled": "false",
            # Else it forks ls, chmod and chown for every directory: more than half of the time of an add.
            "hive.warehouse.subdir.inherit.perms": "false",
        }

    def _java_options(self) -> list[str]:
        # A short life, mostly of class loading, on what may be few cores: measured at half of the default's CPU time.
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", f"-Xmx{self._heap_mb}m"]
        # A server without memory answers some calls and not others: it ends, and leaves behind what filled it.
        options += ["-XX:+ExitOnOutOfMemoryError", "-XX:+HeapDumpOnOutOfMemoryError"]
        options.append(f"-XX:HeapDumpPath={self.directory / 'heap.hprof'}")
        options.append(f"-Dlog4j2.configurationFile={self._log_settings.as_uri()}")
        options.append(f"-Dderby.stream.error.file={self.directory / 'derby.log'}")
        # Derby would look for a deadlock after 20 s only, and the calls of two clients easily get into one.
        options += ["-Dderby.locks.deadlockTimeout=1", "-Dderby.locks.waitTimeout=20"]
        if self._database == "memory":
            options.append("-Dderby.system.durability=test")  # no fsync; there is no disk either
        return options

    def _java(self) -> Path:
        return find_java()

    def _class_path(self) -> str:
        return class_path([], find_spark_jars(), [*self._jars, self.directory])

    def _class_archive(self) -> list[str]:
        """The option for the archive of pyspark's jars, first on the class path. Java ignores one that does not fit."""
        archive = class_archive()
        return [f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []

    def _wait_until_ready(self, process: BoundProcess) -> None:
        deadline = time.monotonic() + self._timeout
        while not self._answers():
            if not process.running:
                raise self._did_not_start("ended during its start")
            if time.monotonic() > deadline:
                raise self._did_not_start(f"did not answer within {self._timeout:g} s")
            time.sleep(_POLL)

    def _answers(self) -> bool:
        try:
            with Metastore(self.access, timeout=self._timeout) as metastore:
                return "default" in metastore.databases()
        except MetastoreError:
            return False

    def _did_not_start(self, problem: str) -> PysyncError:
        end = tail(self.log_file, _TAIL_LINES)
        return PysyncError(f"the metastore {self.name!r} {problem}", f"see the end of its log, {self.log_file}:\n{end}")


def _disk_url(database: Path) -> str:
    if ";" in str(database):
        raise UsageError(f"Derby cannot keep a database in {str(database)!r}", "use a path without ';'")
    return f"jdbc:derby:;databaseName={database};create=true"
