"""Pins: databases that are kept at an event for a while, so that the target shows them as they were at one moment.

No window has events from both sides of a pin, or the two would be folded. Works of events behind it that touch its
databases do not begin. They keep their places in the order, and all other works go on.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from pysync.replay.window.order import database_of


class _Positioned(Protocol):
    @property
    def position(self) -> int: ...


Event = TypeVar("Event", bound=_Positioned)


@dataclass(frozen=True, slots=True)
class Pin:
    """These databases, by their names at the target, stay as they are after the event at `upto`.

    It is over at `until`, if nobody ends it before.
    """

    number: int
    databases: frozenset[str]
    upto: int
    until: float

    def covers(self, keys: Set[str], positions: Iterable[int]) -> bool:
        """Whether a work of these keys and events has to wait. One without keys may touch any database."""
        touches = not keys or any(database_of(key) in self.databases for key in keys)
        return touches and max(positions, default=0) > self.upto


@dataclass(slots=True)
class Pins:
    """The pins of one target. The drain's thread asks; others begin and end them, and wake it by `wake`.

    `clock` returns seconds that only grow. When a pin's time is over, the drain goes on within a second.
    """

    wake: Callable[[], object]
    clock: Callable[[], float] = time.monotonic
    _pins: dict[int, Pin] = field(default_factory=dict)
    _taken: int = 0
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, databases: Set[str], least: int, seconds: float) -> Pin:
        """Pin these databases at the event `least`, or at a later one if later events are already on their way.

        For so many seconds at most.
        """
        with self._lock:
            until = self.clock() + seconds
            pin = Pin(next(self._numbers), frozenset(databases), max(least, self._taken), until)
            self._pins[pin.number] = pin
        self.wake()
        return pin

    def end(self, pin: Pin) -> bool:
        """End a pin; False if it was over before: its time is over, or the drain has begun again."""
        with self._lock:
            self._expire()
            ended = self._pins.pop(pin.number, None)
        self.wake()
        return ended is not None

    def lasts(self, pin: Pin) -> bool:
        """Whether the pin is not over."""
        with self._lock:
            self._expire()
            return pin.number in self._pins

    def databases(self) -> list[str]:
        """The databases that are pinned now."""
        with self._lock:
            self._expire()
            return sorted(frozenset().union(*(it.databases for it in self._pins.values())))

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events that may be one window: up to the first pin that is among them."""
        with self._lock:
            self._expire()
            if not events:
                return events
            ends = [it.upto for it in self._pins.values() if events[0].position <= it.upto < events[-1].position]
            if ends:
                events = [it for it in events if it.position <= min(ends)]
            self._taken = events[-1].position
            return events

    def covers(self, keys: Set[str], positions: Iterable[int]) -> bool:
        """Whether a work of these keys and events has to wait for the end of a pin."""
        if not self._pins:
            return False
        with self._lock:
            self._expire()
            return any(it.covers(keys, positions) for it in self._pins.values())

    def forget(self, position: int) -> None:
        """Everything after the position is replayed again, and may show older states for a moment: no pin is kept."""
        with self._lock:
            self._pins.clear()
            self._taken = position

    def _expire(self) -> None:
        now = self.clock()
        for number in [number for number, it in self._pins.items() if it.until <= now]:
            del self._pins[number]
