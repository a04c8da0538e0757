"""MiniHdfs: a real HDFS, name node and data node, in a process of its own on loopback."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import TracebackType

from pysync.lab.bound_process import BoundProcess, tail
from pysync.lab.java import find_java
from tests.versions.hadoop.jars import HadoopJars

_MAIN = "org.apache.hadoop.test.MiniDFSClusterManager"
_START_SECONDS = 300.0
_PATIENCE = 10.0
_LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1}: %m%n%ex
"""


class MiniHdfs:
    """A context manager; Hadoop's own MiniDFSCluster, with its data below `directory`. It forgets all at its end."""

    def __init__(self, jars: HadoopJars, directory: Path, **settings: str) -> None:
        """`settings` are Hadoop's, with underscores for dots."""
        self.log_file = directory / "hdfs.log"
        self._jars, self._directory, self._settings = jars, directory, settings
        self._process: BoundProcess | None = None
        self._port = 0

    def __enter__(self) -> MiniHdfs:
        details = self._directory / "details.json"
        self._process = BoundProcess(
            self._command(details), log=self.log_file, cwd=self._directory, env=dict(os.environ)
        )
        until = time.monotonic() + _START_SECONDS
        while not (details.exists() and details.read_text()):
            if not self._process.running or time.monotonic() > until:
                self._process.kill()
                raise AssertionError(f"HDFS does not start:\n{tail(self.log_file, 30)}")
            time.sleep(0.05)
        self._port = json.loads(details.read_text())["namenode_port"]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()  # nothing of it is kept: it need not end in order

    @property
    def uri(self) -> str:
        """hdfs://127.0.0.1:port"""
        return f"hdfs://127.0.0.1:{self._port}"

    def _command(self, details: Path) -> list[str]:
        self._directory.mkdir(parents=True, exist_ok=True)
        log4j = self._directory / "log4j2.properties"
        log4j.write_text(_LOG4J)
        settings = {"hdfs.minidfs.basedir": str(self._directory / "data")}
        settings |= {name.replace("_", "."): value for name, value in self._settings.items()}
        command = [str(find_java()), "-Xmx768m", f"-Dlog4j2.configurationFile={log4j}", "-cp", self._jars.of_hdfs()]
        options = ["-format", "-writeDetails", str(details)]
        return [*command, _MAIN, *options, *(it for key, value in settings.items() for it in ("-D", f"{key}={value}"))]
