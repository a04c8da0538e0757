"""Job: the worker of one target that carries out its resyncs, whatever has begun them.

A resync is a row in the queue's file. Its objects are read at the source in an order that does not change, and each
gets a refresh in the queue, for this target only. The row says up to which object that is done, so that it goes on
there after a stop or a kill; a refresh or two may come twice. A resync ends when the target is past the last refresh.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import structlog

from pysync.metastore.reads import Reads
from pysync.queue import EventQueue, QueueClosed, Resync
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Refreshes
from pysync.resync.rows import ResyncRows
from pysync.resync.trigger import ResyncFailed, Trigger
from pysync.resync.wanted import Names, place
from pysync.worker import Finished, Worker

_EVERY_SECONDS = 0.5
_RETRY_SECONDS = 10.0

log = structlog.get_logger(__name__)


class ResyncJob:
    """One thread a target: at any moment it queues for one trigger, the first in `triggers` that has something to do.

    Another one is interrupted for it, and goes on at its cursor. `rows` are the resyncs of the target. `source` opens
    the source; if it cannot be read, the worker waits. `tables_per_second` is the pace.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        target: str,
        triggers: Sequence[Trigger],
        rows: ResyncRows,
        *,
        source: Callable[[], AbstractContextManager[Reads]],
        tables_per_second: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._queue = queue
        self._target = target
        self._triggers = triggers
        self._rows = rows
        self._source = source
        self._pace = tables_per_second
        self._clock = clock
        self._retry_at: dict[str, float] = {}  # of each trigger: what has just failed interrupts nothing
        self.worker = Worker(f"resync-{target}", self.turn, every=_EVERY_SECONDS, retry=_RETRY_SECONDS)
        self._feed = Feed(refreshes, self.worker.stopping, self._done, meanwhile=self._end_reached)

    # --- from any thread

    def start(self, *, only_asked: bool = False) -> None:
        """Begin; does not wait. With `only_asked` nothing is resynced but what people ask for."""
        self._triggers = [it for it in self._triggers if it.is_asked or not only_asked]
        self.worker.start()

    def status(self) -> list[dict[str, Any]]:
        """The last resync of each trigger as JSON values (docs/status.md), the latest first."""
        return self._rows.status([it.name for it in self._triggers])

    # --- in its own thread

    def turn(self) -> None:
        """Queue what is due, as fast as the target takes it; what fails keeps no other trigger from its turn.

        Raises the first error, such as PysyncError if the source cannot be read.
        """
        self._end_reached()
        errors = [error for it in self._triggers if (error := self._tried(it)) is not None]
        self._end_reached()
        if errors:
            raise errors[0]
        self.worker.succeeded()

    def _tried(self, trigger: Trigger) -> Exception | None:
        error: Exception | None = None
        try:
            self._advance(trigger)
        except (QueueClosed, Finished):
            raise
        except Exception as caught:  # noqa: BLE001 - raised when the others have had their turn
            error = caught
        self._rows.obstruct(trigger.name, None if error is None else str(error) or type(error).__name__)
        self._retry_at[trigger.name] = self._clock() + (_RETRY_SECONDS if error is not None else 0)
        return error

    def _advance(self, trigger: Trigger) -> None:
        """Begin the resync of a trigger if it is due, and queue what is not queued yet."""
        resync = self._begun(trigger)
        if resync is None or not resync.is_queueing or not trigger.is_ready():
            return
        try:
            self._queue_rest(trigger, resync)
        except ResyncFailed as error:
            self._fail(trigger, resync, str(error))

    def _begun(self, trigger: Trigger) -> Resync | None:
        with self._rows.lock:
            last = self._rows.last(trigger.name)
            request = trigger.due(last, self._clock())
            return last if request is None else self._rows.begin(trigger, request)

    def _queue_rest(self, trigger: Trigger, resync: Resync) -> None:
        with self._source() as source:
            wanted = trigger.wanted(source, resync)
            if self._rows.change(resync, total=wanted.total) is None:
                return
            self._feed.tables_per_second = self._pace if trigger.is_paced else math.inf
            fed = self._feed.queue(
                ({**names, "targets": self._target} for names in wanted.names),
                live_source=trigger.is_living,
                queued=lambda chunk: self._note_queued(resync, chunk),
                goes_on=lambda: self._rows.is_last(resync) and not self._is_more_urgent(trigger),
            )
        if fed.whole and self._finish(trigger, resync) and (fed.refreshes or not trigger.is_frequent):
            count, upto = fed.refreshes, self._queue.last
            log.info("resync_queued", target=self._target, trigger=trigger.name, refreshes=count, upto=upto)

    def _finish(self, trigger: Trigger, resync: Resync) -> bool:
        """Note that all of it is queued; False if it is not, by now."""
        with self._rows.lock:
            if not self._rows.is_last(resync) or not trigger.all_queued(resync):
                return False
            self._rows.change(resync, upto=self._queue.last)
            trigger.queued(resync)
            return True

    def _fail(self, trigger: Trigger, resync: Resync, reason: str) -> None:
        with self._rows.lock:
            if self._rows.fail(resync, reason):
                trigger.queued(resync)
                log.error("resync_failed", target=self._target, trigger=trigger.name, reason=reason)

    def _is_more_urgent(self, trigger: Trigger) -> bool:
        """Whether a trigger before this one has something to do."""
        return any(self._has_work(it) for it in self._triggers[: self._triggers.index(trigger)])

    def _has_work(self, trigger: Trigger) -> bool:
        last, now = self._rows.last(trigger.name), self._clock()
        if now < self._retry_at.get(trigger.name, now):
            return False
        begins = trigger.due(last, now) is not None
        return begins or (last is not None and last.is_queueing and trigger.is_ready())

    def _note_queued(self, resync: Resync, chunk: Sequence[Names]) -> None:
        last, objects = place(chunk[-1]), sum("database" in it for it in chunk)
        self._rows.note_queued(resync, objects, (last.database, last.table), self._queue.last)

    def _end_reached(self) -> None:
        triggers = {it.name: it for it in self._triggers}
        for it in self._rows.reached(self._done()):
            trigger = triggers.get(it.trigger)
            if trigger is not None and trigger.is_over(it) and self._rows.end(it) and not trigger.is_frequent:
                log.info("resync_finished", target=self._target, trigger=it.trigger, objects=it.queued)

    def _done(self) -> int:
        return self._queue.target(self._target).position()
