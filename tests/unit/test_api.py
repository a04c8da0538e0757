"""The JSON API: the answers of the commands, for who has the token, and for nobody else."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import UsageError
from pysync.base.token import write_token
from pysync.sections import WebConfig
from pysync.web.acts import ACTS
from pysync.web.api import ENDPOINTS
from pysync.web.passwords import set_password
from pysync.web.server import WebServer
from pysync.web.sessions import MOST_FAILURES
from tests.support.pages import FakeSidecar, in_trouble
from tests.support.visitors import PageVisitor, Seen

RIGHT, WRONG = "correct horse battery", "wrong password"
PATHS = {
    "/status": ("status", {}),
    "/tables?state=parked&limit=3": ("tables", {"state": "parked", "limit": 3}),
    "/why/shop.a%2Fb?target=dr&since=1.5": ("why", {"table": "shop.a/b", "target": "dr", "since": 1.5}),
    "/actions?target=dr&limit=2": ("actions", {"target": "dr", "limit": 2}),
    "/plan?target=dr": ("plan", {"target": "dr"}),
    "/targets/lake/parked?reason=exists": ("parked list", {"target": "lake", "reason": "exists"}),
    "/targets/lake/parked/40001": ("parked show", {"target": "lake", "position": 40001}),
    "/targets/lake/verified": ("verified", {"target": "lake"}),
}


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "token"
    write_token(path)
    return path


@pytest.fixture
def sidecar() -> FakeSidecar:
    return FakeSidecar(in_trouble())


@pytest.fixture
def web(sidecar: FakeSidecar, token_file: Path) -> Iterator[WebServer]:
    server = WebServer(WebConfig(port=0, api_token_file=token_file), sidecar.status, sidecar.commands())
    server.start()
    yield server
    server.stop()


class Program(PageVisitor):
    """It has the token."""

    def __init__(self, web: WebServer, token: str) -> None:
        super().__init__(web.port)
        self.token = token

    def ask(self, path: str, **headers: str) -> Seen:
        return self.get(f"/api/v1{path}", Authorization=f"Bearer {self.token}", **headers)

    def refusal(self, path: str) -> str:
        seen = self.ask(path)
        assert seen.code == 400, seen.body
        return str(json.loads(seen.body)["error"]["message"])


@pytest.fixture
def program(web: WebServer, token_file: Path) -> Program:
    return Program(web, token_file.read_text().strip())


@pytest.mark.parametrize("path", PATHS)
def test_an_answer_is_that_of_the_command(program: Program, sidecar: FakeSidecar, path: str) -> None:
    command, request = PATHS[path]
    expected: Any = sidecar.answer if command == "status" else sidecar.answers[command](request)
    seen = program.ask(path)
    assert (seen.code, json.loads(seen.body)) == (200, json.loads(json.dumps(expected)))
    assert command == "status" or sidecar.asked[-1] == (command, request)


def test_every_path_is_tried() -> None:
    assert {command for command, _ in PATHS.values()} == {it.command for it in ENDPOINTS}


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x"]
)
@pytest.mark.parametrize("path", [*PATHS, "/openapi.json"])
def test_without_the_token_there_is_no_answer(web: WebServer, program: Program, path: str, header: str) -> None:
    given = {"Authorization": header.format(token=program.token)} if header else {}
    seen = PageVisitor(web.port).get(f"/api/v1{path}", **given)
    assert (seen.code, json.loads(seen.body)["error"]["message"]) == (401, "the token is missing or wrong")


def test_the_same_answer_again_is_sent_without_its_body(program: Program, sidecar: FakeSidecar) -> None:
    first = program.ask("/status")
    tag = {key.lower(): value for key, value in first.headers.items()}["etag"]
    again = program.ask("/status", **{"If-None-Match": tag})
    assert (again.code, again.body) == (304, "")
    sidecar.answer["pid"] += 1
    assert program.ask("/status", **{"If-None-Match": tag}).code == 200


def test_what_makes_no_sense_is_refused_in_words(program: Program, sidecar: FakeSidecar) -> None:
    assert program.refusal("/actions?limit=many") == "'many' is not a whole number"
    assert program.refusal("/actions?since=today") == "'today' is not a time in seconds since 1970"
    assert program.refusal("/actions?tabel=a.b") == "there is no parameter 'tabel'"
    assert program.refusal("/targets/lake/parked/x") == "'x' is not a whole number"
    sidecar.refuses = "why"
    assert program.refusal("/why/a.b") == "the target has stopped"


@pytest.mark.parametrize(("path", "code"), [("/nothing", 404), ("/targets/lake", 404), ("/", 404)])
def test_a_path_that_there_is_not_is_refused_as_json(program: Program, path: str, code: int) -> None:
    seen = program.ask(path)
    refused = json.loads(seen.body)["error"]
    assert (seen.code, refused["message"]) == (code, f"GET /api/v1{path}: Not Found")
    assert refused["hint"] == "the description of the API: /api/v1/openapi.json"


def test_nothing_can_be_changed(program: Program) -> None:
    for path in PATHS:
        headers = {"Authorization": f"Bearer {program.token}"}
        seen = program.post(f"/api/v1{path}", {}, **headers)
        assert (seen.code, json.loads(seen.body)["error"]["exit_code"]) == (405, 1)


# --- acts, by a user's password


@pytest.fixture
def users(tmp_path: Path, cheap_hashes: None) -> Path:
    path = tmp_path / "passwords"
    for user in ("alice", "carol"):
        set_password(path, user, RIGHT)
    return path


@pytest.fixture
def acting(sidecar: FakeSidecar, token_file: Path, users: Path) -> Iterator[WebServer]:
    settings = WebConfig(port=0, api_token_file=token_file, password_file=users, operators=("alice",))
    server = WebServer(settings, sidecar.status, sidecar.commands())
    server.start()
    yield server
    server.stop()


def sent(web: WebServer, name: str, body: Any, user: str = "alice", password: str = RIGHT, **headers: str) -> Seen:
    return sent_raw(web, json.dumps(body), name, user, password, **headers)


def sent_raw(
    web: WebServer, body: str, name: str = "pause", user: str = "alice", password: str = RIGHT, **headers: str
) -> Seen:
    basic = base64.b64encode(f"{user}:{password}".encode()).decode()
    common = {"Content-Type": "application/json", "Authorization": f"Basic {basic}", "Origin": ""}
    return PageVisitor(web.port).send(f"/api/v1/acts/{name}", body, **{**common, **headers})


def test_an_act_is_that_of_the_page_and_answers_as_the_command(acting: WebServer, sidecar: FakeSidecar) -> None:
    seen = sent(acting, "pause", {"target": "dr", "reason": "night"})
    assert (seen.code, json.loads(seen.body)) == (200, {"target": "dr", "paused": "night"})
    assert sidecar.asked[-1] == ("pause", {"target": "dr", "reason": "night", "who": "alice (API)"})
    assert sent(acting, "skip", {"target": "lake", "position": 40001, "sure": True}).code == 200
    assert sidecar.asked[-1] == ("parked skip", {"target": "lake", "position": 40001, "who": "alice (API)"})


def test_an_act_needs_the_password_of_who_may_act(
    acting: WebServer, web: WebServer, program: Program, sidecar: FakeSidecar
) -> None:
    body = {"target": "dr"}
    bearer = {"Authorization": f"Bearer {program.token}"}
    refusals = [
        sent(acting, "pause", body, **bearer),
        sent(acting, "pause", body, Authorization=""),
        sent(acting, "pause", body, Authorization="Basic !"),
        sent(acting, "pause", body, password=WRONG),
        sent(acting, "pause", body, user="nobody"),
        sent(web, "pause", body),
        sent(acting, "pause", body, user="carol"),
    ]
    assert [it.code for it in refusals] == [401, 401, 401, 401, 401, 401, 403]
    assert all(json.loads(it.body)["error"]["message"] for it in refusals)
    assert sidecar.asked == []


def test_an_act_that_makes_no_sense_is_refused_in_words(acting: WebServer, sidecar: FakeSidecar) -> None:
    wrong: list[tuple[str, Any, int, str]] = [
        ("skip", {"target": "dr", "position": 1}, 400, "nothing was skipped"),
        ("pause", {"traget": "dr"}, 400, "pause has no field 'traget'"),
        ("pause", ["dr"], 400, "the body is no object of texts and numbers, or lists of these"),
        ("pause", {"target": ["dr", {}]}, 400, "the body is no object of texts and numbers, or lists of these"),
        ("refresh", {}, 400, "refresh needs tables"),
        ("dance", {}, 404, "pysync has no such act"),
    ]
    for name, body, code, message in wrong:
        seen = sent(acting, name, body)
        assert (seen.code, json.loads(seen.body)["error"]["message"]) == (code, message)
    assert sidecar.asked == []
    sent(acting, "refresh", {"tables": ["db.a", "db.b"]})
    assert sidecar.asked[-1] == ("refresh", {"tables": ["db.a", "db.b"], "who": "alice (API)"})
    sidecar.refuses = "pause"
    assert json.loads(sent(acting, "pause", {"target": "dr"}).body)["error"]["message"] == "the target has stopped"


@pytest.mark.parametrize("body", ["[" * 5_000, '{"a":' * 1_000, r'{"target": "\ud800"}', r'{"\udfff": 1}', "9" * 5_000])
def test_a_body_that_nobody_can_read_is_refused(acting: WebServer, sidecar: FakeSidecar, body: str) -> None:
    seen = sent_raw(acting, body)
    assert (seen.code, json.loads(seen.body)["error"]["message"]) == (400, "the body is no JSON")
    assert sidecar.asked == []


@pytest.mark.parametrize("header", ["Basic é", "Basic =", "Basic /////w=="])
def test_whoever_has_no_password_has_no_body_read(acting: WebServer, header: str) -> None:
    assert sent_raw(acting, "[" * 5_000, Authorization=header).code == 401


def test_a_name_with_half_a_character_is_answered(program: Program, sidecar: FakeSidecar) -> None:
    sidecar.tables[0]["table"] = "shop.\ud800"
    assert r"shop.\ud800" in program.ask("/targets/lake/parked").body


def test_a_form_of_another_site_cannot_act(acting: WebServer, sidecar: FakeSidecar) -> None:
    """A browser sends these types without asking; it would send a password that it knows."""
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain", ""):
        assert sent(acting, "pause", {"target": "dr"}, **{"Content-Type": kind}).code == 415
    assert sidecar.asked == []


def test_passwords_cannot_be_tried_without_end(acting: WebServer) -> None:
    codes = [sent(acting, "pause", {}, password=WRONG).code for _ in range(MOST_FAILURES + 1)]
    assert codes == [401] * MOST_FAILURES + [429]


def test_the_description_names_every_path_and_parameter(program: Program) -> None:
    description = json.loads(program.ask("/openapi.json").body)
    assert description["openapi"].startswith("3.1")
    acts = {path for path in description["paths"] if "/acts/" in path}
    assert {path.rpartition("/")[2] for path in acts} == set(ACTS)
    fields = description["paths"]["/api/v1/acts/skip"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(fields["properties"]) == {*ACTS["skip"].fields, "sure"}
    assert len(description["paths"]) == len(ENDPOINTS) + len(ACTS)
    for path in description["paths"].keys() - acts:
        operations = description["paths"][path]
        parameters = operations["get"]["parameters"]
        in_path = {it["name"] for it in parameters if it["in"] == "path"}
        assert in_path == {it.partition("}")[0] for it in path.split("{")[1:]}, path
    tables = description["paths"]["/api/v1/tables"]["get"]["parameters"]
    assert {it["name"]: it["schema"]["type"] for it in tables}["limit"] == "integer"


def test_without_a_token_file_there_is_no_api(sidecar: FakeSidecar) -> None:
    server = WebServer(WebConfig(port=0), sidecar.status, sidecar.commands())
    server.start()
    try:
        assert PageVisitor(server.port).get("/api/v1/status", Authorization="Bearer x").code == 404
    finally:
        server.stop()


def test_a_token_that_others_can_read_is_refused(tmp_path: Path, sidecar: FakeSidecar) -> None:
    write_token(tmp_path / "token")
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(UsageError, match="can be read by other users"):
        WebServer(WebConfig(port=0, api_token_file=tmp_path / "token"), sidecar.status, sidecar.commands())
