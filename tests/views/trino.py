"""A real Trino: one process with a small heap, on loopback, that reads the embedded Glue and its S3."""

from __future__ import annotations

import json
import os
import shutil
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from pysync.lab import free_port
from pysync.lab.bound_process import BoundProcess, tail
from tests.views.bring import find_java

CATALOG = "awsdatacatalog"
_PATIENCE = 180.0
_ACTIVE = "select node_id from system.runtime.nodes where state = 'active'"
_OPTIONS = (
    "-Xmx1500m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # queries run once
    "-Duser.timezone=UTC",
    "--enable-native-access=ALL-UNNAMED",
    "--add-modules=jdk.incubator.vector",
    "-Djdk.attach.allowAttachSelf=true",
)


class Failed(Exception):
    """Trino's own words for why it does not answer a query."""


class Trino:
    """A context manager. `home` is what `bring` brought, `directory` takes settings and log, `url` is that of AWS."""

    def __init__(self, home: Path, directory: Path, url: str) -> None:
        self._home, self._directory, self._url = home, directory, url
        self._port = free_port()
        self._process: BoundProcess | None = None

    def __enter__(self) -> Trino:
        (server,) = (self._home / "trino").glob("trino-server-core-*")
        plugins = self._directory / "plugin"
        plugins.mkdir(parents=True)
        (plugin,) = (self._home / "plugin").glob("trino-hive-*")
        (plugins / "hive").symlink_to(plugin)
        self._write_settings()
        values = {
            "node.environment": "test",
            "node.id": "one",
            "node.data-dir": self._directory / "data",
            "node.bind-ip": "127.0.0.1",
            "node.internal-address": "127.0.0.1",
            "config": "config.properties",
            "log.levels-file": "log.properties",
            "plugin.dir": plugins,
            "catalog.config-dir": "catalog",
        }
        properties = [f"-D{name}={value}" for name, value in values.items()]
        command = [str(find_java()), "-cp", f"{server}/lib/*", *_OPTIONS, *properties, "io.trino.server.TrinoServer"]
        log = self._directory / "trino.log"
        self._process = BoundProcess(command, log=log, cwd=self._directory, env=dict(os.environ))
        self._wait(log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.stop(10.0)
        shutil.rmtree(self._directory / "data", ignore_errors=True)

    def rows(self, query: str) -> list[list[Any]]:
        """The rows of a query. Raises Failed."""
        answer = self._ask("v1/statement", query.encode())
        found: list[list[Any]] = []
        while True:
            if "error" in answer:
                raise Failed(answer["error"]["message"])
            found += answer.get("data") or []
            if "nextUri" not in answer:
                return found
            answer = self._ask(answer["nextUri"].split("/", 3)[3], None)

    def version(self) -> str:
        """Its version."""
        return str(self._ask("v1/info", None)["nodeVersion"]["version"])

    def _write_settings(self) -> None:
        (self._directory / "catalog").mkdir()
        (self._directory / "config.properties").write_text(
            f"coordinator=true\nnode-scheduler.include-coordinator=true\nhttp-server.http.port={self._port}\n"
            f"discovery.uri=http://127.0.0.1:{self._port}\nquery.max-memory=800MB\n"
        )
        (self._directory / "log.properties").write_text("io.trino=ERROR\nio.airlift=ERROR\n")
        keys = "aws-access-key=embedded\n{0}aws-secret-key=embedded\n{0}region=us-east-1\n"
        glue, s3 = "hive.metastore.glue.", "s3."
        (self._directory / f"catalog/{CATALOG}.properties").write_text(
            f"connector.name=hive\nhive.metastore=glue\nfs.native-s3.enabled=true\ns3.path-style-access=true\n"
            f"{glue}endpoint-url={self._url}\n{glue}{keys.format(glue)}"
            f"{s3}endpoint={self._url}\n{s3}{keys.format(s3)}"
        )

    def _ask(self, path: str, body: bytes | None) -> dict[str, Any]:
        headers = {"X-Trino-User": "test", "X-Trino-Time-Zone": "UTC", "X-Trino-Catalog": CATALOG}
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}/{path}", body, headers)
        with urllib.request.urlopen(request, timeout=300) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def _wait(self, log: Path) -> None:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and self._process is not None and self._process.running:
            with suppress(OSError, Failed):  # it does not listen yet, or not know itself as a node that runs queries
                if not self._ask("v1/info", None)["starting"] and self.rows(_ACTIVE):
                    return
            time.sleep(0.5)
        raise Failed(f"Trino does not start:\n{tail(log, 30)}")
