"""The events of an object in the queue, over all names that it has had. Pure."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.errors import PysyncError
from pysync.model.change import targets_of
from pysync.model.event import SIDECAR
from pysync.model.named import objects_of
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.window.order import database_of

# --- Lives: the names that an object has had. One object after the other may have a name, so each has its time. Pure


@dataclass(frozen=True, slots=True, order=True)
class Rename:
    """At a position of the queue, `old` became `new`; names at the source."""

    position: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Span:
    """The object had this name from the position `after` to `upto`, the renames at both included."""

    name: str
    after: float = 0
    upto: float = math.inf

    def holds(self, name: str, position: int | None) -> bool:
        """Whether it was that object which had the name at the position; what has no position always counts."""
        return name == self.name and (position is None or self.after <= position <= self.upto)


Made = tuple[str, int]
"""A name, and a position at which an object was created under it."""


def names_over_time(name: str, renames: Iterable[Rename], made: Collection[Made] = ()) -> Sequence[Span]:
    """The names of the object that has the name now, or was the last to have it; its last name first.

    An object that was created under the name after the renames to it is another one than they report.
    """
    known = sorted(set(renames))
    begun = max([*(it.position for it in known if it.new == name), *(at for it, at in made if it == name)], default=0)
    later = list(_later(name, begun, known))
    steps = [*reversed(later), *_earlier(name, later[0].position if later else math.inf, known, made)]
    names = [steps[0].new if steps else name, *(it.old for it in steps)]
    bounds = [math.inf, *(it.position for it in steps), 0]
    return [Span(*it) for it in zip(names, bounds[1:], bounds[:-1], strict=True)]


def _later(name: str, after: float, known: Sequence[Rename]) -> Iterator[Rename]:
    """The renames of the object that had the name then, in order."""
    while step := next((it for it in known if it.old == name and it.position > after), None):
        yield step
        name, after = step.new, step.position


def _earlier(name: str, upto: float, known: Sequence[Rename], made: Collection[Made]) -> Iterator[Rename]:
    """The renames that led to the name, the newest first."""
    while step := next((it for it in reversed(known) if it.new == name and it.position < upto), None):
        if any(it == name and step.position < at < upto for it, at in made):
            return
        yield step
        name, upto = step.old, step.position


# --- Events: what the queue still has of some names, the newest first, within a bounded time

SECONDS = 1.0
"""How long the queue is looked through."""

_CHUNK = 500
_CHUNK_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Seen:
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
    def rename(self) -> Rename | None:
        """The rename that it is, if it is one."""
        return Rename(self.position, *self.objects) if self.kind == "ALTER_TABLE" and len(self.objects) == 2 else None


@dataclass(frozen=True, slots=True)
class Scan:
    """What was found; `first` is the position from which on the queue was looked through, `whole` if that is all."""

    events: Sequence[Seen]
    first: int
    whole: bool


def scan(queue: EventQueue, databases: frozenset[str], seconds: float = SECONDS) -> Scan:
    """The events of some databases of the source, in order: as many of the newest as there is time for."""
    first, last = queue.last + 1 - queue.size, queue.last
    until, seen, at = time.monotonic() + seconds, list[Seen](), last + 1
    while at > first and time.monotonic() < until:
        begin = max(first, at - _CHUNK)
        # One after the other: large events are not held together.
        chunk = map(_seen, _between(queue, begin, at))
        seen[:0] = [it for it in chunk if any(database_of(name) in databases for name in it.objects)]
        at = begin
    return Scan(seen, at, at <= first)


def scan_after(queue: EventQueue, position: int, seconds: float = SECONDS) -> Scan:
    """The events after a position, in order: as many of the oldest as there is time for."""
    until, seen, at = time.monotonic() + seconds, list[Seen](), position
    while at < queue.last and time.monotonic() < until and (chunk := queue.events(at, _CHUNK, _CHUNK_BYTES)):
        seen += map(_seen, chunk)
        at = chunk[-1].position
    return Scan(seen, position + 1, at >= queue.last)


def _between(queue: EventQueue, begin: int, end: int) -> Iterator[Queued]:
    while begin < end and (chunk := queue.events(begin - 1, end - begin, _CHUNK_BYTES)):
        yield from (it for it in chunk if it.position < end)  # some may have been trimmed meanwhile
        begin = chunk[-1].position + 1


def _seen(queued: Queued) -> Seen:
    try:
        event = decode_event(queued.data)
    except PysyncError:
        return Seen(queued.position, queued.at_ms / 1000, None, "unreadable", ())
    committed_at = None if event.instance == SIDECAR else event.time_ms / 1000
    names = objects_of(event, queued.position) or _attributes(event.attributes)
    kind, targets = str(event.kind), targets_of(event)
    return Seen(queued.position, queued.at_ms / 1000, committed_at, kind, tuple(names), targets)


def _attributes(names: Mapping[str, str]) -> list[str]:
    """The object that an event names in its attributes, as a refresh does."""
    return [".".join(filter(None, (names.get("database", ""), names.get("table", ""))))]
