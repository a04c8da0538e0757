"""Ledger: the drops of the last hour, counted without keeping each of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pysync.replay.ledger import Drop, Ledger

SECONDS = 60.0
MS = 60_000

a_drop = st.builds(
    Drop,
    position=st.just(1),
    at_ms=st.integers(0, 4 * MS),
    what=st.just("table"),
    key=st.sampled_from(["db.t", "db.u", "other.t"]),
    count=st.integers(1, 3),
    lasting=st.booleans(),
)


def most(drops: list[Drop], ms: int) -> int:
    """The most drops within so long, counted one by one."""
    times = [it.at_ms for it in drops]
    return max((sum(it.count for it in drops if at - ms < it.at_ms <= at) for at in times), default=0)


@given(st.lists(a_drop, max_size=40))
def test_none_is_counted_for_less_than_the_time_and_none_for_much_longer(drops: list[Drop]) -> None:
    drops.sort(key=lambda it: it.at_ms)
    ledger = Ledger(SECONDS)
    for it in drops:
        ledger.enter([it])
        lately = [each for each in drops[: drops.index(it) + 1] if each.at_ms > it.at_ms - MS]
        assert most(lately, MS) <= ledger.most([]) <= most(drops, MS + MS // 60 + 1)


def test_thousands_of_drops_are_stored_in_a_few_lines_and_all_of_them_count() -> None:
    stored: list[str] = []
    ledger = Ledger(3600.0, stored.append)
    for number in range(5000):
        ledger.enter([Drop(number + 1, number * 500, "table", f"db.tmp{number}")])
    assert ledger.most([]) == 5000
    assert len(stored[-1]) < 10_000
    again = Ledger(3600.0, saved=stored[-1])
    assert (again.most([]), again.new([Drop(5000, 0, "table", "db.x")])) == (5000, [])


def test_tables_that_are_gone_for_good_keep_their_names() -> None:
    stored: list[str] = []
    ledger = Ledger(3600.0, stored.append)
    gone = [Drop(1, 1000 + number, "table", f"db.t{number}", lasting=True) for number in range(3)]
    ledger.enter([*gone, Drop(1, 1000, "partitions", "db.tmp", 4)])
    assert ledger.tables("db") == {"db.t0", "db.t1", "db.t2"}
    assert ledger.most([]) == 7
    assert len(json.loads(stored[-1])["drops"]) == 4


@pytest.mark.parametrize("hours", [0, -24, 24])
def test_a_clock_that_was_wrong_for_one_drop_blinds_nothing_that_comes_after(hours: int) -> None:
    """Before: after one drop while the clock was a day ahead, the ledger saw 100 of 2,000 drops."""
    ledger, most, now = Ledger(3600.0), 0, 1_800_000_000_000
    ledger.enter([Drop(1, now + hours * 3_600_000, "table", "db.first", lasting=True)])
    for window in range(20):
        first = 2 + window * 100
        new = [
            Drop(first + it, now + window * 1000 + it, "table", f"db.t{first + it}", lasting=True) for it in range(100)
        ]
        most = ledger.most(new)
        ledger.enter(new)
    assert most >= 2000
    assert len(ledger.tables("db")) >= 2000
