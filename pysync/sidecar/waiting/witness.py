"""Witness: the events of a database in the queue on both sides of a position, as a proof needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pysync.base.errors import PysyncError
from pysync.capture.clocks import Clocks
from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.event_objects import objects_of
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.window.mapping import NameMapping
from pysync.sidecar.waiting.proof import ReportedChange
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

    def after(self, position: int) -> list[ReportedChange]:
        """The events behind the position, in order."""
        changes: list[ReportedChange] = []
        while events := self.queue.events(position, _CHUNK, _BYTES):
            changes += self._changes(events)
            position = events[-1].position
        return changes

    def before(self, position: int, earliest: float) -> list[ReportedChange]:
        """The last events up to the position, in order: those that may be close to one that came at `earliest`."""
        changes: list[ReportedChange] = []
        end = position + 1
        while end > 1:
            begin = max(1, end - _CHUNK)
            events = [it for it in self.queue.events(begin - 1, end - begin, _BYTES) if it.position < end]
            seen = list(self._changes(events))
            changes[:0] = seen
            # What came long before was changed long before, unless a spool held it: then its listener's time decides.
            if not events or (seen and max(it.at for it in seen) < earliest - 2 * CLOSE_SECONDS):
                return changes
            if events[-1].at_ms / 1000 < earliest - 2 * CLOSE_SECONDS:
                return changes
            end = begin
        return changes

    def _changes(self, events: list[Queued]) -> Iterator[ReportedChange]:
        for queued in events:
            change = self._of(queued)
            if change is not None and self.objects.concerned(change.keys):
                yield change

    def _of(self, queued: Queued) -> ReportedChange | None:
        try:
            event = decode_event(queued.data)
        except PysyncError:
            return ReportedChange(queued.position, "", None, queued.at_ms / 1000, None, frozenset())
        if event.kind in _NO_CHANGE:
            return None
        names = objects_of(event, queued.position) or _attributes(event)
        keys = frozenset(self.mapping.key(name) for name in names)
        at = event.time_ms / 1000 - (self.clocks.offset(event.instance) or 0.0)
        refresh = event.instance == SIDECAR
        return ReportedChange(
            queued.position, event.instance, event.attributes.get("thread"), at, event.kind, keys, refresh
        )


def _attributes(event: Event) -> list[str]:
    """The object that an event names in its attributes, as a refresh does."""
    database, table = event.attributes.get("database", ""), event.attributes.get("table", "")
    return [f"{database}.{table}" if table else database] if database else []
