"""Ledger: the drops of the last hour, counted without keeping each of them."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pysync.replay.ledger import Drop, Ledger

SECONDS = 60.0
MS = 60_000

a_drop = st.builds(
    Drop,
    position=st.just(1),
    at_ms=st.integers(0, 4 * MS),
    key=st.sampled_from(["db.t", "db.u", "other.t"]),
    count=st.integers(1, 3),
    table=st.booleans(),
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
        ledger.enter([Drop(number + 1, number * 500, f"db.tmp{number}", 1)])
    assert ledger.most([]) == 5000
    assert len(stored[-1]) < 10_000
    again = Ledger(3600.0, kept=stored[-1])
    assert (again.most([]), again.new([Drop(5000, 0, "db.x", 1)])) == (5000, [])


def test_tables_that_are_gone_for_good_keep_their_names() -> None:
    stored: list[str] = []
    ledger = Ledger(3600.0, stored.append)
    gone = [Drop(1, 1000 + number, f"db.t{number}", 1, table=True) for number in range(3)]
    ledger.enter([*gone, Drop(1, 1000, "db.tmp", 4)])
    assert ledger.tables("db") == {"db.t0", "db.t1", "db.t2"}
    assert ledger.most([]) == 7
    assert len(json.loads(stored[-1])["drops"]) == 4
