"""Events that are set aside: for a table of a target, or because they were no events."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pysync.queue import EventQueue, Park, ParkedTable, QueueFailed, losses


@pytest.fixture
def queue(tmp_path):
    with EventQueue(tmp_path, min_free_bytes=0, lock_timeout=0) as queue:
        queue.target("dr").register()
        queue.target("lake").register()
        for number in range(1, 21):
            queue.intake.append("jvm", number, "onprem", b"%d" % number)
        yield queue


def reopened(queue, tmp_path):
    queue.close()
    return EventQueue(tmp_path, min_free_bytes=0, lock_timeout=0)


def park(position, table="sales.orders", target="dr", **changes):
    fields = {"reason": "no", "kind": "rejected", "attempts": 1, "first_at_ms": 5, "last_at_ms": 6}
    return Park(target=target, position=position, table=table, data=b"%d" % position, **{**fields, **changes})


def positions(parked):
    return [event.position for event in parked]


def test_parking_and_advancing_are_one(queue, tmp_path):
    queue.target("dr").advance(5, [park(4), park(2)])
    with reopened(queue, tmp_path) as again:
        first, second = again.target("dr").parked.events()
        assert again.target("dr").position() == 5
    assert (first.position, second.position, second.data) == (2, 4, b"4")
    assert (first.table, first.reason, first.kind, first.attempts) == ("sales.orders", "no", "rejected", 1)
    assert (first.first_at_ms, first.last_at_ms) == (5, 6)


@pytest.mark.parametrize(
    "broken",
    [
        "CREATE TRIGGER no BEFORE INSERT ON parked WHEN new.position = 4 BEGIN SELECT RAISE(ABORT, 'bad'); END",
        "CREATE TRIGGER no BEFORE UPDATE ON targets BEGIN SELECT RAISE(ABORT, 'bad'); END",
    ],
)
def test_neither_happens_without_the_other(queue, tmp_path, broken):
    queue._file._conn.execute(broken)
    with pytest.raises(QueueFailed, match="bad"):
        queue.target("dr").advance(5, [park(2), park(4)])
    assert (queue.target("dr").position(), queue.target("dr").parked.events()) == (0, [])
    with reopened(queue, tmp_path) as again:
        assert (again.target("dr").position(), again.target("dr").parked.events()) == (0, [])


def test_only_what_is_done_by_this_target_can_be_parked(queue):
    for wrong in (park(6), park(1, target="lake")):
        with pytest.raises(ValueError, match="can be parked"):
            queue.target("dr").advance(5, [wrong])
    assert queue.target("dr").position() == 0


def test_parked_events_come_in_order_page_by_page(queue):
    queue.target("dr").advance(3, [park(3), park(1), park(3, "sales.items")])
    queue.target("dr").advance(9, [park(n) for n in (9, 7, 8)])
    queue.target("lake").advance(9, [park(2, target="lake")])
    assert positions(queue.target("dr").parked.events()) == [1, 3, 3, 7, 8, 9]
    assert positions(queue.target("dr").parked.events("sales.orders")) == [1, 3, 7, 8, 9]
    pages, after = [], None
    while page := queue.target("dr").parked.events(after=after, limit=2):
        pages.append([(event.position, event.table.split(".")[1]) for event in page])
        after = page[-1]
    assert pages == [[(1, "orders"), (3, "orders")], [(3, "items"), (7, "orders")], [(8, "orders"), (9, "orders")]]
    assert positions(queue.target("dr").parked.events("sales.items", after=queue.target("dr").parked.events()[0])) == [
        3
    ]
    assert positions(queue.target("dr").parked.events("sales.orders", after=queue.target("dr").parked.events()[0])) == [
        3,
        7,
        8,
        9,
    ]


def test_blocked_tables_are_those_with_parked_events(queue):
    assert queue.target("dr").parked.blocked() == set()
    queue.target("dr").advance(9, [park(n, table) for n, table in enumerate(["b.b", "a.a", "", "b.b", "c.c"], 1)])
    assert queue.target("dr").parked.blocked() == {"", "a.a", "b.b", "c.c"}
    assert (
        queue.target("lake").parked.blocked(),
        queue.target("dr").parked.count(),
        queue.target("lake").parked.count(),
    ) == (set(), 5, 0)
    assert queue.target("dr").parked.remove(queue.target("dr").parked.events("b.b")) == 2
    assert queue.target("dr").parked.blocked() == {"", "a.a", "c.c"}


def test_what_is_parked_is_told_by_table_by_event_and_by_position(queue):
    first = park(2, "a.a", reason="the first", kind="bug", attempts=3, first_at_ms=10, last_at_ms=20)
    queue.target("dr").advance(5, [first, park(4, "b.b"), park(4, "a.a", first_at_ms=5, last_at_ms=30)])
    queue.target("lake").advance(5, [park(1, "a.a", target="lake"), park(4, "c.c", target="lake")])
    assert queue.target("dr").parked.tables() == [
        ParkedTable("a.a", 2, 2, "bug", "the first", 3, first_at_ms=5, last_at_ms=30),
        ParkedTable("b.b", 1, 4, "rejected", "no", 1, first_at_ms=5, last_at_ms=6),
    ]
    assert list(queue.target("dr").parked.names().items()) == [(2, {"a.a"}), (4, {"a.a", "b.b"})]
    assert [(it.position, it.table) for it in queue.target("dr").parked.at(4)] == [(4, "a.a"), (4, "b.b")]
    assert queue.target("dr").parked.at(1) == []


def test_an_event_is_taken_out_from_under_all_of_its_tables(queue):
    queue.target("dr").advance(5, [park(2, "a.a"), park(4, "a.a"), park(4, "b.b")])
    queue.target("lake").advance(5, [park(4, "a.a", target="lake")])
    queue.target("dr").parked.remove_at([4, 9])
    assert (queue.target("dr").parked.names(), queue.target("lake").parked.names()) == ({2: {"a.a"}}, {4: {"a.a"}})


def test_a_target_unparks_only_its_own(queue):
    queue.target("dr").advance(2, [park(1), park(2)])
    parked = queue.target("dr").parked.events()
    assert queue.target("lake").parked.remove(parked) == 0
    assert queue.target("dr").parked.remove([]) == 0
    assert queue.target("dr").parked.remove([*parked, replace(parked[0], id=999)]) == 2
    assert queue.target("dr").parked.events() == []


def test_a_retry_that_failed_is_recorded(queue, tmp_path):
    queue.target("dr").advance(2, [park(1), park(2)])
    first, second = queue.target("dr").parked.events()
    queue.target("dr").parked.update([replace(first, reason="still no", kind="bug", attempts=2, last_at_ms=99)])
    expected = [replace(first, reason="still no", kind="bug", attempts=2, last_at_ms=99), second]
    with reopened(queue, tmp_path) as again:
        assert again.target("dr").parked.events() == expected


def test_parking_the_same_event_again_keeps_one(queue):
    queue.target("dr").advance(2, [park(2)])
    queue.target("dr").advance(2, [park(2, reason="again", attempts=2)])
    (event,) = queue.target("dr").parked.events()
    assert (event.reason, event.attempts, event.first_at_ms) == ("again", 2, 5)


def test_a_forgotten_target_leaves_nothing(queue, tmp_path):
    queue.target("dr").advance(2, [park(2)])
    queue.target("lake").advance(3, [park(3, target="lake")])
    queue.target("dr").forget()
    with reopened(queue, tmp_path) as again:
        assert again.positions() == {"lake": 3}
        assert again.target("dr").register() == 3
        assert (again.target("dr").parked.events(), positions(again.target("lake").parked.events())) == ([], [3])


def test_a_parked_event_outlives_trimming(queue):
    queue.target("dr").advance(20, [park(2)])
    queue.target("lake").advance(20)
    assert queue.trim() == 20
    assert queue.target("dr").parked.events()[0].data == b"2"


def test_unreadable_bytes_are_kept(queue, tmp_path):
    queue.intake.keep_unreadable(b"\x00garbage", "not thrift")
    with reopened(queue, tmp_path) as again:
        (kept,) = again.intake.unreadable()
    assert (kept.data, kept.size, kept.reason) == (b"\x00garbage", 8, "not thrift")
    assert kept.at_ms > 1_600_000_000_000


def test_garbage_cannot_fill_the_disk(queue, monkeypatch):
    monkeypatch.setattr(losses, "KEEP_UNREADABLE", 10)
    monkeypatch.setattr(losses, "KEEP_UNREADABLE_BYTES", 1000)
    for number in range(30):
        queue.intake.keep_unreadable(b"%02d" % number, "not thrift")
    assert [kept.data for kept in queue.intake.unreadable()] == [b"%02d" % n for n in range(29, 19, -1)]
    queue.intake.keep_unreadable(bytes(990), "large")
    assert [kept.size for kept in queue.intake.unreadable()] == [990, 2, 2, 2, 2, 2]
    queue.intake.keep_unreadable(bytes(5000), "huge")
    assert [(kept.size, len(kept.data)) for kept in queue.intake.unreadable()] == [(5000, 1000)]
