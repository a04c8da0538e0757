"""Clusters that replicate to each other, whose sidecars are processes that one can kill: a pair, or a ring of three."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.jars import listener_jar
from pysync.base.token import write_token
from pysync.config import load_config
from pysync.control.client import ask
from pysync.lab import EmbeddedMetastore, free_port
from pysync.metastore.client import Metastore
from pysync.model.definition import definition
from pysync.model.definition import differences as definition_differences
from pysync.setup import listener_settings
from tests.support import wait_until

PATIENCE_SECONDS = 180.0
CALM_SECONDS = 10.0
CONFLICT = "conflict_found"

_FILE = """
[source]
name = "{here}"
metastore = "{uri}"
silence_seconds = 120
[bridge]
port = {port}
token_file = "{directory}/token"
[queue]
directory = "{directory}/queue"
min_free_mb = 1
"""
_TARGET = """
[[targets]]
name = "{there}"
kind = "hms"
metastore = "{uri}"
both_ways = true
on_conflict = "adopt"
"""


class Cluster:
    """A metastore with its listener, and the sidecar that replays its changes to the other ones."""

    def __init__(self, directory: Path, here: str) -> None:
        self.directory = directory / here
        self.directory.mkdir(parents=True)
        self.here = here
        self.port, self.bridge_port = free_port(), free_port()
        self.uri = f"thrift://127.0.0.1:{self.port}"
        self.file = self.directory / "pysync.toml"
        self.log = self.directory / "sidecar.log"
        self.kills = 0
        self._process: subprocess.Popen[bytes] | None = None
        write_token(self.directory / "token")

    def configure(self, others: Sequence[Cluster]) -> None:
        """Say which clusters it replicates to."""
        text = _FILE.format(here=self.here, uri=self.uri, port=self.bridge_port, directory=self.directory)
        self.file.write_text(text + "".join(_TARGET.format(there=it.here, uri=it.uri) for it in others))
        overrides = listener_settings(load_config(self.file), self.directory / "spool")
        self.server = EmbeddedMetastore(
            self.directory / "hms", port=self.port, jars=[listener_jar()], overrides=overrides, name=self.here
        )

    def start(self) -> None:
        """Start the sidecar; it may answer later."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "pysync", "run", "-c", str(self.file)], stdout=subprocess.DEVNULL, stderr=log
            )

    def kill(self) -> None:
        """End the sidecar as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self.kills += 1

    def answers(self) -> bool:
        """Whether the sidecar does."""
        assert self._process is None or self._process.poll() is None, self.log.read_text()[-3000:]
        try:
            return bool(self.status())
        except PysyncError:
            return False

    def status(self) -> dict[str, Any]:
        """The answer to `pysync status`."""
        return ask(self.directory / "queue", "status")

    def work(self) -> tuple[int, int, int, int]:
        """How many events came, wait for a target, are parked, and how many gaps are open."""
        status = self.status()
        waits, parked = (sum(it[key] for it in status["targets"]) for key in ("queued", "parked"))
        came, gaps = sum(it["received"] for it in status["instances"]), status["gaps"]
        return came, waits, parked, sum(gap["state"] != "closed" for gap in gaps)

    def conflicts(self) -> int:
        """How many its sidecar has told of, in all its lives."""
        return self.log.read_text(errors="replace").count(CONFLICT)

    def verified(self) -> str:
        """What `pysync verify` says of drift; "" if there is none."""
        command = [sys.executable, "-m", "pysync", "verify", "-c", str(self.file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False)
        return "" if done.returncode == 0 else done.stdout + done.stderr


@contextmanager
def federation(directory: Path, *names: str, ring: bool = False) -> Iterator[list[Cluster]]:
    """Running clusters, each of which replicates to all others; in a ring only to the next one."""
    clusters = [Cluster(directory, name) for name in names]
    for at, cluster in enumerate(clusters):
        cluster.configure(
            [clusters[(at + 1) % len(clusters)]] if ring else [it for it in clusters if it is not cluster]
        )
    with ExitStack() as stack:
        for cluster in clusters:
            stack.enter_context(cluster.server)
        for cluster in clusters:
            stack.callback(cluster.kill)
            cluster.start()
        for cluster in clusters:
            wait_until(cluster.answers, seconds=PATIENCE_SECONDS, what=f"the sidecar of {cluster.here}")
        rest(clusters, CALM_SECONDS)
        yield clusters


def rest(clusters: Sequence[Cluster], calm: float, patience: float = PATIENCE_SECONDS) -> float:
    """Wait until for so many seconds no event has come and nothing waits; when (monotonic) the last one was."""
    deadline, before, since = time.monotonic() + patience, None, time.monotonic()
    while time.monotonic() - since < calm:
        now = [cluster.work() for cluster in clusters]
        if now != before or any(waits or parked or gaps for _, waits, parked, gaps in now):
            before, since = now, time.monotonic()
        assert time.monotonic() < deadline, f"no rest: (events, queued, parked, gaps) are {now}{_parked(clusters)}"
        time.sleep(0.2)
    return since


def _parked(clusters: Sequence[Cluster]) -> str:
    errors = [it["last_error"] for cluster in clusters for it in cluster.status()["targets"] if it["last_error"]]
    return "".join(f"\n  {error['reason']}" for error in errors)


def state(cluster: Cluster, databases: Sequence[str]) -> dict[str, Any]:
    """Everything that is in these databases, by name, without what its server sets by itself."""
    found: dict[str, Any] = {}
    with closing(Metastore(cluster.uri)) as hms:
        for database in sorted(set(databases) & set(hms.databases())):
            found[database] = definition(hms.database(database))
            for it in hms.functions(database):
                found[f"{database}.{it.functionName}()"] = definition(it)
            for name in hms.tables(database):
                found[f"{database}.{name}"] = definition(hms.table(database, name))
                for part in hms.partitions(database, name):
                    found[f"{database}.{name}/{'/'.join(part.values)}"] = definition(part)
    return found


def differences(clusters: Sequence[Cluster], databases: Sequence[str]) -> list[str]:
    """In what the objects are not the same everywhere: as the first cluster has them, and as another has."""
    first, found = state(clusters[0], databases), []
    for other in clusters[1:]:
        its = state(other, databases)
        for name in sorted(first.keys() | its.keys()):
            fields = definition_differences(first.get(name), its.get(name))
            found += [f"{name} at {other.here}: {field}" for field in fields]
    return found
