"""Pollers of a notification log whose turns are taken by hand, and what they have queued."""

from __future__ import annotations

from pysync.capture.notifications import Poller
from pysync.model.wire import decode_event
from pysync.queue import EventQueue
from tests.support.notifications import MemoryLog


class Gaps(list):
    """What the poller reported; `raises` once, if set."""

    raises: Exception | None = None

    def __call__(self, reason: str) -> None:
        if self.raises is not None:
            error, self.raises = self.raises, None
            raise error
        self.append(reason)


def made(queue: EventQueue, gaps: Gaps | None = None) -> Poller:
    return Poller(queue, "onprem", "thrift://nowhere", Gaps() if gaps is None else gaps)


def turn(one: Poller, source: MemoryLog) -> None:
    """As its thread does, until there is nothing more."""
    while one._turn(source):
        pass


def queued(queue: EventQueue) -> list[int | None]:
    """The notification ids in the queue, in its order."""
    return [decode_event(found.data).notification_id for found in queue.target("dr").window(10_000, 10**9)]


def sequences(queue: EventQueue) -> list[int]:
    return [decode_event(found.data).sequence for found in queue.target("dr").window(10_000, 10**9)]
