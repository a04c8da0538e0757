"""What the page shows of the views of the source, without a browser."""

from __future__ import annotations

from typing import Any

from pysync.web.views.tones import BAD, GOOD, IDLE, WARN
from pysync.web.views.translations import TranslationsPage, translations_page
from tests.support.pages import NOW, some_views


def page(**query: str) -> TranslationsPage:
    return translations_page(some_views(NOW), query)


def test_each_target_says_what_athena_reads_and_what_brings_most() -> None:
    (lake,) = page().targets
    assert (lake.name, lake.readable, lake.views) == ("lake", 172, 202)
    assert [(it.facet.text, it.tone, it.facet.number) for it in lake.states] == [
        ("refused", BAD, 30),
        ("fails at some values", WARN, 12),
        ("accepted", WARN, 8),
        ("translated", GOOD, 150),
        ("kept", IDLE, 2),
    ]
    assert [it.facet.link for it in lake.states][:2] == [
        "/views?target=lake&state=refused",
        "/views?target=lake&state=failing",
    ]
    assert lake.gains[0] == ("[source] hive_time_zone", 21)


def test_the_first_views_are_those_in_trouble() -> None:
    first = page()
    assert (len(first.rows), first.fitting, first.before, first.later) == (100, 202, "", "/views?from=100")
    assert [it.state for it in first.rows[:30]] == ["refused"] * 30
    assert first.rows[0].helps == "set [source] hive_time_zone"
    assert first.rows[30].what == "Athena fails at values of json-text"
    assert first.rows[42].what == "differs: double-text, percentile"


def test_the_pages_lead_to_all() -> None:
    last = page(**{"from": "200"})
    assert (len(last.rows), last.before, last.later) == (2, "/views?from=100", "")
    assert page(**{"from": "-5"}).rows == page(**{"from": "\uff11"}).rows == page().rows


def test_a_state_of_a_target_is_chosen() -> None:
    chosen = page(state="failing", target="lake")
    assert {it.state for it in chosen.rows} == {"fails at some values"}
    assert (chosen.fitting, chosen.is_filtered) == (12, True)
    assert [it.facet.is_chosen for it in chosen.targets[0].states] == [False, True, False, False, False]
    assert page(state="nonsense").rows == ()


def test_a_source_without_views_has_no_rows() -> None:
    summary: dict[str, Any] = {"target": "lake", "views": 0, "failing": 0, "settings": []}
    found = translations_page({"views": [], "targets": [summary], "as_of": NOW}, {})
    assert (found.rows, found.targets[0].states, found.targets[0].views) == ((), (), 0)
