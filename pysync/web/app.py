"""App: the routes of the page, the answer when one fails, and the headers of every answer. Extra `web`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pysync.base.errors import PysyncError
from pysync.web.acts import Acts
from pysync.web.api import PREFIX, refused_json
from pysync.web.login import Login
from pysync.web.pages import Pages
from pysync.web.site import STATIC, Site

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
)
"""What a browser may load and send: nothing but this site's own, and nothing that stands within the HTML."""

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: a browser would then send forms with the origin `null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_TLS_ONLY = {"Strict-Transport-Security": "max-age=2592000"}  # 30 days, for the host whatever the port

Handler = Callable[[Request, Exception], Response | Awaitable[Response]]


def routes(site: Site) -> list[BaseRoute]:
    """All paths of the page."""
    return [
        *Pages(site).routes(),
        *Login(site).routes(),
        *Acts(site).routes(),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


def failures(site: Site) -> Mapping[Any, Handler]:
    """What is answered instead of a page: a refusal as a page, below the API as JSON; a fault of ours as a line."""

    def refused(request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 400
        text = error.detail if isinstance(error, HTTPException) else str(error)
        if request.url.path.startswith(f"{PREFIX}/"):
            hint = f"the description of the API: {PREFIX}/openapi.json"
            return refused_json(PysyncError(f"{request.method} {request.url.path[:80]}: {text}", hint), code)
        return site.render(request, "refused.html", code, text=text)

    def failed(_: Request, __: Exception) -> Response:
        return PlainTextResponse("pysync failed on this page; its log says why\n", 500)

    def gone(_: Request, __: Exception) -> Response:
        return PlainTextResponse("the request ended before its end\n", 400)  # nobody reads it

    return {HTTPException: refused, ClientDisconnect: gone, Exception: failed}


class Headers:
    """Adds the headers that keep a browser from doing what no page of this site asks for."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS | (_TLS_ONLY if scope["scheme"] == "https" else {}))
            await send(message)

        await self._app(scope, receive, sent)
