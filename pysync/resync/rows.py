"""Rows: the resyncs of one target, in memory and in the queue's file, and how far the target is with each."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import structlog

from pysync.queue import EventQueue, Resync
from pysync.resync.trigger import ResyncRequest, Trigger

_MS = 1000

log = structlog.get_logger(__name__)


class ResyncRows:
    """From any thread. What a method changes is on disk when it returns, or it raises as the methods of EventQueue.

    `clock` gives seconds since 1970.
    """

    def __init__(self, queue: EventQueue, target: str, clock: Callable[[], float]) -> None:
        self.lock = threading.RLock()
        """Held to read, decide and write."""
        self.target = target
        self._file = queue.target(target).resyncs
        self.now = clock
        self._rows = {it.trigger: it for it in self._file.all()}
        # Of what was queued by this process and is not done: its last position, the trigger, how many are queued then.
        self._waiting: deque[tuple[int, Resync, int]] = deque()
        self._done: dict[str, int] = {}
        self._obstacles: dict[str, str] = {}

    def last(self, trigger: str) -> Resync | None:
        """The last resync that the trigger began."""
        return self._rows.get(trigger)

    def is_last(self, it: Resync) -> bool:
        """Whether its trigger has begun no other one meanwhile."""
        return (last := self.last(it.trigger)) is not None and last.began_at_ms == it.began_at_ms

    def begin(self, trigger: Trigger, request: ResyncRequest) -> Resync:
        """Begin a resync in the place of the trigger's last one."""
        with self.lock:
            last = self.last(trigger.name)
            # Greater than before, whatever the clock says: it tells the two apart.
            at = max(self._now_ms(), last.began_at_ms + 1 if last is not None else 0)
            self._done.pop(trigger.name, None)
            begun = self._put(Resync(trigger.name, request.reason, request.scope, at))
        if not trigger.is_frequent:
            log.info("resync_started", target=self.target, trigger=trigger.name, reason=request.reason)
        return begun

    def change(self, it: Resync, **values: Any) -> Resync | None:
        """Change values of a resync; None if its trigger has begun another one meanwhile."""
        with self.lock:
            return self._put(replace(self._rows[it.trigger], **values)) if self.is_last(it) else None

    def note_queued(self, it: Resync, count: int, cursor: tuple[str, str], position: int) -> None:
        """So many more refreshes are in the queue, up to an object and a position."""
        with self.lock:
            queued = count + self._rows[it.trigger].queued
            if self.change(it, queued=queued, cursor=cursor):
                self._waiting.append((position, it, queued))

    def reached(self, position: int) -> list[Resync]:
        """The target is at that position; returns the resyncs of which it is past everything, and that have no end."""
        with self.lock:
            while self._waiting and self._waiting[0][0] <= position:
                _, it, queued = self._waiting.popleft()
                if self.is_last(it):
                    self._done[it.trigger] = queued
            left = [it for it in self._rows.values() if it.ended_at_ms is None]
            return [it for it in left if it.upto is not None and it.upto <= position]

    def end(self, it: Resync) -> bool:
        """The target has everything of it; False if its trigger has begun another one meanwhile."""
        return self.change(it, ended_at_ms=self._now_ms()) is not None

    def fail(self, it: Resync, reason: str) -> bool:
        """End a resync that can never be done; False if its trigger has begun another one meanwhile."""
        return self.change(it, ended_at_ms=self._now_ms(), failure=reason) is not None

    def obstruct(self, trigger: str, reason: str | None) -> None:
        """What the resync of a trigger waits for, None if nothing; not on disk."""
        with self.lock:
            if reason is None:
                self._obstacles.pop(trigger, None)
            else:
                self._obstacles[trigger] = reason

    def status(self, triggers: Collection[str]) -> list[dict[str, Any]]:
        """The last resync of each of these triggers as JSON values (docs/status.md), the latest first."""
        with self.lock:
            rows = [it for it in self._rows.values() if it.trigger in triggers]
            return [self._shown(it) for it in sorted(rows, key=lambda it: -it.began_at_ms)]

    def _shown(self, it: Resync) -> dict[str, Any]:
        done = it.queued if it.ended_at_ms and not it.failure else self._done.get(it.trigger, 0)
        obstacle = None if it.ended_at_ms else self._obstacles.get(it.trigger)
        seconds = ((it.ended_at_ms or self._now_ms()) - it.began_at_ms) / _MS
        rate = done / seconds if seconds > 0 else 0.0
        left = (it.total - done) / rate if it.total is not None and rate and not it.ended_at_ms else None
        state = "failed" if it.failure else "finished" if it.ended_at_ms else "waiting" if obstacle else "running"
        return {
            "trigger": it.trigger,
            "reason": it.reason,
            "scope": json.loads(it.scope),
            "state": state,
            "obstacle": it.failure or obstacle,
            "began_at": it.began_at_ms / _MS,
            "total": it.total,
            "queued": it.queued,
            "done": done,
            "per_second": round(rate, 2),
            "seconds_left": None if left is None else round(max(0.0, left), 1),
            "upto": it.upto,
            "result": json.loads(it.result),
            "ended_at": None if it.ended_at_ms is None else it.ended_at_ms / _MS,
        }

    def _put(self, it: Resync) -> Resync:
        self._file.put(it)
        self._rows[it.trigger] = it
        return it

    def _now_ms(self) -> int:
        return round(self.now() * _MS)
