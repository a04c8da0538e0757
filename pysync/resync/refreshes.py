"""Refreshes: events of the sidecar's own that ask targets to read an object again (docs/wire-format.md)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable

from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue
from pysync.resync.wanted import Names

LIVING = "living"
"""The queue's note of when the living source was last read for its targets, in milliseconds since 1970."""


class Refreshes:
    """Appends refreshes to the queue, from any thread."""

    def __init__(self, queue: EventQueue, source: str) -> None:
        self._queue = queue
        self.source = source
        """The cluster that is read."""
        self._lock = threading.Lock()
        self._sequence = max((it.highest for it in queue.intake.instances() if it.instance == SIDECAR), default=0)
        # After a restart the position of the last refresh is not known. The queue's end is a safe bound.
        self.upto = queue.last if self._sequence else 0
        """A position that no refresh is behind."""
        self.asked_at = -math.inf
        """When the last one was queued (monotonic seconds)."""

    def ask(self, wanted: Iterable[Names], *, live_source: bool = True) -> int:
        """Queue a refresh of each; returns a position that none of them is behind. Raises as `Intake.append`.

        `live_source` is whether they read the source, and not a dump of it; that is noted.
        """
        with self._lock:
            if live_source:
                self._queue.notes.put(LIVING, str(round(time.time() * 1000)))
            entries = [self._entry(number, names) for number, names in enumerate(wanted, self._sequence + 1)]
            self._queue.intake.append_all(entries)
            self._sequence += len(entries)
            self.upto, self.asked_at = self._queue.last, time.monotonic()
            return self.upto

    def _entry(self, sequence: int, names: Names) -> Entry:
        now = int(time.time() * 1000)
        event = Event(Kind.REFRESH, self.source, SIDECAR, sequence, now, attributes=dict(names))
        return Entry(SIDECAR, sequence, self.source, encode_event(event))
