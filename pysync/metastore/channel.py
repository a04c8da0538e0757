"""A channel: bytes both ways between us and one server. TLS and SASL are channels, too."""

from __future__ import annotations

import socket
import ssl
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
    """A TCP connection, with TLS or without."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def send(self, data: bytes) -> None:
        """Send it all."""
        self._socket.sendall(data)

    def receive(self, size: int) -> bytes:
        """At most `size` bytes."""
        data = self._socket.recv(size)
        if not data:
            raise EOFError("the metastore closed the connection")
        return data

    def is_idle(self) -> bool:
        """Whether nothing comes. A byte that nobody asked for is lost here, and ends the connection as well."""
        timeout = self._socket.gettimeout()
        self._socket.settimeout(0)
        try:
            self._socket.recv(1)  # not MSG_PEEK: TLS must take in its own messages, and has no such thing
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        finally:
            self._socket.settimeout(timeout)
        return False

    def close(self) -> None:
        """End it."""
        self._socket.close()
