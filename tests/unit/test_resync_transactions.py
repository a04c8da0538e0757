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


def test_a_write_that_an_event_has_found_open_is_looked_at_soon_and_ever_more_seldom(
    reopen: Reopener, source: Hms
) -> None:
    for name in ("web.acid", "web.idle"):
        source.add(name, parameters={"transactional": "true"})
    acid, idle = TableName("web", "acid"), TableName("web", "idle")
    source.committed = {acid: Snapshot(1, NONE), idle: Snapshot(1, NONE)}
    bench = Bench(reopen(), source, NOON, **(SNAPSHOTS | {"transactional_poll_seconds": 1000.0}))
    bench.turn()
    asked, read = list[tuple[float, list[TableName]]](), source.snapshots

    def snapshots(names: list[TableName]) -> dict[TableName, Snapshot]:
        asked.append((bench.now - NOON, names))
        return read(names)

    source.snapshots = snapshots  # type: ignore[method-assign]
    bench.now += 100
    bench.drain.reads.snapshots[acid] = source.committed[acid] = Snapshot(2, NONE, open=(2,))
    for _ in range(40):
        assert bench.turn(0.5) == []
    assert asked == [(100 + it, [acid]) for it in (0.5, 1.5, 2.5, 4.5, 8.5, 16.5)]
    source.committed[acid] = Snapshot(2, NONE)
    turns = [bench.turn(0.5) for _ in range(40)]
    assert [it for it in turns if it] == [["web.acid"]]
    bench.drain.reads.snapshots[acid] = Snapshot(2, NONE)
    del asked[:]
    bench.turn(100)
    assert asked == []
    source.committed[idle] = Snapshot(2, NONE)
    assert bench.turn(1000) == ["web.idle"]


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


def test_status_says_how_many_tables_lack_commits_and_since_when(reopen: Reopener, source: Hms) -> None:
    for name in ("web.acid", "web.idle"):
        source.add(name, parameters={"transactional": "true"})
    acid, idle = TableName("web", "acid"), TableName("web", "idle")
    source.committed = {acid: Snapshot(1, NONE), idle: Snapshot(1, NONE)}
    bench = Bench(reopen(), source, NOON, **SNAPSHOTS)

    def state() -> tuple[int, int, float | None, float | None]:
        assert bench.resyncs.commits is not None
        found = bench.resyncs.commits.status()
        since, looked = (at if at is None else at - NOON for at in (found["behind_since"], found["looked_at"]))
        return found["tables"], found["behind"], since, looked

    assert state() == (0, 0, None, None)
    bench.turn()
    assert state() == (2, 2, 0, 0)
    bench.drain.reads.snapshots.update(source.committed)
    assert state() == (2, 0, None, 0)
    source.committed[acid] = Snapshot(2, NONE)
    bench.turn(10)
    source.committed[acid] = Snapshot(3, NONE)
    bench.turn(10)
    assert state() == (2, 1, 10, 20), "it waits since the first of its commits"
    bench.drain.reads.snapshots[acid] = Snapshot(2, NONE)
    bench.turn(10)
    assert state() == (2, 1, 20, 30), "its second commit waits since it was seen"
    bench.drain.reads.snapshots[acid] = Snapshot(3, NONE)
    assert state() == (2, 0, None, 30)


def test_a_table_that_is_gone_is_no_longer_counted_until_it_comes_again(reopen: Reopener, source: Hms) -> None:
    acid = TableName("web", "acid")
    source.add("web.acid", parameters={"transactional": "true"})
    source.committed = {acid: Snapshot(1, NONE)}
    bench = Bench(reopen(), source, NOON, **SNAPSHOTS)
    bench.turn()
    bench.drain.reads.snapshots[acid] = Snapshot(1, NONE)
    made = source.found.pop(acid)
    del source.committed[acid]
    for after in (600, 10):
        bench.turn(after)
        assert bench.resyncs.commits is not None
        assert bench.resyncs.commits.status()["tables"] == 0
    source.found[acid] = made
    source.committed[acid] = Snapshot(2, NONE)
    bench.drain.reads.snapshots[acid] = Snapshot(1, NONE)
    assert bench.turn(10) == ["web.acid"]
