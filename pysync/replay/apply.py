"""Apply: one work on one lane, with all the patience that the kinds of errors ask for."""

from __future__ import annotations

import threading
import traceback

import structlog
from tenacity import RetryCallState, Retrying, sleep_using_event, stop_when_event_set, wait_random_exponential

from pysync.crashpoints import crash_point
from pysync.errors import PysyncError
from pysync.model.describe import describe
from pysync.model.operation import Operation, Refresh
from pysync.replay.lanes import Lane, Stopped
from pysync.replay.plan import Work, leftover
from pysync.replay.progress import Progress, State
from pysync.replay.refresh import Refresher
from pysync.replay.whole import from_events
from pysync.targets.base import (
    Incomplete,
    Missing,
    MissingDatabase,
    Outcome,
    OutcomeUnknown,
    Rejected,
    Unavailable,
    total,
)
from pysync.targets.settings import TargetSettings

_FIRST_WAIT_SECONDS = 0.1

log = structlog.get_logger(__name__)


class Applier:
    """Applies works for one target until `stop` is set; used by several lanes at once.

    `attempts` is how often an error that nobody has classified is tried; change it only while no lane works.
    """

    def __init__(
        self, settings: TargetSettings, progress: Progress, stop: threading.Event, refresher: Refresher
    ) -> None:
        self._refresher = refresher
        self._settings = settings
        self._progress = progress
        self._stop = stop
        self.attempts = settings.retry_attempts

    def apply(self, lane: Lane, work: Work) -> None:
        """Apply the operations of a work in order.

        Raises Stopped, Rejected, or after a few tries whatever else the target raises.
        """
        for operation in work.operations:
            if self._stop.is_set():
                raise Stopped
            crash_point("apply.begun")
            try:
                outcome = self._with_database(lane, operation)
            except Missing:
                if not work.excuses(operation):
                    raise
                left = leftover(operation)
                outcome = self._patiently(lane, left) if left else Outcome.STALE
            crash_point("apply.done")
            self._progress.count(outcome.value)
            log.debug("applied", target=self._settings.name, what=type(operation).__name__, key=operation.key)

    def reason(self, error: Exception | None) -> tuple[str, str]:
        """The kind and the reason to park an event with, for an error that `apply` raised; None: it only waits."""
        if error is None:
            return "waits", "waits behind a parked event"
        if isinstance(error, Rejected):
            return "rejected", str(error)
        return "bug", str(error) if isinstance(error, PysyncError) else "".join(traceback.format_exception(error))

    def _with_database(self, lane: Lane, operation: Operation) -> Outcome:
        """Apply the operation; both ways, where its database is not there, after that has come from the source.

        One that the source has no more is not missed: its drop is to come.
        """
        try:
            return self._as_a_whole(lane, operation)
        except MissingDatabase:
            refresh = self._refresher.database(operation) if self._settings.both_ways else None
            if refresh is None:
                raise
        self._patiently(lane, refresh)
        try:
            return self._as_a_whole(lane, operation)
        except MissingDatabase:
            return Outcome.STALE

    def _as_a_whole(self, lane: Lane, operation: Operation) -> Outcome:
        """Apply the operation; where its table is not there as a whole, read that at the source."""
        try:
            return self._patiently(lane, operation)
        except Incomplete as error:
            refresh = self._refresher.whole(operation)
            steps = (refresh,) if refresh is not None else from_events(operation)
            if not steps:
                raise
            told = log.info if refresh is not None else log.warning
            told("table_incomplete", target=self._settings.name, reason=str(error), read_at_source=refresh is not None)
            return total([self._patiently(lane, step) for step in steps])

    def _patiently(self, lane: Lane, operation: Operation) -> Outcome:
        retrying = Retrying(
            retry=self._again,
            wait=wait_random_exponential(_FIRST_WAIT_SECONDS, max=self._settings.retry_max_seconds),
            stop=stop_when_event_set(self._stop),
            sleep=sleep_using_event(self._stop),
            before_sleep=self._waits,
            reraise=True,
        )
        try:
            outcome: Outcome = retrying(lambda: self._once(lane, operation))
        except (Rejected, Stopped):
            raise
        except Exception as error:
            if isinstance(error, (Unavailable, OutcomeUnknown)) or self._stop.is_set():
                raise Stopped from error
            raise
        self._progress.state = State.RUNNING
        return outcome

    def _once(self, lane: Lane, operation: Operation) -> Outcome:
        if isinstance(operation, Refresh):
            return self._refresher.apply(lane.target, operation)
        return lane.target.apply(self._refresher.placed(operation) if self._settings.both_ways else operation)

    def _again(self, attempt: RetryCallState) -> bool:
        """Whether a try that failed is worth another."""
        error = attempt.outcome.exception() if attempt.outcome else None
        if error is None or isinstance(error, (Rejected, Stopped)):
            return False
        return isinstance(error, (Unavailable, OutcomeUnknown)) or attempt.attempt_number < self.attempts

    def _waits(self, attempt: RetryCallState) -> None:
        error = attempt.outcome.exception() if attempt.outcome else None
        unavailable = isinstance(error, (Unavailable, OutcomeUnknown))
        if error is not None and unavailable:
            self._progress.waits(error)
        if attempt.attempt_number & (attempt.attempt_number - 1) == 0:  # the 1st, 2nd, 4th, 8th …: said, not shouted
            what = "target unavailable" if unavailable else "operation failed, tried again"
            log.warning(what, target=self._settings.name, reason=str(error), attempt=attempt.attempt_number)


class Shadow:
    """Tells what would be applied, and applies nothing: no target is opened."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name = name
        self._progress = progress

    def apply(self, _: Lane, work: Work) -> None:
        """Log the operations of a work."""
        for operation in work.operations:
            log.info("would apply", target=self._name, operation=describe(operation))
            self._progress.count("shadowed")
