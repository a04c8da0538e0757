"""Acts: what people do is in the journal with who did it, and `actions` lists it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pysync.base.errors import PysyncError
from pysync.journal import Journal, Reader, Record
from pysync.sidecar.acts import ACTS, recorded
from pysync.sidecar.journal_pages import MOST, listed

WHO = {"who": "uid 1000 (command line)"}


def done(command: str, request: Mapping[str, Any], answer: Mapping[str, Any] | PysyncError) -> list[Record]:
    """The records of a command that gives this answer."""
    found: list[Record] = []

    def run(_: Mapping[str, Any]) -> Mapping[str, Any]:
        if isinstance(answer, PysyncError):
            raise answer
        return answer

    commands = recorded({command: run}, found.append)
    if isinstance(answer, PysyncError):
        with pytest.raises(PysyncError):
            commands[command]({**request, **WHO})
    else:
        assert commands[command]({**request, **WHO}) == answer
    assert {it.who for it in found} <= {WHO["who"]}
    return found


@pytest.mark.parametrize(
    ("command", "request_", "answer", "operation", "reason"),
    [
        ("pause", {"target": "dr"}, {"target": "dr", "paused": "by hand"}, "Pause", "by hand"),
        ("resume", {"target": "dr"}, {"target": "dr", "was": "too many drops"}, "Resume", "too many drops"),
        ("resume", {"target": "dr"}, {"target": "dr", "was": None}, "Resume", None),
        ("held decide", {"target": "dr"}, {"kept": True, "objects": [{"object": "hr.t"}]}, "Decide", "kept: hr.t"),
        ("held decide", {"target": "dr"}, {"kept": False, "objects": [{"object": "hr"}]}, "Decide", "dropped: hr"),
        ("kept release", {"target": "dr"}, {"objects": [{"object": "hr.t"}]}, "Release", "no longer kept: hr.t"),
        ("bootstrap", {"target": "dr"}, {"begun": True, "targets": ["dr"]}, "Bootstrap", None),
        ("listener remove", {"instance": "abc"}, {"instance": "abc", "removed": True}, "RemoveListener", "abc"),
        (
            "parked retry",
            {"target": "dr"},
            {"skipped": 0, "tried": 3, "left": 1, "reason": "no such db", "finished": True},
            "Retry",
            "0 skipped, 3 tried; 1 left: no such db",
        ),
        (
            "parked adopt",
            {"target": "dr"},
            {"adopted": 2, "skipped": 0, "tried": 3, "left": 0, "reason": None, "finished": True},
            "Adopt",
            "2 adopted, 0 skipped, 3 tried",
        ),
    ],
)
def test_an_act_makes_a_record(
    command: str, request_: dict[str, Any], answer: dict[str, Any], operation: str, reason: str | None
) -> None:
    (found,) = done(command, request_, answer)
    assert (found.operation, found.outcome, found.reason) == (operation, "done", reason)
    assert found.target == request_.get("target", "")


def test_a_refused_act_makes_one_too() -> None:
    (found,) = done("parked skip", {"target": "dr", "position": 7}, PysyncError("event 7 is not parked"))
    assert (found.operation, found.outcome, found.first_position) == ("Skip", "refused", 7)
    assert found.reason == "event 7 is not parked"


def test_an_act_on_several_objects_is_found_under_each() -> None:
    found = done("refresh", {"tables": ["Shop.Orders", "shop.items"], "databases": ["crm"]}, {"gap": "by hand"})
    assert [it.source_object for it in found] == ["shop.orders", "shop.items", "crm"]
    (of_table,) = done("parked retry", {"target": "dr", "table": " Dr.T "}, {"tried": 1, "skipped": 0, "reason": None})
    assert of_table.object == "dr.t"
    some = done("parked skip", {"target": "dr", "tables": ["Dr.T", "dr.u"]}, {"tried": 0, "skipped": 2, "reason": None})
    assert [it.object for it in some] == ["dr.t", "dr.u"]


def test_what_only_reads_makes_none() -> None:
    assert done("status", {"target": "dr"}, {}) == []


def test_the_caller_of_an_act_is_text_whatever_it_sends() -> None:
    (found,) = done("pause", {"target": ["no", "name"], "table": 5, "position": True}, PysyncError("no"))
    assert (found.target, found.object, found.first_position) == ("", "", None)


def test_every_act_is_a_command_of_the_sidecar() -> None:
    sidecar = Path(__file__).parents[2] / "pysync" / "sidecar"
    text = "".join((sidecar / name).read_text() for name in ("commands.py", "held.py", "trash.py", "sidecar.py"))
    assert all(f'"{name}":' in text for name in ACTS)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    file = tmp_path / "journal.db"
    with closing(Journal(file, keep=1e12, max_bytes=10**9)) as journal:
        for number in range(1100):
            outcome = "parked" if number % 100 == 0 else "applied"
            name = f"db{number % 2}.t{number % 10}"
            journal.append(Record(at=float(number), operation="PutTable", outcome=outcome, target="dr", object=name))
        journal.write()
        yield Reader(file)


def test_actions_come_page_by_page(reader: Reader) -> None:
    answer = listed(reader, {})
    assert ([it["id"] for it in answer["records"]], answer["next"]) == (list(range(1100, 1000, -1)), 1001)
    answer = listed(reader, {"limit": 5000})
    assert (len(answer["records"]), answer["next"]) == (MOST, 101)
    answer = listed(reader, {"limit": 100, "before": 101})
    assert (len(answer["records"]), answer["next"]) == (100, None)
    assert [it["id"] for it in listed(reader, {"after": 1098})["records"]] == [1100, 1099]


def test_actions_are_narrowed(reader: Reader) -> None:
    def ids(**request: Any) -> list[int]:
        return [it["id"] for it in listed(reader, request)["records"]]

    assert ids(outcome="parked", since=900) == [1001, 901]
    assert ids(outcome="parked", database="DB0", until=201) == [201, 101, 1]
    assert ids(database="db1", outcome="parked") == []
    assert ids(table=" Db1.T1 ", limit=2) == [1092, 1082]
    assert ids(table="t1", database="db1", limit=2) == [1092, 1082]
    assert ids(target="lake") == []


@pytest.mark.parametrize(
    "request_",
    [
        {"limit": 0},
        {"limit": "5"},
        {"limit": True},
        {"before": -1},
        {"after": 2**70},
        {"since": float("nan")},
        {"outcome": "broken"},
        {"target": 5},
        {"table": ["db.t"]},
    ],
)
def test_arguments_that_make_no_sense_are_refused(reader: Reader, request_: dict[str, Any]) -> None:
    with pytest.raises(PysyncError):
        listed(reader, request_)
