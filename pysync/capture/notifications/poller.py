"""Poller: the thread that takes the notification log of the source into the queue, where there is no listener.

Every event is appended before the position moves past it: an event may come twice, and none is lost. What cannot be
told (rows the log has forgotten, a message that cannot be read) is reported as a gap, again before the position moves.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import structlog
from tenacity import (
    RetryCallState,
    RetryError,
    Retrying,
    retry_if_exception,
    sleep_using_event,
    stop_when_event_set,
    wait_random_exponential,
)
from thrift.Thrift import TException

from pysync.capture.notifications.log import Notification, NotificationLog, NotificationLogEmpty, NotificationLogRefused
from pysync.capture.notifications.messages import Stamp, UndecodableMessage, decode_notification
from pysync.capture.notifications.reader import Batch, Position, begin, read
from pysync.metastore.access import Where
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue, QueueClosed, QueueFailed, QueueFull
from pysync.worker import Worker

_FIRST_WAIT_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 30.0
_BUG_WAIT_SECONDS = 5.0
_SETTLE_SECONDS = 60.0
"""For so long after the last event the last ids are read again: an event may yet come that shares one of them."""

_PASSING = (MetastoreError, NotificationLogRefused, QueueFull, QueueFailed, TException)

log = structlog.get_logger(__name__)


def instance_of(source: str) -> str:
    """The instance under which the events of a source's notification log are queued; its position's key, too."""
    return f"notification-log:{source}"


class Poller:
    """Polls the log of the metastore at `where` every `poll_seconds`, and at once while there is more.

    The first start begins with what comes next; every later one where the last ended. `on_gap` is called in the
    poller's thread with one line, the same for the same gap if it is found again; what it raises is retried.
    """

    def __init__(
        self, queue: EventQueue, source: str, where: Where, on_gap: Callable[[str], None], *, poll_seconds: float = 1.0
    ) -> None:
        self.instance = instance_of(source)
        self._intake, self._notes = queue.intake, queue.notes
        self._source = source
        self._where = where
        self._on_gap = on_gap
        self._poll_seconds = poll_seconds
        self._position: Position | None = None
        self._settled_at = time.monotonic() + _SETTLE_SECONDS  # a start, too, looks for what comes late
        self._counts = {"events": 0, "ignored": 0, "gaps": 0}
        self.worker = Worker(
            "notification-log",
            self._session,
            # A session polls until it is stopped, or fails.
            every=0.0,
            retry=_BUG_WAIT_SECONDS,
        )

    # --- from any thread

    def start(self) -> None:
        """Begin; does not wait for the source."""
        self.worker.start()

    def stop(self) -> None:
        """Ask it to end after the read in hand; returns at once."""
        self.worker.stop()

    def join(self, timeout: float) -> bool:
        """Wait for the end; False when the source still owes an answer (what it says is read again)."""
        return self.worker.join(timeout)

    def status(self) -> dict[str, Any]:
        """State, position, counts since the start and the last error, as JSON values; times are seconds since 1970."""
        position, told = self._position, self.worker.status()
        return {
            "instance": self.instance,
            "position": position and position.last,
            "state": told["state"],
            "counts": dict(self._counts),
            "last_error": told["last_error"],
        }

    # --- in its own thread

    def _session(self) -> None:
        with suppress(RetryError):  # stopped while it waited
            self._poll()

    def _poll(self) -> None:
        retrying = Retrying(
            retry=retry_if_exception(_passes),
            wait=wait_random_exponential(_FIRST_WAIT_SECONDS, max=_LONGEST_WAIT_SECONDS),
            stop=stop_when_event_set(self.worker.stopping),
            sleep=sleep_using_event(self.worker.stopping),
            before_sleep=self._waits,
        )
        with Metastore(self._where) as metastore:
            source = NotificationLog(metastore)
            self._settled_at = time.monotonic() + _SETTLE_SECONDS
            while not self.worker.stopping.is_set():
                if not retrying(self._turn, source):
                    self.worker.stopping.wait(self._poll_seconds)

    def _turn(self, source: NotificationLog) -> bool:
        """One read; True if there is more at once."""
        position = self._position = self._position or self._known(source)
        try:
            current = source.expected() if not position.last else source.current()
        except NotificationLogEmpty as error:
            self.worker.waits(str(error))
            return False
        more = (current != position.last or time.monotonic() < self._settled_at) and self._read(source, current)
        self.worker.well()
        return more

    def _known(self, source: NotificationLog) -> Position:
        """Where the last start ended. The first one begins here, and so does one whose note cannot be read."""
        noted = self._notes.get(self.instance)
        try:
            if noted is not None:
                return Position.from_json(noted)
        except ValueError:
            self._gap("the position in the notification log was lost")
        position = begin(source)
        self._notes.put(self.instance, position.to_json())
        log.info("polling_started", source=self._source, position=position.last)
        return position

    def _read(self, source: NotificationLog, current: int) -> bool:
        position = self._position or Position(0)
        batch = read(source, position, current)
        if batch.after != position:
            self._settled_at = time.monotonic() + _SETTLE_SECONDS
            self._take(source, batch)
        return batch.more

    def _take(self, source: NotificationLog, batch: Batch) -> None:
        """Queue what was read, then report what is missing, then move on: in this order, so that nothing is lost."""
        entries, lost = self._decoded(source, batch.fresh)
        self._intake.append_all(entries)
        for reason in [batch.gap, *lost]:
            if reason is not None:
                self._gap(reason)
        self._notes.put(self.instance, batch.after.to_json())
        self._position = batch.after
        self._counts["events"] += len(entries)
        self._counts["ignored"] += len(batch.fresh) - len(entries) - len(lost)

    def _decoded(self, source: NotificationLog, rows: Sequence[Notification]) -> tuple[list[Entry], list[str]]:
        """The rows as events to queue, and what cannot be read."""
        entries: list[Entry] = []
        lost = []
        first = self._highest() + 1
        for row in rows:
            # Numbered by what is queued, not by row: rows that are left out must not look like events that never came.
            stamp = Stamp(self._source, self.instance, first + len(entries))
            try:
                event = decode_notification(row, stamp, source.metastore.database)
                if event is not None:
                    entries.append(Entry(self.instance, event.sequence, self._source, encode_event(event)))
            except (UndecodableMessage, ValueError) as error:  # ValueError: larger than the queue takes
                self._intake.keep_unreadable(row.message.encode("utf-8", "backslashreplace"), str(error))
                lost.append(str(error))
        return entries, lost

    def _highest(self) -> int:
        """The last sequence in the queue. Asked each time: it alone knows what of a failed append is there."""
        return max((known.highest for known in self._intake.instances() if known.instance == self.instance), default=0)

    def _gap(self, reason: str) -> None:
        log.error("notifications_missing", source=self._source, reason=reason)
        self._counts["gaps"] += 1
        self._on_gap(reason)

    def _waits(self, attempt: RetryCallState) -> None:
        self.worker.waits(str(attempt.outcome.exception() if attempt.outcome else None))


def _passes(error: BaseException) -> bool:
    # QueueClosed is a QueueFailed, too, but no fault that passes: it ends the worker.
    return isinstance(error, _PASSING) and not isinstance(error, QueueClosed)
