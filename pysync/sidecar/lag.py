"""Lag: how long ago the oldest change was committed at the source that a target does not have."""

from __future__ import annotations

from collections.abc import Callable

from pysync.base.errors import PysyncError
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued


class Lags:
    """The lag of each target, as far as the queue shows. An event is read once, however often this is asked."""

    def __init__(self, queue: EventQueue, clock_offset: Callable[[str], float | None] = lambda _: None) -> None:
        """`clock_offset` is how many seconds the clock of a listener is ahead of ours; None if that is not known."""
        self._queue = queue
        self._clock_offset = clock_offset
        # Of each target the first event that it lacks, and when that was committed, in ms.
        self._read: dict[str, tuple[int, int]] = {}

    def seconds(self, target: str, now: float) -> float:
        """For how long, at the time `now` in seconds since 1970, the target has lacked a change; 0 if it has all.

        What is parked it lacks, too.

        The clock of the source may be off: what the listener reports of it is taken off. One that is fast and not known
        does not hide the lag: then it counts from when the event came.
        """
        of_target = self._queue.target(target)
        parked = of_target.parked.first()
        missing = of_target.position() + 1 if parked is None else parked
        if self._queue.last < missing:
            return 0.0
        known = self._read.get(target)
        if known is None or known[0] != missing:
            events = self._queue.events(missing - 1, 1, 1)
            if not events:
                return 0.0
            known = self._read[target] = (missing, self._committed(events[0]))
        return max(0.0, now - known[1] / 1000)

    def _committed(self, queued: Queued) -> int:
        """When it was committed or when it came, whichever is earlier, in ms; when it came where it cannot be read."""
        try:
            event = decode_event(queued.data)
        except PysyncError:
            return queued.at_ms
        offset = self._clock_offset(event.instance) or 0.0
        return min(event.time_ms - round(offset * 1000), queued.at_ms)
