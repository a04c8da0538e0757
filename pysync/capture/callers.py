"""Callers of the bridge that have not proved the secret: which are turned away, and how many may be there at once.

All that are turned away are counted, the first is logged, and then how many more there were. The bridge holds so many
connections at once that nobody can take the descriptors of the sidecar. A listener needs two, and greets at once.
Connections that have not greeted give way to new ones, the oldest first.
"""

from __future__ import annotations

import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import structlog

log = structlog.get_logger(__name__)

_MOST = 256
_SHARE = 4
"""Callers get one in so many of the process's descriptors: the queue and the targets need the others."""
_PATIENCE_SECONDS = 1.0


class Refusals:
    """Counts from any thread. `log_repeated` is to be called every few seconds; no reason is logged more often."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._unlogged: Counter[str] = Counter()
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
            first = reason not in self._unlogged
            self._unlogged[reason] += 0 if first else 1
        if first:
            log.warning("caller_refused", reason=reason, refused=self._total)

    def log_repeated(self) -> None:
        """Log how many came since the last line. A reason for which none came is calm: its next is logged at once."""
        with self._lock:
            counted, self._unlogged = (
                self._unlogged,
                Counter({reason: 0 for reason, more in self._unlogged.items() if more}),
            )
        for reason, more in counted.items():
            if more:
                log.warning("caller_refused", reason=reason, more=more, refused=self._total)


class BridgeConnections:
    """The connections that are open, from any thread; at most `most` (not given: as fits the descriptors)."""

    def __init__(self, most: int | None = None) -> None:
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # At least the two that one listener needs.
        fitting = _MOST if allowed == resource.RLIM_INFINITY else max(2, min(_MOST, allowed // _SHARE))
        self._most = most or fitting
        self._changed = threading.Condition()
        self._unidentified: dict[socket.socket, None] = {}  # who have not identified themselves, in order
        self._known: set[socket.socket] = set()

    def enter(self, connection: socket.socket) -> None:
        """Count one more. If that is one too many, end the one that has been silent for longest, which may be this one.

        Waits until that one is gone, for a second at most.
        """
        with self._changed:
            self._unidentified[connection] = None
            if len(self) > self._most:
                oldest = next(iter(self._unidentified))
                _end(oldest)
                if oldest is not connection:
                    self._changed.wait_for(lambda: len(self) <= self._most, _PATIENCE_SECONDS)

    def greeted(self, connection: socket.socket) -> None:
        """The connection has greeted, and gives way no more."""
        with self._changed:
            if connection in self._unidentified:
                del self._unidentified[connection]
                self._known.add(connection)

    def leave(self, connection: socket.socket) -> None:
        """The connection is closed. Idempotent."""
        with self._changed:
            self._unidentified.pop(connection, None)
            self._known.discard(connection)
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._unidentified) + len(self._known)


def _end(connection: socket.socket) -> None:
    """Shut it down. Its own thread, which reads from it, sees that and closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
