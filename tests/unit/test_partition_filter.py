"""`where`: which partitions a target takes by the values of their keys."""

from __future__ import annotations

import sqlite3
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.errors import UsageError
from pysync.model.names import DEFAULT_PARTITION
from pysync.replay.window.partition_filter import PartitionFilter

TODAY = date(2026, 4, 1)
DAY = [("day", "string")]


def takes(text: str, value: str, kind: str = "string") -> bool:
    return PartitionFilter.parse(text).takes([("day", kind)], [value], TODAY)


@pytest.mark.parametrize(
    ("text", "taken", "left"),
    [
        ("day >= '2026-01-01'", ["2026-01-01", "2026-02-01"], ["2025-12-31", ""]),
        ("DAY = \"a\" Or day == 'b'", ["a", "b"], ["c", "A"]),
        ("day <> 'a' and day != 'b'", ["c"], ["a", "b", DEFAULT_PARTITION]),
        ("day in ('a', 'b')", ["a", "b"], ["c"]),
        ("day not in ('a', 'b')", ["c"], ["a", "b", DEFAULT_PARTITION]),
        ("day between 'b' and 'd'", ["b", "c", "d"], ["a", "e"]),
        ("day not between 'b' and 'd'", ["a", "e"], ["b", "d", DEFAULT_PARTITION]),
        ("day like '2026-%'", ["2026-01", "2026-"], ["2025-01", "x2026-1"]),
        ("day like 'a_c'", ["abc"], ["ac", "abbc"]),
        ("day like '%[a]*?%'", ["x[a]*?", "[a]*?y"], ["xa", "x[a]", "[a]xx"]),
        (f"day like '{'%a' * 20}%b'", ["a" * 30 + "b"], ["a" * 2_000]),  # without end if each % is tried again
        ("'b' < day", ["c"], ["a", "b"]),
        ("day = 'a' or day = 'b' and day = 'c'", ["a"], ["b", "c"]),
        ("(day = 'a' or day = 'b') and day <> 'b'", ["a"], ["b"]),
        ("day>=10", ["10", "11", "010"], ["9", "x", "NaN"]),
        ("day = -1.5", ["-1.5", "-1.50"], ["1.5"]),
        ("`day` = 'it\\'s'", ["it's"], ["its"]),
    ],
)
def test_a_filter_as_hive_has_it(text: str, taken: list[str], left: list[str]) -> None:
    assert [it for it in [*taken, *left] if takes(text, it)] == taken


@pytest.mark.parametrize("kind", ["int", "bigint", "smallint", "decimal(10,2)", "double"])
def test_keys_that_are_numbers_are_compared_as_numbers(kind: str) -> None:
    assert takes("day > '9'", "10", kind)
    assert not takes("day > '9'", "10", "string")


@pytest.mark.parametrize(
    ("text", "taken", "left"),
    [
        ("day >= current_date - 90 days", ["2026-01-01", "2026-04-01"], ["2025-12-31", "x", DEFAULT_PARTITION]),
        ("day >= current_date - 90 days", ["20260101"], ["20251231"]),
        ("day >= current_date - 90 days", ["2026-01", "202601", "2026"], ["2025-12", "202512", "2025"]),
        ("day >= current_date - 90 days", ["2026-01-01 05", "2026-01-01-05"], ["2025-12-31 23:59:59"]),
        ("day < current_date", ["2026-03-31"], ["2026-04-01"]),
        ("day <= CURRENT_DATE + 1 day", ["2026-04-02"], ["2026-04-03"]),
        ("day = current_date - interval '1' day", ["2026-03-31"], ["2026-04-01"]),
        ("day between current_date - 2 days and current_date", ["2026-03-30"], ["2026-03-29"]),
        ("day >= date '2026-03-01'", ["20260301"], ["20260228"]),
    ],
)
def test_a_day_is_compared_in_the_form_of_the_value(text: str, taken: list[str], left: list[str]) -> None:
    assert [it for it in [*taken, *left] if takes(text, it)] == taken


def test_a_key_of_type_date_is_compared_as_a_day() -> None:
    assert takes("day >= '2026-03-01'", "2026-03-01", "date")
    assert not takes("day >= '2026-03-01'", "2026-02-28", "date")


def test_only_a_filter_that_names_today_is_relative() -> None:
    assert PartitionFilter.parse("day = 'a' or day > current_date").is_relative
    assert not PartitionFilter.parse("day = 'a' or day > date '2026-01-01'").is_relative


def test_a_table_without_one_of_the_keys_is_taken_whole() -> None:
    found = PartitionFilter.parse("day >= '2026' and country = 'de'")
    assert found.takes(DAY, ["1999"], TODAY)
    assert found.takes([], [], TODAY)
    assert found.takes([("Country", "string"), ("DAY", "string")], ["de", "2026"], TODAY)
    assert not found.takes([("country", "string"), ("day", "string")], ["fr", "2026"], TODAY)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("", "column 1: expected (, CURRENT_DATE, DATE, the name of a key or a value, found the end"),
        ("day", "column 4: expected"),
        ("day >= ", "column 8: expected CURRENT_DATE, DATE, a string or a number, found the end"),
        ("day >= 'a' day", "column 12: expected AND, OR or the end, found 'day'"),
        ("day >= 'a", "the string has no closing quote"),
        ("(day = 'a'", "expected AND, OR or ')', found the end"),
        ("'a' = 'b'", "column 7: expected the name of a key"),
        ("day = date 'x'", "column 12: 'x' is not a day; write '2026-01-31'"),
        ("day like 5", "expected a pattern in quotes"),
        ("day >= current_date - 99999999 days", "too many days"),
        ("day in ()", "expected CURRENT_DATE, DATE, a string or a number, found ')'"),
    ],
)
def test_what_is_no_filter_is_told_with_its_place(text: str, reported: str) -> None:
    with pytest.raises(UsageError) as failed:
        PartitionFilter.parse(text)
    assert reported.replace("'", "") in failed.value.message.replace("'", "")
    assert "cannot read where" in failed.value.message
    assert failed.value.hint


# --- against the judgment of a database, of strings

WORDS = st.text(alphabet="ab1%_", max_size=3)
LITERAL = WORDS.map(lambda it: f"'{it}'")
KEY = st.sampled_from(["day", "hour"])
ONE = st.one_of(
    st.builds("{} {} {}".format, KEY, st.sampled_from(["=", "==", "<>", "!=", "<", "<=", ">", ">="]), LITERAL),
    st.builds("{} {} {}".format, LITERAL, st.sampled_from(["=", "<", "<=", ">", ">="]), KEY),
    st.builds("{} {}between {} and {}".format, KEY, st.sampled_from(["", "not "]), LITERAL, LITERAL),
    st.builds("{} {}in ({}, {})".format, KEY, st.sampled_from(["", "not "]), LITERAL, LITERAL),
    st.builds("{} like {}".format, KEY, LITERAL),
)
CONDITION = st.recursive(
    ONE,
    lambda it: st.one_of(
        st.builds("{} {} {}".format, it, st.sampled_from(["and", "or"]), it), it.map(lambda one: f"({one})")
    ),
    max_leaves=5,
)
VALUE = st.text(alphabet="ab1", min_size=1, max_size=3)


@pytest.fixture(scope="module")
def database() -> Any:
    found = sqlite3.connect(":memory:")
    found.execute("PRAGMA case_sensitive_like = ON")
    yield found
    found.close()


@given(CONDITION, VALUE, VALUE)
def test_strings_are_judged_as_by_sql(database: Any, text: str, day: str, hour: str) -> None:
    query = f"SELECT {text} FROM (SELECT ? AS day, ? AS hour)"  # noqa: S608 - the text is made above
    (wanted,) = database.execute(query, (day, hour)).fetchone()
    found = PartitionFilter.parse(text).takes([("day", "string"), ("hour", "string")], [day, hour], TODAY)
    assert found is bool(wanted)


@given(st.text(alphabet="day ><=!'\"()andorin-1_currentbetwk,`", max_size=40))
def test_garbage_is_refused_or_read(text: str) -> None:
    try:
        found = PartitionFilter.parse(text)
    except UsageError:
        return
    assert found.takes(DAY, ["a"], TODAY) in {True, False}
