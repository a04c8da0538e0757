"""The mark in an object's parameters: who wrote it, and from which event."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.mark import EVENT_KEY, SOURCE_KEY, Mark

NUMBERS = st.integers(0, 2**63)
MARKS = st.builds(Mark, source=st.text(min_size=1), epoch=NUMBERS, position=NUMBERS, created=NUMBERS, born=NUMBERS)


@given(MARKS, st.dictionaries(st.text().filter(lambda key: not key.startswith("pysync.")), st.text()))
def test_a_mark_is_read_back_from_among_other_parameters(mark, others):
    assert Mark.read({**others, **mark.parameters()}) == mark


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {},
        {SOURCE_KEY: "a"},
        {EVENT_KEY: "1.2.3"},
        {SOURCE_KEY: "", EVENT_KEY: "1.2.3"},
        {SOURCE_KEY: "a", EVENT_KEY: "1.2"},
        {SOURCE_KEY: "a", EVENT_KEY: "1.2.3.4.5"},
        {SOURCE_KEY: "a", EVENT_KEY: "1.-2.3"},
        {SOURCE_KEY: "a", EVENT_KEY: "1.2.3\n"},
        {SOURCE_KEY: "a", EVENT_KEY: "x"},
    ],
)
def test_what_pysync_did_not_write_has_no_mark(parameters):
    assert Mark.read(parameters) is None


@given(MARKS, MARKS)
def test_of_two_marks_of_a_source_one_is_newer_unless_they_are_of_one_event(one, other):
    same = (one.epoch, one.position) == (other.epoch, other.position)
    assert one.is_newer_than(other) + other.is_newer_than(one) == (not same)


def test_an_event_of_a_later_queue_file_is_newer_though_its_position_is_lower():
    assert Mark("s", epoch=2, position=1).is_newer_than(Mark("s", epoch=1, position=900))
    assert not Mark("s", epoch=1, position=900).is_newer_than(Mark("s", epoch=2, position=1))


def test_a_mark_of_a_release_that_knew_no_birth_is_read():
    assert Mark.read({SOURCE_KEY: "a", EVENT_KEY: "1.2.3"}) == Mark("a", epoch=1, position=2, created=3, born=0)


def test_what_is_altered_keeps_its_birth_and_what_is_born_anew_does_not():
    there = Mark("s", epoch=1, position=4, created=9, born=3)
    assert Mark("s", 1, 6, 9).following(there) == Mark("s", 1, 6, 9, born=3)
    assert Mark("s", 1, 6, 9, born=6).following(there) == Mark("s", 1, 6, 9, born=6)
    assert Mark("s", 1, 6, 9).following(None) == Mark("s", 1, 6, 9)


@pytest.mark.parametrize("there", [Mark("other", 1, 4, 9, born=3), Mark("s", 2, 4, 9, born=3)])
def test_a_birth_in_another_queue_file_or_of_another_source_tells_nothing(there):
    assert Mark("s", 1, 6, 9).following(there) == Mark("s", 1, 6, 9)
