"""Gaps: signs that a change of the source may never have come.

Every event has a number of its listener's. A number that is missing although the listener says that it has nothing
left is a gap; so is a listener that falls silent without its goodbye: its metastore was killed, perhaps between a
commit and its callback. A listener that was killed while no sidecar ran, and left nothing in its spool, is reported
by the next metastore on that spool.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from typing import Any

from pysync.base.text import span
from pysync.capture.clocks import Clocks
from pysync.capture.hive_version import FoundVersion, valid_version
from pysync.capture.roll import Roll
from pysync.capture.roll_calls import RollCalls
from pysync.model.event import SIDECAR, Event
from pysync.queue import EventQueue, Instance

_HOLE_SECONDS = 5.0
_LONGEST_TICK = 2.0
_LONGEST_NAME = 200
REPORTED = "reported:"
"""How the keys of gaps begin that another cluster has reported."""
MOST = 2**53
"""The largest number of an event, or of bytes, that is believed."""
_MOST_LISTENERS = 10_000
"""How many listeners may report to one sidecar: whoever has the token can make names up."""


@dataclass(slots=True)
class _Listener:
    """What is known of one listener, by its reports and events, since the sidecar started."""

    silent: float = 0.0  # seconds
    idle: bool = False  # it says that it has nothing left to deliver
    highest: int = 0  # the last number that it says it has given
    holes: tuple[tuple[int, int], ...] = ()
    held: float = 0.0  # seconds for which those holes have been there
    ended: bool = False


@dataclass(slots=True)
class GapWatch:
    """Finds gaps and records them in the queue. `silence_seconds` is how long a listener may say nothing.

    `roll` has the listeners that are expected to report, for people; `clocks` how far their clocks are from
    ours; `calls` which of them have reported since a moment. `hive` is told the versions of the source's metastores.
    """

    queue: EventQueue
    silence_seconds: float
    roll: Roll = field(init=False)
    clocks: Clocks = field(default_factory=Clocks)
    calls: RollCalls = field(default_factory=RollCalls)
    hive: FoundVersion | None = None
    _listeners: dict[str, _Listener] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _notification_id: int = 0
    _reporting: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Recall the roll."""
        self.roll = Roll(self.queue, self.silence_seconds)

    def report(self, payload: str) -> str:
        """Note what a listener reports of itself; returns what to answer (see pysync.capture.roll_calls).

        Nothing ("") if the report cannot be read, or the listener is one too many.

        A report may also say that an earlier listener has ended. That is on disk when this returns, or QueueFull or
        QueueFailed is raised. From any thread.
        """
        try:
            report: dict[str, Any] = json.loads(payload)
            instance, highest, waiting = (
                str(report["instance"]),
                _number(report["sequence"]),
                _number(report["waiting"]),
            )
            source, lost = str(report.get("source", "")), _number(report.get("lost", 0))
            sent_ms = _number(report["now"]) if "now" in report else None
        except (ValueError, TypeError, KeyError, RecursionError):
            return ""
        if len(instance) > _LONGEST_NAME or len(source) > _LONGEST_NAME or self._is_one_too_many(instance):
            return ""
        if report.get("ended") is True:
            self._end(instance)
            return "ok"
        if sent_ms is not None:
            self.clocks.add_report(instance, sent_ms)
        with self._lock:
            listener = self._alive(instance)
            listener.highest, listener.idle = highest, waiting == 0
        hive = valid_version(report.get("hive"))
        self.roll.note_report(instance, source, given=highest, waiting=waiting, lost=lost, hive=hive)
        return self.calls.answer_report(instance, highest, report)

    def note_event(self, instance: str, notification_id: int | None = None) -> None:
        """Note that an event came from a listener, and its id in the notification log, if any. From any thread."""
        with self._lock:
            self._alive(instance)
            self._notification_id = max(self._notification_id, notification_id or 0)

    def reporting_listeners(self) -> frozenset[str]:
        """The listeners that have reported, or sent an event, since the sidecar started."""
        with self._lock:
            return frozenset(self._reporting)

    def is_settled(self) -> bool:
        """Whether no listener that is alive has events left to deliver."""
        with self._lock:
            return all(it.idle or it.ended for it in self._listeners.values())

    def certain_id(self) -> int:
        """The id in the notification log up to which every event has surely come; 0 if it is not known now."""
        with self._lock:
            calm = all(
                it.idle and not it.holes and not it.silent > _LONGEST_TICK * 2 for it in self._listeners.values()
            )
            return self._notification_id if calm else 0

    def retire(self) -> None:
        """Expect no listener any more, because changes come in another way; one that is heard all the same counts."""
        for instance in self._instances():
            if _is_listener(instance.instance):
                with self._lock:
                    self._listeners.setdefault(instance.instance, _Listener()).ended = True
                self.roll.strike(instance.instance)

    def goodbye(self, instance: str, sequence: int) -> None:
        """Note, durably, that an event was the last of a listener whose metastore ended in order."""
        self.queue.notes.put(f"goodbye:{instance}", str(sequence))

    def has_come(self, instance: str, call: int) -> bool:
        """Whether every change that a listener had acknowledged when a roll call began has come.

        A number that will never come counts as come once that is a gap: then it is the gap that has to be closed.
        """
        answer = self.calls.answered(instance)
        if answer is None or answer.call < call:
            return False
        there = next((it for it in self.queue.intake.instances() if it.instance == instance), None)
        known = there or Instance(instance, "", 0, 0, (), 0, 0)
        holes = _holes(known, _Listener(highest=answer.sequence))
        return all(
            first > answer.sequence or self.queue.gaps.is_known(_missing(instance, first, last))
            for first, last in holes
        )

    def lost(self, event: Event, cluster: str) -> None:
        """Record, durably, that a cluster to which this one replicates may have lost changes, as the event says."""
        reason = f"{cluster} may have lost changes"
        self.queue.gaps.open(f"{REPORTED}{event.instance}:{event.sequence}", reason)

    def check(self, seconds: float) -> int:
        """Record the gaps there are now; returns how many are new. `seconds` have passed since the last look.

        At most two of them count: a sidecar that was stopped itself must not take that for silence.
        """
        gaps = 0
        for instance in self._instances():
            if _is_listener(instance.instance):
                gaps += self._check_instance(instance, min(seconds, _LONGEST_TICK))
        self.roll.save()
        if self.hive is not None:
            self.hive.note(self.roll.hive_versions(self.hive.source))
        return gaps

    def _is_one_too_many(self, instance: str) -> bool:
        with self._lock:
            return len(self._listeners) >= _MOST_LISTENERS and instance not in self._listeners

    def _end(self, name: str) -> None:
        """Note that a listener has ended and its spool is delivered: what has not come by now never will."""
        if not _is_listener(name):
            return
        with self._lock:
            self._listeners.setdefault(name, _Listener()).ended = True
        self.roll.strike(name)
        for instance in self._instances():
            if instance.instance == name:
                self._record_end(instance)

    def _instances(self) -> list[Instance]:
        """The listeners that events came from, and those that have only reported."""
        known = {it.instance: it for it in self.queue.intake.instances()}
        with self._lock:
            silent = [Instance(it, "", 0, 0, (), 0, 0) for it in self._listeners if it not in known]
        return [*known.values(), *silent]

    def _alive(self, instance: str) -> _Listener:
        """The listener, which has just given a sign of life."""
        listener = self._listeners.setdefault(instance, _Listener())
        listener.silent, listener.ended = 0.0, False
        self._reporting.add(instance)
        return listener

    def _check_instance(self, instance: Instance, seconds: float) -> int:
        with self._lock:
            listener = self._listeners.setdefault(instance.instance, _Listener())
            listener.silent += seconds
            over = not listener.ended and listener.silent >= self.silence_seconds
            listener.ended = listener.ended or over
            holes = _holes(instance, listener)
            listener.held = listener.held + seconds if holes == listener.holes else 0.0
            listener.holes = holes
            certain = holes and listener.held >= _HOLE_SECONDS and (listener.idle or listener.ended)
        gaps = self._record_end(instance) if over else 0
        return gaps + (self._record_holes(instance, holes) if certain else 0)

    def _record_end(self, instance: Instance) -> int:
        # Only as its last event: a listener that has sent more since did not end in order.
        if self.queue.notes.get(f"goodbye:{instance.instance}") == str(instance.highest):
            return 0
        key = f"ended:{instance.instance}:{instance.highest}"
        return self._record(
            key, f"metastore {instance.instance} was killed or disconnected: its listener did not report a shutdown"
        )

    def _record_holes(self, instance: Instance, holes: tuple[tuple[int, int], ...]) -> int:
        reasons = (f"{span('event', *hole)} of metastore {instance.instance} did not arrive" for hole in holes)
        keys = (_missing(instance.instance, *hole) for hole in holes)
        return sum(self._record(key, reason) for key, reason in zip(keys, reasons, strict=True))

    def _record(self, key: str, reason: str) -> int:
        return int(self.queue.gaps.open(key, reason))


def _missing(instance: str, first: int, last: int) -> str:
    """The key of the gap that these numbers are."""
    return f"missing:{instance}:{first}-{last}"


def _number(value: object) -> int:
    """A number as listeners report it. Raises ValueError for any other, which would get into logs and the queue."""
    # Not isinstance: true and false are ints, too.
    if type(value) is not int or not 0 <= value <= MOST:
        raise ValueError("this is not a valid number of events or bytes")
    return value


def _is_listener(name: str) -> bool:
    return name != SIDECAR and ":" not in name  # as in notification-log:SOURCE


def _holes(instance: Instance, listener: _Listener) -> tuple[tuple[int, int], ...]:
    """The numbers that have not come, those after the last one included."""
    tail = ((instance.highest + 1, listener.highest),) if listener.highest > instance.highest else ()
    return (*instance.missing, *tail)
