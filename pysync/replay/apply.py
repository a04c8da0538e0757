"""Apply: applies one work on one lane. The kind of an error decides whether to try again later or to give up."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections.abc import Callable

import structlog

from pysync.base.crashpoints import crash_point
from pysync.base.errors import PysyncError
from pysync.model.describe import describe
from pysync.model.operation import DropDatabase, Operation, Refresh, RenameTable
from pysync.replay.batch import Job, Tries
from pysync.replay.lanes import Again, Lane, Stopped
from pysync.replay.progress import Progress
from pysync.replay.recording import OperationResult, Recorder
from pysync.replay.refresh import Refresher, SourceUnavailable
from pysync.replay.unfinished import Unfinished
from pysync.replay.visible import Visible
from pysync.replay.window.plan import leftover
from pysync.replay.window.whole import from_events
from pysync.targets.base import (
    Forbidden,
    Held,
    Incomplete,
    Missing,
    MissingDatabase,
    Outcome,
    OutcomeUnknown,
    Rejected,
    Unavailable,
    WrittenByAnother,
    kind_of,
    total,
)
from pysync.targets.settings import TargetSettings

_FIRST_WAIT_SECONDS = 0.1

log = structlog.get_logger(__name__)


class Applier:
    """Applies works for one target until `stop` is set; used by several lanes at once.

    `chance` returns numbers from 0 to 1: waits are random, so that many works are not retried at once.
    `is_removed_later` says whether a later event of the queue removes the place of an operation. `unfinished`
    knows the tables that are at the target only in part. `recorder` gets every operation that has ended,
    `visible` of the works that are done. From the position `first_new` on no event was applied before, so none should
    be stale.
    """

    def __init__(
        self,
        settings: TargetSettings,
        progress: Progress,
        stop: threading.Event,
        refresher: Refresher,
        *,
        is_removed_later: Callable[[Job, Operation], bool],
        unfinished: Unfinished,
        recorder: Recorder,
        visible: Visible,
        first_new: int = 0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._first_new = first_new
        self._refresher = refresher
        self._visible = visible
        self._is_removed_later = is_removed_later
        self._unfinished = unfinished
        self._recorder = recorder
        self._settings = settings
        self._progress = progress
        self._stop = stop
        self._chance = chance

    def apply(self, lane: Lane, job: Job) -> None:
        """Apply the operations of a work in order, from the first that is not done.

        Raises Again if one should be tried later, Stopped, Rejected, or, after a few tries, any other error of the
        target. A database that is made again does not wait for what the brake holds of its former tables.
        """
        self._visible.begins(job)
        held: Held | None = None
        for operation in job.work.operations[job.done :]:
            if self._stop.is_set():
                raise Stopped
            crash_point("apply.begun")
            began = time.monotonic()
            try:
                outcome = self._outcome(lane, job, operation)
            except Exception as error:
                self._failed(lane, job, operation, error)
                if not (isinstance(error, Held) and isinstance(operation, DropDatabase) and operation.may_come_late):
                    raise
                held = error
                continue
            crash_point("apply.done")
            seconds, changes = time.monotonic() - began, lane.changes()
            self._recorder.applied(
                job, operation, OperationResult(outcome.value, seconds, job.tries.count + 1, changes, job.reason)
            )
            # A drop that is held is not done: if what follows it is tried again, it is, too.
            job.done, job.tries, job.reason = job.done + (held is None), Tries(), None
            self._ended(job, operation, outcome)
        if held is not None:
            raise held
        self._visible.ends(job)

    def reason(self, error: Exception | None) -> tuple[str, str]:
        """The kind and reason to park an event with, for an error of `apply`; None: it waits behind another event."""
        if error is None:
            return "waits", "waits behind a parked event"
        if isinstance(error, Held):
            return "held", str(error)
        # Also an answer that nobody has classified is the target's, and it gave it at each try.
        if isinstance(error, PysyncError):
            return "rejected", str(error)
        return "bug", "".join(traceback.format_exception(error))

    def _failed(self, lane: Lane, job: Job, operation: Operation, error: Exception) -> None:
        """Record what a try that failed has changed, if anything: the next one finds nothing of it left to do."""
        if isinstance(error, Rejected):
            self._progress.errors.add(kind_of(error))
        if changes := lane.changes():
            why = str(error.__cause__ if isinstance(error, Again) else error)
            self._recorder.applied(
                job, operation, OperationResult("failed", None, max(job.tries.count, 1), changes, why)
            )

    def _ended(self, job: Job, operation: Operation, outcome: Outcome) -> None:
        self._progress.count(outcome.value)
        if outcome is Outcome.STALE and min(job.work.positions) >= self._first_new:
            self._progress.finds_newer()
        self._progress.operations.add()
        self._visible.ended(job, outcome)
        kind = type(operation).__name__
        log.debug("operation_applied", target=self._settings.name, operation=kind, key=operation.key)

    def _outcome(self, lane: Lane, job: Job, operation: Operation, *, has_database: bool = False) -> Outcome:
        """Apply the operation. If its table is missing, or there only in part, all of it is read at the source.

        If its database is missing, that is created from the source first, unless it was (`has_database`).
        """
        try:
            if self._unfinished.has_table_of(operation):
                unfinished = Incomplete("an earlier refresh of the table did not finish")
                return self._reread_table(lane, job, operation, unfinished)
            try:
                outcome = self._try(lane, job, operation)
            except Incomplete as error:
                return self._reread_table(lane, job, operation, error)
        except Missing as error:
            if has_database:
                raise
            return self._outcome_without(lane, job, operation, error)
        self._unfinished.forget(operation)
        return outcome

    def _outcome_without(self, lane: Lane, job: Job, operation: Operation, missing: Missing) -> Outcome:
        """The outcome of an operation that misses its database, or a table that could not be read as a whole.

        What is missing because it is removed at the source as well is not missed: the event of its drop will come.
        """
        is_gone = False
        try:
            if isinstance(missing, MissingDatabase) and (refresh := self._refresher.database(operation)) is not None:
                self._try(lane, job, refresh)
                return self._outcome(lane, job, operation, has_database=True)
        except MissingDatabase:
            is_gone = True  # the source has just been asked for it
        except Missing as error:
            missing = error
        if not is_gone and not self._is_removed(job, operation, missing):
            raise missing
        left = leftover(operation)
        return self._try(lane, job, left) if left else Outcome.STALE

    def _is_removed(self, job: Job, operation: Operation, error: Missing) -> bool:
        """Whether what the operation misses is removed at the source: its event follows, or the source has it no more.

        A load of a dump, say, may have removed it before.
        """
        if self._is_removed_later(job, operation):
            return True
        return isinstance(error, MissingDatabase) and self._refresher.is_gone(operation)

    def _reread_table(self, lane: Lane, job: Job, operation: Operation, error: Incomplete) -> Outcome:
        """Bring the table of an operation to its state at the source; without a source, to what the events say."""
        if isinstance(error, WrittenByAnother):
            self._progress.finds_mark_of_other(operation.key, error.mark)
        refresh = self._refresher.whole(operation)
        steps = (refresh,) if refresh is not None else from_events(operation) or (operation,)
        name, reason = self._settings.name, str(error)
        job.reason = f"the whole table was written: {reason}"
        if refresh is not None:
            log.info("table_incomplete", target=name, reason=reason, read_at_source=True)
        else:
            log.warning("table_incomplete", target=name, reason=reason, read_at_source=False)
        with self._unfinished.reading(operation):
            return total([self._try(lane, job, step) for step in steps])

    def _try(self, lane: Lane, job: Job, operation: Operation) -> Outcome:
        """Apply the operation once. Raises as `apply` does."""
        if not self._progress.throttle.wait(self._stop):
            raise Stopped
        try:
            if isinstance(operation, Refresh):
                outcome = self._refresher.apply(lane.target, operation)
            else:
                outcome = lane.target.apply(self._refresher.placed(operation))
                if isinstance(operation, RenameTable) and outcome in {Outcome.APPLIED, Outcome.UNCHANGED}:
                    self._refresher.renamed(operation)
        except (Rejected, Stopped):
            raise
        except Exception as error:
            self._assert_final(job, error)
            raise
        self._progress.succeeds(read_source=isinstance(operation, Refresh))
        return outcome

    def _assert_final(self, job: Job, error: Exception) -> None:
        """Count a try that failed. Raises Again for another one, Stopped, or Rejected for what is forbidden alone."""
        self._progress.errors.add(kind_of(error))
        # To see later whether other operations have succeeded since the first try (`_is_forbidden_alone`).
        tries = job.tries
        tries.applied_before = self._progress.applied if tries.count == 0 else tries.applied_before
        tries.count += 1
        away = isinstance(error, (Unavailable, OutcomeUnknown))
        # An outage says nothing of the operation: only what fails beside it counts towards parking.
        tries.failures += isinstance(error, Forbidden) or not away
        if isinstance(error, Forbidden) and self._is_forbidden_alone(job):
            raise Rejected(error.message, error.hint) from error
        # A stop cuts the tries short: the work has not failed, and runs again after the next start.
        if self._stop.is_set():
            raise Stopped from error
        if away or tries.failures < job.batch.attempts:
            self._report_failure(error, tries.count, away=away)
            seconds = self._wait(tries.count)
            self._progress.retries_in(seconds)
            raise Again(seconds, forbidden=isinstance(error, Forbidden)) from error

    def _is_forbidden_alone(self, job: Job) -> bool:
        """Whether only this job is forbidden, and not the whole target.

        It is if other operations have succeeded since its first try, or if it was parked already.
        """
        if job.tries.failures < job.batch.attempts:
            return False
        return job.batch.parked or self._progress.applied > job.tries.applied_before

    def _wait(self, tries: int) -> float:
        """Seconds until the next try: random, and up to twice as long each time."""
        # The limit on the exponent: a float overflows after 1,024 doublings, which a target that is away for a day
        # reaches.
        longest = _FIRST_WAIT_SECONDS * 2.0 ** min(tries - 1, 30)
        return self._chance() * min(longest, self._settings.retry_max_seconds)

    def _report_failure(self, error: Exception, tries: int, *, away: bool) -> None:
        if isinstance(error, SourceUnavailable):
            self._progress.waits_for_source(error, tries)
        elif away:
            self._progress.waits(error, tries)
        elif tries & (tries - 1) == 0:  # the 1st, 2nd, 4th, 8th …: not each of them is logged
            log.warning("operation_failed", target=self._settings.name, reason=str(error), attempt=tries)


class Shadow:
    """Logs what would be applied. It opens no target."""

    def __init__(self, name: str, progress: Progress, recorder: Recorder) -> None:
        self._name = name
        self._progress = progress
        self._recorder = recorder

    def apply(self, _: Lane, job: Job) -> None:
        """Log the operations of a work."""
        for operation in job.work.operations:
            log.info("operation_planned", target=self._name, operation=describe(operation))
            self._recorder.applied(job, operation, OperationResult("shadowed", reason=describe(operation)))
            self._progress.count("shadowed")
