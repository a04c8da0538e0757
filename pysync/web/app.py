"""The page as a web application: signing in, the acts of people, the routes, and the headers of every answer."""

from __future__ import annotations

import math
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pysync.base.errors import UsageError
from pysync.base.text import count, one_line
from pysync.web.pages import Pages
from pysync.web.sign_in import LIFE_SECONDS, Notice
from pysync.web.site import STATIC, THEME, THEMES, Site, back_to, form_of, local
from pysync.web.views.charts import BAD, GOOD

# --- Login: signing in and out, and the choice of light or dark. Extra `web`

_YEAR = 365 * 86400

log = structlog.get_logger(__name__)


class Login:
    """The handlers of signing in."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[Route]:
        """Their paths."""
        return [
            Route("/login", self.form, methods=["GET"]),
            Route("/login", self.login, methods=["POST"]),
            Route("/logout", self.logout, methods=["POST"]),
            Route("/theme", self.theme, methods=["POST"]),
        ]

    def form(self, request: Request) -> Response:
        """The form; a signed-in user is redirected."""
        target = local(request.query_params.get("next"))
        if self._site.session(request):
            return RedirectResponse(target, 303)
        return self._shown(request, target)

    async def login(self, request: Request) -> Response:
        """Compare the password, begin a session. Neither the page nor the log says whether the user is known."""
        form = await form_of(request)
        target = local(form.get("next"))
        if self._site.passwords is None:
            return self._shown(request, target, 403)
        wait = self._site.attempts.wait()
        if wait > 0:
            answer = self._shown(request, target, 429, f"too many wrong passwords; try again in {math.ceil(wait)} s")
            answer.headers["Retry-After"] = str(math.ceil(wait))
            return answer
        user = form.get("user", "").strip()
        try:
            proof = await run_in_threadpool(self._site.passwords.proof, user, form.get("password", ""))
        except UsageError as error:
            log.error("login_failed", reason=str(error))
            return self._shown(request, target, 500, "the password file cannot be read; the log says why")
        if proof is None:
            # Not the name: people type their password into the wrong field.
            log.warning("login_failed", reason="wrong user or password")
            return self._shown(request, target, 403, "wrong user or password")
        self._site.attempts.succeeded()
        log.info("login_succeeded", user=user)
        return self._begun(request, target, self._site.sessions.begin(user, proof))

    async def logout(self, request: Request) -> Response:
        """End the session."""
        await form_of(request)
        self._site.sessions.end(request.cookies.get(self._site.cookie))
        answer = back_to("/")
        answer.delete_cookie(self._site.cookie)
        return answer

    async def theme(self, request: Request) -> Response:
        """Remember the theme in a cookie."""
        form = await form_of(request)
        answer = back_to(form.get("back"))
        if form.get("theme") in THEMES:
            answer.set_cookie(THEME, form["theme"], max_age=_YEAR, samesite="strict", httponly=True)
        return answer

    def _begun(self, request: Request, target: str, secret: str) -> Response:
        answer = RedirectResponse(target, 303)
        is_tls = request.url.scheme == "https"
        max_age = int(LIFE_SECONDS)
        name = self._site.cookie
        answer.set_cookie(name, secret, max_age=max_age, httponly=True, samesite="strict", secure=is_tls)
        return answer

    def _shown(self, request: Request, target: str, code: int = 200, problem: str = "") -> Response:
        hours = count(round(LIFE_SECONDS / 3600), "hour")
        return self._site.render(request, "login.html", code, next=target, problem=problem, hours=hours)


# --- Acts: what signed-in users may do. Each calls the command that the command line calls. Extra `web`

_DIGITS = 18  # of a position

ActResult = tuple[str, str]
"""A tone, and what the act came to."""


@dataclass(frozen=True, slots=True)
class Act:
    """What can be done: the command, which fields of the form it takes, and what its answer means."""

    command: str
    fields: tuple[str, ...]
    result: Callable[[Mapping[str, Any]], ActResult]


def _released(answer: Mapping[str, Any]) -> ActResult:
    """What a retry or skip came to."""
    done = [f"{count(answer['skipped'], 'event')} skipped"] if answer["skipped"] else []
    if answer["tried"]:
        done.append(f"{answer['tried'] - answer['left']:,} of {count(answer['tried'], 'event')} applied")
    reason = f": {one_line(str(answer['reason']).splitlines()[-1])}" if answer["reason"] else ""
    if not answer["finished"]:
        return BAD, "; ".join([*done, f"not finished{reason or ': the target does not answer yet'}"])
    if answer["left"]:
        return BAD, "; ".join([*done, f"{count(answer['left'], 'event')} still parked{reason}"])
    return GOOD, "; ".join(done) or "nothing was parked"


def _adopted(answer: Mapping[str, Any]) -> ActResult:
    """What an adoption came to."""
    tone, text = _released(answer)
    refused = [f"{name} was not adopted: {one_line(why)}" for name, why in list(answer["refused"].items())[:1]]
    if answer["more"]:
        refused.append(f"{count(answer['more'], 'table')} left: adopt again")
    return (BAD if refused else tone), "; ".join([f"{count(answer['adopted'], 'table')} adopted", text, *refused])


def _resumed(answer: Mapping[str, Any]) -> ActResult:
    was, name = answer["was"], answer["target"]
    return GOOD, f"{name} is resumed; it was paused: {was}" if was else f"{name} was not paused"


def _decided(answer: Mapping[str, Any]) -> ActResult:
    what = "keeps" if answer["kept"] else "drops"
    return GOOD, f"{answer['target']} {what} {count(len(answer['objects']), 'object')}"


ACTS: Mapping[str, Act] = {
    "pause": Act("pause", ("target", "reason"), lambda it: (GOOD, f"{it['target']} is paused: {it['paused']}")),
    "resume": Act("resume", ("target",), _resumed),
    "keep": Act("held decide", ("target", "names", "keep"), _decided),
    "drop": Act("held decide", ("target", "names", "seen"), _decided),
    "retry": Act("parked retry", ("target", "table", "reason"), _released),
    "skip": Act("parked skip", ("target", "table", "position", "reason"), _released),
    "adopt": Act("parked adopt", ("target", "table", "reason"), _adopted),
    "refresh": Act("refresh", ("tables",), lambda it: (GOOD, f"started: {it['gap']}")),
    "verify": Act(
        "verify", ("target",), lambda it: (GOOD, f"{it['target']} will be compared as soon as it is at rest")
    ),
}
"""By their names in /acts/NAME."""


NEEDS_TICK: Mapping[str, str] = {
    "skip": "nothing was skipped",
    "drop": "nothing was dropped",
    "adopt": "nothing was adopted",
}
"""The acts that cannot be undone, and what to say where the box is not ticked."""


class Acts:
    """The handler of all acts: POST, then back to where it came from, where a message says what it came to."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def routes(self) -> list[Route]:
        """Their paths."""
        return [Route("/acts/{act}", self.act, methods=["POST"])]

    async def act(self, request: Request) -> Response:
        """Do it. Refuses visitors who are not signed in, and a form without the session's token."""
        form = await form_of(request)
        session = self._site.session(request)
        if session is None:
            raise HTTPException(403, "sign in first: your session is over")
        if not self._site.may_act(session):
            raise HTTPException(403, "you may look, but not act: [web] operators does not name you")
        # As bytes: compare_digest takes no other text than ASCII.
        if not secrets.compare_digest(form.get("csrf", "").encode(), session.csrf.encode()):
            raise HTTPException(403, "this form is out of date; load the page again")
        act = ACTS.get(request.path_params["act"])
        if act is None:
            raise HTTPException(404, "pysync has no such act")
        refused = NEEDS_TICK.get(request.path_params["act"])
        if refused is not None and form.get("sure") != "yes":
            session.messages.append(Notice(BAD, f"{refused}: tick the box to say that you are sure"))
            return back_to(form.get("back"))
        tone, text = await run_in_threadpool(self._done, act, form, f"{session.user} (page)")
        session.messages.append(Notice(tone, text))
        return back_to(form.get("back"))

    def _done(self, act: Act, form: Mapping[str, str], who: str) -> ActResult:
        answer = self._site.ask(act.command, **request_for(act, form), who=who)
        return (BAD, f"refused: {answer.problem}") if answer.value is None else act.result(answer.value)


def request_for(act: Act, form: Mapping[str, str]) -> dict[str, Any]:
    """The command's arguments, of the fields of a form; an empty field is none."""
    request: dict[str, Any] = {key: form[key].strip() for key in act.fields if form.get(key, "").strip()}
    for key in request.keys() & {"tables", "names"}:
        request[key] = [request[key]]
    for key in request.keys() & {"position", "seen"}:
        if request[key].isascii() and request[key].isdecimal():
            request[key] = int(request[key][:_DIGITS])
    if "keep" in request:
        request["keep"] = request["keep"] == "yes"
    return request


# --- App: the routes of the page, the answer when one fails, and the headers of every answer. Extra `web`

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
    """What is answered instead of a page: a refusal as a page, a fault of ours as a line."""

    def refused(request: Request, error: Exception) -> Response:
        code = error.status_code if isinstance(error, HTTPException) else 400
        text = error.detail if isinstance(error, HTTPException) else str(error)
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
