"""The wire to a metastore: a socket, TLS or HTTP, and thrift's requests and answers on it, within bounds."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse, RemoteDisconnected
from pathlib import Path

from pysync.base.text import error_text, quoted
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.login import NO_SASL, Channel, PlainExchange, SaslChannel, SocketChannel, Status, headers
from pysync.metastore.settings import MetastoreUri, TlsSettings, assert_secret

# --- Thrift over HTTP, as Hive 4 speaks it (`hive.metastore.server.thrift.transport.mode` = `http`)

_TYPE = "application/x-thrift"
_LONGEST_REASON = 200  # characters of what a server says when it refuses
_UNAUTHORIZED, _FORBIDDEN, _NOT_FOUND, _NOT_ALLOWED = 401, 403, 404, 405
_HINTS = {
    _UNAUTHORIZED: "set login: user, or for JWT a token_file with a valid token (docs/security.md)",
    _FORBIDDEN: "check the permissions of this user; see the log of the metastore",
    _NOT_FOUND: "the path of the address must be hive.metastore.server.thrift.http.path",
    _NOT_ALLOWED: "the path of the address must be hive.metastore.server.thrift.http.path",
}


class HttpChannel:
    """Each thrift request is the body of a POST, its answer that of the response. The connection is kept alive."""

    def __init__(self, connected: socket.socket, uri: MetastoreUri, headers: Mapping[str, str]) -> None:
        self._socket = connected
        self._plain = SocketChannel(connected)
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
                self._answer = HTTPResponse(self._socket, method="POST")
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


# --- TLS to a metastore: Python's ssl, the server always verified, and each way to fail as one line

# OpenSSL's X509_V_ERR_… numbers.
_NOT_YET_VALID, _EXPIRED = 9, 10
_WRONG_NAME = (62, 64)
_ISSUER = "ca_file must be the authority that signed the certificate"
_SPEAKS_TLS = "remove tls if its hive.metastore.use.SSL is not true"


def secured(plain: socket.socket, settings: TlsSettings, host: str, address: str) -> ssl.SSLSocket:
    """The connection with TLS on it, after the handshake; within the socket's timeout for each of its steps.

    The files are read each time, so that renewed certificates need no restart. Raises MetastoreUnavailable.
    """
    context = _context(settings)
    name = settings.server_name or host
    try:
        return context.wrap_socket(plain, server_hostname=name)
    except ssl.SSLCertVerificationError as error:
        raise _untrusted(error, address, name) from error
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):  # its word, not ours
            raise refused(error, address) from error
        problem = _plain(error.reason or str(error))
        raise MetastoreUnavailable(
            f"the TLS connection to the metastore at {address} failed: {problem}", _SPEAKS_TLS
        ) from error
    except ValueError as error:  # a name that cannot be in a certificate
        raise MetastoreUnavailable(
            f"{name!r} is not a valid name of a TLS server: {error}", "set server_name"
        ) from error
    except OSError as error:  # it hung up, or says nothing
        raise MetastoreUnavailable(
            f"the TLS connection to the metastore at {address} failed: {error_text(error)}", _SPEAKS_TLS
        ) from error


def refused(error: ssl.SSLError, address: str) -> MetastoreUnavailable:
    """The refusal for an error of TLS in the handshake, or before the first answer.

    With TLS 1.3 the server looks at our certificate only when the handshake is over for us.
    """
    return MetastoreUnavailable(
        f"the metastore at {address} refuses the TLS connection: {_plain(error.reason or str(error))}",
        "the metastore may need a client certificate that its authority signed (cert_file, key_file)",
    )


def _context(settings: TlsSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
    except (OSError, ssl.SSLError) as error:
        raise _unusable("ca_file", settings.ca_file, error) from error
    if settings.cert_file is not None:
        _show_certificate(context, settings.cert_file, settings.key_file)
    return context


def _show_certificate(context: ssl.SSLContext, certificate: Path, key: Path | None) -> None:
    assert_secret(key or certificate, "key file")
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except (OSError, ssl.SSLError, ValueError) as error:
        raise _unusable("cert_file or key_file", certificate, error) from error


def _no_password() -> str:
    """Refuse, as OpenSSL would ask for the password at the terminal otherwise."""
    raise ValueError("the key has a password; use a key without one, in a file of mode 0600")


def _unusable(key: str, path: Path | None, error: Exception) -> MetastoreUnavailable:
    problem = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
    return MetastoreUnavailable(
        f"tls: cannot use {key} {path}: {_plain(problem)}", "the file must exist, in PEM format"
    )


def _untrusted(error: ssl.SSLCertVerificationError, address: str, name: str) -> MetastoreUnavailable:
    problem = error.verify_message
    if error.verify_code == _EXPIRED:
        hint = "renew the certificate of the metastore; check the clocks of both hosts"
    elif error.verify_code == _NOT_YET_VALID:
        hint = "check the clocks of both hosts"
    elif error.verify_code in _WRONG_NAME:
        hint = f"use a name that is in the certificate, or set server_name; {name!r} is not in it"
    else:
        hint = _ISSUER
    return MetastoreUnavailable(
        f"the certificate of the metastore at {address} is not trusted: {problem.rstrip('.')}", hint
    )


def _plain(text: str) -> str:
    """OpenSSL's WRONG_VERSION_NUMBER as words."""
    return text.replace("_", " ").lower() if text.isupper() else text


# --- The transport that thrift uses, made by trying each address of a metastore

_NAME_AT = 8  # a strict binary message starts with version (4 bytes), length of the name (4 bytes), name
_TLS_ALERT = 0x15
_HTTP = b"HTTP/"
MOST_IN_ANSWER = 512 * 1024 * 1024
"""Bytes of an answer; its objects need several times as much memory."""


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
        """At most `size` bytes. Raises OSError, EOFError, ValueError, and MetastoreUnavailable (see `_understood`)."""
        with self._explained():
            data = self._channel.receive(size)
        if not self.answered:
            self._understood(data)
        self.answered = True
        self._received += len(data)
        if self._received > MOST_IN_ANSWER:
            raise ValueError(f"the answer is larger than {MOST_IN_ANSWER:,} bytes")
        return data

    def readAll(self, size: int) -> bytes:  # noqa: N802, thrift's name
        """Exactly `size` bytes."""
        data = bytearray()
        while len(data) < size:
            data += self.read(size - len(data))
        return bytes(data)

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
        channel = _logged_in(access, uri, connected)
        connected.settimeout(timeout)
    except (OSError, EOFError) as error:
        connected.close()
        raise MetastoreUnavailable(
            f"the metastore at {uri} does not answer the login: {error_text(error)}", NO_SASL
        ) from error
    except BaseException:
        connected.close()
        raise
    return channel


def _logged_in(access: MetastoreAccess, uri: MetastoreUri, connected: socket.socket) -> Channel:
    if uri.is_http:
        return HttpChannel(connected, uri, headers(access.secret, access.user))
    if access.login is not None:
        return SaslChannel(SocketChannel(connected), access.login.begin(uri.host), str(uri))
    if access.secret is not None:
        return SaslChannel(SocketChannel(connected), PlainExchange(access.secret), str(uri))
    return SocketChannel(connected)


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
