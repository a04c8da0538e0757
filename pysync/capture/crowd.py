"""Crowd: how many connections the bridge holds at once, so that nobody can take the descriptors of the sidecar.

A listener needs two, and greets at once. Connections that have not greeted give way to new ones, the oldest first.
"""

from __future__ import annotations

import resource
import socket
import threading
from contextlib import suppress

_MOST = 256
_SHARE = 4
"""Callers get one in so many of the process's descriptors: the queue and the targets need the others."""
_PATIENCE_SECONDS = 1.0


class Crowd:
    """The connections that are open, from any thread; at most `most` (not given: as fits the descriptors)."""

    def __init__(self, most: int | None = None) -> None:
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # At least the two that one listener needs.
        fitting = _MOST if allowed == resource.RLIM_INFINITY else max(2, min(_MOST, allowed // _SHARE))
        self._most = most or fitting
        self._changed = threading.Condition()
        self._strangers: dict[socket.socket, None] = {}  # who have not said who they are, in order
        self._known: set[socket.socket] = set()

    def enter(self, connection: socket.socket) -> None:
        """Count one more. If that is one too many, end the one that has been silent for longest, which may be this one.

        Waits until that one is gone, for a second at most.
        """
        with self._changed:
            self._strangers[connection] = None
            if len(self) > self._most:
                oldest = next(iter(self._strangers))
                _end(oldest)
                if oldest is not connection:
                    self._changed.wait_for(lambda: len(self) <= self._most, _PATIENCE_SECONDS)

    def greeted(self, connection: socket.socket) -> None:
        """The connection has greeted, and gives way no more."""
        with self._changed:
            if connection in self._strangers:
                del self._strangers[connection]
                self._known.add(connection)

    def leave(self, connection: socket.socket) -> None:
        """The connection is closed. Idempotent."""
        with self._changed:
            self._strangers.pop(connection, None)
            self._known.discard(connection)
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)


def _end(connection: socket.socket) -> None:
    """Shut it down. Its own thread, which reads from it, sees that and closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
