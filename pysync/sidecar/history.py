"""History for the page: curves of lag and rate in memory, and what the events of the queue were."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import meant, quoted, shortened, shown
from pysync.model.change import objects_of
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued

# --- Curves: lag and throughput of each target, minute by minute, for up to a day. In memory, since the start

STEP_SECONDS = 60
_HOURS = 24
_POINTS = _HOURS * 3600 // STEP_SECONDS


@dataclass(slots=True)
class _Curve:
    points: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_POINTS))
    applied: int = 0  # since the start, at the last point


class Curves:
    """A curve for each target. `status` answers as `pysync status --json` does; it is asked once a minute."""

    def __init__(self, targets: Collection[str], status: Callable[[], Mapping[str, Any]]) -> None:
        self._status = status
        self._lock = threading.Lock()
        self._curves = {name: _Curve() for name in targets}
        self._last: float | None = None

    def sample(self, now: float) -> None:
        """Add a point to each curve if a minute has passed; `now` is seconds since 1970. For one thread."""
        if self._last is None:
            self._last = now
        # A clock that was set back must not stop the curves.
        if 0 <= now - self._last < STEP_SECONDS:
            return
        self._last = now
        try:
            targets = self._status()["targets"]
        except Exception:  # noqa: BLE001 - a point less; whoever asks for the status is told why
            return
        with self._lock:
            for it in targets:
                _add(self._curves[it["name"]], it, now)

    def history(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The `points` of `target` in the last `hours`, the oldest first: `at`, `lag_seconds`, `applied`, `parked`.

        `applied` is how many operations have changed the target since the point before. Raises PysyncError for another
        target or number.
        """
        curve, hours = self._curve(request), _hours(request)
        with self._lock:
            points = list(curve.points)
        return {"step_seconds": STEP_SECONDS, "points": points[-hours * 3600 // STEP_SECONDS :]}

    def _curve(self, request: Mapping[str, Any]) -> _Curve:
        name = str(request.get("target"))
        if name not in self._curves:
            raise PysyncError(f"the sidecar has no target {quoted(name)}", meant(name, self._curves, "its targets"))
        return self._curves[name]


def _add(curve: _Curve, target: Mapping[str, Any], now: float) -> None:
    applied = target["counts"].get("applied", 0)
    point = {"at": now, "lag_seconds": target["lag_seconds"], "applied": applied - curve.applied}
    curve.points.append({**point, "parked": target["parked"]})
    curve.applied = applied


def _hours(request: Mapping[str, Any]) -> int:
    hours = request.get("hours", _HOURS)
    if type(hours) is not int or not 1 <= hours <= _HOURS:  # not isinstance: true is an int, too
        raise PysyncError(f"hours must be a whole number from 1 to {_HOURS}, not {shortened(shown(hours), 80)}")
    return hours


# --- History: what is in the queue, event by event: names and numbers, never what an event carries

MOST = 1000
"""Events in one answer."""

_SECONDS = 0.2  # of one answer: whoever wants more asks again, and others get their turn
_CHUNK = 200
_CHUNK_BYTES = 8 * 1024 * 1024


def listed(queue: EventQueue, request: Mapping[str, Any]) -> dict[str, Any]:
    """Events of the queue, in order: up to `limit`, from the position `since` on, of `table` alone if one is named.

    `next` is where to go on, null at the end: an answer may hold fewer than `limit` (MOST at most, or none) before
    that. Without `since`: the newest ones, or with `table` from the oldest kept. Reads only. Raises PysyncError for
    arguments that make no sense.
    """
    limit = _number(request, "limit", 100)
    table = None if request.get("table") is None else str(TableName.parse(str(request["table"])))
    first, last = queue.last + 1 - queue.size, queue.last
    newest = first if table else last + 1 - limit
    at = max(first, _number(request, "since", newest))
    most = min(limit, MOST)
    positions, events = queue.positions(), list[dict[str, Any]]()
    until = time.monotonic() + _SECONDS
    while at <= last and len(events) < most and (chunk := queue.events(at - 1, _CHUNK, _CHUNK_BYTES)):
        for queued in chunk:
            at = queued.position + 1
            event = _event(queued, positions)
            if table is None or _concerns(event, table):
                events.append(event)
            if len(events) == most:
                break
        if time.monotonic() > until:
            break
    return {"first": first, "last": last, "events": events, "next": at if at <= last else None}


def _event(queued: Queued, positions: Mapping[str, int]) -> dict[str, Any]:
    return {
        "position": queued.position,
        "at": queued.at_ms / 1000,
        "bytes": len(queued.data),
        "waits_for": [target for target, position in positions.items() if position < queued.position],
        **_content(queued),
    }


def _content(queued: Queued) -> dict[str, Any]:
    """What the event says of itself; all null where it cannot be read."""
    try:
        event = decode_event(queued.data)
    except PysyncError:
        return {"kind": None, "source": None, "id": None, "time": None, "objects": []}
    return {
        "kind": str(event.kind),
        "source": event.source,
        "id": event.id,
        "time": event.time_ms / 1000,
        "objects": objects_of(event, queued.position),
    }


def _concerns(event: Mapping[str, Any], table: str) -> bool:
    database = table.partition(".")[0]
    return table in event["objects"] or f"{database}.*" in event["objects"]


def _number(request: Mapping[str, Any], name: str, default: int) -> int:
    value = request.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PysyncError(
            f"{name} must be a whole number of at least 1, not {shortened(shown(value), 80)}",
            "see: pysync events --help",
        )
    return value
