"""Times and names as only the page writes them."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from pysync.web import words


def test_a_time_is_absolute_for_people_and_for_machines() -> None:
    assert words.moment(0) == "1970-01-01 00:00:00 UTC"
    assert words.machine(0) == "1970-01-01T00:00:00+00:00"
    assert words.moment(None) == "not known"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_name_is_one_segment_of_a_path(name: str) -> None:
    assert not set(words.segment(name)) & set("/?#<>\"' ")
    assert unquote(words.segment(name)) == name
