"""Batches: a window under way holds no more than what is left of it needs."""

from __future__ import annotations

from typing import Any

import pytest

from pysync.queue import Queued
from pysync.replay.batch import Batch
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import Draft
from pysync.replay.window.plan import Work

WORKS, BYTES = 64, 1000


@pytest.fixture
def batch() -> Batch:
    events = [Queued(position, b"e" * BYTES, position * 10) for position in range(1, WORKS + 1)]
    works = [Work(frozenset({f"db.t{it.position}"}), (), (it.position,)) for it in events]
    changes: dict[int, Any] = {it.position: (it, None) for it in events}
    return Batch(Draft(events, works, changes, [], 0, {}), Blocks(), 1)


def test_while_the_last_works_fail_only_their_events_are_in_memory(batch: Batch) -> None:
    """Before: all of the window, and of each of the sixteen that may be under way."""
    failing = set(list(batch.left)[::20])
    for job in set(batch.left) - failing:
        batch.end(job)
    positions = {position for job in failing for position in job.work.positions}
    held = {it.position for it in batch.draft.events if it.data}
    assert len(held) < 2 * len(failing)
    assert held >= positions
    assert batch.size == len(held) * BYTES
    assert {*batch.draft.changes} == held
    assert {position for it in batch.draft.works for position in it.positions} == held


def test_what_is_freed_is_known_by_its_time_and_place(batch: Batch) -> None:
    for job in list(batch.left)[1:]:
        batch.end(job)
    assert (batch.last, batch.at_ms(WORKS), batch.done_upto()) == (WORKS, WORKS * 10, 0)
    batch.end(next(iter(batch.left)))
    assert (batch.done_upto(), batch.size, batch.draft.works) == (WORKS, 0, [])
