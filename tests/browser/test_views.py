"""Each view, as people see it: in any width, light and dark, by keyboard, with names that are hard to show."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import quote, urlencode
from zoneinfo import ZoneInfo

import pytest
from selenium.webdriver.common.keys import Keys

from pysync.web.pages import SUGGESTED
from tests.browser.conftest import RIGHT, USER, Served
from tests.support import wait_for_value, wait_until
from tests.support.browser import DESK, PHONE, WALL, Browser
from tests.support.pages import CONFLICT, EVIL, LONG, FakeSidecar, a_record, a_status, fresh, holding, in_trouble

pytestmark = pytest.mark.browser

Serve = Callable[[FakeSidecar], Served]

WHOLE = ("overview", "target", "actions", "parked", "table", "verify", "views")
VIEWS: dict[str, tuple[Callable[[float], dict[str, Any]], str]] = {
    "overview-quiet": (a_status, "/"),
    "overview-trouble": (in_trouble, "/"),
    "overview-hold": (holding, "/"),
    "target": (a_status, "/targets/dr"),
    "target-hold": (holding, "/targets/dr"),
    "target-month": (a_status, "/targets/dr?range=30d"),
    "target-paused": (in_trouble, "/targets/dr"),
    "actions": (a_status, "/actions"),
    "parked": (in_trouble, "/targets/lake/parked"),
    "parked-conflict": (in_trouble, f"/targets/lake/parked?{urlencode({'reason': CONFLICT})}"),
    "parked-table": (in_trouble, f"/targets/lake/parked/{quote(LONG)}"),
    "table": (a_status, f"/tables/{quote(EVIL, safe='')}"),
    "tables": (in_trouble, "/tables"),
    "tables-parked": (a_status, "/tables?state=parked&target=dr&name=orders"),
    "verify": (a_status, "/verify"),
    "verify-database": (a_status, "/verify/dr/shop"),
    "views": (a_status, "/views"),
    "views-refused": (a_status, "/views?state=refused&target=lake"),
    "login": (a_status, "/login"),
    "not-signed-in": (in_trouble, "/"),
    "sign-in-first": (in_trouble, "/actions"),
}
OPEN = {"login", "not-signed-in", "sign-in-first"}


def sign_in(browser: Browser, served: Served, then: str = "/") -> None:
    browser.go(f"{served.base}/login?next={quote(then)}")
    browser.find("[name=user]").send_keys(USER)
    browser.find("[name=password]").send_keys(RIGHT)
    browser.click("main button.primary")


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_is_right_in_every_width_in_light_and_dark(browser: Browser, serve: Serve, name: str) -> None:
    status, path = VIEWS[name]
    served = serve(fresh(status))
    if name not in OPEN:
        sign_in(browser, served, path)
    browser.go(served.base + path)
    for width in (PHONE, DESK, WALL):
        for theme in ("light", "dark"):
            browser.picture(name, width, theme)
            assert browser.overflow() == 0, f"{name} is wider than {width}"
            assert width < DESK or browser.cut_off() == [], f"{name} is cut off at {width}"
            assert browser.squeezed() == []
            assert browser.violations() == []
    # What is said without being signed in is refused; the console tells that of the page itself, too.
    if name == "sign-in-first":
        assert all("403 (Forbidden)" in it for it in browser.faults())


@pytest.mark.parametrize("name", [EVIL, LONG])
def test_a_name_that_is_hard_to_show_is_shown_as_it_is(browser: Browser, serve: Serve, name: str) -> None:
    served = serve(fresh(in_trouble))
    sign_in(browser, served, "/targets/lake/parked")
    assert name in browser.text()
    link = next(it for it in browser.all("a.name") if it.text == name)
    browser.click_on(link)
    assert browser.text("h1") == name
    assert name.rpartition(".")[2] in browser.driver.title


def test_a_thousand_parked_tables_are_pages(browser: Browser, serve: Serve) -> None:
    served = serve(fresh(in_trouble, tables=1000))
    sign_in(browser, served, "/targets/lake/parked?page=19")
    assert len(browser.all(".dense tbody tr")) == 50
    browser.click("a[rel=next]")
    assert "page 20 of 20" in browser.text()
    assert browser.all("a[rel=next]") == []
    browser.find("input[name=q]").send_keys("table_0123")
    browser.click(".filter button")
    assert [it.text for it in browser.all("tbody a.name")] == ["shop.table_0123"]


def test_parked_tables_are_retried_and_skipped_by_their_reason(browser: Browser, serve: Serve) -> None:
    sidecar = fresh(in_trouble, tables=1000)
    served = serve(sidecar)
    sign_in(browser, served, "/targets/lake/parked")
    assert len(browser.all(".reason-groups > li")) == 4
    assert "They are tried as soon as" in browser.all(".reason-groups > li")[-1].text
    browser.click(".reason-groups a")
    assert "reason=" in browser.path()
    assert browser.text(".reason-groups .reason") == sidecar.tables[0]["reason"]
    assert browser.all("td[data-label=why] .reason") == [], "it is said once"
    browser.click(".reason-groups form[action='/acts/retry'] button")
    assert ("parked retry", sidecar.tables[0]["reason"]) in [(name, it.get("reason")) for name, it in sidecar.asked]
    browser.find("form[action='/acts/skip'] input[name=sure]").click()
    browser.click(".reason-groups form[action='/acts/skip'] button")
    assert ("parked skip", sidecar.tables[0]["reason"]) in [(name, it.get("reason")) for name, it in sidecar.asked]
    assert browser.path() == "/targets/lake/parked"


def test_what_somebody_has_selected_stays_while_the_page_keeps_itself_up_to_date(
    browser: Browser, serve: Serve
) -> None:
    sidecar = fresh(in_trouble)
    served = serve(sidecar)
    sign_in(browser, served, "/targets/lake/parked")
    boxes = browser.all(".dense tbody [name=tables]")
    for box in boxes[:2]:
        box.send_keys(Keys.SPACE)
    assert browser.text(".chosen-count") == f"2 of {len(boxes)} selected"
    asked = len(sidecar.asked)
    wait_until(lambda: sidecar.asked[asked:], seconds=60, what="the next update")
    browser.find("#question-skip summary").click()
    browser.find("#question-skip [name=sure]").click()
    browser.click("[formaction='/acts/skip-selected']")
    (skipped,) = [request for name, request in sidecar.asked if name == "parked skip"]
    assert skipped["tables"] == [EVIL, LONG]


def test_tables_in_conflict_are_adopted_by_their_reason(browser: Browser, serve: Serve) -> None:
    sidecar = fresh(in_trouble, tables=1000)
    served = serve(sidecar)
    sign_in(browser, served, f"/targets/lake/parked?{urlencode({'reason': CONFLICT})}")
    browser.find("form[action='/acts/adopt'] input[name=sure]").click()
    browser.click(".reason-groups form[action='/acts/adopt'] button")
    assert ("parked adopt", CONFLICT) in [(name, it.get("reason")) for name, it in sidecar.asked]
    assert "2 tables adopted" in browser.text()


def test_a_hundred_thousand_tables_are_pages_and_found_by_a_part_of_a_name(browser: Browser, serve: Serve) -> None:
    served = serve(fresh())
    sign_in(browser, served, "/tables?sort=name")
    assert len(browser.all(".dense tbody tr")) == 100
    browser.click("a[rel=next]")
    assert browser.all("tbody a.name")[0].text == "shop_000.orders_099"
    browser.find("#find-table").send_keys("orders_042")
    browser.click(".search button")
    assert {it.text.partition(".")[2] for it in browser.all("tbody a.name")} == {"orders_042"}
    browser.choose("select[name=target]", "dr")
    browser.choose("select[name=state]", "held")
    browser.click(".filter button")
    assert {it.text for it in browser.all("td[data-label=dr] .state")} == {"held"}
    browser.find("#find-table").send_keys("shop_007.orders_042")
    browser.click(".search button")
    assert browser.path() == "/tables/shop_007.orders_042", "a whole name leads to its page"


def test_each_table_takes_one_line_and_trouble_is_first(browser: Browser, serve: Serve) -> None:
    served = serve(fresh(in_trouble))
    sign_in(browser, served, "/tables")
    heights = {it.size["height"] for it in browser.all(".dense tbody tr") if len(it.text) < 150}
    assert max(heights) < 40
    assert "held" in browser.all(".dense tbody tr")[0].text
    browser.click(".counts a[href*='state=parked'][href*='target=lake']")
    assert {it.text for it in browser.all("td[data-label=lake] .state")} == {"parked"}
    assert browser.text(".counts [aria-current]") == browser.text(".title .quiet").split()[0]


def test_the_search_suggests_a_few_tables_while_somebody_types(browser: Browser, serve: Serve) -> None:
    """How the list is shown and chosen from, by keyboard too, is the browser's own; one without a window shows none."""
    served = serve(fresh())
    sign_in(browser, served)
    browser.press("/")
    browser.type(*"orders_042")
    offers = "#suggested-tables option"
    listed = "return [...document.getElementById('find-table').list.options].map(it => it.value)"
    wanted = [f"shop_{number:03}.orders_042" for number in range(SUGGESTED)]
    wait_for_value(lambda: browser.driver.execute_script(listed), wanted, seconds=30, what="suggestions")
    assert [it.get_attribute("value") for it in browser.all(offers)] == wanted
    browser.type(*"9")
    wait_until(lambda: browser.all(offers) == [], seconds=30, what="no suggestion for what no table has")


def test_the_journal_is_filtered_and_paged(browser: Browser, serve: Serve) -> None:
    sidecar = fresh()
    of_hr = {"at": sidecar.now, "outcome": "kept"}
    kept = [a_record(it, **of_hr, object=f"hr.t{it}", source_object=f"hr.t{it}") for it in range(2080, 2000, -1)]
    sidecar.records = [*kept, *(a_record(it, sidecar.now, operation=f"Put{it}") for it in range(900, 800, -1))]
    served = serve(sidecar)
    sign_in(browser, served, "/actions")
    assert len(browser.all(".feed > tbody > tr")) == 50
    first = browser.find(".feed > tbody > tr")
    assert "\u00d7 80" in first.text
    first.find_element("css selector", "summary").click()
    assert len(first.find_elements("css selector", ".alike li")) == 80
    browser.click("a[rel=next]")
    assert "before=852" in browser.path()
    browser.choose("select[name=outcome]", "kept")
    browser.click(".filter button")
    outcomes = {it.text.strip() for it in browser.all("td[data-label=outcome]")}
    assert outcomes == {"kept"}


def test_the_page_keeps_itself_up_to_date(browser: Browser, serve: Serve) -> None:
    """What is open stays open, what has the focus keeps it, and what somebody types stays."""
    sidecar = fresh()
    sidecar.records[1]["outcome"] = "failed"  # it has differences
    served = serve(sidecar)
    sign_in(browser, served)
    browser.driver.execute_script("window.kept = true")
    browser.find("tbody summary").click()
    browser.find("a[href='/targets/lake']").send_keys("")
    browser.driver.execute_script("document.querySelector('a[href=\"/targets/lake\"]').focus()")
    served.sidecar.answer["targets"][0]["lag_seconds"] = 754.0
    wait_until(lambda: "12m 34s" in browser.text(), what="the new lag")
    assert browser.driver.execute_script("return window.kept") is True
    assert browser.find("tbody details").get_attribute("open") is not None
    assert browser.active().get_attribute("href").endswith("/targets/lake")


def test_values_of_a_curve_are_read_by_pointer_and_by_keyboard(browser: Browser, serve: Serve) -> None:
    served = serve(fresh())
    browser.zone("Asia/Kolkata")
    browser.go(served.base + "/targets/dr?range=6h")
    latest = browser.text(".reading")
    browser.hover("#curve-lag")
    assert re.fullmatch(r"\d+ ms at 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d\+05:30", browser.text(".reading"))
    browser.hover("h1")
    assert browser.text(".reading") == latest
    curve = browser.tab_to("#curve-lag")
    at_end = browser.text(".reading")
    browser.type(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    reported = browser.text(".reading")
    assert reported != at_end
    assert curve.get_attribute("aria-valuetext") == reported
    browser.type(Keys.HOME)
    first = browser.text(".reading")
    served.sidecar.answer["targets"][0]["queued"] = 4321
    wait_until(lambda: "4,321" in browser.text(), seconds=30, what="the next update")
    assert (browser.active().get_attribute("id"), browser.text(".reading")) == ("curve-lag", first)


def test_the_time_of_the_curves_is_chosen_and_stays_in_the_readers_zone(browser: Browser, serve: Serve) -> None:
    served = serve(fresh())
    browser.zone("Asia/Kolkata")
    browser.go(served.base + "/targets/dr")
    last = browser.all(".times time")[4]
    there = datetime.fromisoformat(last.get_attribute("datetime") or "").astimezone(ZoneInfo("Asia/Kolkata"))
    assert last.text == f"{there:%H:%M}"
    browser.click(".ranges a[href$='30d']")
    assert browser.text(".ranges [aria-current]") == "30d"
    days = r"(\d{4}-\d\d-\d\d\s*){5}"
    assert re.fullmatch(days, browser.text(".times"))
    served.sidecar.answer["targets"][0]["queued"] = 4321
    wait_until(lambda: "4,321" in browser.text(), seconds=30, what="the next update")
    assert re.fullmatch(days, browser.text(".times"))


def test_times_are_those_of_the_reader_with_utc_beside(browser: Browser, serve: Serve) -> None:
    served = serve(fresh())
    browser.zone("America/St_Johns")
    sign_in(browser, served, "/actions")
    absolute = browser.find("tbody time")
    utc = datetime.fromisoformat(absolute.get_attribute("datetime") or "")
    there = utc.astimezone(ZoneInfo("America/St_Johns"))
    assert absolute.find_element("css selector", ".absolute").text == there.isoformat(" ", "seconds")
    assert absolute.get_attribute("title") == f"{utc:%Y-%m-%d %H:%M:%S} UTC"
    assert browser.text("footer time").endswith(there.isoformat()[-6:])
    browser.go(served.base + "/targets/lake/parked")
    assert f"{there:%z}"[:3] in (browser.find("tbody time").get_attribute("title") or "")


def test_a_phone_shows_first_what_needs_a_hand_and_the_rest_folded(browser: Browser, serve: Serve) -> None:
    sidecar = fresh(in_trouble)
    sidecar.records = [{**it, "outcome": "failed"} for it in sidecar.records]
    served = serve(sidecar)
    browser.size(PHONE)
    sign_in(browser, served)
    assert {it.get_attribute("open") for it in browser.all("details.fold")} == {None}
    assert len([it for it in browser.all(".brief tbody tr") if it.is_displayed()]) == 5
    folded = browser.find("details.fold")
    folded.find_element("css selector", "summary").click()
    number = folded.get_attribute("id") or ""
    served.sidecar.answer["targets"][0]["lag_seconds"] = 754.0
    wait_until(lambda: "12m 34s" in browser.text(), what="the new lag")
    assert browser.find(f"#{number}").get_attribute("open") is not None
    browser.size(DESK)
    wait_until(
        lambda: all(it.get_attribute("open") is not None for it in browser.all("details.fold")), what="all on a desk"
    )


def test_a_sidecar_that_does_not_answer_is_told(browser: Browser, serve: Serve) -> None:
    served = serve(fresh())
    browser.go(served.base + "/")
    assert not browser.find("#stale").is_displayed()
    served.web.stop()
    wait_until(lambda: browser.find("#stale").is_displayed(), what="the banner")
    assert "No answer from the sidecar for" in browser.text("#stale")
    assert all("ERR_CONNECTION" in it for it in browser.faults())


def test_who_is_signed_out_meanwhile_is_told(browser: Browser, serve: Serve) -> None:
    served = serve(fresh())
    sign_in(browser, served, "/actions")
    browser.driver.delete_all_cookies()
    wait_until(lambda: "You are signed out" in browser.text("#stale"), what="the banner")
    assert all("403 (Forbidden)" in it for it in browser.faults())


def test_a_page_that_nobody_looks_at_asks_for_nothing(browser: Browser, serve: Serve) -> None:
    sidecar = fresh()
    served = serve(sidecar)
    sign_in(browser, served, "/targets/dr")
    hidden = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s})"
    browser.driver.execute_script(hidden % "true")
    asked = len(sidecar.asked)
    browser.driver.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
    assert len(sidecar.asked) == asked
    browser.driver.execute_script(hidden % "false")
    browser.driver.execute_script("document.dispatchEvent(new Event('visibilitychange'))")
    wait_until(lambda: len(sidecar.asked) > asked, what="the look at the page that is seen again")


def test_everything_can_be_reached_and_done_by_keyboard(browser: Browser, serve: Serve) -> None:
    sidecar = fresh()
    served = serve(sidecar)
    browser.go(served.base + "/")
    skip = browser.tab_to("a.skip", most=1)
    assert skip.is_displayed()
    browser.press(Keys.ENTER)
    assert browser.active().get_attribute("id") == "content"
    browser.go(served.base + "/login?next=/targets/dr")
    browser.type(USER, Keys.TAB, RIGHT, Keys.ENTER)
    wait_until(lambda: browser.path() == "/targets/dr", what="the page of the target")
    browser.tab_to("input[name=reason]")
    browser.type("the night shift", Keys.ENTER)
    wait_until(
        lambda: ("pause", "the night shift") in [(n, it.get("reason")) for n, it in sidecar.asked], what="the pause"
    )
    wait_until(lambda: "dr is paused: the night shift" in browser.text(), what="the message")
    browser.press("/")
    assert browser.active().get_attribute("id") == "find-table"
    browser.type("shop.orders", Keys.ENTER)
    wait_until(lambda: browser.path() == "/tables/shop.orders", what="the table's page")


def test_headings_go_step_by_step_and_every_table_has_a_caption(browser: Browser, serve: Serve) -> None:
    served = serve(fresh(in_trouble))
    sign_in(browser, served)
    for name, (_, path) in VIEWS.items():
        browser.go(served.base + path)
        levels = [int(it.tag_name[1]) for it in browser.all("h1, h2, h3, h4")]
        assert levels.count(1) == 1, name
        assert all(after - before <= 1 for before, after in pairwise(levels)), name
        assert len(browser.all("table.list")) == len(browser.all("table.list > caption")), name


def test_the_theme_can_be_chosen_and_stays(browser: Browser, serve: Serve) -> None:
    served = serve(fresh())
    browser.go(served.base + "/")
    light = browser.background()
    browser.click("button[value=dark]")
    dark = browser.background()
    assert dark != light
    browser.go(served.base + "/targets/dr")
    assert browser.background() == dark
    browser.click("button[value=auto]")
    assert browser.background() == light
    browser.prefer("dark")
    assert browser.background() == dark


def test_without_javascript_all_but_the_live_updates_works(browser: Browser, serve: Serve) -> None:
    sidecar = fresh(in_trouble)
    served = serve(sidecar)
    browser.scripts(allowed=False)
    try:
        sign_in(browser, served, "/targets/dr")
        assert browser.text("h1") == "dr"
        browser.click(".acts button.primary")
        assert "dr is resumed" in browser.text()
        browser.go(served.base + "/tables")
        names = [it.get_attribute("value") for it in browser.all(".dense [name=tables]")][:2]
        for box in browser.all(".dense [name=tables]")[:2]:
            box.send_keys(Keys.SPACE)
        browser.find("#question-refresh summary").click()
        browser.click("[formaction='/acts/refresh']")
        assert ("refresh", {"tables": names, "who": f"{USER} (page)"}) in sidecar.asked
    finally:
        browser.scripts(allowed=True)


def test_the_policy_holds_and_a_violation_is_seen(browser: Browser, serve: Serve) -> None:
    """What somebody might get into the page does not run; and this shows that the other tests would notice."""
    served = serve(fresh())
    browser.go(served.base + "/")
    inline = "const it = document.createElement('script'); it.textContent = 'window.evil = 1'; document.body.append(it)"
    browser.driver.execute_script(inline)
    assert browser.driver.execute_script("return window.evil") is None
    assert any("Content Security Policy" in it for it in browser.faults())
