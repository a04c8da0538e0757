"""Replayer: brings windows, and parked events, from the queue to the target; moves the position past what is done.

Windows overlap: the next one is taken while works of earlier ones are under way. What is done behind something
unfinished is noted here, and the position moves past both together.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial

import structlog

from pysync.base.counts import Counts
from pysync.base.crashpoints import crash_point
from pysync.base.errors import PysyncError
from pysync.base.throttle import Throttle
from pysync.model.mark import Writer
from pysync.model.operation import Operation, Refresh
from pysync.queue import EventQueue, Queued
from pysync.replay.apply import Applier, Shadow
from pysync.replay.batch import Batch, Job
from pysync.replay.brake import Brake
from pysync.replay.lanes import Apply, Lanes, OpenLanes, Threads
from pysync.replay.limits import Limits
from pysync.replay.parking import keys_left, note, report_parked
from pysync.replay.pending import Pending
from pysync.replay.probe import Probe
from pysync.replay.progress import Progress
from pysync.replay.recording import Append, Recorder
from pysync.replay.refresh import OpenSource, Refresher, SourceUnavailable
from pysync.replay.retries import Retries, Retry
from pysync.replay.scheduler import Scheduler
from pysync.replay.tally import Tally
from pysync.replay.unfinished import Unfinished
from pysync.replay.visible import ClockOffset, Visible, same_clock
from pysync.replay.window.blocks import Blocks, Refusal
from pysync.replay.window.draft import Draft, draft
from pysync.replay.window.order import keys_of
from pysync.replay.window.pins import Pins
from pysync.replay.window.run import refreshes_all, removals, removes
from pysync.replay.window.translate import Translator
from pysync.targets.base import Held, OutcomeUnknown, Rejected, Target, Unavailable
from pysync.targets.guard import guarded
from pysync.targets.settings import TargetSettings

_WINDOW_BYTES = 16 * 1024 * 1024
_FLIGHT_WINDOWS = 16
_LOOK_AHEAD = 10_000
"""Events in which the removal of what an operation misses is looked for."""
_IDLE_SECONDS = 1.0
_AWAY_SECONDS = 1.0
PACE_SECONDS = 0.1
"""How far apart windows that are not full begin: each costs a transaction, for which those who append have to wait."""
_STUCK_SECONDS = 30.0
"""Works that fail for so long are parked once all others wait for them, if source and target answer otherwise."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Rest:
    """There is nothing to do until an event comes behind the position `after`, a work ends, or somebody wakes the
    target in the queue; or until something is to be tried again, in so many `seconds`.
    """

    seconds: float
    after: float = math.inf


class Replayer:
    """Replays for one target, in one thread, step by step. When `halt` is set, everything ends early: call
    `stop_works`, then go on.

    `reach` is how many events, from the position on, may be under way or done. `source` connects to the source
    metastore, for what events do not say; `tally` counts the progress of a bootstrap; `record` takes what is for the
    journal. `calls` are those that opened targets make, and `throttle` limits them. `clock` returns seconds that only
    grow, `chance` numbers from 0 to 1; `open_lanes` makes the lanes; `clock_offset` knows the clocks of listeners.
    Windows that are not full begin `pace` seconds apart. Other threads may use `progress`, `brake`, `pending`, `pins`
    and `reads`: how far objects are, what keeps them there, and which were read at the source.
    """

    def __init__(
        self,
        queue: EventQueue,
        settings: TargetSettings,
        translator: Translator,
        *,
        source: OpenSource | None = None,
        tally: Tally | None = None,
        record: Append | None = None,
        calls: Counts | None = None,
        throttle: Throttle | None = None,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
        clock_offset: ClockOffset = same_clock,
        open_lanes: OpenLanes = Threads,
        pace: float = PACE_SECONDS,
    ) -> None:
        self.shadow = settings.mode == "shadow"
        self.halt = threading.Event()
        self.reach = settings.window * _FLIGHT_WINDOWS
        self.queue, self.target_queue = queue, queue.target(settings.name)
        self.settings, self.translator = settings, translator
        self.progress = progress = Progress(settings.name, settings.kind, calls, throttle)
        self._clock, self._open_lanes, self._pace = clock, open_lanes, pace
        keep_pace = partial(progress.throttle.wait, self.halt)
        self._refresher = Refresher(source, translator, self._expect_all, tally, keep_pace)
        self._probe = Probe(self._refresher, self._writer, queue.since, clock)
        self.brake = Brake(settings.name, Limits.of(settings), self.target_queue.removals, self._probe.reading)
        self._recorder = Recorder(settings.name, translator.mapping, record)
        self._applier = Applier(
            settings,
            progress,
            self.halt,
            self._refresher,
            is_removed_later=self._is_removed_later,
            unfinished=Unfinished.of(queue.notes, settings.name),
            recorder=self._recorder,
            visible=Visible(progress.latency, clock_offset),
            first_new=queue.last + 1,
            chance=chance,
        )
        self.pending = Pending(self.target_queue, heals=source is not None)
        self.pins = Pins(self.target_queue.wake)
        self.reads = self._refresher.reads
        self._scheduler = self._new_scheduler()
        self._away_until = -math.inf  # until when a target that could not be asked is not asked again
        self._begun = -math.inf  # when the last window was taken
        self._leaves_some = False  # whether it left events that were there for the next one
        self._waits_for_all = False  # whether the next event may begin only when nothing is under way
        self._retries = Retries(settings, clock)

    def lanes(self, open_target: Callable[[], Target]) -> Lanes:
        """The lanes for the other methods; for a shadow a single one that only logs."""
        self._probe.open_target = open_target
        shadow = Shadow(self.settings.name, self.progress, self._recorder)
        apply: Apply = shadow.apply if self.shadow else self._applier.apply
        count = 1 if self.shadow else self.settings.lanes
        return self._open_lanes(count, partial(guarded, open_target, self.brake), apply, self.target_queue.wake)

    def _expect_all(self, operations: Sequence[Operation], refresh: Refresh) -> None:
        self.brake.expect_all(operations, refresh.mark.position, leaving=bool(refresh.former))

    def preview(self) -> Draft:
        """The draft of the next window; changes nothing, and may be called from any thread."""
        events = self.target_queue.window(self.settings.window, _WINDOW_BYTES)
        finished = self.target_queue.finished()
        return draft(events, self.translator, self._writer(), self.pending.blocks_stored(), finished)

    # --- what is under way

    @property
    def busy(self) -> bool:
        """Whether anything is under way."""
        return bool(self.pending or self._scheduler.busy)

    @property
    def retrying(self) -> bool:
        """Whether the parked events are being tried again."""
        return self.pending.retry is not None

    @property
    def done(self) -> int:
        """The target's position."""
        return self.pending.done

    def step(self, lanes: Lanes, *, takes: bool = True) -> Rest:
        """Begin what may begin, also works of the next window if it `takes` one, and note what has ended; never waits.

        Parked events are tried again at the start, and then from time to time, while it takes windows. Returns how
        long there will be nothing to do.
        """
        if takes:
            self._retry_in_time()
        is_left = takes and self._may_take(lanes) and not self._take_window(lanes)
        self._go_on(lanes)
        is_free_now = self._waits_for_all and not self.busy  # what it waited for has just ended
        return self._rest(lanes, takes=takes and (not is_left or is_free_now))

    def _may_take(self, lanes: Lanes) -> bool:
        """Whether there is a next window, and it may be taken now."""
        return self.queue.last > self.pending.taken and self._wants(lanes) and not self._growing()

    def _growing(self) -> float:
        """For how many seconds the next window still grows; 0 for one that is full, or was left by the last one."""
        if self._leaves_some or self.queue.last - self.pending.taken >= self.settings.window:
            return 0.0
        return max(0.0, self._begun + self._pace - self._clock())

    def _rest(self, lanes: Lanes, *, takes: bool) -> Rest:
        if not takes or not self._wants(lanes):
            return Rest(self._seconds())
        if self.queue.last > self.pending.taken:
            return Rest(min(self._seconds(), self._growing()))
        return Rest(self._seconds(), after=self.pending.taken)

    def _seconds(self) -> float:
        """The seconds until something is to be tried again."""
        away = self._away_until - self._clock()
        return max(0.0, min(self._scheduler.seconds(), away if away > 0 else math.inf))

    def _go_on(self, lanes: Lanes) -> None:
        self._scheduler.note(lanes)
        parked = self._settle()
        self._scheduler.release()
        if self._something_waits():
            self._park_what_others_wait_for()
        parked += self._settle()
        self._take_parked()
        self._scheduler.begin(lanes)
        # A work was stopped (by the brake, say): later works were not begun, so all of them run again.
        if self._scheduler.broken and not self._scheduler.busy:
            parked += self.stop_works(lanes)
        elif not self._scheduler.busy:
            self._refresher.rest()
        if parked:
            self._retries.soon()

    def stop_works(self, lanes: Lanes) -> int:
        """Begin nothing more, wait for the operations in flight, and forget what is not done: it runs again.

        Returns how many events were parked.
        """
        self._retries.interrupted()
        self._stop_lanes(lanes)
        parked = self._settle()
        if (batch := self.pending.first) is not None:
            # It is unfinished, so the position ends in it. What is done behind it is recorded.
            parked += self._advance([batch], batch.done_upto())
            self.pending.record()
        self._forget()
        return parked

    def abandon(self, lanes: Lanes) -> None:
        """As `stop_works`, but the position stays, because something has failed."""
        self._stop_lanes(lanes)
        self._forget()

    def _stop_lanes(self, lanes: Lanes) -> None:
        self._scheduler.stop(lanes, lambda: self.target_queue.wait(_IDLE_SECONDS, after=math.inf))

    def _forget(self) -> None:
        self._refresher.rest()
        self.pins.forget(self.pending.forget())
        self._scheduler = self._new_scheduler()

    def _new_scheduler(self) -> Scheduler:
        return Scheduler(self._clock, self._is_blocked, self._refuse, self._is_pinned, self.pending.end)

    # --- windows

    def _wants(self, lanes: Lanes) -> bool:
        """Whether the next window may be taken: a lane is free, and not too much is under way.

        At the start parked events go first: a restart may have fixed them, and later events would wait behind them.
        Not if one of them has to be tried again: the others need not wait for that.
        """
        if not self._scheduler.wants(lanes) or not self.pending.has_room or self._clock() < self._away_until:
            return False
        if self._retries.first and self.retrying and not self._scheduler.resting:
            return False
        return self.pending.taken - self.done < self.reach

    def _take_window(self, lanes: Lanes) -> bool:
        """Take the next window; False if it has to wait for the others, or cannot be read or judged now."""
        after, self._begun = self.pending.taken, self._clock()
        most = min(self.settings.window, self.reach - (after - self.done))
        events = self.pins.take(self.queue.events(after, most, _WINDOW_BYTES))
        self._waits_for_all = bool(events) and refreshes_all(events[0]) and self.busy
        if not events or self._waits_for_all:
            return False
        blocks = self.pending.blocks_now()
        window = draft(events, self.translator, self._writer(), blocks, self.pending.finished)
        crash_point("window.read")
        if not self._is_judged(window):
            return False
        batch = Batch(window, blocks, self.settings.retry_attempts, alone=refreshes_all(events[0]))
        self._leaves_some = batch.last < events[-1].position
        self.pending.take(batch)
        self._add(batch)
        self._scheduler.begin(lanes)
        return True

    def _add(self, batch: Batch) -> None:
        # First: a work of the batch must not begin before the end of one that it would have waited for is on disk.
        self.pending.record()
        self._scheduler.add(batch)

    def _is_judged(self, window: Draft, *, parked: bool = False) -> bool:
        """Whether the brake has judged what the window drops; False for a target that cannot list its tables now."""
        try:
            self.brake.expect(window, parked=parked)
        except (Unavailable, OutcomeUnknown) as error:
            self.progress.waits(error)
            self._away_until = self._clock() + _AWAY_SECONDS
            return False
        except PysyncError as error:
            # Of one odd object, which must not stop the others: the door has each removal judged by itself.
            log.warning("drops_not_foreseen", target=self.settings.name, reason=str(error))
        return True

    def _something_waits(self) -> bool:
        """Whether anything waits for works under way: the next events, or the retry of a refused or parked event.

        A refused event is parked, and so retried, only when the position passes it. Parked events are not retried
        while a refresh under way makes some of them good.
        """
        if self._waits_for_all or self.pending.taken - self.done >= self.reach or self.pending.has_refused:
            return True
        return self.retrying and self.pending.heals_parked()

    def _park_what_others_wait_for(self) -> None:
        """Park works that are tried again and again, if the target answers: nothing may wait for one object for ever.

        They may have failed because it was away, so they are tried once more while it answers. Parked events are
        retried from time to time, too.
        """
        jobs = self._scheduler.stuck(_STUCK_SECONDS)
        failed_last = [job for job in jobs if 0 < job.tries.last <= job.tries.count]
        if not (failed_last or (jobs and self._probe.is_due())):
            return
        if not self._answer(jobs):
            for job in failed_last:
                job.tries.last = 0
        elif failed_last:
            self._scheduler.give_up(failed_last, _refusal_of)
        else:
            for job in jobs:
                job.tries.last = job.tries.count + 1
            self._scheduler.try_now(jobs)

    def _answer(self, jobs: Sequence[Job]) -> bool:
        """Whether the target answers, and the source if jobs failed to read it."""
        read_source = any(isinstance(job.tries.error, SourceUnavailable) for job in jobs)
        return self._probe.answers() and (not read_source or self._refresher.source_answers())

    def _settle(self) -> int:
        """Move the position past all windows that are done; returns how many events were parked.

        If other works wait for works that have ended, these ends are recorded, too: so after a crash no event comes
        again behind which another was applied.
        """
        if ended := self.pending.ended():
            return self._advance(ended, ended[-1].last)
        if self._scheduler.frees:
            self.pending.record()
        return 0

    def _advance(self, batches: Sequence[Batch], done: int) -> int:
        if done <= self.done:
            return 0
        # Before the position: a kill in between has the refreshes done again, and they are not counted twice.
        self._refresher.tally.settle(done)
        refused = self.pending.advance(done)
        self.brake.passed(done)
        report_parked(self.settings.name, self.progress, refused)
        self._recorder.parked(refused)
        self.progress.count("skipped", sum(batch.draft.skipped for batch in batches))
        self.progress.advanced(done, batches[-1].at_ms(done))
        return len(refused)

    # --- what is parked

    def restart_retries(self) -> None:
        """Have the parked events tried again at once, as at the start: what they lacked may be there now."""
        self._retries = Retries(self.settings, self._clock)

    def retry_soon(self) -> None:
        """Have the parked events tried again as soon as nothing else is; from any thread."""
        self._retries.at_once()

    def _retry_in_time(self) -> None:
        """Retry parked events at the start, and then from time to time.

        Later retries give each operation one try, so that they do not keep lanes from other work. A shadow retries
        nothing: it would count as applied what was only logged.
        """
        if self._retries.begun and not self.retrying:
            self._retries.ended()
        elif self._retries.due and not self._retries.begun:
            self._retries.begin()
            if not self.shadow:
                self.begin_retry(attempts=None if self._retries.first else 1)

    def retry(self, lanes: Lanes, keys: Set[str] | None = None) -> bool:
        """As `begin_retry`, but wait for its end; False if it was halted. Nothing else may be under way."""
        retry = self.begin_retry(keys)
        while not retry.is_over:
            if self.halt.is_set():
                self.stop_works(lanes)
                return False
            self._go_on(lanes)
            if not retry.is_over:
                self.target_queue.wait(min(_IDLE_SECONDS, self._seconds()), after=math.inf)
        return True

    def begin_retry(self, keys: Set[str] | None = None, attempts: int | None = None) -> Retry:
        """Try the parked events of these keys (None: all) once more, in order, while windows go on.

        `attempts` is for unclassified errors; without it, that of the settings counts.
        """
        self._review()
        attempts = attempts or self.settings.retry_attempts
        retry = self.pending.begin_retry(keys, self._redraft, attempts, partial(note, self.progress))
        self._take_parked()
        return retry

    def _review(self) -> None:
        """Have the brake judge again what it holds; of what is no longer parked nothing else would end the hold."""
        try:
            self.brake.review(self.target_queue.parked.names().keys())
        except PysyncError as error:
            log.info("hold_not_reviewed", target=self.settings.name, reason=str(error))

    def _take_parked(self) -> None:
        """Take the next parked events along, once those before them are done.

        Not while a refresh under way makes them good: older states would come after it. Nor beside a work that must be
        alone: it may be waiting for this retry.
        """
        while (retry := self.pending.retry) is not None and not retry.is_busy and self._clock() >= self._away_until:
            if self._scheduler.broken or self.pending.is_alone or self.pending.heals_parked():
                return
            batch = retry.next()
            if batch is None:
                self.pending.retry = None
                return
            if (batch.alone and self._scheduler.busy) or not self._is_judged(batch.draft, parked=True):
                return
            retry.begin(batch)
            self._add(batch)

    def _writer(self) -> Writer:
        return self.queue.writer(self.settings.name)

    def _redraft(self, events: Sequence[Queued], blocks: Blocks) -> Draft:
        return draft(events, self.translator, self._writer(), blocks)

    # --- what cannot be done, or not now

    def _is_removed_later(self, job: Job, operation: Operation) -> bool:
        """Whether an event behind the work's own removes the place of the operation. Called by lanes, seldom."""
        after = max(job.work.positions)
        own = [change for at, (_, change) in job.batch.draft.changes.items() if at > after]
        events = self.queue.events(after, _LOOK_AHEAD, _WINDOW_BYTES)
        return any(removes(it, operation, job.work.keys) for it in [*own, *removals(events, self.translator)])

    def _is_pinned(self, job: Job) -> bool:
        """Whether a work has to wait for the end of a pin."""
        return self.pins.covers(job.work.keys, job.work.positions)

    def _is_blocked(self, job: Job) -> bool:
        """Whether a work waits behind events that were refused since its draft was made."""
        _, change = job.batch.draft.changes[min(job.work.positions)]
        if change.comes_alone:
            return job.batch.blocks.is_blocked(change)
        return job.batch.blocks.is_blocked_at(max(job.work.positions), job.work.keys)

    def _refuse(self, job: Job, error: Exception | None) -> None:
        """Refuse every event of a work that failed: the first with the reason, the others wait behind it."""
        kind, reason = self._applier.reason(error)
        held = keys_of(error.objects) if isinstance(error, Held) else frozenset[str]()
        for position in sorted(job.work.positions):
            event, change = job.batch.draft.changes[position]
            keys = keys_left(job, change, held) if held else change.keys
            if held and not keys:
                continue
            job.batch.blocks.refuse(position, keys)
            self.pending.refuse(job, Refusal.of(event, keys, kind, reason))
            if not held:  # what the brake holds is held for each of these events
                kind, reason = self._applier.reason(None)


def _refusal_of(job: Job) -> Rejected:
    return Rejected(
        f"the target answers, but this has failed {job.tries.count} times: {job.tries.error}",
        "it is retried from time to time; look at the object at the target",
    )
