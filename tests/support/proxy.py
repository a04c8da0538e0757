"""A TCP proxy between two parts, that delays, holds, cuts or half-closes what goes through when it is told to."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

HOST = "127.0.0.1"
_CHUNK = 65536
_RESET = struct.pack("ii", 1, 0)  # linger for 0 s: closing sends RST

Link = tuple[socket.socket, socket.socket]
"""Who called, and the connection that was made for it."""


class Proxy:
    """Listens on `port` of 127.0.0.1 for what is meant for `upstream`, and passes it on both ways until told otherwise.

    `delay` is how long (in seconds) every chunk waits on its way.
    """

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.delay = 0.0
        self.ended = 0
        self._passing = threading.Event()
        self._passing.set()
        self._lock = threading.Lock()
        self._links: set[Link] = set()
        self._server = socket.create_server((HOST, 0), backlog=256)
        self.port: int = self._server.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name=f"proxy-{self.port}", daemon=True)
        self._thread.start()

    def hold(self) -> None:
        """Pass nothing on from now; connections stay, and new ones are taken."""
        self._passing.clear()

    def release(self) -> None:
        """Pass on again, first what was held."""
        self._passing.set()

    def cut(self) -> int:
        """End all connections with a reset, in the middle of whatever they carry; returns how many."""
        return self._end(lambda link: [_reset(side) for side in link])

    def half_close(self) -> int:
        """Close every connection's way back to the caller, and leave its way there open; returns how many."""
        return self._end(lambda link: [_shut(link[0])])

    def close(self) -> None:
        """End everything."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._server.close()
        self.release()
        self.cut()

    def _end(self, how: Callable[[Link], object]) -> int:
        with self._lock:
            links = list(self._links)
        for link in links:
            how(link)
        self.ended += len(links)
        return len(links)

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(caller,), daemon=True).start()

    def _serve(self, caller: socket.socket) -> None:
        try:
            server = socket.create_connection((HOST, self.upstream), timeout=5)
        except OSError:  # nobody there: as it would be without us
            _reset(caller)
            caller.close()
            return
        server.settimeout(None)
        with caller, server:
            self._link(caller, server)

    def _link(self, caller: socket.socket, server: socket.socket) -> None:
        for side in (caller, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._links.add((caller, server))
        back = threading.Thread(target=self._pump, args=(server, caller), daemon=True)
        back.start()
        self._pump(caller, server)
        back.join()
        with self._lock:
            self._links.discard((caller, server))

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(_CHUNK):
                time.sleep(self.delay)
                self._passing.wait()
                sink.sendall(data)
        except OSError:
            _reset(source)
        _shut(sink)


def _shut(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_WR)


def _reset(side: socket.socket) -> None:
    """Make the end of a connection a reset; its owner closes it."""
    with suppress(OSError):
        side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        side.shutdown(socket.SHUT_RDWR)
