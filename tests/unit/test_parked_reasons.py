"""Parked events by reason: which reasons are the same one, and which tables a retry or skip of several is for."""

from __future__ import annotations

import pytest

from pysync.base.health import decide
from pysync.cli.parked import _list_lines
from pysync.queue import ParkedTable
from pysync.sidecar.parked import HELD, ParkedSelection, common_reason, grouped
from pysync.targets.base import Held


def a_table(name: str, reason: str, kind: str = "rejected", events: int = 1, attempts: int = 1) -> ParkedTable:
    return ParkedTable(name, events, 7, kind, reason, attempts, 1000, 2000)


EXISTS = "table {} exists at the target 'dr' and was not created by pysync"
SOME = [
    a_table("sales.orders", EXISTS.format("dr_sales.orders"), events=2, attempts=3),
    a_table("sales.items", EXISTS.format("dr_sales.items")),
    a_table("hr.people", "Traceback\n  File x\nKeyError: 'people'", kind="bug"),
    a_table("hr.leave", "waits behind a parked event", kind="waits"),
]


@pytest.mark.parametrize(
    ("table", "reason", "common"),
    [
        ("sales.orders", "table sales.orders exists", "table … exists"),
        ("sales.orders", "table lake_sales.orders exists", "table … exists"),
        ("sales.orders", "'orders' in 'sales' is no table of sales orders", "'…' in '…' is no table of sales orders"),
        ("both.orders@crm/orders", "crm.orders and both.orders@crm/orders", "… and …"),
        (
            "db.t",
            "request 12 of 7d1f8c52-3a0e-4c53-9d0e-5f3a1c2b4d6e failed at db.t2",
            "request … of … failed at db.t2",
        ),
        ("db.t", "Traceback\n  line 4\nKeyError: 'x'", "KeyError: 'x'"),
        ("db.a", "a table is at the target", "a table is at the target"),
        ("", "cannot be read", "cannot be read"),
        ("db.(t", "db.(t exists", "… exists"),
    ],
)
def test_a_reason_is_told_without_the_names_of_its_table(table: str, reason: str, common: str) -> None:
    assert common_reason(reason, table) == common


def test_reasons_that_differ_only_in_names_are_one_and_what_only_waits_comes_last() -> None:
    first, second, third = grouped(list(reversed(SOME)))
    assert (first["reason"], first["tables"], first["events"], first["attempts"]) == (EXISTS.format("…"), 2, 3, 3)
    assert [it["kind"] for it in (first, second, third)] == ["rejected", "bug", "waits"]
    assert (first["first_at"], first["last_at"]) == (1.0, 2.0)


def test_all_that_a_target_holds_is_one_group_whatever_its_limit_and_objects_are() -> None:
    reasons = {"sales": "20 of the 25 tables of sales would be gone, max_drop_share is 0.5", "hr": "max_drops is 30"}
    held = [
        a_table(f"{database}.t{number}", str(Held("dr", [f"dr_{database}.t{number}/day=a; b"], why)), "held")
        for database, why in reasons.items()
        for number in range(20)
    ]
    (group,) = grouped(held)
    assert (group["tables"], group["reason"]) == (40, HELD)
    assert ParkedSelection(reason=HELD).tables([*SOME, *held]) == held


@pytest.mark.parametrize(
    ("table", "reason", "names"),
    [
        ("sales.*", None, ["sales.orders", "sales.items"]),
        ("*.orders", None, ["sales.orders"]),
        ("hr.leave", None, ["hr.leave"]),
        (None, EXISTS.format("…"), ["sales.orders", "sales.items"]),
        (None, "NOT CREATED BY", ["sales.orders", "sales.items"]),
        (None, "dr_sales.items", ["sales.items"]),
        ("*.orders", "exists", ["sales.orders"]),
        ("hr.*", "exists", []),
        (None, "no such", []),
    ],
)
def test_tables_are_selected_by_pattern_and_reason(table: str | None, reason: str | None, names: list[str]) -> None:
    assert [it.table for it in ParkedSelection(table, reason).tables(SOME)] == names


def test_some_tables_are_selected_by_their_names() -> None:
    chosen = ParkedSelection.of({"tables": ["Sales.Orders ", "hr.leave", "hr.none"]})
    assert (chosen.is_pattern, [it.table for it in chosen.tables(SOME)]) == (True, ["sales.orders", "hr.leave"])
    assert ParkedSelection.of({"tables": []}).tables(SOME) == [], "none is not all"


def test_the_reason_of_a_group_selects_that_group_alone() -> None:
    others = [a_table("a.b", "refused"), a_table("a.c", "refused for good")]
    assert [it.table for it in ParkedSelection(reason="refused").tables(others)] == ["a.b"]
    assert [it.table for it in ParkedSelection(reason="refuse").tables(others)] == ["a.b", "a.c"]


def test_the_remedy_of_a_list_is_no_wider_than_its_reason_and_a_hold_has_decisions() -> None:
    def lines(*tables: str, kind: str, adoptable: bool) -> list[str]:
        common = {"reason": "it differs", "kind": kind, "attempts": 1, "first_at": 1.0, "last_at": 2.0}
        rows = [{**common, "table": it, "position": 7, "events": 1, "group": "it differs"} for it in tables]
        group = {**common, "adoptable": adoptable}
        return list(_list_lines({"target": "dr", "tables": rows, "groups": [group]}, every=False, is_part=False))

    assert "  to leave the target's tables as they are: pysync parked skip dr --reason 'it differs'" in lines(
        "db.a", "db.b", kind="rejected", adoptable=True
    )
    assert "  to leave the target's tables as they are: pysync parked skip dr --table db.a" in lines(
        "db.a", kind="rejected", adoptable=True
    )
    held = lines("db.a", kind="held", adoptable=False)
    assert held[-1] == f"  {decide('dr')}"
    assert not any("parked retry" in it for it in held)
