"""A queue on a disk that the test fills, with a clock that the test sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pysync.queue import EventQueue, Park


class Disk:
    """The free bytes and the clock that a queue under test sees."""

    free = 10**9
    now = 1000.0


class Reopener:
    """Call it for the queue of a directory; the one it gave before is closed."""

    def __init__(self, directory: Path, disk: Disk) -> None:
        self._directory, self._disk = directory, disk
        self._opened: list[EventQueue] = []

    def __call__(self) -> EventQueue:
        self.close()
        disk = self._disk
        queue = EventQueue(
            self._directory,
            min_free_bytes=10**6,
            free_bytes=lambda _: disk.free,
            clock=lambda: disk.now,
            lock_timeout=0,
        )
        self._opened.append(queue)
        return queue

    def close(self) -> None:
        for queue in self._opened:
            queue.close()


def fill(queue: EventQueue, first: int, last: int, instance: str = "jvm") -> None:
    """Append events whose data is their number."""
    for number in range(first, last + 1):
        queue.intake.append(instance, number, "onprem", b"%d" % number)


def seen(queue: EventQueue, target: str, limit: int = 1000) -> list[tuple[int, bytes]]:
    """What a target has before it."""
    return [(event.position, event.data) for event in queue.target(target).window(limit, 10**9)]


def numbered(first: int, last: int) -> list[tuple[int, bytes]]:
    """What `seen` finds of what `fill` appended."""
    return [(number, b"%d" % number) for number in range(first, last + 1)]


def stand_between(queue: EventQueue, target: str, advance: Callable[..., None]) -> None:
    """Whoever asks for the target's queue from now on calls `advance` instead of its own, which comes first."""
    found = queue.target(target)
    found.advance = partial(advance, found.advance)
    queue.target = lambda _: found


def park(position: int, table: str = "sales.orders", target: str = "dr", **changes: Any) -> Park:
    fields = {"data": b"x", "reason": "no", "kind": "rejected", "attempts": 1, "first_at_ms": 1, "last_at_ms": 1}
    return Park(target=target, position=position, table=table, **{**fields, **changes})
