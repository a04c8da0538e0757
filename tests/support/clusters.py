"""Clusters that replicate to each other: each a metastore, its listener, and the sidecar whose source it is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from pysync.base.jars import listener_jar
from pysync.base.token import write_token
from pysync.config import Config, load_config
from pysync.lab import EmbeddedMetastore, free_port
from pysync.metastore.client import Metastore
from pysync.model.definition import definition
from pysync.parts import ALL_PARTS
from pysync.setup import listener_settings
from pysync.sidecar.sidecar import Sidecar

_SOURCE = """
[source]
name = "{here}"
metastore = "{uri}"
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
on_conflict = "adopt"
{settings}
"""


class Cluster:
    """A metastore with its listener, and the sidecar that replays its changes to the others."""

    def __init__(self, directory: Path, here: str) -> None:
        self.directory = directory / here
        self.directory.mkdir()
        self.here = here
        self.bridge_port, self.port = free_port(), free_port()
        write_token(self.directory / "token")

    @property
    def uri(self) -> str:
        """Where its metastore is."""
        return f"thrift://127.0.0.1:{self.port}"

    def configure(self, *others: Cluster, settings: str = "both_ways = true") -> None:
        """Say which clusters it replicates to; `settings` are those of each of these targets."""
        text = _SOURCE.format(here=self.here, uri=self.uri, port=self.bridge_port, directory=self.directory)
        text += "".join(_TARGET.format(there=it.here, uri=it.uri, settings=settings) for it in others)
        file = self.directory / "pysync.toml"
        file.write_text(text)
        self.config: Config = load_config(file)
        self.server = EmbeddedMetastore(
            self.directory / "hms",
            port=self.port,
            jars=[listener_jar()],
            overrides=listener_settings(self.config, self.directory / "spool"),
        )

    def start(self, stack: ExitStack) -> None:
        """Start the metastore and the sidecar; `stack` stops them."""
        stack.enter_context(self.server)
        self.sidecar = Sidecar(self.config, ALL_PARTS)
        stack.callback(self.sidecar.stop)
        self.sidecar.start()
        self.metastore = stack.enter_context(closing(Metastore(self.server.uri)))

    def events(self) -> int:
        """How many events its listener has told of."""
        return sum(item.received for item in self.sidecar.queue.intake.instances())

    def counts(self) -> tuple[int, int, int]:
        """Its events, and how many of them wait for a target or are parked."""
        targets = self.sidecar.status()["targets"]
        return self.events(), sum(it["queued"] for it in targets), sum(it["parked"] for it in targets)

    def state(self, database: str) -> dict[str, Any]:
        """Everything that is in a database, without what its server sets by itself."""
        hms, found = self.metastore, {}
        there = hms.database(database)
        found[""] = there and definition(there)
        for name in hms.tables(database) if there else ():
            found[name] = definition(hms.table(database, name))
            found[f"{name} partitions"] = {tuple(it.values): definition(it) for it in hms.partitions(database, name)}
        found["functions"] = {it.functionName: it.className for it in hms.functions(database)} if there else {}
        return found


@contextmanager
def pair(directory: Path, settings: str = "both_ways = true") -> Iterator[tuple[Cluster, Cluster]]:
    """Two clusters, east and west, that replicate to each other."""
    east, west = Cluster(directory, "east"), Cluster(directory, "west")
    east.configure(west, settings=settings)
    west.configure(east, settings=settings)
    with ExitStack() as stack:
        east.start(stack)
        west.start(stack)
        yield east, west


def assert_rest(clusters: Sequence[Cluster], seconds: float = 60.0, calm: float = 2.0) -> None:
    """No event comes any more for `calm` seconds, and nothing is queued or parked."""
    deadline, since, before = time.monotonic() + seconds, time.monotonic(), None
    while time.monotonic() - since < calm:
        now = [cluster.counts() for cluster in clusters]
        if now != before or any(queued or parked for _, queued, parked in now):
            before, since = now, time.monotonic()
        assert time.monotonic() < deadline, f"no rest: events, queued, parked are {now}"
        time.sleep(0.1)


def assert_equal(clusters: Sequence[Cluster], database: str) -> None:
    """All have the same in the database."""
    states = [cluster.state(database) for cluster in clusters]
    for cluster, state in zip(clusters, states, strict=True):
        assert state == states[0], f"{cluster.here} differs from {clusters[0].here} in {database}"
