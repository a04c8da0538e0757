"""Real Hives that run queries, each in a Java process: fetch tasks, and MapReduce by Hadoop's local runner."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes
from py4j.java_collections import ListConverter

from pysync import lab
from pysync.lab.aws.hive import HiveRefused
from pysync.lab.aws.hive_process import HiveProcess
from pysync.lab.java import find_java, find_spark_jars
from pysync.model.wire import decode
from tests.versions.releases import RELEASES
from tests.views.bring import bring, bring_hive

_JAVA = Path(__file__).with_name("java")
_OF_LAB = Path(lab.__file__).parent / "aws/java"
_END = "\0"


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

    QUERIES = "pysync.lab.HiveQueries"
    """The Java class that runs its statements."""

    def __init__(
        self,
        version: str,
        directory: Path,
        zone: str = "UTC",
        *,
        sources: Sequence[Path] = (),
        jars: Sequence[Path] = (),
        overrides: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Start it, in that time zone, which takes some 10 s; with more sources, jars and settings."""
        it = VERSIONS[version]
        jars, java = [*jars, *it.jars()], it.java()
        sources = [_OF_LAB / "HiveQueries.java", *sorted(_JAVA.glob("*.java")), *it.sources, *sources]
        class_path = os.pathsep.join(map(str, jars))
        settings = {**_settings(directory), **it.settings(), **overrides}
        self._process = HiveProcess(
            directory, java, sources, class_path, settings, loads_jars=False, heap="1g", zone=zone
        )
        path = [str(directory), str(self._process.classes), *map(str, jars)]
        converted = ListConverter().convert(path, self._process.gateway._gateway_client)
        self._queries = self._process.jvm.Loader.load(converted, self.QUERIES)

    def close(self) -> None:
        """End the Java process."""
        self._process.close()

    def rows(self, database: str, statement: str) -> list[list[Any]]:
        """The rows of a statement: numbers, dates and timestamps as strings, maps as lists of pairs.

        Raises HiveRefused.
        """
        outcome, *rows = self._queries.run(database, statement).split(_END)[:-1]
        if outcome != "OK":
            raise HiveRefused(rows[0])
        return [json.loads(row) for row in rows]

    def table(self, database: str, name: str) -> Any:
        """A `ttypes.Table`."""
        return decode(ttypes.Table, bytes(self._queries.table(database, name)))


def _settings(directory: Path) -> dict[str, str]:
    return {
        "list.sink.output.formatter": "pysync.lab.JsonRows",
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:hive;create=true",
        "hive.metastore.warehouse.dir": f"file:{directory / 'warehouse'}",
        "hive.metastore.warehouse.external.dir": f"file:{directory / 'external'}",
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
        [_OF_LAB / "LlapSigner.java"],
    ),
    "3.1.3": _released("3.1.3", _JAVA / "hive-3.1.3/SubLists.java"),
    "4.2.0": _released("4.2.0"),
}
"""Those that can be asked."""
