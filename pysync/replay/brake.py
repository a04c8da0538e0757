"""Brake: a window that would drop too much is held until a person says go."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pysync.queue import Pause, Queued
from pysync.replay.draft import Draft


@dataclass(frozen=True, slots=True)
class _Hit:
    pause: Pause
    upto: int


class Brake:
    """Holds every window with more than `limit` drops (0: none); `release` lets exactly the held one through.

    Used by the drain's thread, but for `held` and `release`. It forgets everything at a restart, and then hits again.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._hit: _Hit | None = None
        self._let_through = 0
        self._counting = threading.Lock()
        self._dropped = 0  # in the window at hand
        self._refreshed: dict[int, int] = {}  # of that by which refresh

    @property
    def held(self) -> Pause | None:
        """Why a window is held, and since when."""
        return self._hit.pause if self._hit else None

    def cut(self, events: Sequence[Queued]) -> Sequence[Queued]:
        """The part of a window that belongs to the one which was let through, or else all of it.

        More events may have come since a person looked at it.
        """
        through = [event for event in events if event.position <= self._let_through]
        return through or events

    def holds(self, draft: Draft) -> bool:
        """Whether the window is held from now on."""
        last = draft.events[-1].position
        self._dropped, self._refreshed = draft.drops, {}
        if not self._limit or draft.drops <= self._limit or last <= self._let_through:
            return False
        reason = (
            f"brake: events {draft.events[0].position} to {last} would drop {draft.drops} databases, tables and "
            f"partitions, max_drops_per_window is {self._limit}; look at `pysync plan`, then `pysync resume`"
        )
        self._hit = _Hit(Pause(reason, round(time.time() * 1000)), last)
        return True

    def allows(self, drops: int, position: int) -> bool:
        """Whether a refresh, the event at `position`, may drop so many in all; if not, its window is held from now on.

        Called by the lanes: what a refresh drops is known only when it reads the source. It may be tried again.
        """
        with self._counting:
            self._refreshed[position] = drops
            total = self._dropped + sum(self._refreshed.values())
            if not self._limit or total <= self._limit or position <= self._let_through:
                return True
            position = max(position, self._hit.upto if self._hit else 0)
            reason = (
                f"brake: the refresh at event {position} would drop {total} databases, tables and partitions that the "
                f"target shall have no more, max_drops_per_window is {self._limit}; look at both, then `pysync resume`"
            )
            self._hit = _Hit(Pause(reason, round(time.time() * 1000)), position)
            return False

    def release(self) -> bool:
        """Let the held window through; False if none is held."""
        hit = self._hit
        if hit is None:
            return False
        self._let_through, self._hit = hit.upto, None
        return True
