"""Lag: how long ago the oldest change was committed at the source that a target does not have."""

from __future__ import annotations

from pysync.errors import PysyncError
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued


class Lags:
    """The lag of each target, as far as the queue tells. An event is read once, however often this is asked."""

    def __init__(self, queue: EventQueue) -> None:
        self._queue = queue
        self._read: dict[str, tuple[int, int]] = {}  # of each target its next event and when that was committed, in ms

    def seconds(self, target: str, now: float) -> float:
        """For how long, at the time `now` in seconds since 1970, the target has lacked a change; 0 if it has all.

        A clock of the source that is fast does not hide it: then it counts from when the event came.
        """
        position = self._queue.target(target).position()
        if self._queue.last <= position:
            return 0.0
        known = self._read.get(target)
        if known is None or known[0] != position + 1:
            events = self._queue.events(position, 1, 1)
            if not events:
                return 0.0
            known = self._read[target] = (position + 1, _committed(events[0]))
        return max(0.0, now - known[1] / 1000)


def _committed(queued: Queued) -> int:
    """When it was committed or when it came, whichever is earlier; when it came where it cannot be read."""
    try:
        return min(decode_event(queued.data).time_ms, queued.at_ms)
    except PysyncError:
        return queued.at_ms
