"""The transport that thrift uses, made by trying each address of a metastore. Requests and answers have bounds."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pysync.base.text import error_text
from pysync.base.timed_answers import TIMEOUTS_OF_CALL
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.addresses import MetastoreUri
from pysync.metastore.channel import Channel, SocketChannel
from pysync.metastore.errors import AnswerTooLarge, MetastoreUnavailable
from pysync.metastore.http import HttpChannel
from pysync.metastore.sasl import NO_SASL, SaslChannel, Status
from pysync.metastore.secret_logins import PlainExchange, headers
from pysync.metastore.settings import TlsSettings
from pysync.metastore.tls import refused, secured

_NAME_AT = 8  # a strict binary message starts with version (4 bytes), length of the name (4 bytes), name
_TLS_ALERT = 0x15
_HTTP = b"HTTP/"
MOST_IN_ANSWER = 64 * 1024 * 1024
"""Bytes of an answer; its objects need several times as much memory. Nothing that Hive can store needs more, but for
the names of more than a million partitions: what is read in numbers is asked for in parts (`Metastore.in_parts`)."""
_MOST_AT_ONCE = 1024 * 1024  # a socket reserves what it is asked for


class Wire:
    """A channel to the metastore at `uri`, and a note of the request that went out on it."""

    def __init__(self, channel: Channel, uri: MetastoreUri) -> None:
        self.uri = uri
        self.sent = ""  # the name of the call; empty while nothing went out
        self.on_sent: Callable[[str], object] | None = None  # is called with the name of each
        self._channel = channel
        self.answered = False  # whether anything has come since it was opened
        self._received = 0  # bytes since the last request

    def read(self, size: int) -> bytes:
        """At most `size` bytes. Raises OSError, EOFError, ValueError, AnswerTooLarge, MetastoreUnavailable."""
        with self._explained():
            data = self._channel.receive(min(size, _MOST_AT_ONCE))
        if not self.answered:
            self._understood(data)
        self.answered = True
        self._received += len(data)
        if self._received > MOST_IN_ANSWER:
            raise AnswerTooLarge(
                f"the metastore at {self.uri} answers {self.sent} with more than {MOST_IN_ANSWER:,} bytes"
            )
        return data

    def readAll(self, size: int) -> bytes:  # noqa: N802, thrift's name
        """Exactly `size` bytes."""
        parts = []
        while size > 0:
            parts.append(self.read(size))
            size -= len(parts[-1])
        return b"".join(parts)

    def write(self, data: bytes) -> None:
        """Send a request, all of it."""
        # TBufferedTransport writes a request as a whole, at its flush.
        (length,) = struct.unpack_from("!i", data, _NAME_AT - 4)
        self.sent, self._received = data[_NAME_AT : _NAME_AT + length].decode(), 0
        if self.on_sent is not None:
            self.on_sent(self.sent)
        with self._explained():
            self._channel.send(data)

    def flush(self) -> None:
        """Nothing to do: write() has sent it."""

    def is_idle(self) -> bool:
        """Whether it can carry another call."""
        return self._channel.is_idle()

    def close(self) -> None:
        """End it."""
        self._channel.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except ssl.SSLError as error:
            if self.answered:
                raise
            raise refused(error, str(self.uri)) from error

    def _understood(self, data: bytes) -> None:
        """Raises MetastoreUnavailable for a first answer that is not thrift's: the request was not carried out then."""
        if data[0] == _TLS_ALERT:
            raise MetastoreUnavailable(f"the metastore at {self.uri} needs TLS", "set tls (docs/security.md)")
        if data[0] in (Status.BAD, Status.ERROR):
            raise MetastoreUnavailable(
                f"the metastore at {self.uri} needs a SASL login", "set kerberos or login (docs/security.md)"
            )
        if data[:5] == _HTTP and not self.uri.is_http:
            raise MetastoreUnavailable(
                f"the metastore at {self.uri} speaks HTTP", "write its address as http://host:port/metastore"
            )


def connect(access: MetastoreAccess, timeout: float, connect_timeout: float) -> Wire:
    """A connection to the first address that accepts one, beginning with the address in use.

    Raises MetastoreUnavailable, which says why each address failed.
    """
    failures: dict[MetastoreUri, MetastoreUnavailable] = {}
    for uri in access.addresses.in_order():
        try:
            wire = Wire(_channel(access, uri, timeout, connect_timeout), uri)
        except MetastoreUnavailable as error:
            failures[uri] = error
        else:
            access.addresses.prefer(uri)
            return wire
    raise _all_failed(list(failures.values()))


def _all_failed(failures: list[MetastoreUnavailable]) -> MetastoreUnavailable:
    if len(failures) == 1:
        return failures[0]
    hints = dict.fromkeys(failure.hint for failure in failures if failure.hint)
    messages = dict.fromkeys(failure.message for failure in failures)
    error = MetastoreUnavailable("no address of the metastore works: " + "; ".join(messages), "; ".join(hints))
    error.__cause__ = failures[-1].__cause__
    return error


def _channel(access: MetastoreAccess, uri: MetastoreUri, timeout: float, connect_timeout: float) -> Channel:
    connected = _connected(uri, connect_timeout)
    try:
        if access.tls is not None or uri.scheme == "https":
            connected = secured(connected, access.tls or TlsSettings(), uri.host, str(uri))
        plain = SocketChannel(connected, connect_timeout)
        channel = _logged_in(access, uri, plain)
        plain.limit(timeout, timeout * TIMEOUTS_OF_CALL)
    except (OSError, EOFError) as error:
        connected.close()
        raise MetastoreUnavailable(
            f"the metastore at {uri} does not answer the login: {error_text(error)}", NO_SASL
        ) from error
    except BaseException:
        connected.close()
        raise
    return channel


def _logged_in(access: MetastoreAccess, uri: MetastoreUri, plain: SocketChannel) -> Channel:
    if uri.is_http:
        return HttpChannel(plain, uri, headers(access.secret, access.user))
    if access.login is not None:
        return SaslChannel(plain, access.login.begin(uri.host), str(uri))
    if access.secret is not None:
        return SaslChannel(plain, PlainExchange(access.secret), str(uri))
    return plain


def _connected(uri: MetastoreUri, connect_timeout: float) -> socket.socket:
    try:
        connected = socket.create_connection((uri.host, uri.port), connect_timeout)
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if connected.getsockname() == connected.getpeername():
                # TCP lets a client that tries a free local port connect to itself; nobody listens there.
                raise ConnectionRefusedError(f"nothing listens on port {uri.port}")
        except OSError:  # also of a peer that has gone again
            connected.close()
            raise
    except UnicodeError as error:  # IDNA cannot spell it
        raise MetastoreUnavailable(f"cannot reach the metastore at {uri}: this is not the name of a host") from error
    except OSError as error:
        problem = error_text(error)
        raise MetastoreUnavailable(
            f"cannot reach the metastore at {uri}: {problem}", "check that it is running, and that this is its address"
        ) from error
    return connected
