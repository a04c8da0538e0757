"""TLS in front of the embedded AWS: version 1 of AWS's SDK for Java, which the agents use, can be sent to another
address (by a file of regions) but not to one without TLS."""

from __future__ import annotations

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.certificates import Authority

HOST = "127.0.0.1"
_CHUNK = 65536


@contextmanager
def tls_front(directory: Path, upstream: int) -> Iterator[int]:
    """The port of a server that passes on what it gets to `upstream`, any number of connections at a time."""
    signed = Authority(directory).sign("aws", HOST)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(signed.certificate, signed.key)
    with _Server(context, upstream) as server:
        thread = threading.Thread(target=server.serve_forever, name="tls-front", daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, context: ssl.SSLContext, upstream: int) -> None:
        super().__init__((HOST, 0), _Caller)
        self.context, self.upstream = context, upstream


class _Caller(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        """Both ways, until either end is closed. Java closes idle connections as it likes, so errors mean nothing."""
        with suppress(OSError), self.server.context.wrap_socket(self.request, server_side=True) as caller:
            self._serve(caller)

    def _serve(self, caller: ssl.SSLSocket) -> None:
        with socket.create_connection((HOST, self.server.upstream)) as upstream:
            answers = threading.Thread(target=_copy, args=(upstream, caller), daemon=True)
            answers.start()
            _copy(caller, upstream)
            answers.join()


def _copy(reader: socket.socket, writer: socket.socket) -> None:
    with suppress(OSError):
        while data := reader.recv(_CHUNK):
            writer.sendall(data)
    with suppress(OSError):
        writer.shutdown(socket.SHUT_WR)
