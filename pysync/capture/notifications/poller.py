"""Poller: the thread that takes the notification log of the source into the queue, where there is no listener.

Every event is appended before the position moves past it: an event may come twice, and none is lost. What cannot be
told (rows the log has forgotten, a message that cannot be read) is reported as a gap, again before the position moves.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
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

from pysync.capture.notifications.log import PAGE, NotificationLog, NotificationLogEmpty, NotificationLogRefused
from pysync.capture.notifications.look_back import LookBack, Turn
from pysync.capture.notifications.reader import NewRows, Position, begin, read
from pysync.capture.notifications.rows import LogRows, TakenRows
from pysync.metastore.access import MetastoreRef
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreCallFailed, MetastoreError
from pysync.queue import EventQueue, QueueClosed, QueueFailed, QueueFull
from pysync.worker import Worker

_FIRST_WAIT_SECONDS = 0.2
_LONGEST_WAIT_SECONDS = 30.0
_BUG_WAIT_SECONDS = 5.0

_PASSING = (MetastoreError, NotificationLogRefused, QueueFull, QueueFailed, TException)

log = structlog.get_logger(__name__)


def instance_of(source: str) -> str:
    """The instance under which the events of a source's notification log are queued; its position's key, too."""
    return f"notification-log:{source}"


class Poller:
    """Polls the log of the metastore at `where` every `poll_seconds`, and at once while there is more.

    The first start begins with what comes next; every later one where the last ended. `on_gap` is called in the
    poller's thread with one line, the same for the same gap if it is found again; what it raises is retried. `catalogs`
    are those that are followed beside `hive`.
    """

    def __init__(
        self,
        queue: EventQueue,
        source: str,
        where: MetastoreRef,
        on_gap: Callable[[str], None],
        *,
        poll_seconds: float = 1.0,
        catalogs: Collection[str] = (),
    ) -> None:
        self.instance = instance_of(source)
        self._queue, self._intake, self._notes = queue, queue.intake, queue.notes
        self._source = source
        self._where = where
        self._on_gap = on_gap
        self._poll_seconds = poll_seconds
        self._position: Position | None = None
        self._look_back = LookBack()
        self._looks_back = True  # whether the last read did
        self._pages = {True: PAGE, False: PAGE}  # how many rows are asked for, by whether a read looks back
        self._rows = LogRows(queue.intake.keep_unreadable, source, self.instance, catalogs)
        self._counts = {"events": 0, "ignored": 0, "unread": 0, "gaps": 0}
        self._left_out: Counter[str] = Counter()
        self._refused_since: float | None = None  # in seconds since 1970
        self._begun = 0  # the number of the last turn
        self._complete = Turn()  # the last one since which nothing was left
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
        """Ask it to end after the current read; returns at once."""
        self.worker.stop()

    def join(self, timeout: float) -> bool:
        """Wait for the end; False when the source still owes an answer (what it says is read again)."""
        return self.worker.join(timeout)

    def status(self) -> dict[str, Any]:
        """State, position, counts since the start and the last error, as JSON values; times are seconds since 1970."""
        position, worker = self._position, self.worker.status()
        return {
            "instance": self.instance,
            "position": position and position.last,
            "state": worker["state"],
            "refused_since": self._refused_since,
            "counts": dict(self._counts),
            "left_out": dict(self._left_out),
            "last_error": worker["last_error"],
        }

    def begin_call(self) -> int:
        """The number of the next turn: when `caught_up` is there, all that the log has now is in the queue."""
        turn = self._begun + 1
        self._look_back.ask(turn)
        return turn

    def caught_up(self) -> int:
        """The number of the last turn that read the log to its end."""
        return self._complete.number

    def has_read(self, moment: float) -> bool:
        """Whether all that the log had at that moment (monotonic seconds) is in the queue."""
        return self._complete.began >= moment

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
            self._look_back.event_came()  # a start, too, looks for what comes late
            while not self.worker.stopping.is_set():
                if not retrying(self._turn, source):
                    self.worker.stopping.wait(self._poll_seconds)

    def _turn(self, source: NotificationLog) -> bool:
        """One read; True if there is more at once."""
        self._begun += 1
        turn = Turn(self._begun, time.monotonic())
        position = self._position = self._position or self._known(source)
        try:
            current = source.expected() if not position.last else source.current()
        except NotificationLogEmpty as error:
            self.worker.waits(str(error))
            return False
        is_over = self._look_back.is_over(position.last, current)
        self._looks_back = self._look_back.is_due(position.last, current)
        more = (self._looks_back or current != position.last) and self._read(source, current, turn)
        self.worker.succeeded()
        self._refused_since = None
        if not more:
            self._complete = max(self._complete, turn if is_over else self._look_back.latest)
        return more

    def _known(self, source: NotificationLog) -> Position:
        """Where the last start ended. The first one begins here, and so does one whose note cannot be read."""
        noted = self._notes.get(self.instance)
        try:
            if noted:
                return Position.from_json(noted)
        except ValueError:
            self._gap("the position in the notification log was lost")
        position = begin(source, self._pages[True])
        # Read first: what changes from here on is new. An empty note is a switch, which has opened its gap.
        if noted is None and self._queue.last:
            self._gap(f"the notification log is read from event {position.last} on; earlier changes may be missing")
        self._notes.put(self.instance, position.to_json())
        log.info("polling_started", source=self._source, position=position.last)
        return position

    def _read(self, source: NotificationLog, current: int, turn: Turn) -> bool:
        position, looks_back, refused = self._position or Position(0), self._looks_back, source.refused
        batch = read(source, position, current, self._pages[looks_back], looks_back=looks_back)
        self._pages[looks_back] = min(PAGE, self._pages[looks_back] * 2)
        if looks_back:
            self._look_back.done(turn, position.last, batch.size, source.refused - refused)
        if batch.after != position:
            self._look_back.event_came()
            self._take(source, batch)
        return batch.more

    def _take(self, source: NotificationLog, batch: NewRows) -> None:
        """Take what was read, part by part."""
        left, gap = batch.fresh, batch.gap
        while True:
            taken = self._rows.take(left, source.metastore, self._highest() + 1)
            done, left = left[: taken.rows], left[taken.rows :]
            self._keep(taken, [gap, *taken.gaps], (self._position or Position(0)).past(done) if left else batch.after)
            if not left:
                return
            gap = None

    def _keep(self, taken: TakenRows, gaps: Sequence[str | None], after: Position) -> None:
        """Queue it, then report what is missing, then move on: in this order, so that nothing is lost."""
        self._intake.append_all(taken.entries)
        for reason in gaps:
            if reason is not None:
                self._gap(reason)
        self._notes.put(self.instance, after.to_json())
        self._position = after
        self._counts["events"] += len(taken.entries)
        self._counts["ignored"] += taken.left_out.total()
        self._counts["unread"] += taken.unread
        self._left_out = self._left_out + taken.left_out  # a new one: other threads read the old one

    def _highest(self) -> int:
        """The last sequence in the queue. Asked each time: it alone knows what of a failed append is there."""
        return max((known.highest for known in self._intake.instances() if known.instance == self.instance), default=0)

    def _gap(self, reason: str) -> None:
        log.error("notifications_missing", source=self._source, reason=reason)
        self._counts["gaps"] += 1
        self._on_gap(reason)

    def _waits(self, attempt: RetryCallState) -> None:
        error = attempt.outcome.exception() if attempt.outcome else None
        if isinstance(error, MetastoreCallFailed | NotificationLogRefused):
            # A page of huge messages may take longer than an answer may, or more memory than the source has.
            self._pages[self._looks_back] = max(1, self._pages[self._looks_back] // 4)
        is_refused = isinstance(error, NotificationLogRefused)
        self._refused_since = (self._refused_since or time.time()) if is_refused else None
        self.worker.waits(str(error))


def _passes(error: BaseException) -> bool:
    # QueueClosed is a QueueFailed, too, but no fault that passes: it ends the worker.
    return isinstance(error, _PASSING) and not isinstance(error, QueueClosed)
