from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.queue import Sequences

numbers = st.lists(st.integers(1, 60), max_size=80)


def filled(values):
    seen = Sequences()
    for value in values:
        seen.add(value)
    return seen


@given(numbers)
def test_add_tells_new_from_seen(values):
    seen, model = Sequences(), set()
    for value in values:
        assert seen.add(value) is (value not in model)
        model.add(value)
    assert {n for n in range(70) if n in seen} == model
    assert seen.count == len(model)
    assert seen.highest == max(model, default=0)


@given(numbers)
def test_spans_are_the_fewest_possible(values):
    spans = filled(values).spans()
    assert all(low <= high for low, high in spans)
    assert all(high + 1 < low for (_, high), (low, _) in pairwise(spans))
    assert {n for low, high in spans for n in range(low, high + 1)} == set(values)


@given(numbers)
def test_holes_and_spans_make_the_whole(values):
    seen = filled(values)
    missing = {n for low, high in seen.holes() for n in range(low, high + 1)}
    assert missing == set(range(1, seen.highest + 1)) - set(values)


@given(numbers, st.permutations(range(1, 12)))
def test_the_order_of_arrival_does_not_matter(values, order):
    assert filled(sorted(values)).spans() == filled(values).spans()
    assert filled(order).spans() == ((1, 11),)


@given(numbers)
def test_json_round_trip(values):
    seen = filled(values)
    assert Sequences.from_json(seen.to_json()).spans() == seen.spans()


def test_json_is_as_documented():
    assert filled([*range(1, 58), *range(59, 91)]).to_json() == "[[1,57],[59,90]]"
    assert filled([2, 5]).holes() == ((1, 1), (3, 4))


def test_a_copy_changes_on_its_own():
    seen = filled([1, 2])
    twin = seen.copy()
    twin.add(3)
    assert (seen.spans(), twin.spans()) == (((1, 2),), ((1, 3),))


@pytest.mark.parametrize(
    "text", ["[[3,1]]", "[[1,3],[3,5]]", "[[1,3],[4,5]]", "[[0,2]]", "[1,2]", "{", "7", "[[1]]", '[["1","2"]]']
)
def test_other_json_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011 - any message
        Sequences.from_json(text)


def test_sequences_begin_at_one():
    with pytest.raises(ValueError, match="begin at 1"):
        Sequences().add(0)
