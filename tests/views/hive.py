"""Real Hives that run queries, each in a Java process: fetch tasks, and MapReduce by Hadoop's local runner."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes
from py4j.java_collections import ListConverter
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from pysync import hive_site, lab
from pysync.lab.metastore import find_java, find_spark_jars
from pysync.model.wire import decode
from tests.versions.releases import RELEASES
from tests.views.bring import bring, bring_hive

_JAVA = Path(__file__).with_name("java")
# Hive reads private fields of theirs.
_OPENED = ("java.io", "java.lang", "java.math", "java.net", "java.nio", "java.time", "java.util")
_OPENED += ("java.lang.reflect", "java.util.concurrent", "java.util.concurrent.atomic", "java.util.regex")
_END = "\0"


class Refused(Exception):
    """The engine's own words for why it did not do it."""


@dataclass(frozen=True, slots=True)
class HiveVersion:
    """What it takes to run one."""

    jars: Callable[[], Sequence[Path]]
    java: Callable[[], Path]
    settings: Callable[[], Mapping[str, str]]
    sources: Sequence[Path] = ()
    """Classes for this version alone."""


class Hive:
    """A Hive with a metastore in memory; `directory` is for its files. One call at a time."""

    def __init__(self, version: str, directory: Path) -> None:
        """Start it, which takes some 10 s."""
        it = VERSIONS[version]
        jars, java = it.jars(), it.java()
        directory.mkdir(parents=True, exist_ok=True)
        hive_site.write(directory / "hive-site.xml", {**_settings(directory), **it.settings()})
        (directory / "hive-log4j2.properties").write_text(_LOG_SETTINGS, encoding="utf-8")
        classes = _compiled(directory, java, jars, [*sorted(_JAVA.glob("*.java")), *it.sources])
        self._log = (directory / "hive.log").open("a", encoding="utf-8", buffering=1)
        self._gateway, self._process = _launch(directory, java, classes, self._log)
        path = ListConverter().convert([str(directory), str(classes), *map(str, jars)], self._gateway._gateway_client)
        self._queries = self._gateway.jvm.pysync.lab.Loader.load(path)

    def close(self) -> None:
        """End the Java process."""
        self._gateway.shutdown()
        self._process.stdin.close()
        self._process.wait()
        self._log.close()

    def rows(self, database: str, statement: str) -> list[list[Any]]:
        """The rows of a statement: numbers, dates and timestamps as strings, maps as lists of pairs. Raises Refused."""
        outcome, *rows = self._queries.run(database, statement).split(_END)[:-1]
        if outcome != "OK":
            raise Refused(rows[0])
        return [json.loads(row) for row in rows]

    def table(self, database: str, name: str) -> Any:
        """A `ttypes.Table`."""
        return decode(ttypes.Table, bytes(self._queries.table(database, name)))


def _launch(directory: Path, java: Path, classes: Path, log: Any) -> tuple[Any, Any]:
    options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx1g", "-Duser.timezone=UTC"]
    options += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    options += [f"-Dlog4j2.configurationFile={(directory / 'hive-log4j2.properties').as_uri()}"]
    options += [f"-Dderby.stream.error.file={directory / 'derby.log'}", "-Dderby.system.durability=test"]
    port, token, process = launch_gateway(
        jarpath=str(next(find_spark_jars().glob("py4j-*.jar"))),
        classpath=str(classes),
        javaopts=options,
        java_path=str(java),
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


def _compiled(directory: Path, java: Path, jars: Sequence[Path], sources: Sequence[Path]) -> Path:
    classes = directory / "classes"
    command = [str(java.with_name("javac")), "--release", "17", "-proc:none", "-nowarn", "-encoding", "UTF-8"]
    command += ["-cp", os.pathsep.join(map(str, jars)), "-d", str(classes), *map(str, sources)]
    subprocess.run(command, check=True, capture_output=True)
    return classes


def _settings(directory: Path) -> dict[str, str]:
    return {
        "list.sink.output.formatter": "pysync.lab.JsonRows",
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hive;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file:{directory / 'warehouse'}",
        "hive.metastore.warehouse.external.dir": f"file:{directory / 'external'}",
        "hive.exec.scratchdir": f"file:{directory / 'scratch'}",
        "hive.exec.local.scratchdir": str(directory / "local"),
        "hive.downloaded.resources.dir": str(directory / "resources"),
        "hive.querylog.location": str(directory / "querylog"),
        "hive.stats.autogather": "false",
        "hive.variable.substitute": "false",
        "hive.async.log.enabled": "false",  # it wants the LMAX disruptor, which is not there
        "hive.session.silent": "true",
        "hive.execution.engine": "mr",
        "hive.cbo.enable": "true",  # as it is by default
        "hive.query.results.cache.enabled": "false",
        "hive.vectorized.execution.enabled": "false",  # its averages of decimals are wrong, with MapReduce in Hive 3.1
        "hive.fetch.task.conversion": "more",
        "hive.auto.convert.join": "false",  # a map join begins with a task in a process of its own
        "hive.exec.mode.local.auto": "true",
        "hive.mapred.mode": "nonstrict",
        "mapreduce.framework.name": "local",
        "mapreduce.cluster.local.dir": str(directory / "mapreduce"),
        "mapreduce.jobtracker.staging.root.dir": str(directory / "staging"),
        "mapreduce.task.io.sort.mb": "16",
        "mapreduce.client.progressmonitor.pollinterval": "20",
        "hive.exec.counters.pull.interval": "20",
        "hadoop.tmp.dir": str(directory / "hadoop"),
    }


def _released(version: str, *sources: Path) -> HiveVersion:
    """One of those whose metastores the suite `versions` has."""
    release = RELEASES[version]

    def jars() -> Sequence[Path]:
        release.bring()
        return [*sorted(bring_hive(version).glob("*.jar")), *release.jars()]

    def settings() -> Mapping[str, str]:
        url = f"jdbc:derby:memory:hive;createFrom={release.derby}"
        return {
            "javax.jdo.option.ConnectionURL": url,
            "datanucleus.schema.autoCreateAll": str(release.grows).lower(),
            **release.settings,
        }

    return HiveVersion(jars, release.find_java, settings, sources)


def _jars_of_spark() -> Sequence[Path]:
    return [*sorted(find_spark_jars().glob("*.jar")), *sorted((bring() / "hive").glob("*.jar"))]


VERSIONS = {
    # Hive's default pool of connections is not among pyspark's jars.
    "2.3.10": HiveVersion(
        _jars_of_spark,
        find_java,
        lambda: {"datanucleus.connectionPoolingType": "dbcp"},
        [Path(lab.__file__).parent / "aws/java/LlapSigner.java"],
    ),
    "3.1.3": _released("3.1.3", _JAVA / "hive-3.1.3/SubLists.java"),
    "4.2.0": _released("4.2.0"),
}
"""Those that can be asked."""

_LOG_SETTINGS = """\
# Hive looks for this file by its name and would otherwise write below the system's temporary directory.
status = error
rootLogger.level = error
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1} [%t] %m%n%throwable
"""
