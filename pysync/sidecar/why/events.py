"""Events: what the queue still has of some names, the newest first, within a bounded time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.errors import PysyncError
from pysync.model.change import targets_of
from pysync.model.event import SIDECAR
from pysync.model.event_objects import objects_of
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.window.order import database_of
from pysync.sidecar.why.name_history import NameChange

SECONDS = 1.0
"""How long the queue is looked through."""

_CHUNK = 500
_CHUNK_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SeenEvent:
    """An event of the queue, by its names at the source."""

    position: int
    at: float
    committed_at: float | None
    kind: str
    objects: Sequence[str]
    targets: frozenset[str] = frozenset()
    """The targets that a refresh is for; none: all."""

    def as_json(self) -> dict[str, Any]:
        """As in docs/status.md."""
        return {
            "position": self.position,
            "at": self.at,
            "committed_at": self.committed_at,
            "kind": self.kind,
            "object": " -> ".join(self.objects),
        }

    def concerns(self, name: str) -> bool:
        """Whether it is about the object of that name, or drops its database."""
        return name in self.objects or f"{database_of(name)}.*" in self.objects

    def is_for(self, target: str) -> bool:
        """Whether a target has anything to do with it."""
        return not self.targets or target in self.targets

    @property
    def drops(self) -> bool:
        """Whether it drops a database, table or function."""
        return self.kind in {"DROP_DATABASE", "DROP_TABLE", "DROP_FUNCTION"}

    @property
    def rename(self) -> NameChange | None:
        """The rename that it is, if it is one."""
        return (
            NameChange(self.position, *self.objects) if self.kind == "ALTER_TABLE" and len(self.objects) == 2 else None
        )


@dataclass(frozen=True, slots=True)
class Scan:
    """What was found; `first` is the position from which on the queue was looked through, `whole` if that is all."""

    events: Sequence[SeenEvent]
    first: int
    whole: bool


def scan(queue: EventQueue, databases: frozenset[str], seconds: float = SECONDS) -> Scan:
    """The events of some databases of the source, in order: as many of the newest as there is time for."""
    first, last = queue.last + 1 - queue.size, queue.last
    until, seen, at = time.monotonic() + seconds, list[SeenEvent](), last + 1
    while at > first and time.monotonic() < until:
        begin = max(first, at - _CHUNK)
        # One after the other: large events are not held together.
        chunk = map(_seen, _between(queue, begin, at))
        seen[:0] = [it for it in chunk if any(database_of(name) in databases for name in it.objects)]
        at = begin
    return Scan(seen, at, at <= first)


def scan_after(queue: EventQueue, position: int, seconds: float = SECONDS) -> Scan:
    """The events after a position, in order: as many of the oldest as there is time for."""
    until, seen, at = time.monotonic() + seconds, list[SeenEvent](), position
    while at < queue.last and time.monotonic() < until and (chunk := queue.events(at, _CHUNK, _CHUNK_BYTES)):
        seen += map(_seen, chunk)
        at = chunk[-1].position
    return Scan(seen, position + 1, at >= queue.last)


def _between(queue: EventQueue, begin: int, end: int) -> Iterator[Queued]:
    while begin < end and (chunk := queue.events(begin - 1, end - begin, _CHUNK_BYTES)):
        yield from (it for it in chunk if it.position < end)  # some may have been trimmed meanwhile
        begin = chunk[-1].position + 1


def _seen(queued: Queued) -> SeenEvent:
    try:
        event = decode_event(queued.data)
    except PysyncError:
        return SeenEvent(queued.position, queued.at_ms / 1000, None, "unreadable", ())
    committed_at = None if event.instance == SIDECAR else event.time_ms / 1000
    names = objects_of(event, queued.position) or _attributes(event.attributes)
    kind, targets = str(event.kind), targets_of(event)
    return SeenEvent(queued.position, queued.at_ms / 1000, committed_at, kind, tuple(names), targets)


def _attributes(names: Mapping[str, str]) -> list[str]:
    """The object that an event names in its attributes, as a refresh does."""
    return [".".join(filter(None, (names.get("database", ""), names.get("table", ""))))]
