"""Switch: whether changes came in another way when the sidecar ran last, by the listener or by the notification log.

What was changed in between may be in neither. So a switch is a gap, and the log is read from its end: what it holds
from before has come by the listener, and would be old by now.
"""

from __future__ import annotations

import time

from pysync.capture.notifications import instance_of
from pysync.model.event import SIDECAR
from pysync.queue import EventQueue

SWITCHED = "switched:"
"""How the keys of the gaps begin that a switch opens."""

LISTENER = "listener"
NOTIFICATION_LOG = "notification-log"

_NOTE = "capture"


def note_capture(queue: EventQueue, source: str, capture: str) -> None:
    """Note, durably, how changes come in from now on; a gap is opened if it was another way before."""
    before = queue.notes.get(_NOTE) or _guessed(queue, source)
    if before not in {None, capture}:
        reason = f"capture was switched from {before} to {capture}: pysync compares source and targets"
        queue.gaps.open(f"{SWITCHED}{time.time_ns()}", reason)
        if capture == NOTIFICATION_LOG:
            queue.notes.put(instance_of(source), "")
    if before != capture or queue.notes.get(_NOTE) is None:
        queue.notes.put(_NOTE, capture)


def _guessed(queue: EventQueue, source: str) -> str | None:
    """How they came in with a release that did not note it; None if none has come yet."""
    if queue.notes.get(instance_of(source)):
        return NOTIFICATION_LOG
    came = (it.instance for it in queue.intake.instances() if it.source == source)
    return LISTENER if any(name not in {SIDECAR, instance_of(source)} for name in came) else None
