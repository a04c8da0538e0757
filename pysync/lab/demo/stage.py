"""The stage of the demo: two real metastores, the listener in the first, a sidecar process between them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

from pysync.base.errors import PysyncError
from pysync.base.jars import listener_jar
from pysync.base.token import write_token
from pysync.config import load_config
from pysync.control.client import ask
from pysync.lab import EmbeddedMetastore, free_port
from pysync.lab.demo.lake import Lake
from pysync.setup import listener_settings

SOURCE = "demo"
"""The name of the source: what the targets' marks have."""

_READY_SECONDS = 60.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05

T = TypeVar("T")

_CONFIG = """\
# The demo's configuration; conf/pysync.toml explains every key.
[source]
name = "demo"
metastore = "{source}"
silence_seconds = 5

[bridge]
port = {port}
token_file = "{directory}/token"

[queue]
directory = "{directory}/queue"
min_free_mb = 16

[[targets]]
"""

_TARGET = """\
name = "replica"
kind = "{kind}"
metastore = "{target}"
locations = {{ "file:{source_warehouse}" = "file:{target_warehouse}" }}
"""


class Stage:
    """Two metastores and a sidecar in a directory; a context manager that leaves no process behind.

    With `database` "disk" the metastores survive a kill. `options` are further TOML lines of the one target.
    `source` and `target` make the metastores, where they are to be of another kind than the embedded one. With a
    `lake` that is the target, and there is no second metastore; with `by_spark` the sidecar knows that only by Spark.
    """

    def __init__(
        self,
        directory: Path,
        *,
        database: Literal["memory", "disk"] = "memory",
        options: str = "",
        source: Callable[..., EmbeddedMetastore] = EmbeddedMetastore,
        target: Callable[..., EmbeddedMetastore] = EmbeddedMetastore,
        lake: Lake | None = None,
        by_spark: bool = False,
    ) -> None:
        self.directory = directory
        self.lake = lake
        self.by_spark = by_spark
        self.config_file = directory / "pysync.toml"
        self.sidecar_log = directory / "sidecar.log"
        jar = listener_jar()
        write_token(directory / "token")
        self.target = target(directory / "target", port=free_port(), name="target", database=database)
        source_port = free_port()
        self._write_config(f"thrift://127.0.0.1:{source_port}", directory / "source" / "warehouse", options)
        self.config = load_config(self.config_file)
        self.source = source(
            directory / "source",
            port=source_port,
            name="source",
            database=database,
            jars=[jar],
            overrides=listener_settings(self.config, directory / "spool"),
        )
        self._sidecar: subprocess.Popen[bytes] | None = None
        self._guests = ExitStack()

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._guests.close()
        self._end_sidecar(signal.SIGTERM)
        self.source.stop()
        self.target.stop()
        if self.lake is not None:
            self.lake.stop()

    def enter(self, guest: AbstractContextManager[T]) -> T:
        """Take something along that shall end before the metastores do."""
        return self._guests.enter_context(guest)

    def start_target(self) -> None:
        """Start what the changes go to."""
        if self.lake is not None:
            self.lake.start()
        else:
            self.target.start()

    def start_sidecar(self) -> None:
        """Start the sidecar as a process of its own, and wait until it answers."""
        command = [sys.executable, "-m", "pysync", "run", "-c", str(self.config_file)]
        environment = dict(os.environ) if self.lake is None else self.lake.environment()
        with self.sidecar_log.open("ab") as log:
            self._sidecar = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        until = time.monotonic() + _READY_SECONDS
        while not self._answers():
            if self._sidecar.poll() is not None or time.monotonic() > until:
                raise PysyncError("the sidecar did not start", f"its log: {self.sidecar_log}")
            time.sleep(_POLL_SECONDS)

    def kill_sidecar(self) -> None:
        """End the sidecar as a crash would (SIGKILL)."""
        self._end_sidecar(signal.SIGKILL)

    def status(self) -> dict[str, Any]:
        """What `pysync status --json` prints."""
        return ask(self.config.queue.directory, "status")

    def _answers(self) -> bool:
        try:
            return bool(self.status())
        except PysyncError:
            return False

    def _end_sidecar(self, how: signal.Signals) -> None:
        if self._sidecar is not None:
            self._sidecar.send_signal(how)
            self._sidecar.wait(_STOP_SECONDS)
            self._sidecar = None

    def _write_config(self, source: str, warehouse: Path, options: str) -> None:
        text = _CONFIG.format(source=source, port=free_port(), directory=self.directory)
        self.config_file.write_text(text + self._target_lines(warehouse) + options, encoding="utf-8")

    def _target_lines(self, warehouse: Path) -> str:
        if self.lake is not None:
            return self.lake.lines(warehouse)
        return _TARGET.format(
            kind="spark" if self.by_spark else "hms",
            target=self.target.uri,
            source_warehouse=warehouse,
            target_warehouse=self.target.warehouse,
        )
