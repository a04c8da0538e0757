"""The page over HTTP: what is shown to whom, what may be done by whom, and what a browser is told to keep from."""

from __future__ import annotations

import http.client
import json
import logging
import re
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from structlog.testing import capture_logs

from pysync.base.errors import PysyncError
from pysync.sections import WebConfig
from pysync.web.acts import ACTS
from pysync.web.connections import _Limit
from pysync.web.passwords import set_password
from pysync.web.server import WebServer
from pysync.web.sessions import MOST_FAILURES
from pysync.web.views.feed import MOST_RECORDS
from tests.support.pages import EVIL, LONG, FakeSidecar, a_record, in_trouble, some_tables
from tests.support.visitors import HOST, PageVisitor, write_passwords

RIGHT = "correct horse battery"
OPEN = ("/", "/targets/dr", "/targets/lake", "/login")
CLOSED = (
    *("/actions", "/targets/lake/parked", f"/targets/lake/parked/{quote(EVIL, safe='')}", "/verify", "/verify/dr/shop"),
    *("/tables", "/tables?state=parked&name=orders", "/views", "/views?state=refused&target=lake&from=100"),
    *(f"/tables/{quote(EVIL, safe='')}", f"/tables/{quote(LONG)}", "/actions?target=dr&outcome=parked"),
)


@pytest.fixture(scope="module")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("users") / "passwords"
    write_passwords(path, RIGHT, "alice")
    return path


@pytest.fixture
def sidecar(cheap_hashes: None) -> FakeSidecar:
    return FakeSidecar(in_trouble())


def served(sidecar: FakeSidecar, password_file: Path | None) -> Iterator[WebServer]:
    web = WebServer(WebConfig(port=0, password_file=password_file), sidecar.status, sidecar.commands())
    web.start()
    yield web
    web.stop()


@pytest.fixture
def web(sidecar: FakeSidecar, users: Path) -> Iterator[WebServer]:
    yield from served(sidecar, users)


@pytest.fixture
def reader(web: WebServer) -> PageVisitor:
    """Not signed in."""
    return PageVisitor(web.port)


@pytest.fixture
def alice(web: WebServer) -> PageVisitor:
    visitor = PageVisitor(web.port)
    assert visitor.sign_in("alice", RIGHT).code == 303
    return visitor


def names_in(text: str) -> list[str]:
    return [it for it in ("shop.orders", "script>alert", LONG, "orders") if it in text]


@pytest.mark.parametrize("path", OPEN)
def test_who_is_not_signed_in_sees_counts_and_no_name_of_a_table(reader: PageVisitor, path: str) -> None:
    seen = reader.get(path)
    assert (seen.code, names_in(seen.text)) == (200, [])
    assert 'action="/acts/' not in seen.body


@pytest.mark.parametrize("path", CLOSED)
def test_pages_with_names_are_for_who_is_signed_in(reader: PageVisitor, alice: PageVisitor, path: str) -> None:
    seen = reader.get(path)
    assert (seen.code, "Sign in to see this page" in seen.text, names_in(seen.text.replace("/tables/", ""))) == (
        403,
        True,
        [],
    )
    assert alice.get(path).code == 200


def test_without_a_password_file_nobody_can_sign_in(sidecar: FakeSidecar) -> None:
    for web in served(sidecar, None):
        visitor = PageVisitor(web.port)
        assert visitor.get("/").code == 200
        assert "password_file is not set" in visitor.get("/actions").text
        assert "password_file is not set" in visitor.get("/login").text
        assert visitor.sign_in("alice", RIGHT).code == 403
        assert visitor.post("/acts/pause", {"target": "dr"}).code == 403
    assert [it for it in sidecar.asked if it[0] in {act.command for act in ACTS.values()}] == []


@pytest.mark.parametrize("path", [*OPEN, *CLOSED, "/nope", "/static/page.css", "/health"])
def test_every_answer_forbids_what_no_page_needs(alice: PageVisitor, path: str) -> None:
    headers = alice.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert "server" not in headers


@pytest.mark.parametrize("path", [*OPEN, *CLOSED])
def test_no_page_holds_script_style_or_an_address_outside(alice: PageVisitor, path: str) -> None:
    body = alice.get(path).body
    assert re.findall(r"<script(?! type=\"module\" src=\"/static/)|<style| style=| on\w+=", body) == []
    assert set(re.findall(r"https?://[^\"'\s]+", body)) <= set()
    assert "<script>alert" not in body


def test_names_stand_as_they_are(alice: PageVisitor) -> None:
    for name in (EVIL, LONG):
        assert name in alice.get(f"/tables/{quote(name, safe='')}").text
        assert name in alice.get("/targets/lake/parked").text


def test_a_control_character_is_spelled_out(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    sidecar.tables[0]["table"] = "a.\x1b[2Jb\u202e"
    seen = alice.get("/targets/lake/parked")
    assert r"a.\x1b[2Jb\u202e" in seen.text
    assert "\x1b" not in seen.text


def test_a_table_of_which_nothing_is_parked_any_more_says_so(alice: PageVisitor) -> None:
    """A retry that succeeds leads back there."""
    seen = alice.get("/targets/lake/parked/shop.none")
    assert (seen.code, "Nothing of this table is parked at lake." in seen.text) == (200, True)


def test_the_journal_is_paged_by_the_server(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    sidecar.records = [a_record(it, operation=f"Put{it}") for it in range(999, 399, -1)]
    first = alice.get("/actions?target=dr")
    link = re.search(r'href="(/actions\?[^"]*before=[^"]*)"', first.body)
    assert link
    older = alice.get(link[1].replace("&amp;", "&"))
    assert older.code == 200
    asked = [request for name, request in sidecar.asked if name == "actions"]
    assert [it.get("before") for it in asked] == [None, 950]
    assert [(it["target"], it["limit"]) for it in asked] == [("dr", MOST_RECORDS)] * 2
    assert "Put949" in older.body
    assert 'data-live="0"' in older.body
    assert 'data-live="5"' in first.body


def test_an_older_sidecar_without_a_journal_is_told(alice: PageVisitor, sidecar: FakeSidecar, users: Path) -> None:
    for name in ("actions", "history", "why", "verified", "plan"):
        del sidecar.answers[name]
    for web in served(sidecar, users):
        visitor = PageVisitor(web.port)
        visitor.sign_in("alice", RIGHT)
        seen = {path: visitor.get(path) for path in [*OPEN, *CLOSED]}
        assert {path: it.code for path, it in seen.items() if it.code != 200} == {"/login": 303}
        for path in ("/actions", "/targets/dr", f"/tables/{LONG}"):
            assert "not known: this sidecar has no" in seen[path].text


def test_a_command_that_refuses_or_fails_leaves_a_page(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    sidecar.refuses = "actions"
    assert "the target has stopped; retry when it runs again" in alice.get("/actions").text
    sidecar.answers["why"] = lambda _: 1 / 0
    seen = alice.get("/tables/a.b")
    assert (seen.code, "the sidecar failed on this (ZeroDivisionError)" in seen.text) == (404, True)


@pytest.mark.parametrize("path", ["/targets/none", "/targets/none/parked", "/verify/none/x", "/none", "/acts/pause"])
def test_what_is_not_there_is_told_on_a_page(alice: PageVisitor, path: str) -> None:
    seen = alice.get(path)
    assert (seen.code in {404, 405}, "Overview" in seen.text) == (True, True)


def test_the_search_leads_to_the_table(alice: PageVisitor) -> None:
    assert alice.get("/tables?name=%20shop.a%2Fb ".strip()).location == "/tables/shop.a%2Fb"
    assert "<h1>Tables</h1>" in alice.get("/tables?name=").body
    assert "shop_007.orders_042" in alice.get("/tables?name=ORDERS_042").body, "a part of a name finds some"
    assert "shop_007.orders_042" in alice.get("/tables?name=shop_007.orders_04").body


def test_parked_tables_are_listed_also_where_the_source_does_not_answer(
    alice: PageVisitor, sidecar: FakeSidecar
) -> None:
    def by_name_alone(request: Mapping[str, Any]) -> Any:
        if request["sort"] == "urgency":
            raise PysyncError("the source does not answer")
        return some_tables(request, ["dr"])

    sidecar.answers["tables"] = by_name_alone
    assert "shop_000.orders_000" in alice.get("/tables?state=parked").text
    assert "the source does not answer" in alice.get("/tables").text


def test_a_part_of_a_name_suggests_ten_tables_at_most(
    alice: PageVisitor, reader: PageVisitor, sidecar: FakeSidecar
) -> None:
    assert json.loads(alice.get("/suggestions?name=SHOP_007.orders_042").body) == ["shop_007.orders_042"]
    many = json.loads(alice.get("/suggestions?name=orders").body)
    assert (len(many), many[0]) == (10, "shop_000.orders_000")
    sidecar.refuses = "tables"
    assert json.loads(alice.get("/suggestions?name=orders").body) == []
    assert reader.get("/suggestions?name=orders").code == 403


def test_the_cookie_is_out_of_reach_for_scripts_and_other_sites(reader: PageVisitor) -> None:
    cookie = reader.sign_in("alice", RIGHT).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "path=/" in cookie
    assert "secure" not in cookie


def test_a_wrong_password_says_nothing_about_the_user(reader: PageVisitor) -> None:
    answers = [reader.sign_in(*it) for it in (("alice", "wrong"), ("nobody", "wrong"))]
    assert [it.code for it in answers] == [403, 403]
    assert answers[0].text.partition("as of")[0] == answers[1].text.partition("as of")[0]
    assert reader.cookies == {}


def test_the_log_has_who_signed_in_and_no_name_of_who_could_not(reader: PageVisitor) -> None:
    """People type their password into the field of the name."""
    with capture_logs() as lines:
        reader.sign_in("alice", RIGHT)
        reader.sign_in("my secret, typed here", "wrong")
    assert [(it["event"], it.get("user")) for it in lines] == [("login_succeeded", "alice"), ("login_failed", None)]
    assert "typed here" not in str(lines)


def test_too_many_wrong_passwords_have_to_wait(reader: PageVisitor) -> None:
    codes = [reader.sign_in("alice", f"wrong {at}").code for at in range(MOST_FAILURES + 2)]
    assert codes == [403] * MOST_FAILURES + [429] * 2
    seen = reader.sign_in("alice", RIGHT)
    assert (seen.code, 0 < int(seen.headers["retry-after"]) <= 60) == (429, True)


@pytest.mark.parametrize(
    ("given", "to"),
    [
        ("/actions?x=1", "/actions?x=1"),
        ("//evil.example", "/"),
        ("https://evil.example", "/"),
        (r"/\evil.example", "/"),
    ],
)
def test_a_login_leads_nowhere_else(reader: PageVisitor, given: str, to: str) -> None:
    assert reader.post("/login", {"user": "alice", "password": RIGHT, "next": given}).location == to


def test_signing_out_ends_the_session(alice: PageVisitor) -> None:
    kept = dict(alice.cookies)
    assert alice.post("/logout").code == 303
    assert alice.cookies == {}
    alice.cookies = kept
    assert alice.get("/actions").code == 403


def test_a_user_who_is_removed_or_gets_another_password_is_signed_out(sidecar: FakeSidecar, tmp_path: Path) -> None:
    file = tmp_path / "passwords"
    set_password(file, "alice", RIGHT)
    for web in served(sidecar, file):
        visitor = PageVisitor(web.port)
        visitor.sign_in("alice", RIGHT)
        assert visitor.get("/actions").code == 200
        set_password(file, "alice", "another one altogether")
        assert visitor.get("/actions").code == 403
        visitor.sign_in("alice", "another one altogether")
        file.write_text("not a user")
        assert visitor.get("/actions").code == 403
        assert visitor.sign_in("alice", "another one altogether").code == 500


def test_the_search_asks_for_the_nearest_names_first(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    alice.get("/suggestions?name=orders")
    assert sidecar.asked[-1] == ("tables", {"part": "orders", "sort": "match", "limit": 10})


def test_a_live_update_takes_no_message_away(alice: PageVisitor) -> None:
    csrf = alice.get("/verify").field("csrf")
    alice.post("/acts/pause", {"target": "dr", "csrf": csrf, "back": "/", "reason": "at night"})
    assert "dr is paused: at night" not in alice.get("/", **{"X-Pysync-Live": "1"}).text
    assert "dr is paused: at night" in alice.get("/").text


def test_the_plan_is_made_only_for_who_is_signed_in(reader: PageVisitor, sidecar: FakeSidecar) -> None:
    assert "sign in to see it" in reader.get("/targets/dr").text
    assert "plan" not in [name for name, _ in sidecar.asked]


@pytest.mark.parametrize(("range_", "hours"), [("1h", 1), ("6h", 6), ("30d", 720), ("", 24), ("x", 24)])
def test_curves_show_the_time_that_is_chosen(
    reader: PageVisitor, sidecar: FakeSidecar, range_: str, hours: int
) -> None:
    seen = reader.get(f"/targets/dr?range={range_}").body
    assert [request["hours"] for name, request in sidecar.asked if name == "history"] == [hours]
    assert re.search(r'range=(\w+)" aria-current="true"', seen)[1] == (range_ if hours != 24 else "24h")
    assert "data-values='[[" in seen


def test_the_theme_is_kept_in_a_cookie(reader: PageVisitor) -> None:
    assert 'data-theme="auto"' in reader.get("/").body
    assert reader.post("/theme", {"theme": "dark", "back": "/targets/dr"}).location == "/targets/dr"
    assert 'data-theme="dark"' in reader.get("/").body
    reader.post("/theme", {"theme": '"><script>', "back": "/"})
    assert 'data-theme="dark"' in reader.get("/").body
    reader.cookies["pysync_theme"] = "evil"
    assert 'data-theme="auto"' in reader.get("/").body


def test_many_visitors_at_once(web: WebServer, alice: PageVisitor) -> None:
    def visit(at: int) -> int:
        visitor = PageVisitor(web.port)
        visitor.cookies = dict(alice.cookies)
        return visitor.get([*OPEN[:2], *CLOSED][at % 8]).code

    with ThreadPoolExecutor(8) as crowd:
        assert set(crowd.map(visit, range(60))) == {200}


@pytest.mark.parametrize(
    "path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static/"]
)
def test_only_what_is_static_is_served(reader: PageVisitor, path: str) -> None:
    assert reader.get(path).code in {404, 405}


def test_garbage_of_a_caller_ends_in_a_refusal(reader: PageVisitor) -> None:
    connection = http.client.HTTPConnection(HOST, reader.port, timeout=60)
    body = bytes(range(256)) * 16
    headers = {"Origin": reader.origin, "Cookie": f"pysync_session_{reader.port}=\x01; x"}
    connection.request("POST", "/login", body, headers)
    assert connection.getresponse().status in {400, 403}
    connection.close()
    assert reader.get("/targets/%00%ff").code == 404
    assert reader.get("/actions?before=%00&page=" + "9" * 5000).code == 403


def test_two_sidecars_on_one_host_share_no_session(sidecar: FakeSidecar, users: Path) -> None:
    """A browser sends the cookies of one port to the other, too."""
    one, other = served(sidecar, users), served(sidecar, users)
    try:
        visitors = [PageVisitor(next(it).port) for it in (one, other)]
        for visitor in visitors:
            visitor.cookies = visitors[0].cookies
            assert visitor.sign_in("alice", RIGHT).code == 303
        assert [it.get("/verify").code for it in visitors] == [200, 200]
        assert len([it for it in visitors[0].cookies if "session" in it]) == 2
    finally:
        assert [next(it, None) for it in (one, other)] == [None, None]  # they stop


def send(port: int, data: bytes) -> None:
    """Send this, and hang up."""
    with socket.create_connection((HOST, port), timeout=30) as connection:
        connection.sendall(data)


POSTS = ("/login", "/logout", "/theme", "/acts/pause", "/absent", "/metrics")


@pytest.mark.parametrize("kind", ["short", "no body", "chunked", "garbage", "half"])
def test_callers_cannot_fill_the_log(
    web: WebServer, reader: PageVisitor, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    """Requests that break off had a traceback each."""
    for path in POSTS * 5:
        head = f"POST {path} HTTP/1.1\r\nHost: {HOST}:{web.port}\r\nOrigin: {reader.origin}\r\n"
        ends = {"short": "Content-Length: 99\r\n\r\nuser=", "no body": "Content-Length: 99\r\n\r\n"}
        ends |= {"chunked": "Transfer-Encoding: chunked\r\n\r\n5\r\nuser="}
        send(web.port, {"garbage": "\x16\x03\x01\r\n\r\n", "half": head}.get(kind, head + ends.get(kind, "")).encode())
        assert reader.get("/live").code in {200, 503}
    web.stop()
    assert len(caplog.records) <= 1, caplog.text
    assert "Traceback" not in caplog.text


def test_a_line_about_callers_is_rare_and_tells_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
    clock = iter([0.0, 1.0, 59.0, 60.0, 61.0])
    limit, log = _Limit(lambda: next(clock)), logging.getLogger("test.limit")
    log.addFilter(limit)
    for _ in range(5):
        log.warning("Invalid HTTP request received.")
    messages = [it.getMessage() for it in caplog.records]
    assert messages == ["Invalid HTTP request received.", "Invalid HTTP request received. (2 more before)"]
