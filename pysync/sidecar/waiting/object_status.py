"""Object status: where a table or database is at a target, as `REPL STATUS` shows it for a replica."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import meant, quoted
from pysync.model.event import SIDECAR
from pysync.model.event_objects import objects_of
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.drain import Drain
from pysync.replay.window.translate import Translator
from pysync.sidecar.waiting.absence import Absence, AbsenceLook
from pysync.sidecar.waiting.capture import Capture
from pysync.sidecar.waiting.existence import assert_known
from pysync.sidecar.waiting.reaching import Objects, Reaching
from pysync.sidecar.waiting.waits import Request, name_of
from pysync.sidecar.why.ends import SILENT, EndsReader

_CHUNK = 500
_BYTES = 16 * 1024 * 1024
_MOST_STATUS_SECONDS = 1.0


@dataclass(slots=True)
class _Waiting:
    """The events of the objects that the target does not have; `whole`: all of them were looked at."""

    events: int = 0
    committed_at: float | None = None
    event_id: int | None = None
    whole: bool = True

    def add(self, committed_at: float, event_id: int | None) -> None:
        self.events += 1
        self.committed_at = min(committed_at, self.committed_at or committed_at)
        if event_id:
            self.event_id = min(event_id, self.event_id or event_id)


@dataclass(frozen=True, slots=True)
class ObjectStatus:
    """Answers `object` beside a running sidecar."""

    queue: EventQueue
    drains: Mapping[str, Drain]
    capture: Capture
    ends: EndsReader

    def __call__(self, request: Request) -> dict[str, Any]:
        """The answer, as in docs/status.md. Raises UsageError for a name that nobody has, and an unknown target."""
        name, wanted = name_of(request.get("object")), request.get("target")
        if wanted is not None and wanted not in self.drains:
            raise UsageError(f"the sidecar has no target {quoted(str(wanted))}", meant(str(wanted), self.drains))
        drains = [it for it in self.drains.values() if wanted in {None, it.name}]
        assert_known(self.ends, drains, name)
        looks = [self._look(it, name) for it in drains]
        source_id, why_not = self._source_id()
        targets = [{**self._of(drain, name), **_seen(look)} for drain, look in zip(drains, looks, strict=True)]
        return {"object": name, "source_event_id": source_id, "no_event_id": why_not, "targets": targets}

    def _source_id(self) -> tuple[int | None, str | None]:
        try:
            return self.capture.event_id(), None
        except PysyncError as error:
            return None, error.message

    def _look(self, drain: Drain, name: str) -> AbsenceLook | None:
        """Begin to look whether the target has it; None where it is not asked, as it would not answer."""
        if not drain.settings.enabled or drain.progress.state in SILENT:
            return None
        return AbsenceLook(self.ends, drain.settings, name, seconds=self.ends.seconds)

    def upto(self, drain: Drain, name: str) -> int | None:
        """The event id of the source's log up to which everything of an object of the source is at the target."""
        event_id: int | None = self._of(drain, name)["event_id"]
        return event_id

    def _of(self, drain: Drain, name: str) -> dict[str, Any]:
        objects = Objects.of(name, drain.translator.mapping)
        reaching = Reaching(drain, self.queue, objects)
        hindered, position = reaching.hindered(), reaching.position()
        parked = reaching.parked()
        waiting = self._waiting(drain.translator, objects, position)
        pause, gap = drain.paused(), self.capture.gap(drain.name)[0]
        return {
            "target": drain.name,
            "name": drain.translator.mapping.key(name),
            "state": str(drain.progress.state),
            "hindered": hindered.text if hindered else None,
            "position": position,
            "last": self.queue.last,
            "event_id": self._event_id(waiting, bool(parked) or gap is not None or hindered is not None),
            "waiting": waiting.events,
            "waiting_whole": waiting.whole,
            "lag_seconds": _lag(waiting, time.time()),
            "parked": [{"position": at, "tables": sorted(keys)} for at, keys in sorted(parked.items())],
            "gap": gap.text if gap else None,
            "paused": pause and pause.reason,
            "pinned": bool(objects.databases.intersection(drain.pins.databases())),
        }

    def _event_id(self, waiting: _Waiting, unsure: bool) -> int | None:
        """The event id of the source's log up to which all is at the target; None if it is not known."""
        poller = self.capture.poller
        come = poller.status()["position"] if poller else self.capture.watch.certain_id()
        if not come or unsure or not waiting.whole:
            return None
        return min(come, waiting.event_id - 1) if waiting.event_id else int(come) if not waiting.events else None

    def _waiting(self, translator: Translator, objects: Objects, position: int) -> _Waiting:
        waiting, until = _Waiting(), time.monotonic() + _MOST_STATUS_SECONDS
        while events := self.queue.events(position, _CHUNK, _BYTES):
            for queued in events:
                _add(waiting, queued, translator.mapping.key, objects)
            position = events[-1].position
            if time.monotonic() > until:
                waiting.whole = position >= self.queue.last
                break
        return waiting


def _seen(look: AbsenceLook | None) -> dict[str, Any]:
    """What a look at both ends has shown."""
    absence = Absence(silent={"target": ""}) if look is None else look.absence()
    return {"missing": list(absence.names), "not_looked_at": list(absence.silent)}


def _add(waiting: _Waiting, queued: Queued, named: Callable[[str], str], objects: Objects) -> None:
    try:
        event = decode_event(queued.data)
    except PysyncError:
        return
    names = objects_of(event, queued.position)
    if names and objects.concerned(frozenset(map(named, names))):
        at = queued.at_ms if event.instance == SIDECAR else event.time_ms
        waiting.add(at / 1000, event.notification_id)


def _lag(waiting: _Waiting, now: float) -> float:
    return 0.0 if waiting.committed_at is None else round(max(0.0, now - waiting.committed_at), 3)
