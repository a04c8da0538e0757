"""Thrift over HTTP, as Hive 4 speaks it (`hive.metastore.server.thrift.transport.mode` = `http`)."""

from __future__ import annotations

import io
import socket
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse, RemoteDisconnected
from typing import cast

from pysync.base.text import error_text, quoted
from pysync.metastore.addresses import MetastoreUri
from pysync.metastore.channel import SocketChannel
from pysync.metastore.errors import MetastoreUnavailable

_TYPE = "application/x-thrift"
_LONGEST_REASON = 200  # characters of what a server says when it refuses
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _NOT_ALLOWED = 401, 403, 404, 405
_HINTS = {
    _UNAUTHORIZED: "set login: user, or for JWT a token_file with a valid token (docs/security.md)",
    _FORBIDDEN: "check the permissions of this user; see the log of the metastore",
    _NOT_FOUND: "the path of the address must be hive.metastore.server.thrift.http.path",
    _NOT_ALLOWED: "the path of the address must be hive.metastore.server.thrift.http.path",
}


class _Received(io.RawIOBase):
    """What comes by a channel, as a file; `makefile` is what http.client asks of a socket."""

    def __init__(self, channel: SocketChannel) -> None:
        self._channel = channel

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._channel.receive(len(buffer))
        except EOFError:
            return 0
        buffer[: len(data)] = data
        return len(data)


class HttpChannel:
    """Each thrift request is the body of a POST, its answer that of the response. The connection is kept alive."""

    def __init__(self, plain: SocketChannel, uri: MetastoreUri, headers: Mapping[str, str]) -> None:
        self._plain = plain
        self._uri = uri
        host = str(uri).partition("://")[2].removesuffix(uri.path)
        lines = {"Host": host, "Content-Type": _TYPE, "Accept": _TYPE, **headers}
        self._head = f"POST {uri.path} HTTP/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in lines.items())
        self._answer: HTTPResponse | None = None

    def send(self, data: bytes) -> None:
        """Send a whole request."""
        self._answer = None
        head = f"{self._head}Content-Length: {len(data)}\r\n\r\n"
        self._plain.send(head.encode() + data)  # at once: each part would be a packet of its own

    def receive(self, size: int) -> bytes:
        """At most `size` bytes of the answer. Raises also MetastoreUnavailable where the server refuses the request."""
        try:
            if self._answer is None:
                self._answer = HTTPResponse(cast(socket.socket, _Received(self._plain)), method="POST")
                self._answer.begin()
                self._accept(self._answer)
            data = self._answer.read(size)
        except RemoteDisconnected as error:
            raise EOFError("the metastore closed the connection") from error
        except HTTPException as error:
            raise ValueError(f"the answer is not HTTP: {quoted(error_text(error))}") from error
        if not data:
            raise EOFError("the answer is cut off")
        return data

    def is_idle(self) -> bool:
        """Whether it can carry another request: the answer to the last one is read, and the server keeps it open."""
        read = self._answer is None or (self._answer.isclosed() and not self._answer.will_close)
        return read and self._plain.is_idle()

    def close(self) -> None:
        """End it."""
        if self._answer is not None:
            self._answer.close()
        self._plain.close()

    def _accept(self, answer: HTTPResponse) -> None:
        if answer.status in _HINTS:
            raise MetastoreUnavailable(
                f"the metastore at {self._uri} refuses the request: HTTP {answer.status} {_refusal_text(answer)}",
                _HINTS[answer.status],
            )
        if answer.status != 200:
            raise ValueError(f"HTTP {answer.status} {_refusal_text(answer)}")


def _refusal_text(answer: HTTPResponse) -> str:
    """What the server says of it in one line: its own text, or the name of the status where it sends a page."""
    text = " ".join(answer.read(64 * 1024).decode("utf-8", "replace").split())
    return (answer.reason if not text or text.startswith("<") else text)[:_LONGEST_REASON]
