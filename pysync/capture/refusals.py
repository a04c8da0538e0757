"""Callers that the bridge turns away: all are counted, the first is logged, and then how many more there were."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

import structlog

log = structlog.get_logger(__name__)


class Refusals:
    """Counts from any thread. Whoever keeps house calls `tell` every few seconds; no reason is logged more often."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._untold: Counter[str] = Counter()
        self._total = 0
        self._last_at: float | None = None

    @property
    def total(self) -> int:
        """How many there were."""
        return self._total

    @property
    def last_at(self) -> float | None:
        """When the last one was, in seconds since 1970; None if there was none."""
        return self._last_at

    def add(self, reason: str) -> None:
        """Count one. It is logged unless its reason was logged already since the last calm."""
        with self._lock:
            self._total += 1
            self._last_at = self._clock()
            first = reason not in self._untold
            self._untold[reason] += 0 if first else 1
        if first:
            log.warning("caller_refused", reason=reason, refused=self._total)

    def tell(self) -> None:
        """Log how many came since the last line. A reason for which none came is calm: its next is logged at once."""
        with self._lock:
            told, self._untold = self._untold, Counter({reason: 0 for reason, more in self._untold.items() if more})
        for reason, more in told.items():
            if more:
                log.warning("caller_refused", reason=reason, more=more, refused=self._total)
