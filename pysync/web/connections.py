"""Visitors: the connections of the web server, which are few and end soon. Extra `web`.

uvicorn ends one that is silent between two requests, but not one that never asks; its `limit_concurrency` answers 503,
which it can do only once it is asked. Without a bound, silent connections take the descriptors of the whole process.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 32
"""Connections at once, and as many that wait to be accepted."""
LIFE_SECONDS = 15.0
"""How long a connection lasts at most, whatever it does: longer than any scrape waits for its answer."""

_numbers = itertools.count()


class Visitor(H11Protocol):
    """One connection. Where there are too many the oldest gives way: a good caller has its answer at once."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._number = next(_numbers)
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Set its end, and end the oldest connection if this is one too many."""
        super().connection_made(transport)
        self._end = self.loop.call_later(LIFE_SECONDS, transport.abort)
        visitors = [it for it in self.connections if isinstance(it, Visitor)]
        if len(visitors) > MOST:
            oldest = min(visitors, key=lambda it: it._number)
            self.connections.discard(oldest)  # `connection_lost` comes later, and the next one must not end it again
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the end that `connection_made` has set."""
        if self._end is not None:
            self._end.cancel()
        super().connection_lost(exc)
