"""Web: the page, `/metrics`, `/health` and `/live`, where `[web] port` is set; on loopback by default. Extra `web`."""

from __future__ import annotations

import importlib.util
import ipaddress
import pwd
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pysync.base.errors import PysyncError, UsageError
from pysync.base.health import Problem, failing, without_status
from pysync.base.installation import install_extra
from pysync.base.moment import Moment
from pysync.base.text import error_text
from pysync.base.token import assert_unreachable, read_private, read_token
from pysync.control.server import Command
from pysync.sections import WebConfig

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"

_PACKAGES = ("argon2", "jinja2", "prometheus_client", "starlette", "uvicorn")
_NAMES = ["127.0.0.1", "localhost"]  # against DNS rebinding: a web page gets here only by a name of its own
_STOP_SECONDS = 2.0
_MACHINES_AT_ONCE = 4
FRESH_SECONDS = 1.0
"""How old metrics may be: scrapes within this time cost no look at the queue."""

Status = Callable[[], Mapping[str, Any]]


def assert_installed(wanted: str = "[web] port") -> None:
    """Raises UsageError without the extra; `wanted` is the setting or option that needs it."""
    if any(importlib.util.find_spec(name) is None for name in _PACKAGES):
        raise UsageError(f"{wanted} needs packages that are not installed", install_extra("web"))


class WebServer:
    """Answers from a thread of its own; each answer asks `status` and `commands` again."""

    def __init__(self, settings: WebConfig, status: Status, commands: Mapping[str, Command] | None = None) -> None:
        """Port 0 takes a free one. `commands` are what the page shows and does, as the control socket's.

        Raises UsageError without the extra, or for settings that cannot be used (`assert_usable`), PysyncError when the
        port is taken.
        """
        assert_installed()
        import uvicorn  # noqa: PLC0415 - an extra

        from pysync.web.connections import MOST, accepting, limit_lines  # noqa: PLC0415

        assert_usable(settings)
        self._sockets = _all_bound(settings)
        self._proxy = _File.of(settings.proxy_socket) if settings.proxy_socket else None
        self.port: int = self._sockets[0].getsockname()[1]
        self.url = f"{'https' if settings.tls_certificate else 'http'}://{_literal(settings.host)}:{self.port}/"
        # uvicorn would configure logging of its own, and write a line for each request.
        quiet: dict[str, Any] = {"log_config": None, "access_log": False, "lifespan": "on", "ws": "none"}
        app = application(settings, status, commands or {}, self.port)
        limit_lines("uvicorn.error", "asyncio")
        http: Any = accepting(_context(settings), _proxy_user(settings))
        self._server = uvicorn.Server(uvicorn.Config(app, http=http, backlog=MOST, server_header=False, **quiet))
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def start(self) -> None:
        """Answer from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more; also if it never began to."""
        if self._proxy is not None:
            self._proxy.remove()  # before the socket is closed: until then no other file can have its inode
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join(_STOP_SECONDS)
        for it in self._sockets:
            it.close()

    def _run(self) -> None:
        self._server.run(sockets=self._sockets)


def assert_usable(settings: WebConfig) -> None:
    """Raises UsageError where a file or a user that the settings name cannot be used, or others could replace one."""
    _context(settings)
    _proxy_user(settings)
    if settings.proxy_socket is not None:
        assert_unreachable(settings.proxy_socket, "the proxy's socket")
    if settings.api_token_file is not None:
        read_token(settings.api_token_file)
    if settings.password_file is not None:
        from pysync.web.passwords import Passwords  # noqa: PLC0415 - an extra

        Passwords(settings.password_file).hashes()


def application(settings: WebConfig, status: Status, commands: Mapping[str, Command], port: int) -> Starlette:
    """`GET /metrics` answers in the text format of Prometheus; `/health` 200, or 503 with the problems, a line each.

    `/live` answers like `/health`, but only for failing threads, which a restart may help. All else is the page.
    """
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra
    from starlette.applications import Starlette  # noqa: PLC0415
    from starlette.middleware import Middleware  # noqa: PLC0415
    from starlette.middleware.trustedhost import TrustedHostMiddleware  # noqa: PLC0415
    from starlette.responses import PlainTextResponse, Response  # noqa: PLC0415
    from starlette.routing import Route  # noqa: PLC0415

    from pysync.web.api import Api  # noqa: PLC0415
    from pysync.web.app import Headers, failures, routes  # noqa: PLC0415
    from pysync.web.passwords import Passwords  # noqa: PLC0415
    from pysync.web.site import Site  # noqa: PLC0415
    from pysync.web.threads import OwnThreads, threads_of_page  # noqa: PLC0415

    # auto_describe would collect once at registration, and so ask for the status before anybody scrapes.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(status))
    rendered = Moment(lambda: generate_latest(registry), FRESH_SECONDS)

    def metrics(_: Request) -> Response:
        return Response(rendered(), media_type=CONTENT_TYPE_LATEST)

    def health_response(problems: Sequence[Problem]) -> Response:
        text = "".join(f"{it}\n" for it in problems) or "ok\n"
        return PlainTextResponse(text, status_code=503 if problems else 200)

    def health(_: Request) -> Response:
        try:
            return health_response(Problem.read(status()))
        except PysyncError as error:  # the disk of the queue does not answer
            return health_response([without_status(error)])

    def live(_: Request) -> Response:
        try:
            return health_response(failing(status()))
        except PysyncError:
            return health_response([])  # a new start would not help

    passwords = Passwords(settings.password_file) if settings.password_file else None
    site = Site(status, commands, passwords, port=port, operators=settings.operators)
    answers = {"/metrics": metrics, "/health": health, "/live": live}
    own = OwnThreads(_MACHINES_AT_ONCE)
    machines = [Route(path, own.handling(it)) for path, it in answers.items()]
    api = Api(site, settings.api_token_file).routes() if settings.api_token_file else ()
    names = [*_NAMES, settings.host, *settings.allowed_hosts]
    trusted = Middleware(TrustedHostMiddleware, allowed_hosts=names, www_redirect=False)
    return Starlette(
        routes=[*machines, *api, *routes(site)],
        middleware=[trusted, Middleware(Headers)],
        exception_handlers=failures(site),
        lifespan=threads_of_page,
    )


@dataclass(frozen=True, slots=True)
class _File:
    """The file of the proxy's socket. A newer sidecar may have put another in its place."""

    path: Path
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> _File:
        status = path.stat()
        return cls(path, status.st_dev, status.st_ino)

    def remove(self) -> None:
        """Remove it, unless it is gone or another one is there."""
        with suppress(OSError):
            if self.of(self.path) == self:
                self.path.unlink()


class _Collector:
    """What Prometheus' client asks at each scrape."""

    def __init__(self, status: Status) -> None:
        self._status = status

    def collect(self) -> Iterator[Metric]:
        from pysync.web.metrics import families  # noqa: PLC0415 - an extra

        return families(self._status())


def _context(settings: WebConfig) -> ssl.SSLContext | None:
    """What speaks TLS, if it is set up. Raises UsageError where certificate and key cannot be used."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    read_private(settings.tls_key, "the TLS key", "name a PEM file in [web] tls_key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        # Without a password the key must be in the clear: else somebody would be asked for it, on whatever terminal.
        context.load_cert_chain(settings.tls_certificate, settings.tls_key, password="")
    except (OSError, ssl.SSLError) as error:
        files = f"{settings.tls_certificate} and {settings.tls_key}"
        raise UsageError(
            f"[web] cannot use {files}: {error_text(error)}", "both are PEM files, and belong together"
        ) from error
    return context


def _proxy_user(settings: WebConfig) -> int | None:
    """The id of the user that the proxy runs as, if there is one. Raises UsageError where nobody has that name."""
    if settings.proxy_user is None:
        return None
    try:
        return pwd.getpwnam(settings.proxy_user).pw_uid
    except KeyError:
        hint = "name the user that the proxy runs as in [web] proxy_user"
        raise UsageError(f"this machine has no user {settings.proxy_user!r}", hint) from None


def _literal(host: str) -> str:
    """The address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def _all_bound(settings: WebConfig) -> list[socket.socket]:
    """The port, and the proxy's socket if there is one."""
    port = _bound(settings.host, settings.port or 0)
    try:
        return [port, *([_bound_for_proxy(settings.proxy_socket)] if settings.proxy_socket else [])]
    except PysyncError:
        port.close()
        raise


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        hint = "set another [web] port"
        raise PysyncError(f"cannot listen on {_literal(host)}:{port} for the page: {error.strerror}", hint) from error


def _bound_for_proxy(path: Path) -> socket.socket:
    """A Unix socket that everybody may open: who is not the proxy's user is refused (`Visitor`)."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if path.is_socket():
            path.unlink()
        bound.bind(str(path))
        path.chmod(0o666)
        bound.listen()
    except OSError as error:
        bound.close()
        hint = "set another [web] proxy_socket"
        raise PysyncError(f"cannot listen on {path} for the proxy: {error_text(error)}", hint) from error
    return bound
