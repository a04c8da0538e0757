"""A Java process with a Hive in it: its settings, classes of ours, compiled at the start, and a way to call them.

The Java process ends with this one: it reads a pipe that this one holds open.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from pysync import hive_site
from pysync.base.errors import PysyncError
from pysync.lab.java import find_spark_jars
from pysync.lab.metastore import log_settings

# Hive reads private fields of theirs.
_OPENED = (
    *("java.io", "java.lang", "java.math", "java.net", "java.nio", "java.time", "java.util", "java.lang.reflect"),
    *("java.util.concurrent", "java.util.concurrent.atomic", "java.util.regex"),
)
_JAVAC = ("--release", "17", "-proc:none", "-nowarn", "-encoding", "UTF-8")
_FAST = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # a short life, mostly of class loading


class HiveProcess:
    """A Java that has Hive's classes and ours, called by `jvm`."""

    def __init__(
        self,
        directory: Path,
        java: Path,
        sources: Sequence[Path],
        jars: str,
        settings: Mapping[str, str],
        *,
        loads_jars: bool = True,
        heap: str = "512m",
        zone: str = "UTC",
    ) -> None:
        """Start it; `directory` is for its files. PysyncError if there is no Java compiler, or if it fails.

        `sources` are compiled with the class path `jars`. If Java does not load these, whoever calls brings a class
        loader. `settings` come before those that every Hive here has. `zone` is Java's time zone.
        """
        directory.mkdir(parents=True, exist_ok=True)
        hive_site.write(directory / "hive-site.xml", {**_settings(directory), **settings})
        # Hive looks for this file by its name, and would otherwise write below the system's temporary directory.
        (directory / "hive-log4j2.properties").write_text(log_settings("error"), encoding="utf-8")
        self.classes = directory / "classes"
        _compile(self.classes, java, sources, jars)
        loaded = os.pathsep.join([str(directory), str(self.classes), jars]) if loads_jars else str(self.classes)
        self._log = (directory / "hive.log").open("a", encoding="utf-8", buffering=1)
        self.gateway, self._process = _launch(
            directory, java, loaded, [f"-Xmx{heap}", f"-Duser.timezone={zone}"], self._log
        )
        self.jvm = self.gateway.jvm.pysync.lab

    def close(self) -> None:
        """End the Java process."""
        self.gateway.shutdown()
        self._process.stdin.close()
        self._process.wait()
        self._log.close()


def _compile(classes: Path, java: Path, sources: Sequence[Path], jars: str) -> None:
    javac = shutil.which("javac", path=str(java.parent)) or shutil.which("javac")
    if javac is None:
        raise PysyncError(
            "the embedded Athena needs a Java compiler, but there is no javac", "install a JDK, or use Glue only"
        )
    command = [javac, *(f"-J{it}" for it in _FAST), *_JAVAC, "-cp", jars, "-d", str(classes), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PysyncError("the embedded Athena cannot start: javac failed", f"{done.stdout}{done.stderr}")


def _launch(directory: Path, java: Path, loaded: str, more: Sequence[str], log: IO[str]) -> tuple[Any, Any]:
    options = [*_FAST, *more, "-Xshare:auto"]
    options += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    options += [f"-Dlog4j2.configurationFile={(directory / 'hive-log4j2.properties').as_uri()}"]
    options += [f"-Dderby.stream.error.file={directory / 'derby.log'}", "-Dderby.system.durability=test"]
    port, token, process = launch_gateway(
        jarpath=str(next(find_spark_jars().glob("py4j-*.jar"))),
        classpath=loaded,
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


def _settings(directory: Path) -> dict[str, str]:
    return {
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.exec.scratchdir": f"file:{directory / 'scratch'}",
        "hive.exec.local.scratchdir": str(directory / "local"),
        "hive.downloaded.resources.dir": str(directory / "resources"),
        "hive.querylog.location": str(directory / "querylog"),
        "hive.stats.autogather": "false",
        "hive.variable.substitute": "false",
        "hive.async.log.enabled": "false",  # it wants the LMAX disruptor, which is not there
        "hive.session.silent": "true",
    }
