"""Acts from the page, end to end: a browser, a running sidecar, real metastores, and what the status says then."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.control.client import ask
from tests.browser.conftest import RIGHT, USER
from tests.support import wait_until
from tests.support.browser import Browser
from tests.support.docworlds import Running, create

pytestmark = pytest.mark.browser


class World:
    """A running sidecar with its page."""

    def __init__(self, running: Running) -> None:
        self.running = running
        found = re.search(r"web_started\s+url=(\S+)/", running.stage.sidecar_log.read_text())
        assert found
        self.base = found[1]

    def sign_in(self, browser: Browser, path: str) -> None:
        browser.go(f"{self.base}/login?next={path}")
        browser.find("[name=user]").send_keys(USER)
        browser.find("[name=password]").send_keys(RIGHT)
        browser.click("main button.primary")
        assert browser.path() == path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, users: Path) -> Iterator[World]:
    # What a test makes is young, and so no part of a share.
    running = Running(tmp_path_factory.mktemp("stage"), "max_drops_per_window = 10\n")
    web = f'\n[web]\nport = 0\npassword_file = "{users}"\n'
    running.file.write_text(running.file.read_text() + web)
    with running:
        yield World(running)


def test_the_overview_tells_what_the_status_tells(browser: Browser, world: World) -> None:
    browser.go(f"{world.base}/")
    status = world.running.stage.status()
    assert browser.text("h1") == "All is well"
    assert {"dr", status["source"]} <= set(browser.text(".pipe").split())
    assert "sales" not in browser.text(), "who is not signed in sees no name"


def test_a_target_is_paused_and_resumed(browser: Browser, world: World) -> None:
    world.sign_in(browser, "/targets/dr")
    browser.find("input[name=reason]").send_keys("disk is full <b>")
    browser.click("form[action='/acts/pause'] button")
    assert world.running.dr()["paused"]["reason"] == "disk is full <b>"
    assert "dr is paused: disk is full <b>" in browser.text()
    browser.go(f"{world.base}/")
    assert "needs attention" in browser.text("h1")
    assert "pysync resume dr" in browser.text(".needs")
    browser.click(".needs a")
    browser.click("form[action='/acts/resume'] button")
    assert world.running.dr()["paused"] is None
    assert "it was paused: disk is full <b>" in browser.text()


def test_what_a_target_would_do_next_is_shown(browser: Browser, world: World) -> None:
    with world.running.waiting():
        world.sign_in(browser, "/targets/dr")
        assert "held_" in browser.text(".plan")


def test_every_table_is_listed_and_found_and_its_life_is_shown(browser: Browser, world: World) -> None:
    with world.running.parked():
        world.sign_in(browser, "/tables")
        found = {it.text.split()[0]: it.text for it in browser.all(".dense tbody tr")}
        (held,) = [name for name in found if name.startswith("sales.held_")]
        assert ("in sync" in found["sales.orders"], "parked" in found[held]) == (True, True)
        assert next(iter(found)) == held, "trouble comes first"
        browser.click(".counts a[href*='state=parked']")
        assert [it.text for it in browser.all("tbody a.name")] == [held]
        browser.find("#find-table").send_keys("order")
        browser.click(".search button")
        assert [it.text for it in browser.all("tbody a.name")] == ["sales.orders"]
        browser.click("tbody a.name")
        assert browser.path() == "/tables/sales.orders"
        assert "CREATE_TABLE" in browser.text(".timeline")
        browser.click("a[href^='/actions?table=']")
        assert "sales.orders" in browser.text("tbody")


def test_a_parked_table_is_retried(browser: Browser, world: World) -> None:
    with world.running.parked() as position:
        world.sign_in(browser, "/targets/dr/parked")
        browser.click(".reason-groups a")
        browser.click(".reason-groups form[action='/acts/retry'] button")
        assert "1 event still parked" in browser.text(), "by its reason"
        browser.click("tbody a.name")
        assert "CREATE_TABLE" in browser.text()
        assert f"{position:,}" in browser.text(".facts")
        browser.click("form[action='/acts/retry'] button")
        assert "1 event still parked" in browser.text()
        world.running.mend()
        browser.click("form[action='/acts/retry'] button")
        assert "1 of 1 event applied" in browser.text()
        world.running.rests(queued=0, parked=0)


def test_a_parked_table_is_skipped_only_by_who_is_sure(browser: Browser, world: World) -> None:
    with world.running.parked():
        world.sign_in(browser, "/targets/dr/parked")
        browser.click("tbody a.name")
        browser.find("form[action='/acts/skip'] button").click()
        assert world.running.dr()["parked"] == 1, "the browser asks for the tick first"
        browser.find("form[action='/acts/skip'] input[name=sure]").click()
        browser.click("form[action='/acts/skip'] button")
        assert browser.path() == "/targets/dr/parked"
        assert "1 event skipped" in browser.text()
        assert world.running.dr()["parked"] == 0


def test_tables_in_conflict_are_adopted_by_their_reason(browser: Browser, world: World) -> None:
    with world.running.parked():
        world.sign_in(browser, "/targets/dr/parked")
        browser.click(".reason-groups a")
        browser.find("form[action='/acts/adopt'] input[name=sure]").click()
        browser.click("form[action='/acts/adopt'] button")
        assert "1 table adopted; 1 of 1 event applied" in browser.text()
        assert browser.path() == "/targets/dr/parked"
        world.running.rests(queued=0, parked=0)


def test_everything_is_refreshed(browser: Browser, world: World) -> None:
    world.sign_in(browser, "/targets/dr")
    before = len(world.running.stage.status()["gaps"])
    browser.find("#question-refresh summary").click()
    assert "With many tables that takes hours" in browser.text()
    browser.click("form[action='/acts/refresh-all'] button")
    assert "started: " in browser.text()
    wait_until(lambda: len(world.running.stage.status()["gaps"]) > before, what="the refresh")
    wait_until(lambda: all(it["state"] == "closed" for it in world.running.stage.status()["gaps"]), what="its end")


def test_selected_tables_are_refreshed_after_a_question(browser: Browser, world: World) -> None:
    world.sign_in(browser, "/tables?database=sales")
    before = len(world.running.stage.status()["gaps"])
    browser.find(".select-all").click()
    number = len(browser.all(".dense tbody tr"))
    assert browser.text(".chosen-count") == f"{number} of {number} selected"
    browser.find(".dense tbody [name=tables]").click()
    assert browser.text(".chosen-count") == f"{number - 1} of {number} selected"
    browser.find(".select-all").click()
    browser.find("#question-refresh summary").click()
    browser.click("[formaction='/acts/refresh']")
    assert "started: " in browser.text()
    wait_until(lambda: len(world.running.stage.status()["gaps"]) > before, what="the refresh")
    wait_until(lambda: all(it["state"] == "closed" for it in world.running.stage.status()["gaps"]), what="its end")


def test_a_target_is_verified_and_its_drift_is_shown_side_by_side(browser: Browser, world: World) -> None:
    """A table that somebody else has made at the target stands in the way of nothing, and differs."""
    world.running.rests(queued=0, parked=0)
    changed = world.running.target.table("sales", "orders")
    changed.owner = "somebody else"
    world.running.target.call(lambda client: client.alter_table("sales", "orders", changed))
    world.sign_in(browser, "/verify")
    browser.click("form[action='/acts/verify'] button")
    assert "dr will be compared as soon as it is at rest" in browser.text()
    wait_until(lambda: "1 object drifted" in browser.text(), seconds=90, what="the drift on the page, by itself")
    assert (world.running.dr()["verify"]["drift"], world.running.dr()["verify"]["names"]) == (1, ["table sales.orders"])
    browser.click("a.tile.bad")
    row = browser.find(".sides tbody tr").text
    assert "owner" in row
    assert row.index("tester") < row.index("somebody else"), "the source stands first"
    ask(world.running.stage.config.queue.directory, "refresh", tables=["sales.orders"])
    wait_until(lambda: world.running.target.table("sales", "orders").owner == "tester", what="the repair")
    browser.go(f"{world.base}/verify")
    browser.click("form[action='/acts/verify'] button")
    wait_until(lambda: "no drift" in browser.text(), seconds=90, what="the end of the drift")


def dropped_and_held(world: World, database: str) -> None:
    """A database of twelve tables that the source drops, and the target holds."""
    source, running = world.running.source, world.running
    source.call(lambda client: client.create_database(hive.Database(name=database)))
    for number in range(12):
        create(source, database, f"t{number:02}")
    running.rests(queued=0, parked=0)
    source.call(lambda client: client.drop_database(database, False, True))
    wait_until(lambda: running.dr()["brake"] is not None, seconds=60, what="the hold")


def test_held_drops_are_kept_or_made_by_who_is_sure(browser: Browser, world: World) -> None:
    dropped_and_held(world, "kept")
    world.sign_in(browser, "/")
    assert "target dr holds the drop of database kept with 12 tables" in browser.text(".needs")
    browser.click(".needs a")
    assert browser.path() == "/targets/dr"
    assert {"table kept.t00", "table kept.t11"} <= {it.text for it in browser.all(".held li")}
    browser.click("form[action='/acts/keep'] button")
    assert "dr keeps 13 objects" in browser.text()
    world.running.rests(queued=0)
    assert len(world.running.target.tables("kept")) == 12
    dropped_and_held(world, "gone")
    browser.go(f"{world.base}/targets/dr")
    browser.find("form[action='/acts/drop'] input[name=sure]").click()
    browser.click("form[action='/acts/drop'] button")
    wait_until(lambda: "gone" not in world.running.target.databases(), seconds=60, what="the drop")
    assert len(world.running.target.tables("kept")) == 12


def test_a_refusal_is_told_on_the_page(browser: Browser, world: World) -> None:
    world.sign_in(browser, "/tables/sales.orders")
    browser.find("#question-refresh summary").click()
    browser.click_after(
        "document.querySelector('[name=tables]').value = 'sales.gone'", "form[action='/acts/refresh'] button"
    )
    assert "refused: table sales.gone exists neither at the source nor at a target" in browser.text()


def test_a_session_ends_with_signing_out(browser: Browser, world: World) -> None:
    world.sign_in(browser, "/verify")
    browser.click("form[action='/logout'] button")
    assert browser.all("form[action^='/acts']") == []
    assert browser.find("a[href^='/login']").is_displayed()
