"""The roll: the listeners that are expected to report, and the last report of each.

A listener is on the roll from when it is first heard until its metastore has ended: it sent its goodbye, the next one
on its spool reports its end, a new one of the same source has come since it fell silent, or a person strikes it off. So
one that is cut off or locked out is missed until it comes back, even by the next sidecar.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from pysync.capture.clocks import MOST_LISTENERS
from pysync.model.event import Event, Kind
from pysync.queue import EventQueue, Instance

_NOTE = "listeners"
# whoever has the token can make names up

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Entry:
    source: str
    is_new: bool = False  # no sidecar has heard of it before
    first: float | None = None  # heard in this process, by the clock; None: it has not been
    last: float | None = None
    heard_at: float | None = None  # seconds since 1970
    given: int = 0  # the last number that it says it has given to an event
    waiting: int = 0  # bytes
    lost: int = 0
    hive: str | None = None  # the version of its metastore, "" if it tells none; None: it has not reported yet
    behind_ms: int | None = None  # when the oldest change that has not come happened, as far as known
    lost_logged: bool = False  # its silence is in the log, and no sign of life since


@dataclass(slots=True)
class Roll:
    """What is known of the listeners, from any thread; `save` alone writes. `clock` gives seconds that only grow."""

    queue: EventQueue
    silence_seconds: float
    clock: Callable[[], float] = time.monotonic
    _entries: dict[str, _Entry] = field(default_factory=dict)
    _ended: set[str] = field(default_factory=set)
    _known: frozenset[str] = frozenset()
    _saved: str = "{}"
    _began: float = 0.0
    _empty_since: float | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Recall the roll of the last sidecar."""
        self._saved = self.queue.notes.get(_NOTE) or "{}"
        self._known = frozenset(it.instance for it in self.queue.intake.instances())
        self._entries = {name: _Entry(source) for name, source in json.loads(self._saved).items()}
        self._began = self.clock()
        self._empty_since = None if self._entries else time.time()

    def note_report(self, instance: str, source: str, *, given: int, waiting: int, lost: int, hive: str = "") -> None:
        """Note a listener's report: the last number that it gave, the bytes that wait there, the events lost.

        `hive` is the version of its metastore, if it tells it.
        One that has ended may do so once more: that does not count.
        """
        with self._lock:
            if instance in self._ended:
                return
            entry = self._seen(instance, source)
            entry.given, entry.waiting, entry.lost, entry.hive = given, waiting, lost, hive
            if waiting == 0:
                entry.behind_ms = None
            elif entry.behind_ms is None:
                entry.behind_ms = int(time.time() * 1000)

    def taken(self, event: Event) -> None:
        """An event of a listener has been queued."""
        if event.kind is Kind.GOODBYE:
            self.strike(event.instance)
            return
        with self._lock:
            # It was struck off, and yet it delivers: it lives.
            self._ended.discard(event.instance)
            entry = self._seen(event.instance, event.source)
            entry.behind_ms = event.time_ms if entry.waiting else None

    def refused(self, events: Iterable[Event]) -> None:
        """Events have come and could not be queued: they wait where they came from."""
        with self._lock:
            for event in events:
                entry = self._seen(event.instance, event.source)
                entry.behind_ms = min(event.time_ms, entry.behind_ms or event.time_ms)

    def strike(self, instance: str) -> bool:
        """Strike off a listener that has ended; False if it was not on the roll. Durable with the next `save`."""
        with self._lock:
            self._ended.add(instance)
        return self.forget(instance)

    def forget(self, instance: str) -> bool:
        """The same for one of which nobody knows that it has ended: it is back as soon as it is heard."""
        with self._lock:
            dropped = self._drop(instance)
        if dropped:
            log.info("listener_ended", instance=instance)
        return dropped

    def save(self) -> None:
        """Keep for the next sidecar who is on the roll, if that has changed. Raises QueueFull and QueueFailed."""
        with self._lock:
            for name in [name for name in self._entries if self._is_replaced(name)]:
                log.info("listener_replaced", instance=name)
                self._ended.add(name)
                self._drop(name)
            self._log_lost()
            text = json.dumps({name: entry.source for name, entry in self._entries.items()})
        if text != self._saved:
            self.queue.notes.put(_NOTE, text)
            self._saved = text

    def status(self, instances: Collection[Instance]) -> list[dict[str, Any]]:
        """As in `pysync status --json`; `instances` are those that the queue has events of."""
        known = {it.instance: it for it in instances}
        with self._lock:
            return [self._status_of(name, entry, known) for name, entry in self._entries.items()]

    def hive_versions(self, source: str) -> frozenset[str]:
        """The versions of Hive that the metastores of a source are of, by their last reports.

        Empty until each that is expected has reported, or is silent.
        """
        with self._lock:
            alive = [it.hive for it in self._entries.values() if it.source == source and not self._is_silent(it)]
        return frozenset(filter(None, alive)) if None not in alive else frozenset()

    def empty_since(self) -> float | None:
        """Since when no listener is on the roll, in seconds since 1970; None while one is."""
        with self._lock:
            return self._empty_since

    def _seen(self, instance: str, source: str) -> _Entry:
        """The entry of a listener that has just given a sign of life."""
        entry = self._entries.get(instance)
        if entry is None:
            entry = _Entry(source, is_new=instance not in self._known)
            # One too many gets an entry that nobody keeps: it is heard, but not missed.
            if len(self._entries) < MOST_LISTENERS:
                self._entries[instance] = entry
            self._empty_since = None
        if (entry.last is None or entry.lost_logged) and instance in self._entries:
            log.info("listener_connected", instance=instance, source=entry.source)
        entry.lost_logged = False
        entry.last = self.clock()
        entry.first = entry.last if entry.first is None else entry.first
        entry.heard_at = time.time()
        return entry

    def _drop(self, instance: str) -> bool:
        if self._entries.pop(instance, None) is None:
            return False
        if not self._entries:
            self._empty_since = time.time()
        return True

    def _silence(self, entry: _Entry) -> float:
        return self.clock() - (self._began if entry.last is None else entry.last)

    def _is_silent(self, entry: _Entry) -> bool:
        return self._silence(entry) > self.silence_seconds

    def _log_lost(self) -> None:
        for name, entry in self._entries.items():
            if self._is_silent(entry) and not entry.lost_logged:
                seconds = round(self._silence(entry), 1)
                log.warning("listener_lost", instance=name, source=entry.source, seconds=seconds)
                entry.lost_logged = True

    def _is_replaced(self, name: str) -> bool:
        entry = self._entries[name]
        return self._is_silent(entry) and any(
            it.is_new and it.source == entry.source and it.first is not None and it.first > (entry.last or 0.0)
            for it in self._entries.values()
        )

    def _status_of(self, name: str, entry: _Entry, known: Mapping[str, Instance]) -> dict[str, Any]:
        silent = self._is_silent(entry)
        there = known.get(name)
        come = there.received if there else 0
        return {
            "instance": name,
            "source": entry.source,
            "state": "silent" if silent else "expected" if entry.last is None else "heard",
            "heard_at": entry.heard_at,
            "waiting_bytes": entry.waiting,
            "waiting_events": max(0, entry.given - come - entry.lost) if entry.waiting else 0,
            "waiting_since": None if entry.behind_ms is None else entry.behind_ms / 1000,
            "lost": entry.lost,
            "hive_version": entry.hive or None,
        }
