"""A server that speaks TLS to its clients and plain TCP to a metastore, as stunnel or a balancer in front of one."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.certificates import Signed

HOST = "127.0.0.1"
_SECONDS = 20


@contextmanager
def tls_front(signed: Signed, upstream: int, *, clients: Path | None = None) -> Iterator[str]:
    """Its address. With `clients` it asks for a certificate that this authority has signed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=clients)
    context.load_cert_chain(signed.certificate, signed.key)
    context.verify_mode = ssl.CERT_NONE if clients is None else ssl.CERT_REQUIRED
    with socket.create_server((HOST, 0)) as server:
        thread = threading.Thread(target=_accept, args=(server, context, upstream), daemon=True)
        thread.start()
        try:
            yield f"thrift://{HOST}:{server.getsockname()[1]}"
        finally:
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            thread.join(_SECONDS)


def _accept(server: socket.socket, context: ssl.SSLContext, upstream: int) -> None:
    """One client after the other."""
    while True:
        try:
            caller, _ = server.accept()
        except OSError:
            return
        caller.settimeout(_SECONDS)
        with context.wrap_socket(caller, server_side=True, do_handshake_on_connect=False) as secured, suppress(OSError):
            _serve(secured, upstream)


def _serve(caller: ssl.SSLSocket, upstream: int) -> None:
    """A request and its answer at a time, as thrift has them: small ones."""
    try:
        caller.do_handshake()
    except ssl.SSLError:  # closed at once, what is unread would turn our alert into a reset
        socket.socket.shutdown(caller, socket.SHUT_WR)
        while socket.socket.recv(caller, 65536):
            pass
        return
    with socket.create_connection((HOST, upstream), _SECONDS) as metastore:
        while request := caller.recv(65536):
            metastore.sendall(request)
            caller.sendall(metastore.recv(65536))
