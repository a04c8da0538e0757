"""Visitors: the connections of the web server, which are few and end soon. Extra `web`.

uvicorn ends one that is silent between two requests, but not one that never asks; its `limit_concurrency` answers 503,
which it can do only once it is asked. Without a bound, silent connections take the descriptors of the whole process.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Any

from anyio import CancelScope
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from pysync.base.peers import peer_user

ABOUT_HEALTH = frozenset({"/health", "/live", "/metrics"})
MOST = 32
"""Connections at once, and as many that wait to be accepted."""
LIFE_SECONDS = 15.0
"""How long a connection lasts at most, whatever it does: longer than any scrape or page waits for its answer."""

LINE_SECONDS = 60.0
"""How often the log has a line of one kind about callers."""

_REFUSED = PlainTextResponse("this socket answers only the user that [web] proxy_user names\n", 403)

_numbers = itertools.count()


class _Limit(logging.Filter):
    """Lets one line of a kind pass in LINE_SECONDS, with the number of those before it: callers can cause any number.

    The kinds are the texts and errors in the code of a library, so they are few.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}  # when the last line passed, and how many did not

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is logged."""
        error = record.exc_info[1] if record.exc_info else None
        kind, now = (str(record.msg), type(error).__name__), self._clock()
        with self._lock:
            last_at, held = self._kinds.get(kind, (now - LINE_SECONDS, 0))
            passes = now - last_at >= LINE_SECONDS
            self._kinds[kind] = (now, 0) if passes else (last_at, held + 1)
        if passes and held:
            record.msg = f"{record.msg} ({held:,} more before)"
        return passes


_limit = _Limit()


def limit_lines(*loggers: str) -> None:
    """Limit what these loggers write about callers."""
    for name in loggers:
        logging.getLogger(name).addFilter(_limit)


class OpenConnections:
    """All connections that are open, those that have not finished their handshake as well."""

    def __init__(self) -> None:
        self._open: dict[int, tuple[Any, asyncio.TimerHandle]] = {}
        self._about_health: set[int] = set()

    def enter(self, transport: asyncio.BaseTransport) -> int:
        """Let a connection in, and set its end. If it is one too many the oldest gives way: a good caller is answered.

        Returns the number by which it leaves.
        """
        number = next(_numbers)
        end = asyncio.get_running_loop().call_later(LIFE_SECONDS, transport.abort)  # type: ignore[attr-defined]
        self._open[number] = transport, end
        if len(self._open) > MOST:
            others = self._open.keys() - {number}
            oldest = min(others - self._about_health or others)
            self._open[oldest][0].abort()
            self.leave(oldest)  # `connection_lost` comes later, and the next one must not end it again
        return number

    def asks_about_health(self, number: int | None) -> None:
        """The connection gives way after all that ask for something else, until its answer is there."""
        if number in self._open:
            self._about_health.add(number)

    def is_answered(self, number: int | None) -> None:
        """The answer of a connection is there."""
        if number is not None:
            self._about_health.discard(number)

    def leave(self, number: int | None) -> None:
        """A connection is over; more than once is the same as once."""
        self.is_answered(number)
        _, end = self._open.pop(number, (None, None)) if number is not None else (None, None)
        if end is not None:
            end.cancel()


def is_on_unix_socket(transport: asyncio.BaseTransport) -> bool:
    """Whether it came by the proxy's socket."""
    connection: socket.socket = transport.get_extra_info("socket")
    return connection.family == socket.AF_UNIX


class Visitor(H11Protocol):
    """One connection that speaks HTTP.

    On the Unix socket nobody but the proxy's user is answered: a proxy says who acts, and so could whoever opens it.
    """

    def __init__(self, connections: OpenConnections, proxy_user: int | None, **named: Any) -> None:
        super().__init__(**named)
        self._proxy_user = proxy_user
        self._is_stranger = False
        self.open_connections = connections
        self.number: int | None = None
        self._early = b""
        self._answer, self.app = self.app, self._answer_while_open
        self._answering: CancelScope | None = None

    async def _answer_while_open(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, unless the caller leaves before that has begun: it would take a thread from who waits."""
        answer = _REFUSED if self._is_stranger else self._answer
        if scope["path"] in ABOUT_HEALTH:
            self.open_connections.asks_about_health(self.number)

        async def send_answer(message: Message) -> None:
            self.open_connections.is_answered(self.number)  # whether or not the caller reads it
            await send(message)

        with CancelScope() as self._answering:
            await answer(scope, receive, send_answer)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count it among the open connections, unless that was done before its handshake."""
        if is_on_unix_socket(transport):
            self._is_stranger = peer_user(transport.get_extra_info("socket")) != self._proxy_user
        if self.number is None:
            self.number = self.open_connections.enter(transport)
        super().connection_made(transport)
        if self._early:
            super().data_received(self._early)

    def data_received(self, data: bytes) -> None:
        """Answer. What came with the end of the handshake is here before the connection is made."""
        if self.transport is None:
            self._early += data
        else:
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it no more, and begin nothing for it."""
        self.open_connections.leave(self.number)
        if self._answering is not None:
            self._answering.cancel()
        super().connection_lost(exc)


class TlsConnection(asyncio.Protocol):
    """A connection that speaks TLS: it counts from the start, whether or not it finishes its handshake.

    asyncio's own server would report it only afterwards, and silent callers would take all descriptors.
    """

    def __init__(self, visitor: Visitor, context: ssl.SSLContext) -> None:
        self._visitor = visitor
        self._context = context
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count it, and begin the handshake. On a Unix socket there is none: the proxy is on this machine."""
        if is_on_unix_socket(transport):
            transport.set_protocol(self._visitor)
            self._visitor.connection_made(transport)  # type: ignore[arg-type]
            return
        self._visitor.number = self._visitor.open_connections.enter(transport)
        self._handshake = asyncio.ensure_future(self._shake_hands(transport))

    async def _shake_hands(self, transport: asyncio.BaseTransport) -> None:
        loop, visitor = asyncio.get_running_loop(), self._visitor
        try:
            inner = await loop.start_tls(  # it closes the connection where it fails
                transport,  # it is one of TCP
                visitor,
                self._context,
                server_side=True,
                ssl_handshake_timeout=LIFE_SECONDS,
            )
        except OSError:  # ssl.SSLError is one
            inner = None
        if inner is None:
            visitor.open_connections.leave(visitor.number)
        else:
            visitor.connection_made(inner)


def accepting(context: ssl.SSLContext | None, proxy_user: int | None) -> Callable[..., asyncio.Protocol]:
    """What uvicorn makes of each connection; with `context` it speaks TLS. The Unix socket is for `proxy_user`."""
    connections = OpenConnections()

    def made(**named: Any) -> asyncio.Protocol:
        visitor = Visitor(connections, proxy_user, **named)
        return TlsConnection(visitor, context) if context else visitor

    return made
