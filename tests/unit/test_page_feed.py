"""The feed: what is alike is one line, whatever stands between, and no record is lost between two pages."""

from __future__ import annotations

import os
import pwd
from typing import Any

import pytest

from pysync.web.views.feed import LINES, alike_feed, journal_feed
from pysync.web.words import person
from tests.support.pages import NOW, a_record

NONE: dict[str, Any] = {"first_position": None, "last_position": None, "milliseconds": None, "committed_at": None}


def a_drop(number: int, **values: Any) -> dict[str, Any]:
    name = f"hr.people_{number:03}"
    return a_record(number, operation="DropTable", object=f"dr_{name}", source_object=name, outcome="kept", **values)


def test_eighty_records_that_are_alike_push_nothing_else_out() -> None:
    act = a_record(500, operation="Pause", outcome="done", source_object=None, object=None, who="uid 0 (command line)")
    feed = alike_feed(
        [*(a_drop(it) for it in range(999, 919, -1)), act, *(a_drop(it) for it in range(400, 390, -1))], 10
    )
    assert [(it.newest.operation, len(it.rows), it.objects) for it in feed.lines] == [
        ("DropTable", 90, 90),
        ("Pause", 1, 0),
    ]
    assert [it.object for it in feed.lines[0].named[:2]] == ["dr_hr.people_999", "dr_hr.people_998"]


def test_reasons_that_differ_only_in_the_name_are_alike_and_others_are_not() -> None:
    records = [a_drop(it, reason=f"table dr_hr.people_{it:03} exists") for it in (9, 8)]
    feed = alike_feed([*records, a_drop(7, reason="no such database")], 10)
    assert [(len(it.rows), it.reason) for it in feed.lines] == [(2, "table … exists"), (1, "no such database")]
    assert alike_feed(records[:1], 10).lines[0].reason == "table dr_hr.people_009 exists", "of one it is as it is"


@pytest.mark.parametrize(
    "other", [{"target": "lake"}, {"outcome": "failed"}, {"who": "alice (page)"}, {"source_object": "crm.a"}]
)
def test_another_target_outcome_person_or_database_is_another_line(other: dict[str, Any]) -> None:
    assert len(alike_feed([a_drop(2), {**a_drop(1), **other}], 10).lines) == 2


def test_the_journal_keeps_records_together_only_for_a_minute() -> None:
    records = [a_drop(3, at=NOW), a_record(2, at=NOW - 1), a_drop(1, at=NOW - 2), a_drop(0, at=NOW - 62)]
    feed = journal_feed({"records": records, "next": None}, {})
    assert [[row.id for row in it.rows] for it in feed.lines] == [[3, 1], [2], [0]]
    assert feed.older == ""


def test_every_record_is_on_one_page_of_the_journal() -> None:
    records = [a_drop(it) if it % 3 else a_record(it, operation=f"Put{it}") for it in range(400, 0, -1)]
    seen, rest = list[int | None](), records
    while rest:
        feed = journal_feed({"records": rest, "next": None}, {"outcome": "kept"})
        assert len(feed.lines) <= LINES
        shown = [row.id for line in feed.lines for row in line.rows]
        seen += shown
        if not feed.older:
            break
        assert feed.older == f"/actions?outcome=kept&before={min(filter(None, shown))}"
        rest = rest[len(shown) :]
    assert sorted(filter(None, seen), reverse=True) == [it["id"] for it in records]


def test_a_column_in_which_nothing_stands_is_left_out() -> None:
    assert alike_feed([a_drop(1, **NONE)], 10).columns == {"target"}
    assert alike_feed([a_record(1)], 10).columns == {"target", "positions", "took", "visible"}
    assert alike_feed([a_drop(2), a_drop(1)], 10).columns == {"target"}, "these are of one record"
    assert alike_feed([], 10).columns == frozenset()


def test_a_user_of_this_host_has_a_name_and_others_stay_numbers() -> None:
    name = pwd.getpwuid(os.getuid()).pw_name
    assert person(f"uid {os.getuid()} (command line)") == f"{name} (command line)"
    for who in ("uid 4294967294 (command line)", "alice (page)", "", "uid 99999999999 x", "the uid 0 (page)"):
        assert person(who) == who
