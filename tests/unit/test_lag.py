"""Lag: how old the oldest change is that a target does not have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pysync.model.wire import encode_event
from pysync.queue import EventQueue, Park
from pysync.sidecar.lag import Lags
from tests.support.drains import create
from tests.support.queues import Disk, Reopener

NOW = 1_800_000_000.0


def committed_at(queue: EventQueue, *seconds_ago: int) -> None:
    """Append an event for each of these ages."""
    for number, ago in enumerate(seconds_ago, queue.last + 1):
        event = replace(create(f"db.t{number}")(number), time_ms=round((NOW - ago) * 1000))
        queue.intake.append("jvm", number, "onprem", encode_event(event))


def parks(position: int) -> Park:
    return Park("dr", position, f"db.t{position}", b"", "no such table", "rejected", 3, 1, 2)


@pytest.fixture
def queue(reopen: Reopener, disk: Disk) -> EventQueue:
    disk.now = NOW
    made = reopen()
    made.target("dr").register()
    return made


def test_it_is_that_of_the_next_event_or_of_the_first_parked_one(queue: EventQueue) -> None:
    lags = Lags(queue)
    assert lags.seconds("dr", NOW) == 0
    committed_at(queue, 90, 60, 30)
    assert lags.seconds("dr", NOW) == 90
    queue.target("dr").advance(2, [parks(2)])
    assert lags.seconds("dr", NOW) == 60
    queue.target("dr").advance(3, [parks(3)])
    assert lags.seconds("dr", NOW) == 60, "nothing is queued, and the target lacks two changes"
    queue.target("dr").parked.remove_at([2])
    assert lags.seconds("dr", NOW) == 30
    queue.target("dr").parked.remove_at([3])
    assert lags.seconds("dr", NOW) == 0
