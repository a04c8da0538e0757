"""Names as HMS stores them."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.names import DEFAULT_PARTITION, TableName, normalized, partition_name, table_of

VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("given_name", "stored"), [("Sales", "sales"), ("  T_1 ", "t_1"), ("ÄRA", "ära"), ("", ""), ("a b", "a b")]
)
def test_an_identifier_is_stored_trimmed_and_in_lower_case(given_name, stored):
    assert normalized(given_name) == stored


@given(st.text())
def test_a_stored_identifier_stays_as_it_is(text):
    once = normalized(text)
    assert normalized(once) == once


def test_two_spellings_are_one_table():
    assert TableName.of("Sales", " ORDERS ") == TableName("sales", "orders")
    assert str(TableName.of("Sales", "ORDERS")) == "sales.orders"


@pytest.mark.parametrize(
    ("keys", "values", "name"),
    [
        (["year"], ["2026"], "year=2026"),
        (["Year", "city"], ["2026", "a/b"], "year=2026/city=a%2Fb"),
        (["d"], [""], f"d={DEFAULT_PARTITION}"),
        (["d"], ["a b"], "d=a b"),
        (["d"], ["100%"], "d=100%25"),
        (["d"], ["x}y{z"], "d=x}y%7Bz"),
        (["d"], ["2026-01-01 10:00:00"], "d=2026-01-01 10%3A00%3A00"),
        (["d"], ["\t"], "d=%09"),
        (["d"], ["\x7f"], "d=%7F"),
        (["d"], ["zürich"], "d=zürich"),
        ([" K "], ["a"], " k =a"),  # HMS trims no names of columns
    ],
)
def test_a_partition_is_named_as_hive_names_it(keys, values, name):
    assert partition_name(keys, values) == name


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_values_can_be_read_back_from_the_name(values):
    name = partition_name([f"k{at}" for at in range(len(values))], values)
    assert [unquote(part.partition("=")[2]) for part in name.split("/")] == values


def test_keys_and_values_of_different_number_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        partition_name(["a", "b"], ["1"])


@given(st.from_regex(r"[a-z0-9_/]+", fullmatch=True), st.lists(st.tuples(VALUES, VALUES), max_size=3))
def test_the_table_of_a_partition_is_known_whatever_both_are_called(table, parts):
    """Hive allows a slash in the name of a table."""
    part = partition_name(*zip(*parts, strict=True)) if parts else "*"
    assert table_of(f"db.{table}/{part}") == table_of(f"db.{table}") == f"db.{table}"
