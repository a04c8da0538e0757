"""Clusters in memory that replicate to each other: metastores, what their listeners tell, and the links between them.

Everything happens in one thread, step by step, in an order that a test chooses. What is replayed goes the real way:
translation, fold, plan, and the operations of kind hms.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pysync.lab.faulty import FaultySettings
from pysync.lab.memory import MemoryMetastore, MemoryStore, MemoryTarget, Notice
from pysync.model.definition import definition
from pysync.model.event import USER, Event, Kind
from pysync.model.mark import Writer
from pysync.model.names import TableName
from pysync.model.wire import encode, encode_event
from pysync.queue import Queued
from pysync.replay.apply import Applier
from pysync.replay.batch import Batch
from pysync.replay.lanes import Lane
from pysync.replay.progress import Progress
from pysync.replay.recording import Recorder
from pysync.replay.refresh import Refresher
from pysync.replay.unfinished import Unfinished
from pysync.replay.visible import Visible, same_clock
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import draft
from pysync.replay.window.translate import Translator


class Clock:
    """A second later at each look, so that no two objects are created at once."""

    def __init__(self) -> None:
        self._now = 1_000_000

    def __call__(self) -> float:
        self._now += 1
        return self._now


class Cluster:
    """A metastore, and the events that its listener has told of."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.name = name
        self.events: list[Queued] = []
        self.store = MemoryStore(self._hear, clock)
        self.hms = MemoryMetastore(self.store)
        self.client = self.hms._client

    def _hear(self, reported: Notice) -> None:
        attributes = {USER: reported.user} if reported.committed else {USER: reported.user, "uncommitted": "true"}
        if reported.delete_data and reported.kind is not Kind.DROP_DATABASE:  # of which the listener does not know it
            attributes["delete_data"] = "true"
        position = len(self.events) + 1
        event = Event(
            reported.kind,
            self.name,
            "00000000-0000-4000-8000-000000000001",
            position,
            0,
            environment=reported.environment,
            attributes=attributes,
            table=encode(reported.table) if reported.table is not None else None,
            before=tuple(map(encode, reported.before)),
            after=tuple(map(encode, reported.after)),
        )
        self.events.append(Queued(position, encode_event(event), 0))

    def state(self) -> dict[str, Any]:
        """What it has, without what its server sets by itself."""
        found: dict[str, Any] = {}
        for name, database in sorted(self.store.databases.items()):
            found[name] = definition(database.struct)
            found |= {f"{name}.{it}()": definition(what) for it, what in sorted(database.functions.items())}
            for table, held in sorted(database.tables.items()):
                found[f"{name}.{table}"] = definition(held.struct)
                parts = sorted(held.partitions.items())
                found |= {f"{name}.{table}/{'/'.join(values)}": definition(it) for values, it in parts}
        for it in found.values():
            it.pop("createTime", None)
        return found

    def homes(self) -> dict[str, str]:
        """The home of each table, as it is marked here."""
        found = {}
        for name, database in self.store.databases.items():
            for table, held in database.tables.items():
                found[f"{name}.{table}"] = (held.struct.parameters or {}).get("pysync.source", self.name)
        return found


@dataclass
class Link:
    """What takes the events of one cluster to another."""

    source: Cluster
    target: Cluster
    relay: bool
    position: int = 0
    outcomes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings = FaultySettings(
            name=self.target.name, kind="faulty", both_ways=True, relay=self.relay, on_conflict="adopt"
        )
        self.translator = Translator.of(self.settings)
        self.progress = Progress(self.target.name, "faulty")
        refresher = Refresher(self._reads, self.translator, lambda *_: True)
        visible = Visible(self.progress.latency, same_clock)
        recorder = Recorder(self.settings.name, self.translator.mapping, None)
        self.applier = Applier(
            self.settings,
            self.progress,
            threading.Event(),
            refresher,
            is_removed_later=lambda *_: False,
            unfinished=Unfinished(),
            recorder=recorder,
            visible=visible,
        )
        self.lane = Lane(lambda: MemoryTarget(self.settings, self.target.store))

    @contextmanager
    def _reads(self) -> Iterator[Any]:
        yield MemoryMetastore(self.source.store)

    @property
    def waiting(self) -> int:
        """How many events are not replayed yet."""
        return len(self.source.events) - self.position

    def step(self, most: int) -> None:
        """Replay a window of no more events."""
        window = self.source.events[self.position : self.position + most]
        if not window:
            return
        found = draft(window, self.translator, Writer(1), Blocks())
        assert not found.refused, found.refused[0].reason
        for job in Batch(found, Blocks(), attempts=1).left:
            self.applier.apply(self.lane, job)
        self.position = found.events[-1].position


class World:
    """Clusters and the links between them."""

    def __init__(self, *names: str, links: Sequence[tuple[str, str]], relay: bool = True) -> None:
        clock = Clock()
        self.clusters = {name: Cluster(name, clock) for name in names}
        self.links = [Link(self.clusters[a], self.clusters[b], relay) for a, b in links]

    def calm(self, rounds: int = 200) -> None:
        """Replay until nothing waits; AssertionError if that never comes."""
        for _ in range(rounds):
            waiting = [link for link in self.links if link.waiting]
            if not waiting:
                return
            for link in waiting:
                link.step(1000)
        raise AssertionError(f"no rest: {[link.waiting for link in self.links]}")

    def differences(self) -> list[str]:
        """What is not the same everywhere, and what has another home here than there."""
        first, *others = self.clusters.values()
        wanted, homes = first.state(), first.homes()
        found = []
        for other in others:
            state = other.state()
            for key in sorted(wanted.keys() | state.keys()):
                if wanted.get(key) != state.get(key):
                    found.append(f"{key}: {first.name} {wanted.get(key)}\n      {other.name} {state.get(key)}")
            if other.homes() != homes:
                found.append(f"homes: {homes} and {other.homes()}")
        return found


def table_name(text: str) -> TableName:
    """`db.table`."""
    return TableName.of(*text.split("."))
