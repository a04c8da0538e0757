"""Web: `/metrics`, `/health` and `/live`, on loopback, where `[web] port` is set; reads only. Extra `web`."""

from __future__ import annotations

import importlib.util
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pysync.errors import PysyncError, UsageError
from pysync.health import failing
from pysync.moment import Moment

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"

_NAMES = ["127.0.0.1", "localhost"]  # against DNS rebinding: a web page gets here only by a name of its own
_STOP_SECONDS = 2.0
FRESH_SECONDS = 1.0
"""How old metrics may be: scrapes within this time cost no look at the queue."""

Status = Callable[[], Mapping[str, Any]]


def assert_installed() -> None:
    """Raises UsageError without the extra."""
    if any(importlib.util.find_spec(name) is None for name in ("prometheus_client", "starlette", "uvicorn")):
        raise UsageError("[web] port is set, but the web server is not installed", "pip install 'pysync[web]'")


class WebServer:
    """Answers from a thread of its own."""

    def __init__(self, port: int, status: Status, allowed_hosts: Sequence[str] = ()) -> None:
        """Port 0 takes a free port; `allowed_hosts` are more names by which requests may come.

        Raises UsageError without the extra, PysyncError when the port is taken.
        """
        assert_installed()
        import uvicorn  # noqa: PLC0415 - an extra

        from pysync.web.connections import MOST, Visitor  # noqa: PLC0415

        self._socket = _bound(port)
        self.port: int = self._socket.getsockname()[1]
        # uvicorn would configure logging of its own, and write a line for each request.
        quiet: dict[str, Any] = {"log_config": None, "access_log": False, "lifespan": "off", "ws": "none"}
        app = application(status, allowed_hosts)
        self._server = uvicorn.Server(uvicorn.Config(app, http=Visitor, backlog=MOST, **quiet))
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more; also if it never began to."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)
        self._socket.close()

    def _run(self) -> None:
        self._server.run(sockets=[self._socket])


def application(status: Status, allowed_hosts: Sequence[str] = ()) -> Starlette:
    """`GET /metrics` answers in the text format of Prometheus; `/health` 200, or 503 with the problems, a line each.

    `/live` answers like `/health`, but only for failing threads, which a restart may help.
    """
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.middleware import Middleware  # noqa: PLC0415
    from starlette.middleware.trustedhost import TrustedHostMiddleware  # noqa: PLC0415
    from starlette.responses import PlainTextResponse, Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    # auto_describe would collect once at registration, and so ask for the status before anybody scrapes.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(status))
    rendered = Moment(lambda: generate_latest(registry), FRESH_SECONDS)

    def metrics(_: Request) -> Response:
        return Response(rendered(), media_type=CONTENT_TYPE_LATEST)

    def told(found: Sequence[str]) -> Response:
        return PlainTextResponse("\n".join(found or ["ok"]) + "\n", status_code=503 if found else 200)

    def health(_: Request) -> Response:
        return told(status()["problems"])

    def live(_: Request) -> Response:
        return told(failing(status()))

    routes = [Route("/metrics", metrics), Route("/health", health), Route("/live", live)]
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=[*_NAMES, *allowed_hosts], www_redirect=False)
    return Starlette(routes=routes, middleware=[trusted])


class _Collector:
    """What Prometheus' client asks at each scrape."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        from pysync.web.metrics import families  # noqa: PLC0415 - an extra

        return families(self._status())


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        hint = "set another [web] port"
        raise PysyncError(f"cannot listen on {HOST}:{port} for metrics: {error.strerror}", hint) from error
