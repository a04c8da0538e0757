"""The mark in an object's parameters: who wrote it, and from which event."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.model.mark import EVENT_KEY, SOURCE_KEY, Mark, Writer

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
        {EVENT_KEY: "1.2.3.4.5"},
        {SOURCE_KEY: "", EVENT_KEY: "1.2.3.4.5"},
        {SOURCE_KEY: "a", EVENT_KEY: "1.2.3.4"},
        {SOURCE_KEY: "a", EVENT_KEY: f"1.{'2' * 5000}.3.4.5"},  # Python refuses to read such a number
        {SOURCE_KEY: "a", EVENT_KEY: "1.2.3.4.5.6"},
        {SOURCE_KEY: "a", EVENT_KEY: "1.-2.3.4.5"},
        {SOURCE_KEY: "a", EVENT_KEY: "1.2.3.4.5\n"},
        {SOURCE_KEY: "a", EVENT_KEY: "x"},
    ],
)
def test_what_pysync_did_not_write_has_no_mark(parameters):
    assert Mark.read(parameters) is None


QUEUE = Writer(epoch=5, life=3, ended={1: 10, 2: 20}, target="dr", others=frozenset({"lake"}))


def mark(position: int, **values) -> Mark:
    return Mark("s", 5, position, life=3, writer=QUEUE, **values)


@given(MARKS, MARKS)
def test_two_marks_of_one_queue_are_in_the_order_of_their_positions(one, other):
    other = replace(other, epoch=one.epoch)
    assert one.precedes(other) == (one.position < other.position) == other.follows(one)


@pytest.mark.parametrize("epoch", [4, 6])
@pytest.mark.parametrize("position", [1, 9])
def test_marks_of_two_queues_have_no_order_whenever_these_began(epoch, position):
    there = Mark("s", epoch, position)
    assert not mark(5).precedes(there)
    assert not mark(5).follows(there)


@pytest.mark.parametrize(
    ("life", "position", "is_known"),
    [(1, 10, True), (2, 20, True), (2, 21, False), (3, 99, True), (4, 1, False), (4, 99, False)],
)
def test_a_queue_knows_its_lives_up_to_their_ends(life, position, is_known):
    """What is behind the end of a life was written before an older copy of the file was put back."""
    there = Mark("s", 5, position, life=life)
    assert QUEUE.wrote(there) is is_known
    assert mark(0).precedes(there) is is_known


def test_an_object_of_another_target_of_the_queue_is_kept_from_this_one():
    assert mark(1).is_blocked_by(mark(1, target="lake"))
    for name in ("dr", "", "renamed since"):
        assert not mark(1).is_blocked_by(mark(1, target=name))


def test_what_is_altered_keeps_its_birth_and_what_is_born_anew_does_not():
    there = Mark("s", epoch=1, position=4, created=9, born=3)
    assert Mark("s", 1, 6, 9).following(there) == Mark("s", 1, 6, 9, born=3)
    assert Mark("s", 1, 6, 9, born=6).following(there) == Mark("s", 1, 6, 9, born=6)
    assert Mark("s", 1, 6, 9).following(None) == Mark("s", 1, 6, 9)


@pytest.mark.parametrize("there", [Mark("other", 1, 4, 9, born=3), Mark("s", 2, 4, 9, born=3)])
def test_a_birth_in_another_queue_file_or_of_another_source_tells_nothing(there):
    assert Mark("s", 1, 6, 9).following(there) == Mark("s", 1, 6, 9)
