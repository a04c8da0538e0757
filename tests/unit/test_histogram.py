"""Histogram: whatever was added, its quantiles are the exact ones but for a bounded error, and its size is bounded."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.base.histogram import ERROR, LONGEST, SHORTEST, Histogram
from pysync.base.latency import BOUNDS

DURATIONS = st.floats(SHORTEST, LONGEST)
SHARES = st.floats(0, 1)


def histogram(*durations: float) -> Histogram:
    made = Histogram()
    made.add(durations)
    return made


def exact(durations: list[float], share: float) -> float:
    """By nearest rank: the smallest of them that this share of all does not exceed."""
    return sorted(durations)[max(1, math.ceil(share * len(durations))) - 1]


@given(st.lists(DURATIONS, min_size=1), SHARES)
def test_a_quantile_is_the_exact_one_but_for_the_error(durations: list[float], share: float) -> None:
    wanted, found = exact(durations, share), histogram(*durations).quantile(share)
    assert found == pytest.approx(wanted, rel=ERROR + 1e-9)


@given(st.lists(DURATIONS), st.lists(DURATIONS))
def test_two_of_them_together_are_one_of_all(some: list[float], others: list[float]) -> None:
    both, all_ = histogram(*some), histogram(*some, *others)
    both.take(histogram(*others))
    shares = (0.0, 0.1, 0.5, 0.9, 0.99, 1.0)
    assert [both.quantile(it) for it in shares] == [all_.quantile(it) for it in shares]
    assert (both.count, both.sum) == (all_.count, pytest.approx(all_.sum))


@given(st.lists(st.floats(allow_nan=False), max_size=300))
def test_it_takes_any_number_and_stays_small(durations: list[float]) -> None:
    made = histogram(*(it for it in durations if math.isfinite(it)))
    assert len(made._buckets) <= 241
    found = made.quantile(0.5)
    assert found is None or SHORTEST <= found <= LONGEST


@given(st.lists(DURATIONS))
def test_what_does_not_exceed_a_bound_is_counted_exactly(durations: list[float]) -> None:
    assert histogram(*durations).up_to(BOUNDS) == [sum(it <= bound for it in durations) for bound in BOUNDS]


def test_an_empty_one_has_no_quantiles() -> None:
    assert histogram().quantile(0.5) is None
    assert (histogram().count, histogram().sum) == (0, 0.0)


def test_a_clock_that_was_set_back_makes_nothing_negative() -> None:
    made = histogram(-5.0, 2.0)
    assert made.sum == 2.0
    assert made.quantile(0.1) == SHORTEST


def test_the_error_is_what_the_docs_say() -> None:
    assert ERROR < 0.0434
