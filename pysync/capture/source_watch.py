"""Source watch: whether the source's metastore answers, and whether it is older than the events that came from it.

It is older once its database was restored from a backup. That is a gap: source and targets are compared.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any

import structlog
from thrift.Thrift import TException

from pysync.base.errors import PysyncError
from pysync.capture.gaps import GapWatch
from pysync.capture.latest_objects import LatestObjects, LatestState
from pysync.metastore.errors import MetastoreCallFailed
from pysync.metastore.reads import Reads
from pysync.model.change import Change, decode_change
from pysync.model.event import SIDECAR, Kind
from pysync.model.event_objects import named_in
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.worker import Worker

_EVERY_SECONDS = 5.0
_ASK_SECONDS = 30.0
_MOST_EVENTS = 200
_MOST_BYTES = 64 * 1024 * 1024
_NOTE = "latest-objects"

log = structlog.get_logger(__name__)


class SourceWatch:
    """The worker that asks the source each half minute, and a few seconds after a metastore has begun.

    `source` opens the source. `watch` knows the listeners, which begin with a metastore. `has_come` says whether all
    that the source had at a moment (monotonic seconds) is in the queue; `missed` when events were last found missing.
    `on_answer` is called each time that the source has answered.
    """

    def __init__(
        self,
        queue: EventQueue,
        source: Callable[[], AbstractContextManager[Reads]],
        watch: GapWatch,
        *,
        has_come: Callable[[float], bool],
        missed: Callable[[], int] = lambda: 0,
        on_answer: Callable[[], object] = lambda: None,
    ) -> None:
        self._queue, self._source, self._watch = queue, source, watch
        self._has_come, self._missed, self._on_answer = has_come, missed, on_answer
        self._missed_at = missed()
        note = json.loads(queue.notes.get(_NOTE) or "{}")
        self._objects = LatestObjects(LatestState(**it) for it in note.get("states", ()))
        self._position: int = note.get("position", 0)
        self._noted = note
        self._known_listeners = frozenset[str]()
        self._suspected: list[LatestState] = []
        self._answered_at = -math.inf
        self.worker = Worker("source", self.turn, every=_EVERY_SECONDS, retry=_EVERY_SECONDS)

    def last_contact(self) -> float | None:
        """When the source has last answered, in seconds since 1970; None if it has not yet."""
        return None if math.isinf(self._answered_at) else time.time() - (time.monotonic() - self._answered_at)

    def turn(self) -> None:
        """Note what has come, and ask the source if that is due. Raises PysyncError if it cannot be read."""
        former = list(self._objects.states)
        has_come = self._has_come(self._answered_at)
        self._note_events()
        if (missed_at := self._missed()) != self._missed_at:  # what events say is not all that happened
            self._objects, self._suspected, self._missed_at = LatestObjects(), [], missed_at
        try:
            if self._suspected or self._has_begun() or time.monotonic() - self._answered_at >= _ASK_SECONDS:
                # What was known before is asked for, too, as many events may have come since a metastore began.
                remaining = [it for it in former if it in self._objects.states]
                states = [it for it in dict.fromkeys([*remaining, *self._objects.latest()]) if it.certain]
                self._ask(states, has_come=has_come)
        finally:  # also while the source is away
            self._objects.forget_oldest(self._suspected)
            self._save()

    def _has_begun(self) -> bool:
        """Whether a metastore has begun, until all that its listener had is delivered."""
        if self._watch.reporting_listeners() == self._known_listeners:
            return False
        if self._watch.is_settled():
            self._known_listeners = self._watch.reporting_listeners()
        return True

    def _note_events(self) -> None:
        """Note the events that have come since the last turn. After too many of them nothing is known for certain."""
        if self._queue.last - self._position > _MOST_EVENTS or self._position + 1 < self._queue.first:
            self._objects, self._suspected, self._position = LatestObjects(), [], self._queue.last
        for queued in self._queue.events(self._position, _MOST_EVENTS, _MOST_BYTES):
            self._note(queued)
            self._position = queued.position

    def _note(self, queued: Queued) -> None:
        change = _change(queued)
        if change is not None and change.kind is not Kind.REFRESH:
            self._objects.note(change)
        elif change is None and (name := named_in(queued.data)):
            self._objects.doubt(name)
        elif change is not None and change.table_name is not None and change.event.instance != SIDECAR:
            self._objects.doubt(change.table_name)  # its change was too long to be sent

    def _ask(self, states: Iterable[LatestState], *, has_come: bool) -> None:
        """Ask for these objects. If one is older twice in a row, and all that there was the first time had come since,
        that is a gap.
        """
        with self._source() as source:
            source.database("default")
            older = {it: why for it in states if (why := _contradiction(source, it))}
        self._answered_at = time.monotonic()
        self.worker.succeeded()
        self._on_answer()
        certain = [f"{it} {why}" for it, why in older.items() if it in self._suspected]
        if not (certain and has_come and self._has_come(-math.inf)):
            self._suspected = list(older)
            return
        reason = f"the source's metastore is older than its events, as after a restore: {certain[0]}"
        log.error("source_older", reason=reason, objects=certain)
        self._queue.gaps.open(f"older-source:{time.time_ns()}", reason)
        self._objects, self._suspected = LatestObjects(), []

    def _save(self) -> None:
        note = {"position": self._position, "states": [asdict(it) for it in self._objects.states]}
        if note != self._noted:
            self._queue.notes.put(_NOTE, json.dumps(note))
            self._noted = note


def _change(queued: Queued) -> Change | None:
    """The change of an event; None if it cannot be read, or is not committed yet."""
    try:
        event = decode_event(queued.data)
        return None if event.uncommitted else decode_change(event, queued.position)
    except PysyncError:
        return None


def _contradiction(source: Reads, state: LatestState) -> str:
    """What of the object is older at the source; "" if nothing is, or the source fails to read this one."""
    try:
        return state.contradiction(_found(source, state))
    except (TException, MetastoreCallFailed):
        return ""


def _found(source: Reads, state: LatestState) -> Any | None:
    """The object as it is at the source, or None. Raises what the source does."""
    if not state.table:
        return source.database(state.database)
    table = source.table(state.database, state.table)
    if table is None or not state.partition:
        return table
    return next(iter(source.partitions_by_name(state.database, state.table, [state.partition])), None)
