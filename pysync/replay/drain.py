"""Drain: the thread that brings one target to what the queue says, window by window, for ever.

Unavailable and OutcomeUnknown are retried without end. Rejected is parked, and so is an unclassified error after a few
tries; later events of that table wait behind it, while other tables go on, in later windows, too. The position moves
past an event only when it and all events before it are applied or parked. So an event is applied at least once,
whatever dies.

Requests of other threads (pause, resume, retry, skip) interrupt what is under way; it is continued later.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import chain

import structlog

from pysync.base.errors import PysyncError
from pysync.base.text import nearest
from pysync.queue import Pause, Removal
from pysync.replay.lanes import Lane, Lanes
from pysync.replay.parking import related
from pysync.replay.progress import DrainState
from pysync.replay.replayer import Replayer
from pysync.replay.requests import Requests
from pysync.replay.window.draft import Draft
from pysync.targets.base import Forbidden, Rejected, Target
from pysync.targets.settings import assert_enabled
from pysync.worker import Worker

_IDLE_SECONDS = 1.0
_BUG_WAIT_SECONDS = 5.0
_CONTACT_SECONDS = 30.0
"""An idle target is asked so often, so that it shows as unavailable before there is anything to apply."""
_AWAY_SECONDS = 5.0
"""The same for one that has not answered."""
_ALWAYS_THERE = "default"
"""A database that is asked for. Whether it is there does not matter: an answer is what counts."""
_MOST_LOGGED = 20

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Released:
    """The result of a retry or skip of parked events; `left` of those tried are still parked.

    `finished` is False if the target could not be tried (it is away or paused): the events are tried when it can be.
    """

    skipped: int = 0
    tried: int = 0
    left: int = 0
    reason: str | None = None
    finished: bool = True


class Drain:
    """One target's thread, and its lanes. Each lane calls `open_target`, and uses the result alone."""

    def __init__(self, replayer: Replayer, open_target: Callable[[], Target]) -> None:
        self._replayer, self._open_target = replayer, open_target
        self._queue, self._target_queue = replayer.queue, replayer.target_queue
        self.settings, self.translator = replayer.settings, replayer.translator
        self.name = self.settings.name
        self.brake, self.progress = replayer.brake, replayer.progress
        self.pending, self.pins, self.reads = replayer.pending, replayer.pins, replayer.reads
        if not self.settings.enabled:
            self.progress.state = DrainState.DISABLED
        self._requests: Requests[Lanes] = Requests()
        self._away_at = -math.inf  # when it has not answered last
        self._is_asked = False
        self.worker = Worker(
            f"drain-{self.name}",
            self._session,
            every=0.0,
            retry=_BUG_WAIT_SECONDS,
            failed=lambda state, reason: self.progress.failed(DrainState(state.value), reason),
            ended=self._ended,
        )

    # --- from any thread

    def start(self) -> None:
        """Register the target in the queue and begin; does not wait for the target. A disabled one only has its place.

        Registered, it keeps its events in the queue.
        """
        self._target_queue.register()
        if self.settings.enabled:
            self.worker.start()

    def stop(self) -> None:
        """Ask it to end after the operations in flight; does not wait."""
        self.worker.stop()
        self._interrupt()

    def join(self, timeout: float) -> bool:
        """Wait for the end; False if an operation still hangs in its target (it will be applied again)."""
        return self.worker.join(timeout)

    def has_answered_since(self, moment: float) -> bool:
        """Whether the target has answered since then, by `time.monotonic`; if not, an idle one is asked at once."""
        if self.progress.last_contact >= moment:
            return True
        if not self._is_asked:
            self._is_asked = True
            self._target_queue.wake()
        return False

    def paused(self) -> Pause | None:
        """Why nothing is applied; None if it is not paused."""
        return self._target_queue.paused()

    def pause(self, reason: str) -> None:
        """Apply nothing more after the operations in flight, until `resume`, also after a restart."""
        self._target_queue.pause(reason)
        log.warning("target_paused", target=self.name, reason=reason)
        self._interrupt()

    def resume(self) -> Pause | None:
        """End the pause that `paused` returns, and return it; None if it was not paused."""
        pause = self.paused()
        self._target_queue.pause(None)
        if pause is not None:
            log.warning("target_resumed", target=self.name, reason=pause.reason)
        self._interrupt()
        return pause

    def decide(self, names: Collection[str], *, keep: bool) -> list[Removal]:
        """Keep or drop what is held (see Brake.decide); what waits for that is tried again at once, if it can be."""
        decided = self.brake.decide(names, keep=keep)
        if decided:
            objects = [it.object for it in decided]
            log.warning(
                "drops_decided", target=self.name, keeps=keep, objects=objects[:_MOST_LOGGED], count=len(objects)
            )
            self._replayer.retry_soon()
            self._target_queue.wake()
        return decided

    def preview(self) -> Draft:
        """The draft of the next window; changes nothing."""
        return self._replayer.preview()

    def retry(self, table: str | None = None) -> Future[Released]:
        """Try the parked events again now: all, or those of one table with those that must go with it."""
        return self._ask(lambda lanes: self._retry_now(lanes, table))

    def retry_tables(self, tables: Collection[str]) -> Future[Released]:
        """Try the parked events of these tables again now, with those that must go with them."""
        return self._ask(lambda lanes: self._try(lanes, tables))

    def skip(self, *, position: int | None = None, table: str | None = None) -> Future[Released]:
        """Give parked events up for good: one, or all of a table. What waited behind them is tried."""
        return self._ask(lambda lanes: self._skip_now(lanes, position, table))

    def _ask(self, request: Callable[[Lanes], Released]) -> Future[Released]:
        assert_enabled(self.settings)
        future = self._requests.add(request)
        self._interrupt()
        return future

    def _interrupt(self) -> None:
        self._replayer.halt.set()
        self._target_queue.wake()

    # --- in its own thread

    def _ended(self) -> None:
        self._requests.close()
        self.progress.state = DrainState.STOPPED

    def _session(self) -> None:
        self._replayer.restart_retries()  # a restart may have fixed what is parked
        with self._replayer.lanes(self._open_target) as lanes:
            try:
                while not self._is_over(lanes):
                    before = self._target_queue.position()
                    self._turn(lanes)
                    if before < self._target_queue.position() or before == self._queue.last:
                        self.worker.succeeded()  # taking a window proves nothing if its end cannot be written
            except BaseException:
                # The lanes stop after the operations in flight, so that `abandon` does not wait for whole works.
                self._replayer.halt.set()
                self._replayer.abandon(lanes)
                raise

    def _is_over(self, lanes: Lanes) -> bool:
        """Whether it was stopped. If there is a request, nothing is under way any more when this returns."""
        if self._replayer.halt.is_set():
            self._replayer.stop_works(lanes)
            self._replayer.halt.clear()  # before the request is looked at: one that comes now sets it again
        return self.worker.stopping.is_set()

    def _turn(self, lanes: Lanes) -> None:
        """Run a request, or take a step and wait until there is more to do."""
        replayer, progress = self._replayer, self.progress
        if not replayer.busy and self._requests.run(lanes):
            return
        if not (replayer.busy or replayer.shadow):
            self._ask_idle_target()
        is_paused = self.paused() is not None
        if is_paused:
            progress.state = DrainState.PAUSED
        elif progress.state is not DrainState.WAITING or (
            replayer.shadow and not replayer.busy
        ):  # else until it answers
            progress.state = DrainState.SHADOW if replayer.shadow else DrainState.RUNNING
        rest = replayer.step(lanes, takes=not is_paused)
        self._target_queue.wait(min(rest.seconds, _IDLE_SECONDS), after=rest.after)

    def _ask_idle_target(self) -> None:
        """Ask for an answer, if there was none for a while. May take as long as a call of this kind of target."""
        if not self._is_asked and time.monotonic() < self._next_contact():
            return
        self._is_asked = False
        try:
            with closing(Lane(self._open_target)) as lane, suppress(Rejected, Forbidden):
                lane.target.database(_ALWAYS_THERE)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no answer
            self._away_at = time.monotonic()
            self.progress.waits(error)
        else:
            self.progress.succeeds()

    def _next_contact(self) -> float:
        """When an idle target is to be asked, by `time.monotonic`."""
        is_waiting = self.progress.state is DrainState.WAITING
        answered_at = -math.inf if is_waiting else self.progress.last_contact
        return max(answered_at + _CONTACT_SECONDS, self._away_at + _AWAY_SECONDS)

    def _retry_now(self, lanes: Lanes, table: str | None) -> Released:
        names = self._target_queue.parked.names()
        if self.paused() is not None:
            raise PysyncError(f"target {self.name} is paused", f"first run: pysync resume {self.name}")
        if self._replayer.shadow:
            raise PysyncError(f"target {self.name} runs in shadow mode", 'set mode = "apply" to retry')
        if table is not None and not any(table in tables for tables in names.values()):
            raise self._not_parked(None, table, names)
        return self._try(lanes, chain.from_iterable(names.values()) if table is None else [table])

    def _not_parked(self, position: int | None, table: str | None, names: Mapping[int, Iterable[str]]) -> PysyncError:
        if table is None:
            return PysyncError(f"event {position} is not parked", f"see: pysync parked list {self.name}")
        near = nearest(table, {*chain.from_iterable(names.values())})
        hint = f"did you mean {near}?" if near else f"see: pysync parked list {self.name}"
        return PysyncError(f"table {table} has no parked events", hint)

    def _skip_now(self, lanes: Lanes, position: int | None, table: str | None) -> Released:
        names = self._target_queue.parked.names()
        chosen = [at for at, tables in names.items() if at == position or table in tables]
        if not chosen:
            raise self._not_parked(position, table, names)
        self.pending.skip(chosen)
        log.warning("events_skipped", target=self.name, positions=chosen)
        freed = {key for at in chosen for key in names[at]}
        return self._try(lanes, freed, skipped=len(chosen))

    def _try(self, lanes: Lanes, keys: Collection[str] | chain[str], skipped: int = 0) -> Released:
        """Retry the parked events of these keys, and those that must go with them."""
        names = self._target_queue.parked.names()
        tried = related(keys, names.values())
        before = _of(names.values(), tried)
        may = before and self.paused() is None and not self._replayer.shadow
        finished = not before or bool(may and self._replayer.retry(lanes, tried))
        left = [row for row in self._target_queue.parked.tables() if row.table in tried]
        reason = next((row.reason for row in left if row.kind != "waits"), None)
        after = _of(self._target_queue.parked.names().values(), tried)
        return Released(skipped=skipped, tried=before, left=after, reason=reason, finished=finished)


def _of(groups: Collection[set[str]], keys: frozenset[str]) -> int:
    """How many of the parked events, given by their keys, have one of `keys`."""
    return sum(not keys.isdisjoint(group) for group in groups)
