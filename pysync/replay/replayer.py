"""Replayer: one window, or what is parked, from the queue to the target; the position moves past what is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

import structlog

from pysync.crashpoints import crash_point
from pysync.model.change import Change
from pysync.queue import EventQueue, Queued
from pysync.replay.apply import Applier, Shadow
from pysync.replay.brake import Brake, Limits
from pysync.replay.draft import Draft, draft
from pysync.replay.lanes import Failed, Lanes, Stopped
from pysync.replay.ledger import Ledger
from pysync.replay.parking import Parking, Refusal
from pysync.replay.progress import Progress
from pysync.replay.refresh import OpenSource, Refresher
from pysync.replay.tally import Tally
from pysync.replay.translate import Translator
from pysync.targets.base import OutcomeUnknown, Target, Unavailable
from pysync.targets.settings import TargetSettings

_WINDOW_BYTES = 16 * 1024 * 1024
_AWAY_SECONDS = 1.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a run of events: `refused` are to be parked; from `undone` on (if any) nothing is certain."""

    refused: Sequence[Refusal]
    undone: int | None = None


class Replayer:
    """Replays for one target, in one thread; all of it ends early, and is to be called again, once `halt` is set.

    `first_window` is how many events the first window takes: no fewer than one that a crash may have cut short, because
    what its later events took away is gone already.
    `source` connects to the source metastore, from which comes what the events do not tell. `ledger` knows what was
    dropped lately.
    """

    def __init__(
        self,
        queue: EventQueue,
        settings: TargetSettings,
        translator: Translator,
        progress: Progress,
        *,
        halt: threading.Event,
        source: OpenSource | None,
        ledger: Ledger | None = None,
    ) -> None:
        self.shadow = settings.mode == "shadow"
        self.brake = Brake(Limits.of(settings), ledger, tables_of=self._tables_of)
        self._open_target: Callable[[], Target] | None = None
        self._looked_at = 0  # the queue's last position then
        self._halt = halt
        self.first_window = settings.window
        self._queue = queue
        self._settings = settings
        self._translator = translator
        self._progress = progress
        self._parking = Parking(queue, settings.name, heals=source is not None)
        self._refresher = Refresher(source, translator, self.brake.allows)
        self._applier = Applier(settings, progress, halt, self._refresher)

    @property
    def tally(self) -> Tally:
        """How far the bootstrap of this target has come."""
        return self._refresher.tally

    def lanes(self, open_target: Callable[[], Target]) -> Lanes:
        """The lanes to call `window` and `retry` with; one that only logs, for a shadow."""
        self._open_target = open_target
        if self.shadow:
            return Lanes(1, open_target, Shadow(self._settings.name, self._progress).apply)
        return Lanes(self._settings.lanes, open_target, self._applier.apply)

    def preview(self) -> Draft:
        """What the next window comes to; changes nothing, and may be called from any thread."""
        parking = Parking(self._queue, self._settings.name)
        parking.recall()
        return draft(self._events(), self._translator, self._queue.epoch, parking)

    def window(self, lanes: Lanes) -> int:
        """Replay the next window, unless the brake holds it; returns how many of its events were parked."""
        self._parking.recall()
        found = self._draft(self._events())
        crash_point("window.read")
        if self._is_held(found):
            return 0
        replayed = self._replay(lanes, found)
        self._progress.count("skipped", found.skipped)
        first, last = found.events[0].position, found.events[-1].position
        done = last if replayed.undone is None else replayed.undone - 1
        refused = [refusal for refusal in replayed.refused if refusal.event.position <= done]
        self._parking.void(done, {refusal.event.position for refusal in refused})
        if done >= first:
            self.tally.settle(done)
            self._queue.advance(self._settings.name, done, self._parking.park(refused))
            self.brake.passed(done)
            self._tell(refused)
            self._progress.advanced(done, found.events[done - first].at_ms)
        if done == last:
            self.first_window = self._settings.window
        return len(refused)

    def look_again(self) -> None:
        """Bring what the brake tells of a window that it holds up to what has come since."""
        last = self._queue.last
        if self.brake.held is not None and last != self._looked_at:
            self.brake.look_again(self.preview())
            self._looked_at = last

    def _is_held(self, found: Draft) -> bool:
        """Whether the window waits: for a person, or for a target that cannot say now how many tables it has."""
        try:
            held = self.brake.holds(found)
        except (Unavailable, OutcomeUnknown) as error:
            self._progress.waits(error)
            self._halt.wait(_AWAY_SECONDS)
            return True
        if held:
            log.error("target paused", target=self._settings.name, reason=self.brake.held and self.brake.held.reason)
        return held

    def _tables_of(self, database: str) -> Collection[str]:
        if self._open_target is None:
            return ()
        with closing(self._open_target()) as target:
            return target.tables(database)

    def retry(self, lanes: Lanes, keys: Set[str] | None = None, attempts: int | None = None) -> bool:
        """Try the parked events of these keys (not given: all) once more, in their order; False if it was halted.

        `attempts` is for errors that nobody has classified; not given, it is as in the settings.
        """
        self._applier.attempts = attempts or self._settings.retry_attempts
        try:
            return self._retry(lanes, keys)
        finally:
            self._applier.attempts = self._settings.retry_attempts

    def _retry(self, lanes: Lanes, keys: Set[str] | None) -> bool:
        self._parking.begin(keys)
        for batch in self._parking.windows():
            rows = batch
            while rows:
                events = {row.position: Queued(row.position, row.data, row.first_at_ms) for row in rows}
                found = self._draft(list(events.values()))
                replayed = self._replay(lanes, found)
                if replayed.undone is not None:
                    return False
                last = found.events[-1].position  # a draft may end before the last event
                self._parking.retried([row for row in rows if row.position <= last], replayed.refused)
                self._tell(replayed.refused)
                rows = [row for row in rows if row.position > last]
        return True

    def _events(self) -> Sequence[Queued]:
        longest = max(self.first_window, self._settings.window)
        events = self._queue.window(self._settings.name, longest, _WINDOW_BYTES)
        return self.brake.cut(events)

    def _draft(self, events: Sequence[Queued]) -> Draft:
        return draft(events, self._translator, self._queue.epoch, self._parking)

    def _replay(self, lanes: Lanes, found: Draft) -> Replayed:
        """Apply a draft; what is refused is blocked from here on."""
        failed = lanes.run(found.works)
        self._refresher.rest()
        return Replayed([*found.refused, *self._refusals(failed, found.changes)], _first_undone(failed))

    def _refusals(self, failed: Iterable[Failed], changes: Mapping[int, tuple[Queued, Change]]) -> list[Refusal]:
        """Every event of a work that failed: the first with the reason, the others wait behind it."""
        found = []
        for failure in failed:
            if isinstance(failure.error, Stopped):
                continue
            kind, reason = self._applier.reason(failure.error)
            for position in sorted(failure.work.positions):
                event, change = changes[position]
                found.append(self._parking.refuse(event, change.keys, kind, reason))
                kind, reason = "waits", "waits behind a parked event"
        return found

    def _tell(self, refused: Iterable[Refusal]) -> None:
        for refusal in refused:
            self._progress.count("parked")
            if refusal.kind != "waits":
                keys, position = sorted(refusal.keys), refusal.event.position
                self._progress.refused(refusal.reason)
                log.error(
                    "event parked", target=self._settings.name, position=position, keys=keys, reason=refusal.reason
                )


def _first_undone(failed: Iterable[Failed]) -> int | None:
    stopped = (failure.work.positions for failure in failed if isinstance(failure.error, Stopped))
    return min(chain.from_iterable(stopped), default=None)
