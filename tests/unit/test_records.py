"""Records as lines: what a person reads of them, whatever is in them; and the times that a person writes."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.text import local_time
from pysync.cli.arguments import instant
from pysync.cli.record_lines import lines, what
from pysync.journal import Record
from pysync.journal.record import bounded, reason_of
from pysync.model.difference import Difference, left_out

AT = 1_700_000_000.0


def shown(**values: Any) -> list[str]:
    known: dict[str, Any] = {"at": AT, "operation": "PutTable", "outcome": "applied", "target": "dr", "object": "db.t"}
    return list(lines(Record(**{**known, **values}).as_json()))


def test_a_record_is_a_line() -> None:
    assert shown() == [f"{local_time(AT)}  dr  applied    PutTable db.t"]


def test_numbers_are_told_where_they_say_something() -> None:
    (line,) = shown(events=4, partition_count=1200, attempts=3, milliseconds=12.4, committed_at=AT - 2.5)
    assert line.endswith("PutTable db.t, 1,200 partitions, 4 events, 3 attempts, 12 ms, 2.5 s after the commit")


def test_a_rename_has_both_names_and_an_act_who_did_it() -> None:
    (line,) = shown(operation="RenameTable", former="db.old")
    assert line.endswith("RenameTable db.old -> db.t")
    line, reason = shown(operation="Pause", outcome="done", object="", reason="audit", who="uid 7 (command line)")
    assert (line.endswith("Pause, by uid 7 (command line)"), reason) == (True, "    audit")


def test_an_object_is_created_and_a_field_goes_from_one_value_to_the_other() -> None:
    changed = [Difference("table db.t", None, "created"), Difference("owner", "a", None), Difference("x", None, "b")]
    assert shown(differences=bounded(changed))[1:] == [
        "    table db.t created",
        "    owner: 'a' -> nothing",
        "    x: nothing -> 'b'",
    ]
    many = [Difference(str(number), None, "v") for number in range(8)]
    assert shown(differences=bounded(many))[-1] == "    and 3 more"
    assert shown(differences=bounded([*many, left_out(62)]))[-1] == "    and 65 more", "the tables of a database, say"


TEXT = st.text(max_size=3000)


@given(TEXT, TEXT, st.lists(st.builds(Difference, TEXT, TEXT, TEXT), max_size=30))
def test_lines_are_bounded_whatever_they_tell(name: str, reason: str, differences: list[Difference]) -> None:
    found = shown(object=name[:128], reason=reason_of(reason), differences=bounded(differences))
    assert len(found) <= 1 + 1 + 6
    assert all(len(line) < 400 for line in found)
    assert what(Record(at=AT, operation="Pause", outcome="done").as_json()) == "Pause"


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0), ("30m", 1800), ("2h", 7200), (" 7d ", 604800)])
def test_a_time_may_be_so_long_ago(text: str, seconds: int) -> None:
    assert abs(time.time() - seconds - instant(text)) < 60


@pytest.mark.parametrize("text", ["2026-01-31", "2026-01-31T12:00", "2026-01-31 12:00:30", "2026-01-31T12:00+00:00"])
def test_a_time_may_be_a_date(text: str) -> None:
    assert instant(text) == datetime.fromisoformat(text).timestamp()
    assert instant("1960-01-01") == 0, "before anything"


@pytest.mark.parametrize("text", ["", "5", "h", "-2h", "9999999999d", "tomorrow", "2026-13-01", "0001-01-01", "nan"])
def test_what_is_no_time_is_refused_in_a_line(text: str) -> None:
    with pytest.raises(typer.BadParameter) as refused:
        instant(text)
    assert "\n" not in str(refused.value)
