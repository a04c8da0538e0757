"""Capture: whether all that the source had at a moment is in the queue, and up to which position it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from dataclasses import dataclass, field

from pysync.base.bounded import Questions
from pysync.base.errors import PysyncError
from pysync.capture.gaps import GapWatch
from pysync.capture.notifications import NotificationLog, Poller
from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.metastore.access import MetastoreRef
from pysync.metastore.source import SOURCE, reading
from pysync.model.names import TableName
from pysync.queue import EventQueue
from pysync.replay.window.concerns import Concerns
from pysync.resync.healing import REQUESTED
from pysync.sidecar.waiting.verdict import WaitVerdict, cannot, waits

_ASK_SECONDS = 2.0
_SOURCE_SECONDS = 2.0  # for its answer, while somebody waits for one
_STATUS = "pysync status"


@dataclass(frozen=True, slots=True)
class Capture:
    """What brings the changes of the source: the listeners (`watch`) or the `poller` of its notification log.

    `unsettled` says of which objects the order of changes is not known (see `Healer.unsettled`). `clock` returns
    seconds that only grow, those of `unsettled`.
    """

    queue: EventQueue
    watch: GapWatch
    unsettled: Callable[[float], Set[TableName]]
    poller: Poller | None = None
    source: MetastoreRef | None = None
    clock: Callable[[], float] = time.monotonic
    questions: Questions = field(default_factory=Questions)

    def event_id(self) -> int:
        """The newest event id of the source's notification log. Raises PysyncError if there is none to read."""

        def read() -> int:
            with reading(self.source, _SOURCE_SECONDS) as source:
                return NotificationLog(source).expected()

        return self.questions.begin(SOURCE, read, _SOURCE_SECONDS).answer()

    def begin(self) -> int:
        """Begin to find out whether all that there is now has come; returns what `missing` wants to know."""
        return self.poller.begin_call() if self.poller else self.watch.calls.begin()

    def missing(self, call: int) -> WaitVerdict | None:
        """What has to come before all that there was when the call began has come; None when it has."""
        if self.poller is not None:
            behind = self.poller.caught_up() < call
            return waits("log", "the notification log is being read", _STATUS) if behind else None
        listeners = self.watch.roll.status(self.queue.intake.instances())
        if not listeners:
            return waits("no_listener", "no listener has reported, so it is unknown what the source has", _STATUS)
        behind_ones = (self._missing_of(it["instance"], it["state"], call) for it in listeners)
        return next((it for it in behind_ones if it is not None), None)

    def _missing_of(self, instance: str, state: str, call: int) -> WaitVerdict | None:
        if self.watch.has_come(instance, call):
            return None
        name = f"listener {instance}"
        if state != "heard":
            gone = f"{_STATUS}; if its metastore does not come back: pysync listener remove {instance}"
            return waits("listener", f"{name} does not report; what it holds is not known", gone)
        return waits("listener", f"changes that {name} still holds have to come, or it has to report", _STATUS)

    def is_unsettled(self, upto: float, concerned: Concerns) -> bool:
        """Whether the order of two changes of these objects is not known, of which one came up to then."""
        return any(concerned({str(it) if it.table else it.database}) for it in self.unsettled(upto))

    def gap(self, target: str) -> tuple[WaitVerdict | None, int]:
        """The gap that has to be closed first, and the position up to which events make known gaps good."""
        upto = 0
        for gap in self.queue.gaps.unclosed():
            # Of another target; or a person asked for a comparison, and nothing is known to be missing.
            of_another = gap.target not in {None, target}
            if of_another or gap.key.startswith(REQUESTED):
                continue
            if gap.upto is None:
                return waits("gap_open", f"changes may be missing: {gap.reason}", _STATUS), upto
            upto = max(upto, gap.upto)
        return None, upto


class Arrival:
    """Finds the position in the queue up to which is all that the source had when this was made.

    With `event_id`: all up to that id of the source's notification log. `concerned` are the objects, by their names at
    the source.
    """

    def __init__(self, capture: Capture, target: str, concerned: Concerns, event_id: int | None = None) -> None:
        self._capture = capture
        self._target = target
        self._concerned = concerned
        self._event_id = event_id
        self._ask_at = 0.0
        self._begin_at = 0.0
        self.begun = capture.clock()
        """Since when it is about everything that there was, by the clock of `capture`."""
        self._call = capture.begin() if event_id is None else None
        self._came_at: float | None = None

    def verdict(self) -> int | WaitVerdict:
        """The position, or what it waits for."""
        return self._has_id() or self._has_come() or self._is_certain()

    def _has_id(self) -> WaitVerdict | None:
        """Wait until the source has the event, and then as long as a callback may lag behind its commit."""
        if self._call is not None:
            return None
        now = self._capture.clock()
        if not self._begin_at and now >= self._ask_at:
            self._ask_at = now + _ASK_SECONDS
            try:
                current = self._capture.event_id()
            except PysyncError as error:
                return cannot("no_log", f"the source's notification log cannot be read: {error.message}", error.hint)
            if current >= (self._event_id or 0):
                self._begin_at = now + (0.0 if self._capture.poller else CLOSE_SECONDS)
        if not self._begin_at:
            return waits("source_behind", f"the source has no event {self._event_id} yet")
        if now < self._begin_at:
            return waits("listener", "HMS may still report the last changes to its listener")
        self.begun, self._call = now, self._capture.begin()
        return None

    def _has_come(self) -> WaitVerdict | None:
        if self._came_at is None and self._call is not None:
            if (missing := self._capture.missing(self._call)) is not None:
                return missing
            self._came_at = self._capture.clock()
        return None

    def _is_certain(self) -> int | WaitVerdict:
        """Gaps and changes of unknown order are made good by refreshes: those have to be queued."""
        gap, upto = self._capture.gap(self._target)
        if gap is not None:
            return gap
        if self._capture.is_unsettled(self._came_at or 0.0, self._concerned):
            return waits("order", "the order of two changes is not known; the object will be read at the source")
        return max(upto, self._capture.queue.last)
