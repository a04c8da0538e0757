"""Transactional tables that arrive as snapshots: the job polls what was committed, and asks for those tables."""

from __future__ import annotations

import pytest

from pysync.base.errors import PysyncError
from pysync.model.names import TableName
from pysync.model.snapshot import Snapshot, Transactions
from tests.support.queues import Reopener
from tests.support.refreshing import Hms
from tests.support.resyncs import NOON, Bench

VISITS = TableName("web", "visits")


@pytest.fixture
def source() -> Hms:
    return Hms("sales.orders", "web.visits")


SNAPSHOTS = {
    "locations": {"file:/x": "file:/y"},
    "copy": {"rewrite": "orc"},
    "transactional": "snapshot",
    "transactional_poll_seconds": 10.0,
}
NONE = Transactions(0)


def test_transactional_tables_are_asked_for_when_something_was_committed(reopen: Reopener, source: Hms) -> None:
    for name in ("sales.acid", "web.acid", "web.idle"):
        source.add(name, parameters={"transactional": "true"})
    acid = TableName("web", "acid")
    source.committed = {acid: Snapshot(1, NONE)}
    bench = Bench(reopen(), source, NOON, **SNAPSHOTS)
    assert bench.turn() == ["sales.acid", "web.acid", "web.idle"]
    assert bench.turn(9) == []
    source.committed[acid] = Snapshot(2, NONE, open=(2,))
    assert bench.turn(1) == []
    source.committed[acid] = Snapshot(3, NONE, aborted=(2, 3))
    assert bench.turn(10) == []
    source.committed[acid] = Snapshot(4, NONE, aborted=(2, 3))
    assert bench.turn(10) == ["web.acid"]
    assert bench.turn(10) == []


def test_a_table_that_an_event_had_read_is_asked_for_at_its_next_commit(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, NOON, **SNAPSHOTS)
    assert bench.turn() == []
    new = TableName("web", "acid")
    source.add("web.acid", parameters={"transactional": "true"})
    bench.drain.reads.snapshots[new] = source.committed[new] = Snapshot(1, NONE, open=(1,))
    assert bench.turn(10) == []
    source.committed[new] = Snapshot(1, NONE)
    assert bench.turn(10) == ["web.acid"]
    assert bench.turn(10) == []


def test_a_table_that_waits_does_not_hold_up_the_commits_of_others(reopen: Reopener, source: Hms) -> None:
    for name in ("web.acid", "web.waits"):
        source.add(name, parameters={"transactional": "true"})
    source.committed = {TableName("web", "acid"): Snapshot(1, NONE), TableName("web", "waits"): Snapshot(1, NONE)}
    bench = Bench(reopen(), source, NOON, **SNAPSHOTS)
    bench.turn()
    bench.pauses = True
    source.committed[TableName("web", "waits")] = Snapshot(2, NONE)
    assert bench.turn(10) == ["web.waits"]
    source.committed[TableName("web", "acid")] = Snapshot(2, NONE)
    assert bench.turn(10) == ["web.waits", "web.acid"]


def test_a_commit_whose_refresh_could_not_be_queued_is_asked_for_again(reopen: Reopener, source: Hms) -> None:
    acid = TableName("web", "acid")
    source.add("web.acid", parameters={"transactional": "true"})
    source.committed = {acid: Snapshot(1, NONE)}
    bench = Bench(reopen(), source, NOON, **SNAPSHOTS)
    bench.turn()
    source.committed[acid] = Snapshot(2, NONE)
    source.fails = PysyncError("away")
    with pytest.raises(PysyncError):
        bench.turn(10)
    source.fails = None
    assert bench.turn(20) == ["web.acid"]


def test_a_table_that_became_transactional_is_looked_for_from_time_to_time(reopen: Reopener, source: Hms) -> None:
    bench = Bench(reopen(), source, NOON, **SNAPSHOTS)
    assert bench.turn() == []
    source.found[VISITS].parameters["transactional"] = "true"
    assert bench.turn(30) == []
    assert bench.turn(600) == ["web.visits"]
