"""Login: signing in and out, and the choice of light or dark. Extra `web`."""

from __future__ import annotations

import math

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from pysync.base.errors import UsageError
from pysync.base.text import count
from pysync.web.sessions import LIFE_SECONDS
from pysync.web.site import THEME, THEMES, Site, back_to, form_of, local

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
