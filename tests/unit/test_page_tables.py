"""The page of all tables: counts by state and target, what they lead to, and the order of the list."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pysync.web.views.tables import SORTS, tables_page, tables_request
from pysync.web.views.tones import BAD, GOOD
from tests.support.pages import COUNTED, MANY_TABLES, NOW, some_tables


def page_of(**query: str) -> Any:
    return tables_page(some_tables(tables_request(query), ["dr", "lake"]), query)


def query_of(link: str) -> dict[str, list[str]]:
    return parse_qs(urlsplit(link).query)


def test_trouble_comes_first_and_every_number_leads_to_its_tables() -> None:
    page = page_of()
    assert {it.tone for row in page.rows[:10] for it in row.targets} > {GOOD}
    states = [it.state for it in page.states]
    assert (states[:3], "in sync" in states[3:]) == (["held", "parked", "behind"], True)
    parked = page.states[1]
    lake = parked.targets[1]
    assert (parked.tone, lake.text, lake.is_chosen) == (BAD, "lake", False)
    assert query_of(lake.link) == {"state": ["parked"], "target": ["lake"]}
    narrowed = page_of(state="parked", target="lake")
    assert narrowed.fitting == lake.number
    assert [it.is_chosen for it in narrowed.states[1].targets] == [False, True]
    assert {it.state for row in narrowed.rows for it in row.targets} == {"parked"}


def test_a_number_keeps_what_else_is_chosen_and_begins_anew() -> None:
    page = page_of(name="orders", database="shop_000", sort="urgency", **{"from": "100"})
    wanted = {"name": ["orders"], "database": ["shop_000"], "sort": ["urgency"]}
    assert query_of(page.states[0].targets[0].link) == {**wanted, "state": ["held"], "target": ["dr"]}
    assert query_of(page.first) == wanted
    assert query_of(page.later) == {**wanted, "from": ["200"]}


def test_databases_are_told_with_the_number_of_tables_that_fit() -> None:
    (first, *_) = page_of(state="held").databases
    assert (first.text, query_of(first.link)) == ("shop_000", {"state": ["held"], "database": ["shop_000"]})
    assert not first.is_chosen


def test_a_state_that_no_table_has_at_a_target_leads_nowhere() -> None:
    answer = {"objects": [], "counts": {"dr": {"parked": 3}, "lake": {}}, "databases": {}}
    (parked,) = tables_page(answer, {}).states
    assert [(it.number, it.link) for it in parked.targets] == [(3, "/tables?state=parked&target=dr"), (0, "")]


def test_what_is_held_or_parked_is_decided_at_the_pages_of_the_targets() -> None:
    answer = {"objects": [], "counts": {"dr": {"parked": 3, "held": 2}, "lake": {"in_sync": 1}}, "databases": {}}
    found = [(it.text, it.link) for it in tables_page(answer, {}).decisions]
    assert found == [("held at dr", "/targets/dr"), ("parked at dr", "/targets/dr/parked")]


def test_where_counting_ended_the_list_goes_on_by_name() -> None:
    page = page_of()
    assert page.counted_to == MANY_TABLES[COUNTED]
    assert query_of(page.uncounted) == {"sort": ["name"], "from": [MANY_TABLES[COUNTED]]}
    by_name = page_of(sort="name", **{"from": page.counted_to})
    assert (by_name.rows[0].name, by_name.states, by_name.fitting) == (page.counted_to, (), None)


@pytest.mark.parametrize("sort", ["", "x", "match"])
def test_an_order_that_is_none_is_the_first(sort: str) -> None:
    assert tables_request({"sort": sort, "state": "none"}) == {
        "sort": "urgency",
        "begin": None,
        "part": None,
        "limit": 100,
    }
    assert next(iter(SORTS)) == "urgency"


def test_how_long_a_table_is_behind_is_told_and_of_one_in_sync_nothing() -> None:
    row = {"object": "a.b", "at_source": True}
    states = [
        {"target": it, "state": it, "text": "", "as_of": NOW - 9, "done_at": None} for it in ("behind", "in_sync")
    ]
    (shown,) = tables_page({"objects": [{**row, "targets": states}]}, {}).rows
    assert [it.as_of for it in shown.targets] == [NOW - 9, None]
