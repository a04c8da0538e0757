"""Drains on a real queue and a target in memory, that can be stopped and started again."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pysync.journal import Record
from pysync.lab.faulty import KIND, FaultySettings
from pysync.model.event import Event, Kind
from pysync.queue import EventQueue
from pysync.replay import drain as drain_module
from pysync.replay import probe as probe_module
from pysync.replay import replayer as replayer_module
from pysync.replay.drain import Drain
from pysync.replay.refresh import OpenSource
from pysync.replay.replayer import PACE_SECONDS, Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.settings import TargetSettings
from tests.support import partition, table, wait_until
from tests.support.events import append, database, event, rename_table, settings
from tests.support.targets import FakeTarget

Maker = Callable[[int], Event]


NEVER = 1_000_000
ATTEMPTS = 3


class _Stand:
    """What every drain under test has; `open_target`, `settings`, `name` and `pace` are looked at when it starts.

    `records` are those that the journal would get.
    """

    queue: EventQueue
    name: str
    settings: TargetSettings
    open_target: Callable[[], Any]

    def __init__(self) -> None:
        self.drain: Drain | None = None
        self.source: OpenSource | None = None
        self.pace = PACE_SECONDS
        self.records: list[Record] = []
        self.record: Callable[[Record], object] = self.records.append
        self._sequences = itertools.count(1)
        self._began_at = 0

    def append(self, *makers: Maker) -> None:
        """Queue events; each maker gets the next sequence."""
        append(self.queue, *(make(next(self._sequences)) for make in makers))

    def start(self) -> Drain:
        replayer = Replayer(
            self.queue,
            self.settings,
            Translator.of(self.settings),
            source=self.source,
            record=self.record,
            pace=self.pace,
        )
        self.drain = Drain(replayer, self.open_target)
        self._began_at = self.queue.target(self.name).register()
        self.drain.start()
        return self.drain

    def finish(self) -> None:
        """Wait until the target's position is the queue's end, and the drain has counted and recorded all before it."""
        wait_until(lambda: self.queue.target(self.name).depth().queued == 0, what="the end of the queue")
        if self.position() != self._began_at:
            wait_until(lambda: self._noted_at() == self.position(), what="counting what is done")

    def _noted_at(self) -> int | None:
        """The position that the drain has reported last: after counts and records."""
        done = self.status()["last_done"]
        return done["position"] if done else None

    def status(self) -> dict[str, Any]:
        assert self.drain is not None
        return self.drain.progress.status()

    def position(self) -> int:
        return self.queue.target(self.name).position()

    def parked(self) -> list[tuple[int, str, str]]:
        return [(item.position, item.table, item.kind) for item in self.queue.target(self.name).parked.events()]


class Bench(_Stand):
    """A queue, a fake target called `dr`, and a drain between them; what is parked waits for a person."""

    name = "dr"

    def __init__(self, directory: Path, target: FakeTarget | None = None, **values: Any) -> None:
        super().__init__()
        self.queue = EventQueue(directory, min_free_bytes=0)
        self.target = target or FakeTarget()
        self.settings = settings(
            **{"retry_max_seconds": 0.01, "retry_attempts": ATTEMPTS, "parked_retry_seconds": 0, **values}
        )
        self.open_target = self.target.opener

    def stop(self) -> None:
        if self.drain is not None:
            self.drain.stop()
            self.target.release()
            assert self.drain.join(60), "the drain did not end"
            self.drain = None

    def restart(self) -> None:
        self.stop()
        self.start()

    def run(self) -> None:
        if self.drain is None:
            self.start()
        self.finish()

    def parked(self) -> list[tuple[int, str, str]]:
        return sorted(super().parked())

    def close(self) -> None:
        self.stop()
        self.queue.close()


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A drain that met a bug goes on at once."""
    monkeypatch.setattr(drain_module, "_BUG_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(replayer_module, "_STUCK_SECONDS", 0.05)
    monkeypatch.setattr(probe_module, "_PAUSE_SECONDS", 0.05)


class FaultyDrain(_Stand):
    """A target of a name of its own, so that no two tests see the same objects."""

    def __init__(self, directory: Path, faults: Sequence[dict[str, Any]] = (), **values: Any) -> None:
        super().__init__()
        self.directory = directory
        self.queue = EventQueue(directory, min_free_bytes=0)
        self.name = f"t{uuid.uuid4().hex[:12]}"
        self._values = {"name": self.name, "kind": "faulty", "retry_max_seconds": 0.01, "parked_retry_seconds": 0}
        self._values |= values
        self.configure(faults)

    def configure(self, faults: Sequence[dict[str, Any]] = (), **values: Any) -> None:
        """The settings of the next start."""
        self._values |= values
        self.settings = FaultySettings.model_validate({**self._values, "faults": list(faults)})
        self.target = self.open_target()

    def open_target(self) -> Any:
        return KIND.open(self.settings)

    def stop(self) -> None:
        assert self.drain is not None
        self.drain.stop()
        assert self.drain.join(60), "the drain did not end"

    def restart(self) -> None:
        """As after a restart of the sidecar: the queue is opened anew."""
        self.stop()
        self.queue.close()
        self.queue = EventQueue(self.directory, min_free_bytes=0)
        self.start()

    def wait_for_state(self, state: str) -> None:
        wait_until(lambda: self.status()["state"] == state, what=f"state {state}")

    def tables(self, of: str = "db") -> list[str]:
        return self.target.tables(of)

    def close(self) -> None:
        self.stop()
        self.queue.close()


def create_database(name: str = "db") -> Maker:
    return lambda sequence: event(Kind.CREATE_DATABASE, after=[database(name)], sequence=sequence)


def drop_database(name: str = "db", **fields: Any) -> Maker:
    return lambda sequence: event(Kind.DROP_DATABASE, before=[database(name)], sequence=sequence, **fields)


def create(name: str, created: int = 0) -> Maker:
    """CREATE_TABLE of `db.table`, with its createTime (s)."""
    made = table(*name.split("."))
    made.createTime = created
    return lambda sequence: event(Kind.CREATE_TABLE, after=[made], sequence=sequence)


def rename(old: str, new: str) -> Maker:
    return lambda sequence: rename_table(old, new, sequence=sequence)


def drop(name: str, created: int = 0, **fields: Any) -> Maker:
    """DROP_TABLE of `db.table`, with its createTime (s)."""
    dropped = table(*name.split("."))
    dropped.createTime = created
    return lambda sequence: event(Kind.DROP_TABLE, before=[dropped], sequence=sequence, **fields)


def add_partition(name: str, *days: str) -> Maker:
    return _partitions(Kind.ADD_PARTITION, "after", name, days)


def drop_partitions(name: str, *days: str) -> Maker:
    return _partitions(Kind.DROP_PARTITION, "before", name, days)


def create_partitioned(name: str) -> Maker:
    return lambda sequence: event(Kind.CREATE_TABLE, after=[_keyed(name)], sequence=sequence)


def _keyed(name: str) -> Any:
    return table(*name.split("."), partition_keys=[("day", "string")])


def _partitions(kind: Kind, side: str, name: str, days: Sequence[str]) -> Maker:
    keyed = _keyed(name)
    parts = [partition(keyed, [day]) for day in days]
    return lambda sequence: event(kind, of=keyed, **{side: parts}, sequence=sequence)
