"""Threads: those that make answers, apart for each kind of caller: none waits for what another asks. Extra `web`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from anyio import CapacityLimiter
from anyio.to_thread import current_default_thread_limiter, run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

PAGE_AT_ONCE = 16
"""Answers to people that are made at once; some wait for a metastore. Further callers wait, as long as they stay."""

Handler = Callable[[Request], Response]


class OwnThreads:
    """At most `most` threads, for the handlers that are given them."""

    def __init__(self, most: int) -> None:
        self._limiter = CapacityLimiter(most)

    def handling(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """The handler, in one of these threads."""

        async def handled(request: Request) -> Response:
            return await run_sync(handler, request, limiter=self._limiter)

        return handled


@asynccontextmanager
async def threads_of_page(_: Starlette) -> AsyncIterator[None]:
    """All other handlers have PAGE_AT_ONCE threads together."""
    current_default_thread_limiter().total_tokens = PAGE_AT_ONCE
    yield
