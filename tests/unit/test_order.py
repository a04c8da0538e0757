"""Order: which works wait for which, against the definition in words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pysync.replay.window.order import Order, database_of, holds_back, is_database

KEYS = st.sampled_from(["a", "a.*", "a.t", "a.u", "b", "b.*", "b.t"])
WORKS = st.lists(st.frozensets(KEYS, min_size=1, max_size=3), max_size=12)


def dependencies(works) -> list[set[int]]:
    order: Order[int] = Order()
    return [order.add(index, keys) for index, keys in enumerate(works)]


def must_follow(earlier, later) -> bool:
    """They share a name, or the earlier is of the later one's database, or the later drops the earlier one's."""
    for one in earlier:
        for other in later:
            together = database_of(one) == database_of(other)
            if one == other or (together and (is_database(one) or other.endswith(".*"))):
                return True
    return False


def reached(before: list[set[int]], index: int) -> set[int]:
    """All that comes before a work, directly or not."""
    found: set[int] = set()
    ahead = set(before[index])
    while ahead:
        found |= ahead
        ahead = {further for each in ahead for further in before[each]} - found
    return found


@given(WORKS)
def test_a_work_follows_exactly_those_that_it_must_follow_and_what_they_follow(works):
    before = dependencies(works)
    for index in range(len(works)):
        direct = {earlier for earlier in range(index) if must_follow(works[earlier], works[index])}
        assert direct <= reached(before, index)
        assert before[index] <= direct, "it waits for nothing else"


@given(WORKS, st.randoms(use_true_random=False))
def test_works_may_end_while_others_come_and_nothing_is_kept_of_them(works, chance):
    order: Order[int] = Order()
    ready, running, done = [], set(), []
    for index, keys in enumerate(works):
        earlier = {other for other in running if must_follow(works[other], keys)}
        before = order.add(index, keys)
        assert before <= earlier
        assert bool(before) == bool(earlier)
        running.add(index)
        ready += [] if earlier else [index]
        while ready and chance.random() < 0.5:
            done.append(ended(order, works, ready, chance.randrange(len(ready))))
            running.discard(done[-1])
    while ready:
        done.append(ended(order, works, ready, chance.randrange(len(ready))))
    assert sorted(done) == list(range(len(works)))
    assert not any(vars(order).values())


def ended(order, works, ready, at) -> int:
    """One of those that are ready ends; which."""
    index = ready.pop(at)
    ready += order.end(index, works[index])
    return index


def test_tables_of_one_database_do_not_wait_for_each_other():
    assert dependencies([{"a"}, {"a.t"}, {"a.u"}, {"a.*"}, {"a"}]) == [set(), {0}, {0}, {0, 1, 2}, {3}]


def test_a_rename_waits_for_both_names_and_both_wait_for_it():
    assert dependencies([{"a.t"}, {"b.t"}, {"a.t", "b.t"}, {"a.t"}, {"b.t"}]) == [set(), set(), {0, 1}, {2}, {2}]


def naively_held(blocked, key) -> bool:
    if key in blocked or f"{database_of(key)}.*" in blocked:
        return True
    return key.endswith(".*") and any(database_of(name) == database_of(key) for name in blocked)


@given(st.frozensets(KEYS, max_size=4), st.frozensets(KEYS, max_size=3))
def test_a_work_is_held_by_its_names_or_a_drop_around_it_and_a_drop_by_all_within(blocked, keys):
    assert holds_back(blocked, keys) == any(naively_held(blocked, key) for key in keys)


@given(st.frozensets(KEYS, min_size=1, max_size=3), st.frozensets(KEYS, min_size=1, max_size=3))
def test_nothing_is_held_back_by_what_it_need_not_follow(blocked, keys):
    """Else what failed in a window would take more along than what a later window holds back."""
    assert not holds_back(blocked, keys) or must_follow(blocked, keys)


def test_a_table_named_like_the_start_of_a_database_holds_back_nothing_there():
    assert not holds_back({"a.t"}, {"ab.*"})
    assert dependencies([{"a.t"}, {"ab"}]) == [set(), set()]
