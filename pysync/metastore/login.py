"""Logins to a metastore: SASL over a socket, with Kerberos or a password."""

from __future__ import annotations

import math
import socket
import ssl
import struct
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from pysync.metastore.errors import MetastoreUnavailable
from pysync.metastore.settings import KerberosSettings, LoginSettings, assert_secret

# --- A channel: bytes both ways between us and one server. TLS and SASL are channels too


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


# --- The Kerberos login of a client, by the package `gssapi` (extra `kerberos`), and each way to fail as one line

_FRAME = 64 * 1024
"""How much goes into one frame: as much as Java's servers announce that they take."""

_NONE, _INTEGRITY, _CONFIDENTIALITY = 1, 2, 4
_LONGEST_ANSWER = 0xFFFFFF  # the longest frame that we take, as three bytes say it (RFC 4752)

# MIT's error codes as RFC 4120 numbers them, and its own after those (krb5_err.et).
_FIRST_CODE = 2529638912
_CLOCKS = "synchronize the clocks of this host, the metastore and the KDC (NTP)"
_NO_TICKET = "there is no ticket: run kinit, or set keytab and client_principal"
_HINTS = {
    6: "check client_principal: the realm must have it",
    7: "service_principal must be hive.metastore.kerberos.principal, with _HOST as the name of its host",
    24: "check that the keytab is the newest one of this principal",
    31: "check that the keytab is the newest one of this principal",
    32: "the ticket has expired: run kinit, or set keytab and client_principal so that pysync renews it",
    37: _CLOCKS,
    141: _NO_TICKET,
    148: _CLOCKS,
    154: "krb5.conf must name the realm and its KDC",
    156: "check that the KDC in krb5.conf is running and reachable from this host",
    181: "the keytab must have the key of client_principal: klist -kt FILE",
    195: _NO_TICKET,
}
_NOTHING_CAME = (141, 195)  # with a keytab: no key of the principal is in it
_HINT = "klist shows the tickets, KRB5_TRACE=/dev/stderr shows the login; krb5.conf names the KDC"


class Login:
    """Who we are to a metastore. Threads may share it.

    With a keytab the tickets are in memory, and MIT's library acquires new ones at half of their life. Without one the
    tickets of the process's cache are used, which somebody else (kinit, k5start) must keep fresh.
    """

    def __init__(self, settings: KerberosSettings) -> None:
        self._settings = settings
        self._cache = f"MEMORY:pysync-{uuid.uuid4().hex}"
        self._lock = threading.Lock()

    def begin(self, host: str) -> KerberosExchange:
        """Begin to log in at the metastore on this host; asks the KDC for tickets where there are none.

        Raises MetastoreUnavailable, before anything is sent to the metastore.
        """
        gssapi = _gssapi()
        principal = self._settings.service_principal.replace("_HOST", host)
        if self._settings.keytab is not None:
            assert_secret(self._settings.keytab, "keytab")
        with _explained(gssapi, principal), self._lock:  # a login empties the cache for a moment
            credentials = self._credentials(gssapi)
            service = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
            context = gssapi.SecurityContext(name=service, creds=credentials, usage="initiate", flags=_flags(gssapi))
            return KerberosExchange(gssapi, context, principal)

    def _credentials(self, gssapi: Any) -> Any:
        name, keytab = self._settings.client_principal, self._settings.keytab
        client = None if name is None else gssapi.Name(name, gssapi.NameType.kerberos_principal)
        if keytab is None:
            return gssapi.Credentials(name=client, usage="initiate")
        store = {"client_keytab": f"FILE:{keytab}", "ccache": self._cache}
        try:
            credentials = gssapi.Credentials(name=client, usage="initiate", store=store)
            good = credentials.lifetime != 0
        except gssapi.exceptions.ExpiredCredentialsError:
            good = False
        except gssapi.exceptions.GSSError as error:
            if error.min_code - _FIRST_CODE in _NOTHING_CAME:
                raise MetastoreUnavailable(
                    f"the keytab {keytab} has no key of {name}", f"list its keys: klist -kt {keytab}"
                ) from error
            raise
        if not good:  # MIT's library keeps to itself why it got no new ones
            raise MetastoreUnavailable(
                f"the ticket of {name} has expired, and pysync cannot get a new one with {keytab}",
                "check that the KDC in krb5.conf is running and that the keytab is the newest one",
            )
        return credentials


class KerberosExchange:
    """Our side of SASL's mechanism GSSAPI (RFC 4752) with one server, and what protects the data after it.

    `first` is what to send first.
    """

    mechanism = b"GSSAPI"
    name = "Kerberos login"
    hint = "see the log of the metastore; check its clock, keytab and hive.metastore.kerberos.principal"

    def __init__(self, gssapi: Any, context: Any, principal: str) -> None:
        self._gssapi = gssapi
        self._context = context
        self._principal = principal
        self._layer = 0
        self._frame = _FRAME
        self.first = context.step() or b""

    @property
    def agreed(self) -> bool:
        """Whether both sides are authenticated and have agreed how the data is protected."""
        return self._layer != 0

    def answer(self, challenge: bytes) -> bytes:
        """What to send in answer to the server. Raises MetastoreUnavailable."""
        with _explained(self._gssapi, self._principal):
            if not self._context.complete:
                return self._context.step(challenge) or b""
            return self._choose(self._context.unwrap(challenge).message)

    def _choose(self, offer: bytes) -> bytes:
        """Take the strongest protection that the server offers: one byte of them, then its longest frame."""
        flags, kind = self._context.actual_flags, self._gssapi.RequirementFlag
        # The strongest first.
        available = {_CONFIDENTIALITY: kind.confidentiality in flags, _INTEGRITY: kind.integrity in flags, _NONE: True}
        chosen = [layer for layer, able in available.items() if able and len(offer) == 4 and offer[0] & layer]
        if not chosen or kind.mutual_authentication not in flags:
            raise MetastoreUnavailable(
                f"{self._principal} offers no SASL protection that pysync supports: {offer[:1].hex()}"
            )
        self._layer = chosen[0]
        longest = min(int.from_bytes(offer[1:], "big") or _FRAME, _FRAME)
        if self._layer != _NONE:
            self._frame = self._context.get_wrap_size_limit(longest, self._layer == _CONFIDENTIALITY)
        answer = bytes([self._layer]) + (0 if self._layer == _NONE else _LONGEST_ANSWER).to_bytes(3, "big")
        return bytes(self._context.wrap(answer, False).message)

    @property
    def lifetime(self) -> float:
        """For how many seconds the tickets are good from now on."""
        with _explained(self._gssapi, self._principal):
            seconds = self._context.lifetime
        return math.inf if seconds is None else float(seconds)

    def frames(self, data: bytes) -> Iterator[bytes]:
        """The data as it is to be sent, in pieces that the server takes."""
        for start in range(0, len(data), self._frame):
            piece = data[start : start + self._frame]
            yield piece if self._layer == _NONE else self._wrapped(piece)

    def opened(self, frame: bytes) -> bytes:
        """The data of a frame that came. Raises ValueError if it is not protected as agreed."""
        if self._layer == _NONE:
            return frame
        try:
            unwrapped = self._context.unwrap(frame)
        except self._gssapi.exceptions.GSSError as error:
            raise ValueError(f"a frame is damaged: {_message_of(error)}") from error
        if self._layer == _CONFIDENTIALITY and not unwrapped.encrypted:
            raise ValueError("a frame is not encrypted")
        return bytes(unwrapped.message)

    def _wrapped(self, piece: bytes) -> bytes:
        try:
            return bytes(self._context.wrap(piece, self._layer == _CONFIDENTIALITY).message)
        except self._gssapi.exceptions.GSSError as error:
            raise ValueError(f"cannot encrypt a frame: {_message_of(error)}") from error


def _gssapi() -> Any:
    try:
        return import_module("gssapi")
    except ImportError as error:  # also of a library that it lacks
        raise MetastoreUnavailable(
            f"Kerberos needs the package gssapi: {error}",
            "pip install 'pysync[kerberos]' (it needs libkrb5-dev and gcc)",
        ) from error


def _flags(gssapi: Any) -> Any:
    kind = gssapi.RequirementFlag
    return kind.mutual_authentication | kind.integrity | kind.confidentiality | kind.out_of_sequence_detection


@contextmanager
def _explained(gssapi: Any, principal: str) -> Iterator[None]:
    try:
        yield
    except gssapi.exceptions.GSSError as error:
        hint = _HINTS.get(error.min_code - _FIRST_CODE, _HINT)
        raise MetastoreUnavailable(f"the Kerberos login at {principal} failed: {_message_of(error)}", hint) from error


def _message_of(error: Any) -> str:
    """The reason alone, without "Unspecified GSS failure"."""
    texts = error.get_all_statuses(error.min_code, False) if error.min_code else []
    return " ".join(". ".join(texts or error.get_all_statuses(error.maj_code, True)).split())


# --- Logins by a secret that is kept in a file: SASL's mechanism PLAIN (RFC 4616), and the headers of an HTTP
# request

_ACTOR = "x-actor-username"
_LONGEST_SECRET = 64 * 1024


class PlainExchange:
    """Our side of PLAIN: one message says all. It does not protect the data after it; TLS does."""

    mechanism = b"PLAIN"
    agreed = True
    lifetime = math.inf

    def __init__(self, settings: LoginSettings) -> None:
        """Reads the password. Raises MetastoreUnavailable, before anything is sent."""
        self.user = settings.user or ""
        self.first = b"\0".join((b"", self.user.encode(), _secret(settings.password_file, "password file")))
        self.name = f"login of {self.user!r}"
        self.hint = f"check the user, and the password in {settings.password_file}"

    def answer(self, challenge: bytes) -> bytes:  # noqa: ARG002, every exchange has it
        """Raises MetastoreUnavailable: PLAIN has no second message."""
        raise MetastoreUnavailable(
            "the metastore needs more than a password for the login", "see the log of the metastore"
        )

    def frames(self, data: bytes) -> Iterator[bytes]:
        """The data as it is, in pieces that the server takes."""
        return (data[start : start + _FRAME] for start in range(0, len(data), _FRAME))

    def opened(self, frame: bytes) -> bytes:
        """The frame as it is."""
        return frame


def headers(settings: LoginSettings | None, user: str | None = None) -> Mapping[str, str]:
    """The HTTP headers that say who we are; without a login that is `user`.

    Raises MetastoreUnavailable for a token that cannot be read.
    """
    if settings is None:
        return {} if user is None else {_ACTOR: user}
    if settings.token_file is not None:
        return {"Authorization": "Bearer " + _secret(settings.token_file, "token file").decode("latin-1")}
    return {_ACTOR: settings.user or ""}


def _secret(path: Path | None, name: str) -> bytes:
    """The one line of a file of mode 0600, without its end."""
    if path is None:
        raise MetastoreUnavailable(f"no {name} is set", "set one (docs/security.md)")
    assert_secret(path, name)
    secret = path.read_bytes()[:_LONGEST_SECRET].rstrip(b"\r\n")
    if not secret or any(bad in secret for bad in (b"\0", b"\r", b"\n")):
        raise MetastoreUnavailable(
            f"the {name} {path} must hold one line of text", f"write only the {name[:-5]} into it"
        )
    return secret


# --- SASL as thrift's TSaslClientTransport speaks it: a negotiation of messages, then all data in frames.
#
# A message of the negotiation is one byte of status, four of length, and the mechanism's own bytes. After it every
# frame is four bytes of length and the data, protected as the mechanism has agreed.

_HEADER = struct.Struct("!BI")
_LENGTH = struct.Struct("!I")
_LONGEST_MESSAGE = 1024 * 1024
_LONGEST_FRAME = 1024 * 1024 * 1024
_MOST_ROUNDS = 8  # Kerberos takes three
_EARLY = 0.05  # of the tickets' life: the connection ends so much before they do

NO_SASL = (
    "remove kerberos if its hive.metastore.sasl.enabled is not true; remove login if its "
    "hive.metastore.authentication is not set; the metastore may also need tls"
)
"""What to look at when a metastore does not speak SASL."""


class Status(IntEnum):
    """What a message of the negotiation says."""

    START = 1
    OK = 2
    BAD = 3
    ERROR = 4
    COMPLETE = 5


class Exchange(Protocol):
    """Our side of one mechanism of SASL with one server, and what protects the data after it."""

    @property
    def mechanism(self) -> bytes:
        """Its name in SASL."""

    @property
    def name(self) -> str:
        """What it is called in errors: `Kerberos login`."""

    @property
    def hint(self) -> str:
        """What to look at when the server refuses it."""

    @property
    def first(self) -> bytes:
        """What to send first."""

    @property
    def agreed(self) -> bool:
        """Whether the login is complete."""

    @property
    def lifetime(self) -> float:
        """For how many seconds it is good from now on."""

    def answer(self, challenge: bytes) -> bytes:
        """What to send in answer to the server. Raises MetastoreUnavailable."""

    def frames(self, data: bytes) -> Iterator[bytes]:
        """The data as it is to be sent, in pieces that the server takes."""

    def opened(self, frame: bytes) -> bytes:
        """The data of a frame that came. Raises ValueError if it is not protected as agreed."""


class SaslChannel:
    """A channel with a login on it, whose data is protected as the server asks.

    It counts as ended shortly before its tickets do, so that the next call logs in again.
    """

    def __init__(self, inner: Channel, exchange: Exchange, address: str) -> None:
        """Log in. Raises MetastoreUnavailable when the server refuses, and OSError or EOFError when it is gone."""
        self._inner = inner
        self._exchange = exchange
        self._address = address
        self._read = bytearray()
        self._negotiate()
        self._ends_at = time.monotonic() + exchange.lifetime * (1 - _EARLY)

    def send(self, data: bytes) -> None:
        """Send it all, in frames."""
        frames = self._exchange.frames(data)
        self._inner.send(b"".join(_LENGTH.pack(len(frame)) + frame for frame in frames))

    def receive(self, size: int) -> bytes:
        """At most `size` bytes, at least one. Raises EOFError at the end, ValueError for a damaged frame."""
        while not self._read:
            (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size))
            if length > _LONGEST_FRAME:
                raise ValueError(f"a frame has an invalid length ({length} bytes)")
            self._read += self._exchange.opened(self._exactly(length))
        data = bytes(self._read[:size])
        del self._read[:size]
        return data

    def is_idle(self) -> bool:
        """Whether it can carry another call."""
        return not self._read and time.monotonic() < self._ends_at and self._inner.is_idle()

    def close(self) -> None:
        """End it. Never fails."""
        self._inner.close()

    def _negotiate(self) -> None:
        # Both at once, as TSaslClientTransport does: the server answers only the second.
        self._inner.send(_message(Status.START, self._exchange.mechanism) + _message(Status.OK, self._exchange.first))
        for _ in range(_MOST_ROUNDS):
            status, challenge = self._receive()
            if status == Status.COMPLETE and self._exchange.agreed:
                return
            if status != Status.OK or self._exchange.agreed:
                break
            answer = self._exchange.answer(challenge)
            self._inner.send(_message(Status.COMPLETE if self._exchange.agreed else Status.OK, answer))
        text = (
            challenge[:200].decode("utf-8", "replace")
            if status in (Status.BAD, Status.ERROR)
            else "its answer does not follow the SASL protocol"
        )
        raise MetastoreUnavailable(
            f"the metastore at {self._address} refuses the {self._exchange.name}: {text}", self._exchange.hint
        )

    def _receive(self) -> tuple[int, bytes]:
        status, length = _HEADER.unpack(self._exactly(_HEADER.size))
        if status not in set(Status) or length > _LONGEST_MESSAGE:
            raise MetastoreUnavailable(
                f"the metastore at {self._address} does not speak SASL",
                NO_SASL,
            )
        return status, self._exactly(length)

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            data += self._inner.receive(size - len(data))
        return bytes(data)


def _message(status: Status, data: bytes) -> bytes:
    return _HEADER.pack(status, len(data)) + data
