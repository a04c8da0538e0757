"""SASL as thrift's TSaslClientTransport speaks it: a negotiation of messages, then all data in frames.

A message of the negotiation is one byte of status, four of length, and the mechanism's own bytes. After it every frame
is four bytes of length and the data, protected as the mechanism has agreed.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from enum import IntEnum
from typing import Protocol

from pysync.metastore.channel import Channel
from pysync.metastore.errors import MetastoreUnavailable

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

FRAME = 64 * 1024
"""How much goes into one frame: as much as Java's servers announce that they take."""


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
