"""Worlds in which the command lines of the docs make sense: real metastores with sales.orders and crm.customers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.token import write_token
from pysync.control.client import ask
from pysync.lab import free_port
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from pysync.queue import EventQueue
from tests.support import partition, table, wait_until
from tests.support.docgroups import SUBSTITUTES
from tests.support.stages import assert_converges, wait_until_compared


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs command lines as bash takes them, in a directory, with the `pysync` under test and a configuration."""

    directory: Path
    config: Path
    places: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    def at(self, **places: object) -> Shell:
        """The same, with more places."""
        return replace(self, places={**self.places, **places})

    def line(self, text: str) -> str:
        """A command line as it is run here."""
        for shown, name in SUBSTITUTES.items():
            if name in self.places:
                text = text.replace(shown, str(self.places[name]))
        return text

    def variables(self) -> dict[str, str]:
        """The environment: programs of this Python first."""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, "PATH": path, "PYSYNC_CONFIG": str(self.config), **self.environment}

    def run(self, text: str, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Run it to its end; after so long it is killed, and TimeoutExpired raised."""
        with self.start(text) as process:
            try:
                output, errors = process.communicate(timeout=seconds)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def start(self, text: str) -> subprocess.Popen[str]:
        """Start it, in a process group of its own."""
        return subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", self.line(text)],
            cwd=self.directory,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def fill(uri: str) -> None:
    """Create sales.orders with two partitions, and crm.customers."""
    with Metastore(uri) as hms:
        for name in ("sales", "crm"):
            hms.call(lambda client, it=name: client.create_database(hive.Database(name=it)))
        create(hms, "sales", "orders", partition_keys=[("day", "string")])
        create(hms, "crm", "customers")
        of = hms.table("sales", "orders")
        for day in ("1", "2"):
            hms.call(lambda client, it=day: client.add_partition(partition(of, [it])))


def create(hms: Metastore, database: str, name: str, **fields: Any) -> None:
    hms.call(lambda client: client.create_table(table(database, name, **fields)))


def drop(hms: Metastore, database: str, name: str) -> None:
    with suppress(hive.NoSuchObjectException):
        hms.call(lambda client: client.drop_table(database, name, False))


class Running:
    """A source with its listener, a target `dr`, and a sidecar that has come to rest: a context manager."""

    def __init__(self, directory: Path, options: str = "") -> None:
        self.stage = Stage(directory, options="parked_retry_seconds = 0\n" + options)
        self.source, self.target = Metastore(self.stage.source.uri), Metastore(self.stage.target.uri)
        self.file = self.stage.config_file
        text = self.file.read_text().replace('name = "replica"', 'name = "dr"')
        text = text.replace("silence_seconds = 5", "silence_seconds = 120")
        self.file.write_text(text.replace("[queue]", '[queue]\nretain = "1h"'))
        self._held = 0

    def __enter__(self) -> Running:
        try:
            self._start()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _start(self) -> None:
        with ThreadPoolExecutor(2) as starting:
            list(starting.map(lambda server: server.start(), (self.stage.source, self.stage.target)))
        fill(self.stage.source.uri)
        self.stage.start_sidecar()
        wait_until_compared(self.stage)
        assert_converges(self.stage)
        # The comparison may be done before the listener, which tries from time to time, has delivered anything.
        wait_until(lambda: bool(self.stage.status()["instances"]), seconds=60, what="an event of the listener")

    def __exit__(self, *error: Any) -> None:
        self.source.close()
        self.target.close()
        self.stage.__exit__(*error)

    def shell(self, directory: Path) -> Shell:
        places = {"position": self.dr()["position"], "instance": self.stage.status()["instances"][0]["instance"]}
        return Shell(directory, self.file, places)

    def dr(self) -> dict[str, Any]:
        """What the status says of the target."""
        found: dict[str, Any] = self.stage.status()["targets"][0]
        return found

    def rests(self, **expected: int) -> None:
        """Wait until the target has as many events `queued` and `parked`."""
        wait_until(lambda: expected.items() <= self.dr().items(), what=f"{expected} at dr")

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """An event waits for the target, which is paused."""
        name = self._new_name()
        self._ask("pause", reason="by hand")
        create(self.source, "sales", name)
        self.rests(queued=1)
        try:
            yield
        finally:
            self._ask("resume")
            self._drop(name)

    @contextmanager
    def parked(self) -> Iterator[int]:
        """The target refuses a table, as somebody else has made one of its name there; the position of the event."""
        name = self._new_name()
        create(self.target, "sales", name)
        create(self.source, "sales", name)
        try:
            self.rests(queued=0, parked=1)
            (found,) = self._ask("parked list")["tables"]
            yield found["position"]
        finally:
            self.mend()
            self._ask("parked retry")
            self._drop(name)

    def mend(self) -> None:
        """What stands in the way of the parked event goes, if it is still there."""
        drop(self.target, "sales", f"held_{self._held}")

    def _drop(self, name: str) -> None:
        """Drop a table at the source, and wait until the target has that event, too."""
        before = self.dr()
        drop(self.source, "sales", name)
        wait_until(lambda: self.dr()["position"] > before["position"] + before["queued"], what=f"the drop of {name}")
        self.rests(queued=0, parked=0)

    def _new_name(self) -> str:
        self._held += 1
        return f"held_{self._held}"

    def _ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        return ask(self.stage.config.queue.directory, command, target="dr", **arguments)


_ALONE = """\
[source]
name = "alone"
metastore = "{source}"
{capture}
[queue]
directory = "{directory}/queue"
min_free_mb = 0
[[targets]]
"""
_BRIDGE = """\
[bridge]
port = {port}
token_file = "{token}"
"""
_HMS = """\
name = "dr"
kind = "hms"
metastore = "{target}"
databases = {{ sales = "alone_sales", crm = "alone_crm" }}
"""


def alone(directory: Path, source: str, target: str, *, by_log: bool = False) -> Shell:
    """A configuration without a running sidecar; `target` are the lines of its target, or a metastore's address.

    Its databases have other names there, so that the metastore may be the target of a running sidecar, too.
    """
    write_token(directory / "token")
    bridge = _BRIDGE.format(port=free_port(), token=directory / "token")
    capture = 'capture = "notification-log"' if by_log else bridge
    lines = _HMS.format(target=target) if "\n" not in target else target
    text = _ALONE.format(source=source, capture=capture, directory=directory)
    (directory / "pysync.toml").write_text(text + lines)
    return Shell(directory, directory / "pysync.toml")


def known_to_the_queue(shell: Shell, name: str) -> None:
    """As if a sidecar had run with a target of that name, before pysync.toml changed."""
    queue = EventQueue(shell.directory / "queue", min_free_bytes=0)
    queue.target(name).register()
    queue.close()


_CARRIED = """\
[source]
name = "onprem"
{source}
[queue]
directory = "{directory}/queue"
min_free_mb = 0
[[targets]]
name = "dr"
kind = "hms"
metastore = "{target}"
policy = "sales"
databases = {{ sales = "carried" }}
{more}
"""


def carried(directory: Path, source: str, target: str, more: str = "") -> Shell:
    """here.toml beside the source and there.toml beside the target, as docs/dump.md has them, and a disk.

    The database sales has another name at the target, for the same reason.
    """
    lines = {"directory": directory, "more": more}
    away = f'metastore = "{source}"'
    (directory / "here.toml").write_text(_CARRIED.format(source=away, target="thrift://127.0.0.1:1", **lines))
    (directory / "there.toml").write_text(_CARRIED.format(source="", target=target, **lines))
    return Shell(directory, directory / "none.toml", {"disk": f"{directory}/"})
