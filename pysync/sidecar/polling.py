"""Polling: the poller of a sidecar whose source has no listener, and whether changes are captured by now."""

from __future__ import annotations

from pysync.capture.gaps import GapWatch
from pysync.capture.notifications import Poller
from pysync.capture.switch import NOTIFICATION_LOG, SWITCHED
from pysync.queue import EventQueue, Gap
from pysync.sections import SourceConfig


def poller_of(queue: EventQueue, source: SourceConfig) -> Poller | None:
    """The poller of the source's notification log; None if the source has a listener."""
    access = source.access()
    if source.capture != NOTIFICATION_LOG or access is None:
        return None

    def on_gap(reason: str) -> None:
        queue.gaps.open(f"notification-log:{reason}", reason)

    return Poller(queue, source.name, access, on_gap, poll_seconds=source.poll_seconds)


def listens(poller: Poller | None) -> bool:
    """Whether the log has been read, so that what changes from now on comes as events."""
    return poller is None or poller.status()["position"] is not None


def is_early(gap: Gap, poller: Poller | None, watch: GapWatch) -> bool:
    """Whether changes may not be captured yet: what changes after the comparison would be in no event."""
    if poller is not None:
        return not listens(poller)
    return gap.key.startswith(SWITCHED) and not watch.has_heard()
