"""Crowd: how many connections the bridge holds at once, so that nobody can take the descriptors of the sidecar.

A listener needs two, and says who it is at once. Who does not give way to those who come: the longest silent one first.
"""

from __future__ import annotations

import resource
import socket
import threading
from contextlib import suppress

_MOST = 256
_SHARE = 4
"""Of the descriptors of the process, as many are the callers' at most: the queue and the targets need others."""
_PATIENCE_SECONDS = 1.0


class Crowd:
    """The connections that are open, from any thread; at most `most` (not given: as fits the descriptors)."""

    def __init__(self, most: int | None = None) -> None:
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        fitting = _MOST if allowed == resource.RLIM_INFINITY else max(2, min(_MOST, allowed // _SHARE))
        self._most = most or fitting
        self._changed = threading.Condition()
        self._strangers: dict[socket.socket, None] = {}  # who have not said who they are, in order
        self._known: set[socket.socket] = set()

    def enter(self, connection: socket.socket) -> None:
        """One more. Where that is one too many, end the one that has kept silent for longest: this one, if no other.

        Waits until it is gone, for a second at most.
        """
        with self._changed:
            self._strangers[connection] = None
            if len(self) > self._most:
                oldest = next(iter(self._strangers))
                _end(oldest)
                if oldest is not connection:
                    self._changed.wait_for(lambda: len(self) <= self._most, _PATIENCE_SECONDS)

    def greeted(self, connection: socket.socket) -> None:
        """It has said who it is, and stays."""
        with self._changed:
            if connection in self._strangers:
                del self._strangers[connection]
                self._known.add(connection)

    def leave(self, connection: socket.socket) -> None:
        """It is closed; may be said twice."""
        with self._changed:
            self._strangers.pop(connection, None)
            self._known.discard(connection)
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._strangers) + len(self._known)


def _end(connection: socket.socket) -> None:
    """Its own thread sees that, and closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
