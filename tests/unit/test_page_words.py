"""Numbers, times and names as the page writes them."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.web import words
from tests.support.pages import NOW


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "not known"), (0, "0"), (1234, "1,234"), (5.25, "5.2"), (5.0, "5"), (1234.5, "1,234")],
)
def test_a_number(value: float | None, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "not known"), (0, "0 s"), (-3, "0 s"), (0.0123, "12 ms"), (4.25, "4.2 s"), (303, "5m 3s")],
)
def test_how_long_something_takes(seconds: float | None, text: str) -> None:
    assert words.span(seconds) == text


@pytest.mark.parametrize(
    ("before", "text"),
    [(0.2, "now"), (12, "12 s ago"), (59.7, "59.7 s ago"), (60, "1m ago"), (7500, "2h 5m ago"), (-180, "in 3m")],
)
def test_how_long_ago(before: float, text: str) -> None:
    assert words.ago(NOW - before, NOW) == text


def test_a_time_is_absolute_for_people_and_for_machines() -> None:
    assert words.moment(0) == "1970-01-01 00:00:00 UTC"
    assert words.machine(0) == "1970-01-01T00:00:00+00:00"
    assert (words.ago(None, NOW), words.moment(None)) == ("not known", "not known")


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (None, "not known"),
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (81 * 2**30, "81 GiB"),
        (2**60, "1048576 TiB"),
    ],
)
def test_a_size(count: int | None, text: str) -> None:
    assert words.size(count) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_name_is_one_segment_of_a_path(name: str) -> None:
    assert not set(words.segment(name)) & set("/?#<>\"' ")
    assert unquote(words.segment(name)) == name
