"""Numbers in texts from outside: of thousands of digits, at which Python's int() fails, and of other scripts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.text import whole_number
from pysync.targets.athena.hive_types import hive_type, keeps
from pysync.targets.athena.quoting import InexpressibleError
from pysync.targets.aws.value_lists import parted
from pysync.targets.diff import same_parameters

LONG = "9" * 5_000


@given(st.text(st.characters(categories=["Nd", "No", "Nl"]), max_size=25))
def test_any_digits_are_a_number_or_none(text: str) -> None:
    number = whole_number(text)
    assert number is None or (text.isascii() and int(text) == number < 10**19)


@pytest.mark.parametrize("text", ["", "-1", "+1", "1_0", " 1", "²", "٣", LONG])
def test_what_is_no_plain_number_is_none(text: str) -> None:
    assert whole_number(text) is None


@pytest.mark.parametrize("kind", [f"varchar({LONG})", f"char({LONG})", f"decimal({LONG},2)", f"array<decimal({LONG})>"])
def test_a_type_of_endless_length_is_refused(kind: str) -> None:
    with pytest.raises(InexpressibleError):
        hive_type(kind)
    assert not keeps(kind, "1")


@pytest.mark.parametrize("text", [f"{LONG}$a", "²$a", "1$a2", "$"])
def test_a_list_with_such_a_length_is_one_text(text: str) -> None:
    assert parted(text) == [text]


@pytest.mark.parametrize("statistics", [LONG, "[" * 100_000])
def test_statistics_that_are_no_json_are_compared_as_text(statistics: str) -> None:
    parameters = {"COLUMN_STATS_ACCURATE": statistics}
    assert same_parameters(parameters, parameters)
