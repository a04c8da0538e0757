"""Acts from the page over HTTP: what they call, what is asked first, and what they came to."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from pysync.sections import WebConfig
from pysync.web.acts import ACTS
from pysync.web.server import WebServer
from tests.support.pages import EVIL, LONG, FakeSidecar, holding, in_trouble
from tests.support.visitors import HOST, PageVisitor, write_passwords

RIGHT = "correct horse battery"


@pytest.fixture
def sidecar(cheap_hashes: None) -> FakeSidecar:
    return FakeSidecar(in_trouble())


@pytest.fixture
def web(sidecar: FakeSidecar, tmp_path: Path) -> Iterator[WebServer]:
    write_passwords(tmp_path / "passwords", RIGHT, "alice")
    web = WebServer(WebConfig(port=0, password_file=tmp_path / "passwords"), sidecar.status, sidecar.commands())
    web.start()
    yield web
    web.stop()


@pytest.fixture
def reader(web: WebServer) -> PageVisitor:
    """Not signed in."""
    return PageVisitor(web.port)


@pytest.fixture
def alice(web: WebServer) -> PageVisitor:
    visitor = PageVisitor(web.port)
    assert visitor.sign_in("alice", RIGHT).code == 303
    return visitor


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


def test_selected_tables_are_retried_skipped_and_adopted_together(alice: PageVisitor, sidecar: FakeSidecar) -> None:
    page = alice.get("/targets/lake/parked")
    csrf = page.field("csrf")
    chosen = [("csrf", csrf), ("target", "lake"), ("tables", EVIL), ("tables", LONG), ("sure", "yes")]
    for act in ("retry", "skip", "adopt"):
        assert f'formaction="/acts/{act}-selected"' in page.body
        alice.post(f"/acts/{act}-selected", chosen)
        wanted = {"target": "lake", "tables": [EVIL, LONG], "who": "alice (page)"}
        assert (f"parked {act}", wanted) in sidecar.asked


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
