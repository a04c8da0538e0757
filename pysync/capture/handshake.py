"""Who may call the bridge: proofs of the secret, sealed streams, and bounds on the callers that have not proved it."""

from __future__ import annotations

import hmac
import io
import re
import resource
import secrets
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import structlog

# --- Callers that the bridge turns away: all are counted, the first is logged, and then how many more there were


log = structlog.get_logger(__name__)


class Refusals:
    """Counts from any thread. `log_repeated` is to be called every few seconds; no reason is logged more often."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._unlogged: Counter[str] = Counter()
        self._total = 0
        self._last_at: float | None = None

    @property
    def total(self) -> int:
        """How many there were."""
        return self._total

    @property
    def last_at(self) -> float | None:
        """When the last one was, in seconds since 1970; None if there was none."""
        return self._last_at

    def add(self, reason: str) -> None:
        """Count one. It is logged unless its reason was logged already since the last calm."""
        with self._lock:
            self._total += 1
            self._last_at = self._clock()
            first = reason not in self._unlogged
            self._unlogged[reason] += 0 if first else 1
        if first:
            log.warning("caller_refused", reason=reason, refused=self._total)

    def log_repeated(self) -> None:
        """Log how many came since the last line. A reason for which none came is calm: its next is logged at once."""
        with self._lock:
            counted, self._unlogged = (
                self._unlogged,
                Counter({reason: 0 for reason, more in self._unlogged.items() if more}),
            )
        for reason, more in counted.items():
            if more:
                log.warning("caller_refused", reason=reason, more=more, refused=self._total)


# --- Crowd: how many connections the bridge holds at once, so that nobody can take the descriptors of the sidecar.
#
# A listener needs two, and greets at once. Connections that have not greeted give way to new ones, the oldest first.

_MOST = 256
_SHARE = 4
"""Callers get one in so many of the process's descriptors: the queue and the targets need the others."""
_PATIENCE_SECONDS = 1.0


class Crowd:
    """The connections that are open, from any thread; at most `most` (not given: as fits the descriptors)."""

    def __init__(self, most: int | None = None) -> None:
        allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        # At least the two that one listener needs.
        fitting = _MOST if allowed == resource.RLIM_INFINITY else max(2, min(_MOST, allowed // _SHARE))
        self._most = most or fitting
        self._changed = threading.Condition()
        self._unidentified: dict[socket.socket, None] = {}  # who have not identified themselves, in order
        self._known: set[socket.socket] = set()

    def enter(self, connection: socket.socket) -> None:
        """Count one more. If that is one too many, end the one that has been silent for longest, which may be this one.

        Waits until that one is gone, for a second at most.
        """
        with self._changed:
            self._unidentified[connection] = None
            if len(self) > self._most:
                oldest = next(iter(self._unidentified))
                _end(oldest)
                if oldest is not connection:
                    self._changed.wait_for(lambda: len(self) <= self._most, _PATIENCE_SECONDS)

    def greeted(self, connection: socket.socket) -> None:
        """The connection has greeted, and gives way no more."""
        with self._changed:
            if connection in self._unidentified:
                del self._unidentified[connection]
                self._known.add(connection)

    def leave(self, connection: socket.socket) -> None:
        """The connection is closed. Idempotent."""
        with self._changed:
            self._unidentified.pop(connection, None)
            self._known.discard(connection)
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._unidentified) + len(self._known)


def _end(connection: socket.socket) -> None:
    """Shut it down. Its own thread, which reads from it, sees that and closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


# --- How the two sides of the bridge prove to each other that they know the secret, which itself never travels.
#
#     listener: PYSYNC-2 <its nonce>
#     sidecar:  PYSYNC-2 <its nonce> <its proof>
#     listener: <its proof>
#
# A nonce is 32 random bytes, a proof an HMAC-SHA256 under the secret over what is proved and both nonces, all in hex.
# The two sides prove different things, so that what one says is of no use to the other. The keys of the seals come
# the same way.

VERSION = "PYSYNC-2"
NONCE_BYTES = 32

_HELLO = re.compile(rf"{VERSION} ([0-9a-f]{{{2 * NONCE_BYTES}}})")


class Unproven(ValueError):
    """The other side does not speak this protocol, or does not know the secret."""


@dataclass(frozen=True, slots=True)
class Keys:
    """What the two nonces and the secret give: proofs, and a key for each direction."""

    secret: bytes
    listener: str
    sidecar: str

    def proof_of_sidecar(self) -> str:
        """What only a sidecar with the secret can answer to the listener's nonce."""
        return self._of("sidecar proves").hex()

    def proof_of_listener(self) -> str:
        """What only a listener with the secret can answer to the sidecar's nonce."""
        return self._of("listener proves").hex()

    def from_listener(self) -> bytes:
        """The key of what the listener sends."""
        return self._of("listener sends")

    def from_sidecar(self) -> bytes:
        """The key of what the sidecar sends."""
        return self._of("sidecar sends")

    def _of(self, use: str) -> bytes:
        return hmac.digest(self.secret, f"{VERSION}\n{use}\n{self.listener}\n{self.sidecar}".encode(), "sha256")


@dataclass(frozen=True, slots=True)
class SidecarSide:
    """The sidecar's part of one handshake."""

    secret: bytes
    nonce: str = field(default_factory=lambda: secrets.token_hex(NONCE_BYTES))

    def answer(self, hello: str) -> tuple[str, Keys]:
        """The line that answers the listener's first one, and the keys if it proves itself. Raises Unproven."""
        match = _HELLO.fullmatch(hello)
        if match is None:
            raise Unproven("the caller sent no greeting")
        keys = Keys(self.secret, match[1], self.nonce)
        return f"{VERSION} {self.nonce} {keys.proof_of_sidecar()}", keys


def check(expected: str, proof: str) -> None:
    """Raises Unproven if the proof is another; takes as long wherever they differ."""
    if not hmac.compare_digest(expected.encode(), proof.encode("utf-8", "backslashreplace")):
        raise Unproven("the proof of the token is wrong")


# --- The seal on what travels over the bridge: records with a MAC, in both directions. docs/wire-format.md has the
# bytes.
#
# Nothing of a record is believed before its MAC is verified. A record that was changed, repeated, left out, put
# elsewhere or sent back ends the connection.

LONGEST = 256 * 1024
"""Bytes in one record; a command takes as many records as it needs."""

_HEAD = struct.Struct(">I32s")
_NUMBER = struct.Struct(">Q")


class BrokenSeal(Unproven):
    """The other side of this connection did not send what came, or not in this form or place."""


class Sealer:
    """Seals what one side sends in one direction. Not safe for threads."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._number = 0

    def seal(self, data: bytes) -> bytes:
        """`data` as records, to be sent right after those of the calls before."""
        return b"".join(self._record(data[at : at + LONGEST]) for at in range(0, len(data), LONGEST))

    def _record(self, part: bytes) -> bytes:
        # The number is never sent: both sides count, so a record that is repeated or left out has another MAC.
        self._number += 1
        return _HEAD.pack(len(part), _mac(self._key, self._number, part)) + part


class SealedInput(io.RawIOBase):
    """The stream of bytes that was sealed, read from a stream of records. Closing it closes that stream."""

    def __init__(self, stream: BinaryIO, key: bytes) -> None:
        super().__init__()
        self._stream = stream
        self._key = key
        self._number = 0
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, into: Any) -> int:
        """Fill `into` with verified bytes; 0 at the end. Raises BrokenSeal, and OSError of the stream."""
        if not self._left:
            self._left = memoryview(self._record())
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        return count

    def _record(self) -> bytes:
        head = self._stream.read(_HEAD.size)
        if not head:
            return b""
        if len(head) < _HEAD.size:
            raise BrokenSeal("the header of a record is cut off")
        length, mac = _HEAD.unpack(head)
        if not 0 < length <= LONGEST:
            raise BrokenSeal("the length of a record is not valid")
        part = self._stream.read(length)
        self._number += 1
        if len(part) < length or not hmac.compare_digest(mac, _mac(self._key, self._number, part)):
            raise BrokenSeal("the MAC of a record is wrong: the caller did not send it on this connection")
        return part

    def close(self) -> None:
        """Close the stream below, too."""
        if not self.closed:
            self._stream.close()
        super().close()


class SealedSocket:
    """A socket of which py4j sees no more than it needs, and which seals what is sent."""

    def __init__(self, socket: Any, key: bytes) -> None:
        self.plain = socket
        self._sealer = Sealer(key)

    def sendall(self, data: bytes) -> None:
        """Send `data`, sealed."""
        self.plain.sendall(self._sealer.seal(data))

    def setsockopt(self, *arguments: Any) -> None:
        """Set an option of the socket below."""
        self.plain.setsockopt(*arguments)

    def shutdown(self, how: int) -> None:
        """Shut the socket below down."""
        self.plain.shutdown(how)

    def close(self) -> None:
        """Close the socket below."""
        self.plain.close()


def _mac(key: bytes, number: int, part: bytes) -> bytes:
    return hmac.digest(key, _NUMBER.pack(number) + part, "sha256")
