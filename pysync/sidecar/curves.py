"""Curves: lag and throughput of each target, minute by minute, for up to a day. In memory, since the start."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pysync.errors import PysyncError
from pysync.text import meant, quoted, shortened, shown

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

    def look(self, now: float) -> None:
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
    found = request.get("hours", _HOURS)
    if type(found) is not int or not 1 <= found <= _HOURS:  # not isinstance: true is an int, too
        raise PysyncError(f"hours must be a whole number from 1 to {_HOURS}, not {shortened(shown(found), 80)}")
    return found
