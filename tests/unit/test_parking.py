"""Parking: the rows of what a target refused, what they block, and trying them again."""

from __future__ import annotations

import pytest

from pysync.queue import EventQueue, Queued
from pysync.replay.parking import Parking, related
from pysync.replay.window.blocks import Refusal


@pytest.fixture
def queue(tmp_path):
    with EventQueue(tmp_path, min_free_bytes=0) as opened:
        opened.target("dr").register()
        for number in range(1, 9):
            opened.intake.append("instance", number, "onprem", b"event %d" % number)
        yield opened


def refused(parking: Parking, position: int, *keys: str, kind: str = "rejected"):
    refusal = Refusal.of(Queued(position, b"event %d" % position, 0), frozenset(keys), kind, "because")
    parking.blocks.refuse(position, refusal.keys)
    return refusal


def rows(queue: EventQueue) -> list[tuple[int, str, str, int]]:
    return [(row.position, row.table, row.kind, row.attempts) for row in queue.target("dr").parked.events()]


def test_an_event_is_parked_once_under_each_key_it_has_and_under_none_if_it_has_none(queue):
    parking = Parking(queue.target("dr").parked)
    refusals = [refused(parking, 1, "db.u", "db.t"), refused(parking, 2), refused(parking, 3, "db.t", kind="waits")]
    queue.target("dr").advance(3, parking.park(refusals))
    assert rows(queue) == [
        (1, "db.t", "rejected", 1),
        (1, "db.u", "rejected", 1),
        (2, "", "rejected", 1),
        (3, "db.t", "waits", 1),
    ]
    assert [row.data for row in queue.target("dr").parked.events()] == [b"event 1", b"event 1", b"event 2", b"event 3"]


def test_what_is_parked_blocks_after_a_restart_too(queue):
    parking = Parking(queue.target("dr").parked)
    queue.target("dr").advance(1, parking.park([refused(parking, 1, "db.t")]))
    anew = Parking(queue.target("dr").parked)
    anew.recall()
    assert anew.blocks.keys == {"db.t"}
    anew.begin()
    assert anew.blocks.keys == set()
    anew.begin({"db.u"})
    assert anew.blocks.keys == {"db.t"}, "only those of these keys are tried"


def test_what_is_refused_again_stays_with_one_attempt_more_and_the_rest_is_forgotten(queue):
    parking = Parking(queue.target("dr").parked)
    refusals = [refused(parking, at, key) for at, key in ((1, "db.t"), (2, "db.u"), (3, "db.t"))]
    queue.target("dr").advance(3, parking.park(refusals))
    parking.begin()
    (batch,) = parking.windows()
    parking.retried(batch, [refused(parking, 1, "db.t"), refused(parking, 3, "db.t", kind="waits")])
    assert rows(queue) == [(1, "db.t", "rejected", 2), (3, "db.t", "rejected", 1)]


def test_what_is_blocked_by_an_earlier_batch_is_left_out_of_later_ones(queue, monkeypatch):
    monkeypatch.setattr("pysync.replay.parking._WINDOW_EVENTS", 1)
    parking = Parking(queue.target("dr").parked)
    queue.target("dr").advance(3, parking.park([refused(parking, at, f"db.{at % 2}") for at in (1, 2, 3)]))
    parking.begin()
    tried = []
    for batch in parking.windows():
        tried += [row.position for row in batch]
        if batch[0].position == 1:
            refused(parking, 1, "db.1")
    assert tried == [1, 2]


def test_what_shares_a_table_or_its_database_s_drop_is_tried_together():
    groups = [{"a.t"}, {"a.t", "b.u"}, {"b.u"}, {"b.v"}, {"c.*"}, {"c.t"}, {"d.t"}]
    assert related({"a.t"}, groups) == {"a.t", "b.u"}
    assert related({"c.*"}, groups) == {"c.*", "c.t"}
    assert related({"d.t"}, groups) == {"d.t"}
