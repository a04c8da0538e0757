"""A channel: bytes both ways between us and one server. TLS and SASL are channels, too."""

from __future__ import annotations

import socket
import ssl
import time
from typing import Protocol


class Channel(Protocol):
    """Used by one thread at a time."""

    def send(self, data: bytes) -> None:
        """Send it all. Raises OSError."""

    def receive(self, size: int) -> bytes:
        """At most `size` bytes, at least one. Raises OSError, EOFError at the end, and ValueError for damaged ones."""

    def is_idle(self) -> bool:
        """Whether the other end is still there and owes us nothing: a server that restarted has closed its end."""

    def close(self) -> None:
        """End it. Never fails."""


class SocketChannel:
    """A TCP connection, with TLS or without. Each wait has a limit, and all from one `send` to the next together.

    Without the second, a peer that sends a byte now and then would be waited for without end.
    """

    def __init__(self, connected: socket.socket, timeout: float) -> None:
        """`timeout` is the limit for both, in seconds: for a login, whose messages are short."""
        self._socket = connected
        self.limit(timeout, timeout)

    def limit(self, timeout: float, whole: float) -> None:
        """Wait at most `timeout` seconds at once, and `whole` seconds for a request and its answer."""
        self._timeout, self._whole = timeout, whole
        self._ends_at = time.monotonic() + whole

    def send(self, data: bytes) -> None:
        """Send it all."""
        self._ends_at = time.monotonic() + self._whole
        left = memoryview(data)
        while left:
            self._set_timeout()
            left = left[self._socket.send(left) :]

    def receive(self, size: int) -> bytes:
        """At most `size` bytes."""
        self._set_timeout()
        data = self._socket.recv(size)
        if not data:
            raise EOFError("the metastore closed the connection")
        return data

    def is_idle(self) -> bool:
        """Whether nothing comes. A byte that nobody asked for is lost here, and ends the connection as well."""
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)  # not MSG_PEEK: TLS must take in its own messages, and has no such thing
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """End it."""
        self._socket.close()

    def _set_timeout(self) -> None:
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"it has taken more than {self._whole:g} s")
        self._socket.settimeout(min(self._timeout, left))
