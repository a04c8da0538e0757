"""Witness: the events of a database in the queue on both sides of a position, as a proof needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.capture.roll import Clocks
from pysync.errors import PysyncError
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.named import objects_of
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.mapping import NameMapping
from pysync.sidecar.waiting.proof import Told
from pysync.sidecar.waiting.reaching import Objects

_CHUNK = 200
_BYTES = 16 * 1024 * 1024
_NO_CHANGE = frozenset({Kind.GOODBYE, Kind.INSERT})


@dataclass(frozen=True, slots=True)
class Witness:
    """Reads the queue for one target's names of some objects; `clocks` are those of the listeners."""

    queue: EventQueue
    mapping: NameMapping
    objects: Objects
    clocks: Clocks

    def after(self, position: int) -> list[Told]:
        """The events behind the position, in order."""
        found: list[Told] = []
        while events := self.queue.events(position, _CHUNK, _BYTES):
            found += self._told(events)
            position = events[-1].position
        return found

    def before(self, position: int, earliest: float) -> list[Told]:
        """The last events up to the position, in order: those that may be close to one that came at `earliest`."""
        found: list[Told] = []
        end = position + 1
        while end > 1:
            begin = max(1, end - _CHUNK)
            events = [it for it in self.queue.events(begin - 1, end - begin, _BYTES) if it.position < end]
            told = list(self._told(events))
            found[:0] = told
            # What came long before was changed long before, unless a spool held it: then its listener's time tells.
            if not events or (told and max(it.at for it in told) < earliest - 2 * CLOSE_SECONDS):
                return found
            if events[-1].at_ms / 1000 < earliest - 2 * CLOSE_SECONDS:
                return found
            end = begin
        return found

    def _told(self, events: list[Queued]) -> Iterator[Told]:
        for queued in events:
            told = self._of(queued)
            if told is not None and self.objects.concerned(told.keys):
                yield told

    def _of(self, queued: Queued) -> Told | None:
        try:
            event = decode_event(queued.data)
        except PysyncError:
            return Told(queued.position, "", None, queued.at_ms / 1000, None, frozenset())
        if event.kind in _NO_CHANGE:
            return None
        names = objects_of(event, queued.position) or _attributes(event)
        keys = frozenset(self.mapping.key(name) for name in names)
        at = event.time_ms / 1000 - (self.clocks.offset(event.instance) or 0.0)
        refresh = event.instance == SIDECAR
        return Told(queued.position, event.instance, event.attributes.get("thread"), at, event.kind, keys, refresh)


def _attributes(event: Event) -> list[str]:
    """The object that an event names in its attributes, as a refresh does."""
    database, table = event.attributes.get("database", ""), event.attributes.get("table", "")
    return [f"{database}.{table}" if table else database] if database else []
