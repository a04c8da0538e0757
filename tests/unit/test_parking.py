"""Parking: the rows of what a target refused, what they block, and trying them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import pytest

from pysync.queue import EventQueue, Queued
from pysync.replay.parking import parks_of, related
from pysync.replay.pending import Pending
from pysync.replay.window.blocks import Blocks, Refusal
from pysync.replay.window.draft import Draft


@pytest.fixture
def queue(tmp_path):
    with EventQueue(tmp_path, min_free_bytes=0) as opened:
        opened.target("dr").register()
        for number in range(1, 9):
            opened.intake.append("instance", number, "onprem", b"event %d" % number)
        yield opened


def refusal_of(position: int, *keys: str, kind: str = "rejected") -> Refusal:
    return Refusal.of(Queued(position, b"event %d" % position, 0), frozenset(keys), kind, "because")


def park(queue: EventQueue, *refused: Refusal) -> None:
    queue.target("dr").advance(max(it.event.position for it in refused), parks_of("dr", refused))


def rows(queue: EventQueue) -> list[tuple[int, str, str, int]]:
    return [(row.position, row.table, row.kind, row.attempts) for row in queue.target("dr").parked.events()]


def retry(
    queue: EventQueue, again: Mapping[int, Refusal] | None = None, trying: Set[str] | None = None
) -> list[list[int]]:
    """Try parked events again, of which those `again` are refused before any try; returns the positions by batch."""

    def draft(events: Sequence[Queued], _: Blocks) -> Draft:
        refused = [again[it.position] for it in events if again and it.position in again]
        return Draft(events, (), {}, refused, 0, {})

    retrying = Pending(queue.target("dr")).begin_retry(trying, draft, 1, lambda _: None)
    tried = []
    while (batch := retrying.next()) is not None:
        retrying.begin(batch)
        tried.append([event.position for event in batch.draft.events])
    return tried


def test_an_event_is_parked_once_under_each_key_it_has_and_under_none_if_it_has_none(queue):
    park(queue, refusal_of(1, "db.u", "db.t"), refusal_of(2), refusal_of(3, "db.t", kind="waits"))
    assert rows(queue) == [
        (1, "db.t", "rejected", 1),
        (1, "db.u", "rejected", 1),
        (2, "", "rejected", 1),
        (3, "db.t", "waits", 1),
    ]
    assert [row.data for row in queue.target("dr").parked.events()] == [b"event 1", b"event 1", b"event 2", b"event 3"]


def test_what_is_parked_blocks_after_a_restart_too(queue):
    park(queue, refusal_of(1, "db.t"))
    anew = Pending(queue.target("dr"))
    assert anew.blocks_now().keys == {"db.t"}
    assert anew.blocks_stored(trying=None).keys == set()
    assert anew.blocks_stored(trying={"db.u"}).keys == {"db.t"}, "only those of these keys are tried"


def test_what_is_refused_again_stays_with_one_attempt_more_and_the_rest_is_forgotten(queue):
    park(queue, *(refusal_of(at, key) for at, key in ((1, "db.t"), (2, "db.u"), (3, "db.t"))))
    retry(queue, {1: refusal_of(1, "db.t"), 3: refusal_of(3, "db.t", kind="waits")})
    assert rows(queue) == [(1, "db.t", "rejected", 2), (3, "db.t", "rejected", 1)]


def test_what_is_blocked_by_an_earlier_batch_is_left_out_of_later_ones(queue, monkeypatch):
    monkeypatch.setattr("pysync.replay.retries._WINDOW_EVENTS", 1)
    park(queue, *(refusal_of(at, f"db.{at % 2}") for at in (1, 2, 3)))
    assert retry(queue, {1: refusal_of(1, "db.1")}) == [[1], [2]]


def test_what_shares_a_table_or_its_database_s_drop_is_tried_together():
    groups = [{"a.t"}, {"a.t", "b.u"}, {"b.u"}, {"b.v"}, {"c.*"}, {"c.t"}, {"d.t"}]
    assert related({"a.t"}, groups) == {"a.t", "b.u"}
    assert related({"c.*"}, groups) == {"c.*", "c.t"}
    assert related({"d.t"}, groups) == {"d.t"}
