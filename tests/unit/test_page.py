"""The page over HTTP: what is shown to whom, what may be done by whom, and what a browser is told to keep from."""

from __future__ import annotations

import html
import http.client
import json
import logging
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from structlog.testing import capture_logs

from pysync.sections import WebConfig
from pysync.web.acts import ACTS
from pysync.web.connections import _Limit
from pysync.web.passwords import set_password
from pysync.web.server import WebServer
from pysync.web.sessions import MOST_FAILURES
from pysync.web.views.feed import MOST_RECORDS
from tests.support.pages import EVIL, LONG, FakeSidecar, a_record, holding, in_trouble
from tests.support.visitors import HOST, PageVisitor, write_passwords

RIGHT = "correct horse battery"
OPEN = ("/", "/targets/dr", "/targets/lake", "/login")
CLOSED = (
    *("/actions", "/targets/lake/parked", f"/targets/lake/parked/{quote(EVIL, safe='')}", "/verify", "/verify/dr/shop"),
    *("/tables", "/tables?state=parked&name=orders"),
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


@pytest.mark.parametrize("act", sorted(ACTS))
def test_each_act_calls_its_command_with_who_did_it(alice: PageVisitor, sidecar: FakeSidecar, act: str) -> None:
    fields = {"target": "dr", "table": "shop.a", "tables": "shop.a", "reason": "night", "sure": "yes"}
    seen = alice.act(act, **fields)
    request = next(request for name, request in sidecar.asked if name == ACTS[act].command)
    lists = {"tables", "names"}
    expected = {key: [fields[key]] if key in lists else fields[key] for key in ACTS[act].fields if key in fields}
    assert request == {**expected, "who": "alice (page)"}
    assert re.search(r'<p class="banner good" role="status">', seen.body)
    assert "banner good" not in alice.get("/").body, "a message is shown once"


def test_the_page_of_a_target_says_that_a_person_has_kept_objects(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    target = next(it for it in sidecar.answer["targets"] if it["name"] == "dr")
    assert "that the source has dropped" not in alice.get("/targets/dr").text
    target |= {"kept": 13}
    seen = alice.get("/targets/dr").text
    assert "Keeps 13 objects that the source has dropped" in seen
    assert "pysync kept list dr" in seen


def test_drops_that_are_held_are_named_and_made_only_after_a_tick(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    """Before: `Resume` was the primary button, and made all drops without a question."""
    summary, reason = "database hr2 with 40 tables", "max_drops_per_window is 20"
    held = {"at": 1.0, "drops": 41, "summary": summary, "reason": reason, "objects": ["database hr2"], "more": 40}
    held["databases"] = [{"database": "hr2", "objects": 41, "summary": summary, "reason": reason}]
    target = next(it for it in sidecar.answer["targets"] if it["name"] == "dr")
    target |= {"brake": held}
    seen = alice.get("/targets/dr").text
    assert "Holds the drop of database hr2 with 40 tables" in seen
    assert "All other tables go on" in seen
    assert (
        seen.index("Keep hr2")
        < seen.index("Drop hr2 here")
        < seen.index("table hr2.people_39")
        < seen.index("Other acts")
    )
    assert "I am sure: dr drops 41 objects" in seen
    assert "nothing was dropped: tick the box" in alice.act("drop", target="dr", names="hr2", seen="41").text
    assert "held decide" not in [name for name, _ in sidecar.asked]
    alice.act("drop", target="dr", names="hr2", seen="41", sure="yes")
    alice.act("keep", target="dr", names="hr2", keep="yes")
    asked = [request for name, request in sidecar.asked if name == "held decide"]
    assert [(it["names"], it.get("seen"), it.get("keep")) for it in asked] == [
        (["hr2"], 41, None),
        (["hr2"], None, True),
    ]


def test_names_of_what_is_held_are_for_who_is_signed_in(reader: PageVisitor, sidecar: FakeSidecar) -> None:
    sidecar.answer = holding()
    assert "41 objects" in reader.get("/targets/dr").text
    assert "hr2" not in reader.get("/targets/dr").text
    assert "held list" not in [name for name, _ in sidecar.asked]


def test_what_has_drifted_in_a_database_is_refreshed_together(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    page = alice.get("/verify/dr/shop")
    assert "Refresh 2 tables" in page.text
    names = re.findall(r'name="tables" value="([^"]*)"', page.body)
    assert [html.unescape(it) for it in names] == ["shop.orders", EVIL], "and not what may differ"
    assert "Refresh" not in alice.get("/verify/dr/db_00").text


def test_what_the_brake_holds_is_neither_retried_nor_skipped(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    sidecar.tables[0]["kind"] = "held"
    page = alice.get(f"/targets/lake/parked/{quote(EVIL, safe='')}")
    assert "as soon as somebody has decided about the drops" in page.text
    assert 'action="/acts/' not in page.body


def test_the_search_asks_for_the_nearest_names_first(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    alice.get("/suggestions?name=orders")
    assert sidecar.asked[-1] == ("tables", {"part": "orders", "sort": "match", "limit": 10})


def test_selected_tables_are_retried_skipped_and_adopted_together(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    page = alice.get("/targets/lake/parked")
    csrf = page.field("csrf")
    chosen = [("csrf", csrf), ("target", "lake"), ("tables", EVIL), ("tables", LONG), ("sure", "yes")]
    for act in ("retry", "skip", "adopt"):
        assert f'formaction="/acts/{act}-selected"' in page.body
        alice.post(f"/acts/{act}-selected", chosen)
        wanted = {"target": "lake", "tables": [EVIL, LONG], "who": "alice (page)"}
        assert (f"parked {act}", wanted) in sidecar.asked


def test_a_live_update_takes_no_message_away(alice: PageVisitor) -> None:
    csrf = alice.get("/verify").field("csrf")
    alice.post("/acts/pause", {"target": "dr", "csrf": csrf, "back": "/", "reason": "at night"})
    assert "dr is paused: at night" not in alice.get("/", **{"X-Pysync-Live": "1"}).text
    assert "dr is paused: at night" in alice.get("/").text


def test_the_plan_is_made_only_for_who_is_signed_in(reader: PageVisitor, sidecar: FakeSidecar) -> None:
    assert "sign in to see it" in reader.get("/targets/dr").text
    assert "plan" not in [name for name, _ in sidecar.asked]


def test_what_is_refused_is_told_on_the_next_page(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    sidecar.refuses = "pause"
    assert "refused: the target has stopped; retry when it runs again" in alice.act("pause", target="dr").text


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"skipped": 1}, "1 event skipped"),
        ({}, "nothing was parked"),
        ({"tried": 3, "left": 1, "reason": "x\nrefused"}, "2 of 3 events applied; 1 event still parked: refused"),
        ({"finished": False, "reason": "the target is busy"}, "not finished: the target is busy"),
    ],
)
def test_what_a_retry_came_to(alice: PageVisitor, sidecar: FakeSidecar, answer: dict[str, object], text: str) -> None:
    none = {"skipped": 0, "tried": 0, "left": 0, "reason": None, "finished": True}
    sidecar.answers["parked retry"] = lambda _: {**none, **answer}
    assert text in alice.act("retry", target="dr").text


def test_selected_tables_are_refreshed_and_never_all_for_want_of_a_selection(
    alice: PageVisitor, sidecar: FakeSidecar
) -> None:
    page = alice.get("/tables")
    fields = [("csrf", page.field("csrf")), ("back", "/tables"), ("tables", "shop.a"), ("tables", "shop.b")]
    assert alice.post("/acts/refresh", fields).location == "/tables"
    assert ("refresh", {"tables": ["shop.a", "shop.b"], "who": "alice (page)"}) in sidecar.asked
    sidecar.asked.clear()
    for act in ("refresh", "retry-selected", "skip-selected", "adopt-selected"):
        assert "nothing is selected" in alice.act(act, target="lake", tables="", sure="yes").text
    assert {"refresh", "parked retry", "parked skip", "parked adopt"}.isdisjoint(name for name, _ in sidecar.asked)
    assert "nothing was skipped" in alice.act("skip-selected", target="lake", tables="shop.a").text


def test_nothing_is_skipped_without_saying_so(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    assert "nothing was skipped" in alice.act("skip", target="lake", table=EVIL).text
    assert "parked skip" not in [name for name, _ in sidecar.asked]


def test_what_a_retry_cannot_help_offers_adoption_first(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    table = alice.get(f"/targets/lake/parked/{quote(EVIL, safe='')}").text
    assert table.index("Adopt the table") < table.index("Retry")
    group = alice.get(f"/targets/lake/parked?{urlencode({'reason': sidecar.tables[0]['reason']})}").text
    assert group.index("Adopt these") < group.index("Retry these")
    assert "nothing was adopted" in alice.act("adopt", target="lake", table=EVIL).text
    assert "parked adopt" not in [name for name, _ in sidecar.asked]
    refused = {"refused": {"db.t": "it has other keys"}, "adopted": 1, "more": 3}
    none = {"skipped": 0, "tried": 2, "left": 0, "reason": None, "finished": True}
    sidecar.answers["parked adopt"] = lambda _: {**none, **refused}
    done = alice.act("adopt", target="lake", reason="x", sure="yes").text
    assert "1 table adopted; 2 of 2 events applied; db.t was not adopted: it has other keys; 3 tables left" in done


@pytest.mark.parametrize(("range_", "hours"), [("1h", 1), ("6h", 6), ("30d", 720), ("", 24), ("x", 24)])
def test_curves_show_the_time_that_is_chosen(
    reader: PageVisitor, sidecar: FakeSidecar, range_: str, hours: int
) -> None:
    seen = reader.get(f"/targets/dr?range={range_}").body
    assert [request["hours"] for name, request in sidecar.asked if name == "history"] == [hours]
    assert re.search(r'range=(\w+)" aria-current="true"', seen)[1] == (range_ if hours != 24 else "24h")
    assert "data-values='[[" in seen


def test_an_event_of_no_table_is_skipped_by_its_position(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    sidecar.tables[0]["table"] = ""
    page = alice.get("/targets/lake/parked/")
    assert page.field("position") == "40000"
    alice.act("skip", target="lake", position="40000", sure="yes")
    assert ("parked skip", {"target": "lake", "position": 40000, "who": "alice (page)"}) in sidecar.asked


def test_a_form_without_its_token_or_of_another_site_does_nothing(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    csrf = alice.get("/verify").field("csrf")
    form = {"target": "dr", "back": "/"}
    assert alice.post("/acts/pause", form).code == 403
    assert alice.post("/acts/pause", {**form, "csrf": "ü" + csrf[1:]}).code == 403
    bad = (
        "",
        "null",
        "https://evil.example",
        f"http://{HOST}:1",
        f"ftp://{alice.origin[7:]}",
        "http://[",
        alice.origin[7:],
    )
    for origin in bad:
        assert alice.post("/acts/pause", {**form, "csrf": csrf}, Origin=origin).code == 403
    assert alice.get("/acts/pause?target=dr").code == 405
    assert "pause" not in [name for name, _ in sidecar.asked]


def test_a_token_of_another_session_does_nothing(web: WebServer, alice: PageVisitor, sidecar: FakeSidecar) -> None:
    other = PageVisitor(web.port)
    other.sign_in("alice", RIGHT)
    csrf = other.get("/verify").field("csrf")
    assert alice.post("/acts/pause", {"target": "dr", "csrf": csrf}).code == 403
    assert "pause" not in [name for name, _ in sidecar.asked]


def test_an_act_that_is_none_and_a_form_that_is_huge(alice: PageVisitor) -> None:
    assert alice.act("destroy", target="dr").code == 404
    assert alice.post("/acts/pause", {"reason": "x" * 100_000}).code == 413


@pytest.mark.parametrize("name", [EVIL, LONG, "a.b?c=d#e&f", "a.b/c%2Fd ü"])
def test_an_act_leads_back_to_the_page_of_a_table_of_any_name(alice: PageVisitor, name: str) -> None:
    path = f"/tables/{quote(name, safe='')}"
    page = alice.get(path)
    assert name in page.text
    done = alice.post("/acts/refresh", {"csrf": page.field("csrf"), "back": page.field("back"), "tables": name})
    assert (done.code, done.location) == (303, path)


def test_acts_lead_back_to_a_page_of_this_site_alone(alice: PageVisitor) -> None:
    csrf = alice.get("/verify").field("csrf")
    for back in ("//evil.example", "https://evil.example", "/\t/evil.example", "javascript:alert(1)"):
        assert alice.post("/acts/pause", {"target": "dr", "csrf": csrf, "back": back}).location == "/"


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
