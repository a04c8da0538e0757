"""Visible: how long the changes of a work took from their commit at the source until the target had them."""

from __future__ import annotations

import time
from collections.abc import Callable

from pysync.base.latency import Delays, Latency
from pysync.model.event import SIDECAR, Event
from pysync.replay.batch import Job
from pysync.targets.base import Outcome

_HIDDEN = frozenset({Outcome.FOREIGN, Outcome.CONFLICT, Outcome.KEPT, Outcome.UNSUPPORTED})
"""After these the target does not have the change."""
ClockOffset = Callable[[str], float | None]
"""How many seconds the clock of a listener's host is ahead of ours, by the listener's instance; None: not known."""


def same_clock(_: str) -> None:
    """For where nobody measures the clocks: they are taken for the same."""


class Visible:
    """Reports each change of the source to `latency` when its work is done. Lanes share it.

    A refresh is the sidecar's own event, not a change of the source, and does not count. A change that is applied
    again, after a crash or once it is no longer parked, does. `clock` returns seconds since 1970.
    """

    def __init__(self, latency: Latency, offset: ClockOffset, clock: Callable[[], float] = time.time) -> None:
        self._latency = latency
        self._offset = offset
        self._clock = clock

    def begins(self, job: Job) -> None:
        """A lane has the work in flight. Only the first time counts: later tries are time at the target."""
        job.begun = job.begun or self._clock()

    def ended(self, job: Job, outcome: Outcome) -> None:
        """An operation of the work is done."""
        job.hidden = job.hidden or outcome in _HIDDEN

    def ends(self, job: Job) -> None:
        """All operations of the work are done."""
        if job.hidden:
            return
        now = self._clock()
        changes = [job.batch.draft.changes[position] for position in job.work.positions]
        of_source = [(it.event, queued.at_ms / 1000) for queued, it in changes if it.event.instance != SIDECAR]
        times = [(self._committed(event), captured) for event, captured in of_source]
        if times:
            # Each part for itself: a clock that was set must not make one negative.
            spool = [max(0.0, captured - committed) for committed, captured in times]
            queue = [max(0.0, job.begun - captured) for _, captured in times]
            delays = Delays(spool, queue, max(0.0, now - job.begun))
            self._latency.note(job.work.operations[-1].key, delays, now)

    def _committed(self, event: Event) -> float:
        """When it was committed, by our clock, in seconds since 1970."""
        return event.time_ms / 1000 - (self._offset(event.instance) or 0.0)
