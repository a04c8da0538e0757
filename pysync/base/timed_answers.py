"""Answers over HTTP that come in time or not at all, however they drip: a socket's timeout is for each part of one."""

from __future__ import annotations

import http.client
import io
import socket
import time
from typing import Any, ClassVar

TIMEOUTS_OF_CALL = 10
"""An answer takes so many times the longest wait for a part of it, at most: a link may be slow, not endless."""


class _TimedBytes(io.RawIOBase):
    """What comes on a socket until the deadline (by the monotonic clock), when reading raises TimeoutError."""

    def __init__(self, connected: socket.socket, deadline: float) -> None:
        self._bytes, self._deadline = connected.makefile("rb", buffering=0), deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if time.monotonic() > self._deadline:
            raise TimeoutError("the answer takes too long")
        return self._bytes.readinto(buffer)

    def close(self) -> None:
        self._bytes.close()
        super().close()


class TimedAnswer(http.client.HTTPResponse):
    """An answer that takes so many times the timeout of its socket, at most, whether it drips or says `100 Continue`
    without end. Reading raises TimeoutError then. Where the socket has no timeout the answer has no limit.
    """

    timeouts: ClassVar[float] = TIMEOUTS_OF_CALL

    def __init__(self, connected: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(connected, *arguments, **options)
        if (timeout := connected.gettimeout()) is not None:
            self.fp.close()
            self.fp = io.BufferedReader(_TimedBytes(connected, time.monotonic() + self.timeouts * timeout))
