"""The seal on what travels over the bridge: records with a MAC, in both directions. docs/wire-format.md has the bytes.

Nothing of a record is believed before its MAC is verified. A record that was changed, repeated, left out, put elsewhere
or sent back ends the connection.
"""

from __future__ import annotations

import hmac
import io
import struct
from typing import Any, BinaryIO

from pysync.capture.handshake import Unproven

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
