"""Site: what all pages share: whom they ask, who visits, and how an answer becomes HTML. Extra `web`."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import structlog
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.datastructures import ImmutableMultiDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from pysync import __version__
from pysync.base.errors import PysyncError, UsageError
from pysync.base.text import UNKNOWN, ago, count, duration, number, plain, size
from pysync.control.server import Command
from pysync.web.passwords import Passwords
from pysync.web.sessions import Attempts, ProxySessions, Session, Sessions
from pysync.web.words import machine, moment, person, segment

THEME = "pysync_theme"
LIVE = "x-pysync-live"
"""The header by which static/page.js asks."""
THEMES = ("auto", "light", "dark")

STATIC = Path(__file__).parent / "static"

_USER = "x-forwarded-user"
"""The header in which the proxy names the user."""
_TEMPLATES = Path(__file__).parent / "templates"
_MOST_BODY = 64 * 1024

log = structlog.get_logger(__name__)

Status = Callable[[], Mapping[str, Any]]
Fields = ImmutableMultiDict[str, str]
"""The fields of a form: a name may have several values."""


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command answered: its value, or in words why there is none; `is_missing`: there is no such command."""

    value: Mapping[str, Any] | None
    problem: str = ""
    is_missing: bool = False


@dataclass(frozen=True)
class Site:
    """Whom the pages ask. `commands` are those of the control socket, `passwords` those who may sign in.

    On the Unix socket a header names the user; elsewhere it is not believed. `operators` may act; None: everybody who
    is signed in.
    """

    status: Status
    commands: Mapping[str, Command] = field(default_factory=dict)
    passwords: Passwords | None = None
    sessions: Sessions = field(default_factory=Sessions)
    attempts: Attempts = field(default_factory=Attempts)
    port: int = 0
    proxied: ProxySessions = field(default_factory=ProxySessions)
    operators: Collection[str] | None = None
    clock: Callable[[], float] = time.time

    @property
    def cookie(self) -> str:
        """The name of the session's cookie. A browser does not tell ports apart, and a host may have two sidecars."""
        return f"pysync_session_{self.port}"

    def ask(self, command: str, **request: Any) -> CommandAnswer:
        """The answer of a command. Never raises: a page shows what it can."""
        answer = self.commands.get(command)
        if answer is None:
            return CommandAnswer(None, f"{UNKNOWN}: this sidecar has no {command!r}", is_missing=True)
        try:
            return CommandAnswer(answer(request))
        except PysyncError as error:
            return CommandAnswer(None, str(error))
        except Exception as error:  # noqa: BLE001 - the caller gets a line, and the log has the traceback
            log.error("request_failed", traceback=traceback.format_exc())
            return CommandAnswer(None, f"the sidecar failed on this ({type(error).__name__}); see its log")

    def session(self, request: Request) -> Session | None:
        """The visitor's session; None also if the user was removed, or has another password since."""
        if is_by_proxy(request):
            return self.proxied.of(request.headers.getlist(_USER))
        secret = request.cookies.get(self.cookie)
        session = self.sessions.get(secret)
        if session is None or self.passwords is None:
            return None
        try:
            is_valid = self.passwords.hashes().get(session.user) == session.proof
        except UsageError:
            is_valid = False
        if not is_valid:
            self.sessions.end(secret)
        return session if is_valid else None

    def may_act(self, session: Session | None) -> bool:
        """Whether the user of the session may change something; the others only look."""
        return session is not None and (self.operators is None or session.user in self.operators)

    def render(self, request: Request, template: str, code: int = 200, **values: Any) -> Response:
        """A page. Its templates get `session`, `theme`, `now` and what else is given."""
        session = self.session(request)
        common = {
            "session": session,
            "may_act": self.may_act(session),
            # A live update takes no message away from the page that follows an act.
            "messages": session.taken() if session and LIVE not in request.headers else [],
            "may_sign_in": self.passwords is not None,
            "has_views": "views" in self.commands,
            "theme": theme_of(request),
            "here": address_of(request),
            "now": self.clock(),
            "version": __version__,
            "code": code,
        }
        text = self._environment.get_template(template).render({**common, **values})
        shown = text.encode(errors="backslashreplace")  # halves of characters, which a name from outside may have
        return HTMLResponse(shown, code, headers={"Cache-Control": "no-store"})

    @cached_property
    def _environment(self) -> Environment:
        return environment()


def environment() -> Environment:
    """Where the templates are, and the words that they use. All that is shown is escaped."""
    made = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for filter_ in (number, duration, moment, machine, person, size, segment):
        made.filters[filter_.__name__] = filter_
    made.filters["breakable"] = _breakable
    made.filters["plain"] = lambda text: plain(str(text))
    made.globals.update(ago=ago, count=count)
    return made


def _breakable(name: str) -> Markup:
    """A name that may break behind its dots and underscores, and is still itself where it is copied."""
    text = str(escape(plain(str(name))))
    return Markup(text.replace(".", ".<wbr>").replace("_", "_<wbr>"))  # noqa: S704 - escaped in the line before


def is_by_proxy(request: Request) -> bool:
    """Whether a request came by the Unix socket, which only the proxy may open: it has no port."""
    server = request.scope.get("server")
    return server is not None and server[1] is None


def address_of(request: Request) -> str:
    """The path and query of a page as they were sent, quoted: names with any characters in them lead back there."""
    path: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    return (path + (b"?" + query if query else b"")).decode("ascii", "replace")


def theme_of(request: Request) -> str:
    """The theme that the visitor has chosen."""
    chosen = request.cookies.get(THEME, "")
    return chosen if chosen in THEMES else THEMES[0]


def local(path: str | None) -> str:
    """A path of this site to go back to; `/` where it leads elsewhere."""
    place = path or "/"
    is_ours = place.startswith("/") and not place.startswith("//") and "\\" not in place and plain(place) == place
    return place if is_ours and "\n" not in place and "\t" not in place else "/"


def back_to(path: str | None) -> Response:
    """After a POST: have the browser get a page of this site."""
    return RedirectResponse(local(path), 303)


async def form_of(request: Request) -> Fields:
    """The fields of a form that a page of this site has sent. Raises HTTPException for any other sender."""
    # Also https where this server speaks http: a proxy may speak TLS for it.
    origins = {f"{scheme}://{request.headers.get('host')}" for scheme in (request.url.scheme, "https")}
    if request.headers.get("origin") not in origins:
        raise HTTPException(403, "this request does not come from a page of pysync")
    return Fields(parse_qsl((await body_of(request)).decode("utf-8", "replace"), keep_blank_values=True))


async def body_of(request: Request) -> bytes:
    """The body of a request. Raises HTTPException for one that is too large."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY:
            raise HTTPException(413, "this form is too large")
    return body
