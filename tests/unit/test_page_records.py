"""What the page shows of the journal, of parked events, of a table's life and of a comparison."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pysync.model.difference import Difference
from pysync.targets.diff import differences
from pysync.web.views.actions import action_row, filter_of, page_link, request_of
from pysync.web.views.parked import PAGE, parked_page
from pysync.web.views.table import table_view
from pysync.web.views.tones import BAD, GOOD, IDLE, WARN
from pysync.web.views.verify import field_of, of_database, verify_view
from tests.support import table
from tests.support.pages import EVIL, LONG, a_record, a_why, parked_answer, parked_tables, verified


def test_a_record_is_shown_with_all_that_it_says() -> None:
    row = action_row(a_record(999))
    assert (row.tone, row.outcome, row.object, row.link) == (GOOD, "applied", "dr_shop.orders", "/tables/shop.orders")
    assert row.partitions == "day=2026-11-01, day=2026-11-02, day=2026-11-03 and 127 more"
    assert (row.positions, row.folded) == ("3,996 to 3,999", "4 events folded")
    assert (row.took, row.visible) == ("12 ms", "400 ms")


def test_what_is_parked_is_visible_after_no_time() -> None:
    assert action_row(a_record(999, outcome="parked")).visible == ""


def test_differences_that_are_only_counted_count() -> None:
    fields = [{"field": it, "old": None, "new": "dropped"} for it in ("table a.b", "table a.c", "and 78 more")]
    assert action_row(a_record(999, differences=fields)).differed == 80


def test_a_record_with_nothing_in_it_is_shown_empty() -> None:
    row = action_row({})
    assert (row.id, row.at, row.outcome, row.object, row.link, row.partitions) == (None, None, "", "", "", "")
    assert (row.positions, row.folded, row.took, row.visible, row.differences) == ("", "", "", "", ())


def test_one_event_and_one_partition() -> None:
    row = action_row(a_record(1, first_position=7, last_position=7, events=1, partitions=["day=1"], partition_count=1))
    assert (row.positions, row.folded, row.partitions) == ("7", "", "day=1")
    assert action_row(a_record(1, partitions=[], partition_count=1)).partitions == "1 partition"


def test_a_field_that_was_or_becomes_nothing() -> None:
    row = action_row(a_record(1, differences=[{"field": "comment", "old": None, "new": "x"}]))
    assert [(it.field, it.old, it.new) for it in row.differences] == [("comment", "", "x")]


@given(
    st.dictionaries(st.sampled_from(["target", "outcome", "database", "table", "before", "x"]), st.text(max_size=20))
)
@example({"before": "0"})
def test_whatever_stands_in_an_address_a_request_is_sound(query: dict[str, str]) -> None:
    found = request_of(query, 50)
    assert found.keys() <= {"target", "outcome", "database", "table", "before", "limit"}
    assert isinstance(found.get("before", 0), int)
    assert all(found[key] for key in found)


def test_the_way_to_older_records_keeps_the_filter() -> None:
    link = page_link({"table": "a.<b>&c", "before": "99", "outcome": ""}, 50)
    assert parse_qs(urlsplit(link).query) == {"table": ["a.<b>&c"], "before": ["50"]}
    assert page_link({"before": "99"}) == "/actions"
    assert filter_of({"outcome": " parked "}) == {"outcome": "parked"}


def test_a_thousand_parked_tables_are_shown_a_page_at_a_time() -> None:
    tables = parked_tables(1000)
    first = parked_page("lake", parked_answer("lake", tables), {})
    assert (len(first.rows), first.tables, first.pages, first.earlier) == (PAGE, 1000, 20, "")
    assert first.later == "/targets/lake/parked?page=2"
    last = parked_page("lake", parked_answer("lake", tables), {"page": "20"})
    assert (len(last.rows), last.later, last.rows[-1].table) == (50, "", "shop.table_0997")
    answer = parked_answer("lake", tables)
    seen = [row.table for at in range(1, 21) for row in parked_page("lake", answer, {"page": str(at)}).rows]
    assert seen == [it["table"] for it in tables]


@pytest.mark.parametrize(("page", "shown"), [("0", 1), ("-1", 1), ("x", 1), ("99", 3), ("²", 1), ("9" * 30, 1)])
def test_a_page_that_is_none_is_the_nearest(page: str, shown: int) -> None:
    assert parked_page("lake", parked_answer("lake", parked_tables(120)), {"page": page}).page == shown


def test_parked_tables_are_found_by_name_and_reason() -> None:
    found = parked_page("lake", parked_answer("lake", parked_tables(120)), {"q": "TABLE_0007"})
    assert ([it.table for it in found.rows], found.tables) == (["shop.table_0007"], 1)
    answer = parked_answer("lake", parked_tables(120))
    assert [it.table for it in parked_page("lake", answer, {"q": "keyerror"}).rows] == [LONG]
    assert parked_page("lake", parked_answer("lake", parked_tables(120)), {"q": "no such"}).rows == ()


def test_of_a_traceback_the_last_line_is_told_and_the_rest_is_kept() -> None:
    rows = parked_page("lake", parked_answer("lake", parked_tables(3)), {}).rows
    assert (rows[1].reason, rows[1].tone, rows[1].whole.startswith("Traceback")) == ("KeyError: 'x'", BAD, True)
    assert (rows[2].kind, rows[2].tone, rows[2].whole) == ("waits behind another", WARN, "")


def test_what_the_brake_holds_is_decided_at_the_target_and_not_retried() -> None:
    tables = [{**parked_tables(3)[2], "kind": "held", "attempts": 1, "reason": "held: the drop of a.b; too many"}]
    page = parked_page("lake", parked_answer("lake", tables), {})
    (row,), (group,) = page.rows, page.groups
    assert (row.kind, row.tone, row.may_be_retried, row.decision) == ("held", WARN, False, "/targets/lake")
    assert (group.is_held, "somebody has decided" in group.no_try, page.has_reasons) == (True, True, False)


def test_rows_tell_their_reasons_only_where_these_differ() -> None:
    answer = parked_answer("lake", parked_tables(120))
    assert parked_page("lake", answer, {}).has_reasons
    assert not parked_page("lake", answer, {"reason": answer["groups"][0]["reason"]}).has_reasons


def test_an_event_of_no_table_has_a_page_too() -> None:
    found = parked_page("lake", parked_answer("lake", [{**parked_tables(2)[0], "table": "", "reason": None}]), {})
    assert (found.rows[0].link, found.rows[0].reason) == ("/targets/lake/parked/", "")


def test_the_life_of_a_table_is_one_timeline() -> None:
    view = table_view(a_why("shop.orders"))
    assert (view.name, view.names) == ("shop.orders", ("shop.orders_old",))
    assert [it.at for it in view.timeline] == sorted((it.at for it in view.timeline), reverse=True)
    assert [it.where for it in view.timeline[:3]] == ["dr", "source", "lake"]
    assert [(it.target, it.tone, it.compared) for it in view.targets] == [("lake", BAD, ""), ("dr", GOOD, "no drift")]
    assert view.timeline[0].details[-1] == "visible after 400 ms"


def test_a_reason_is_told_once_with_its_commands_and_what_to_do_about_it() -> None:
    gap = {"code": "gap_open", "text": "a gap is being closed", "hint": "pysync status"}
    hint = "look at pysync held list dr; to keep the objects: pysync held keep dr"
    held = {"code": "brake", "text": "its drop is held", "hint": hint}
    parked = {"code": "parked", "text": "refused", "hint": "pysync parked show lake 7"}
    view = table_view(
        {
            "object": "hr.people",
            "targets": [
                {"target": "dr", "reasons": [held, {**held, "text": "the same again"}, gap]},
                {"target": "lake", "reasons": [parked, gap], "parked": [{"table": "lake_hr.people", "events": 2}]},
            ],
        }
    )
    lake, dr = view.targets
    assert [(it.words, it.text) for it in view.shared] == [("gap open", "a gap is being closed")]
    assert (dr.first.words, dr.first.text, dr.reasons) == ("held", "its drop is held", ())
    assert dr.commands == ("pysync held list dr", "pysync held keep dr")
    assert (dr.act, dr.link) == ("Decide about its drop", "/targets/dr")
    assert (lake.act, lake.link) == ("Look at its 2 parked events", "/targets/lake/parked/lake_hr.people")
    assert (lake.commands, view.may_differ) == (("pysync parked show lake 7",), False)


def test_a_refresh_is_offered_first_where_it_may_help() -> None:
    target = {"target": "dr", "reasons": [{"code": "only_at_source", "text": "", "hint": "pysync refresh a.b"}]}
    assert table_view({"object": "a.b", "targets": [target]}).may_differ
    drifted = {"target": "dr", "reasons": [{"code": "applied"}], "verify": {"at": 5.0, "objects": 9, "drifted": True}}
    assert table_view({"object": "a.b", "targets": [drifted]}).may_differ


def test_a_table_of_which_only_the_name_is_known() -> None:
    view = table_view({"object": "shop.orders"})
    assert (view.names, view.targets, view.timeline) == ((), (), ())
    view = table_view({"object": "a.b", "targets": [{"target": "dr", "reasons": [{"code": "out_of_scope"}]}]})
    assert (view.targets[0].tone, view.targets[0].first.words) == (IDLE, "out of scope")


@pytest.mark.parametrize(("drifted", "text"), [(True, "had drifted"), (False, "no drift"), (None, "not known")])
def test_what_the_last_comparison_found_of_a_table(drifted: bool | None, text: str) -> None:
    found = {"target": "dr", "verify": {"at": 5.0, "objects": 9, "drifted": drifted}}
    at_target = table_view({"object": "a.b", "targets": [found]}).targets[0]
    assert text in at_target.compared
    assert at_target.compared_at == 5.0


def test_databases_that_have_drifted_come_first() -> None:
    view = verify_view("dr", verified("dr"))
    assert [(it.name, it.tone, it.drift) for it in view.tiles[:2]] == [("shop", BAD, 2), ("db_00", GOOD, 0)]
    assert view.tiles[0].link == "/verify/dr/shop"
    assert [it.name for it in of_database(view, "shop")] == ["dr_shop.orders", EVIL, "shop.view"]
    assert of_database(view, "db_00") == []


def test_objects_beyond_those_that_are_kept_are_counted() -> None:
    assert verify_view("dr", {**verified("dr"), "drift": 500}).more == 498


def test_in_a_file_only_what_differs_can_be_reached() -> None:
    view = verify_view("dr", verified("dr"), "#dr/")
    assert [it.link for it in view.tiles[:2]] == ["#dr/shop", ""]


def test_the_fields_of_a_difference_stand_side_by_side() -> None:
    """In the words in which the comparison itself tells it."""
    wanted, there = table("d", "t"), table("d", "t")
    there.owner, wanted.owner = "theirs", "ours"
    (line,) = differences(wanted, there)
    found = field_of(line)
    assert (found.name, found.source, found.target, found.line) == ("owner", "'ours'", "'theirs'", "")


@pytest.mark.parametrize(
    "key", ["fs.s3a.secret.key", "javax.jdo.option.ConnectionPassword", "fs.azure.account.key.x", "API_KEY"]
)
def test_what_may_be_a_secret_is_not_shown(key: str) -> None:
    found = field_of(str(Difference(f"parameters.{key}", "hunter2", "hunter3")))
    assert (found.name, found.source, found.target) == (f"parameters.{key}", "***", "***")


@pytest.mark.parametrize("line", ["and 3 more", "a: 'x instead of y' instead of 'z'", "", ": ", "no value at all"])
def test_a_line_that_cannot_be_told_apart_is_shown_whole(line: str) -> None:
    assert field_of(line).line == line


@given(st.text(), st.text())
def test_no_line_is_shown_wrong(source: str, target: str) -> None:
    found: Any = field_of(f"sd.location: {target!r} instead of {source!r}")
    assert found.line or (found.source, found.target) == (repr(source), repr(target))
