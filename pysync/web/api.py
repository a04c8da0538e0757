"""The JSON API: what the commands print with `--json`, for holders of the token, and the page's acts. Extra `web`.

Nothing can be changed by the token. An act needs the password of a user who may act on the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from pysync import __version__
from pysync.base.errors import PysyncError, UsageError
from pysync.base.token import read_token
from pysync.web.acts import ACTS, LISTS, NEEDS_TICK, request_for
from pysync.web.site import Fields, Site, body_of, is_by_proxy
from pysync.web.threads import OwnThreads

PREFIX = "/api/v1"
_BEARER, _BASIC = "bearer ", "basic "
_DIGITS = 18
AT_ONCE = 4
"""Answers that are made at once: programs ask for what takes long, and people shall not wait for that."""
_NO_FIELDS = "the body is no object of texts and numbers, or lists of these"

log = structlog.get_logger(__name__)


class BadRequest(PysyncError):
    """A request that is refused; `code` is the HTTP status of its answer."""

    def __init__(self, message: str, hint: str | None = None, *, code: int = 400) -> None:
        super().__init__(message, hint)
        self.code = code


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise BadRequest(f"{text[:80]!r} is not a whole number")
    return int(text)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadRequest(f"{text[:80]!r} is not a time in seconds since 1970") from None


def _text(text: str) -> str:
    return text


_TYPES: Mapping[Callable[[str], Any], str] = {_text: "string", _number: "integer", _seconds: "number"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What a path answers: the `command` of the control socket, with the parameters of path and query.

    `page` has its keys.
    """

    path: str
    command: str
    summary: str
    page: str
    query: Mapping[str, Callable[[str], Any]] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The parameters in the path."""
        return [it.partition("}")[0].partition(":")[0] for it in self.path.split("{")[1:]]


ENDPOINTS = (
    Endpoint(
        "/status",
        "status",
        "The state of the sidecar, its problems, targets and listeners.",
        "docs/status.md#pysync-status---json",
    ),
    Endpoint(
        "/tables",
        "tables",
        "The tables of the source with their states at the targets, page by page.",
        "docs/status.md#pysync-tables---json",
        {
            **dict.fromkeys(("state", "target", "database", "part", "begin", "sort"), _text),
            "limit": _number,
        },
    ),
    Endpoint(
        "/why/{table:path}",
        "why",
        "What became of a table at each target.",
        "docs/status.md#pysync-why---json",
        {"target": _text, "since": _seconds},
    ),
    Endpoint(
        "/actions",
        "actions",
        "The journal, the newest first.",
        "docs/status.md#pysync-actions---json",
        {
            **dict.fromkeys(("target", "outcome", "database", "table"), _text),
            **dict.fromkeys(("since", "until"), _seconds),
            **dict.fromkeys(("before", "after", "limit"), _number),
        },
    ),
    Endpoint(
        "/plan", "plan", "The next operations of the targets.", "docs/status.md#pysync-plan---json", {"target": _text}
    ),
    Endpoint(
        "/targets/{target}/parked",
        "parked list",
        "What a target refused.",
        "docs/status.md#pysync-parked---json",
        {"table": _text, "reason": _text},
    ),
    Endpoint(
        "/targets/{target}/parked/{position}", "parked show", "One parked event.", "docs/status.md#pysync-parked---json"
    ),
    Endpoint("/targets/{target}/verified", "verified", "What the last comparison found.", "docs/verify.md"),
)


class Api:
    """The handlers. Who has not got the token in `token_file`, which is read each time, gets nothing."""

    def __init__(self, site: Site, token_file: Path) -> None:
        self._site = site
        self._token_file = token_file
        self._threads = OwnThreads(AT_ONCE)

    def routes(self) -> Iterator[Route]:
        """Their paths; `/openapi.json` describes them."""
        for it in ENDPOINTS:
            yield Route(PREFIX + it.path, self._handler(partial(self._answer, it)))
        yield Route(f"{PREFIX}/openapi.json", self._handler(lambda _: openapi()))
        yield Route(f"{PREFIX}/acts/{{act}}", self.act, methods=["POST"])

    async def act(self, request: Request) -> Response:
        """Do what the page does, for a user of the password file, or one whom the proxy names."""
        try:
            user = await run_in_threadpool(self._user, request)  # first: nobody else's body is looked at
            fields = await _fields_of(request)
            answer = await run_in_threadpool(self._done, request.path_params["act"], fields, user)
            return _json(answer, 200, {"Cache-Control": "no-store"})
        except BadRequest as error:
            return refused_json(error, error.code)
        except PysyncError as error:
            return refused_json(error, 400)

    def _done(self, name: str, fields: Fields, user: str) -> Mapping[str, Any]:
        act = ACTS.get(name)
        if act is None:
            raise BadRequest("pysync has no such act", f"acts: {', '.join(ACTS)}", code=404)
        if unknown := fields.keys() - {*act.fields, "sure"}:
            raise BadRequest(f"{name} has no field {min(unknown)[:80]!r}", f"fields: {', '.join(act.fields)}")
        if act.needs and not fields.get(act.needs):
            raise BadRequest(f"{name} needs {act.needs}", 'as in "tables": ["db.table"]')
        if name in NEEDS_TICK and fields.get("sure") != "yes":
            raise BadRequest(NEEDS_TICK[name], 'it cannot be undone: give "sure": true')
        return self._site.commands[act.command]({**request_for(act, fields), "who": f"{user} (API)"})

    def _user(self, request: Request) -> str:
        """Who may act and sends this. Raises BadRequest for anybody else."""
        session = self._site.session(request) if is_by_proxy(request) else None
        user = session.user if session is not None else self._of_password(request)
        if self._site.operators is not None and user not in self._site.operators:
            raise BadRequest("you may look, but not act", "[web] operators does not name you", code=403)
        return user

    def _of_password(self, request: Request) -> str:
        """The user whose password the request has."""
        given = request.headers.get("authorization", "")
        if self._site.passwords is None or not given.lower().startswith(_BASIC):
            raise BadRequest(
                "an act needs the password of a user",
                "Authorization: Basic, and [web] password_file",
                code=401,
            )
        if (wait := self._site.attempts.wait()) > 0:
            raise BadRequest(f"too many wrong passwords; try again in {wait:.0f} s", code=429)
        user, password = _credentials(given[len(_BASIC) :])
        try:
            proof = self._site.passwords.proof(user, password)
        except UsageError as error:
            log.error("login_failed", reason=str(error))
            raise BadRequest("the password file cannot be read; the log says why", code=401) from error
        if proof is None:
            log.warning("login_failed", reason="wrong user or password")
            raise BadRequest("wrong user or password", code=401)
        self._site.attempts.succeeded()
        return user

    def _handler(self, answer: Callable[[Request], Mapping[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
        def handled(request: Request) -> Response:
            if not self._is_authorized(request):
                headers = {"WWW-Authenticate": "Bearer"}
                return refused_json(
                    PysyncError("the token is missing or wrong", "Authorization: Bearer TOKEN"), 401, headers
                )
            try:
                return _conditional(request, answer(request))
            except PysyncError as error:
                return refused_json(error, 400)

        return self._threads.handling(handled)

    def _is_authorized(self, request: Request) -> bool:
        given = request.headers.get("authorization", "")
        if not given.lower().startswith(_BEARER):
            return False
        return secrets.compare_digest(given[len(_BEARER) :].strip().encode(), read_token(self._token_file).encode())

    def _answer(self, endpoint: Endpoint, request: Request) -> Mapping[str, Any]:
        unknown = request.query_params.keys() - endpoint.query.keys()
        if unknown:
            raise BadRequest(f"there is no parameter {min(unknown)[:80]!r}", f"parameters: {', '.join(endpoint.query)}")
        wanted = {key: endpoint.query[key](value) for key, value in request.query_params.items() if value}
        path = {key: _number(value) if key == "position" else value for key, value in request.path_params.items()}
        if endpoint.command == "status":
            return self._site.status()
        return self._site.commands[endpoint.command]({**wanted, **path})


def _credentials(given: str) -> tuple[str, str]:
    """User and password of a header; empty where it has none."""
    try:
        user, _, password = base64.b64decode(given.strip(), validate=True).decode().partition(":")
    except ValueError:
        return "", ""
    return user, password


async def _fields_of(request: Request) -> Fields:
    """The fields of an act, as a form has them. Raises BadRequest."""
    # A form of another site cannot send this type, so nobody's browser can be made to act.
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise BadRequest("the body is no JSON", "Content-Type: application/json", code=415)
    try:
        value = json.loads(await body_of(request) or b"{}")
        json.dumps(value, ensure_ascii=False).encode()  # halves of characters are no text
    except (ValueError, RecursionError):
        raise BadRequest("the body is no JSON") from None
    if not isinstance(value, dict):
        raise BadRequest(_NO_FIELDS)
    return Fields([(key, _field(it)) for key, own in value.items() for it in (own if isinstance(own, list) else [own])])


def _field(value: Any) -> str:
    """A value as a form would send it."""
    if not isinstance(value, (str, bool, int)):
        raise BadRequest(_NO_FIELDS)
    return ("yes" if value else "") if isinstance(value, bool) else str(value)


def refused_json(error: PysyncError, code: int, headers: Mapping[str, str] | None = None) -> Response:
    """As a command prints it that fails with `--json`."""
    text = {"error": {"message": error.message, "hint": error.hint, "exit_code": error.exit_code}}
    return _json(text, code, {"Cache-Control": "no-store", **(headers or {})})


def _json(value: Mapping[str, Any], code: int, headers: Mapping[str, str]) -> Response:
    """As ASCII: a name from outside may have halves of characters, which UTF-8 cannot hold."""
    return Response(json.dumps(value), code, headers=headers, media_type="application/json")


def _conditional(request: Request, answer: Mapping[str, Any]) -> Response:
    """The answer, or 304 if the caller has the same one already."""
    body = json.dumps(answer).encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    known = [it.strip().removeprefix("W/") for it in request.headers.get("if-none-match", "").split(",")]
    if tag in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


def openapi() -> dict[str, Any]:
    """The description of the API, in the form of OpenAPI 3.1."""
    paths = {PREFIX + it.path.replace(":path", ""): {"get": _operation(it)} for it in ENDPOINTS}
    paths |= {f"{PREFIX}/acts/{name}": {"post": _act(name)} for name in ACTS}
    return {
        "openapi": "3.1.0",
        "info": {"title": "pysync", "version": __version__, "description": "docs/status.md has all keys."},
        "security": [{"token": []}],
        "components": {
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic"},
            }
        },
        "paths": paths,
    }


def _act(name: str) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    several = {"type": "array", "items": text}
    fields: dict[str, Any] = {it: {"anyOf": [text, several]} if it in LISTS else text for it in ACTS[name].fields}
    fields |= {"sure": {"type": "boolean"}} if name in NEEDS_TICK else {}
    schema = {"type": "object", "properties": fields, "additionalProperties": False}
    content = {"application/json": {"schema": {"type": "object"}}}
    return {
        "operationId": f"act_{name}",
        "summary": f"As on the page: {name}.",
        "security": [{"password": []}],
        "requestBody": {"content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {"description": f"As pysync {ACTS[name].command} --json.", "content": content},
            "400": {"description": "The request makes no sense, or was refused.", "content": content},
            "401": {"description": "User or password are missing or wrong.", "content": content},
            "403": {"description": "The user may not act.", "content": content},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    path = [_parameter(it, "path", "integer" if it == "position" else "string") for it in endpoint.names]
    query = [_parameter(name, "query", _TYPES[read]) for name, read in endpoint.query.items()]
    content = {"application/json": {"schema": {"type": "object"}}}
    keys = f"The keys: {endpoint.page}"
    return {
        "operationId": endpoint.command.replace(" ", "_"),
        "summary": endpoint.summary,
        "parameters": [*path, *query],
        "responses": {
            "200": {"description": keys, "content": content},
            "304": {"description": "The same as the ETag of If-None-Match."},
            "400": {"description": "The request makes no sense, or cannot be answered now.", "content": content},
            "401": {"description": "The token is missing or wrong.", "content": content},
        },
    }


def _parameter(name: str, place: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": kind}}
