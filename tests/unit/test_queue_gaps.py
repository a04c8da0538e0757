"""The gaps in the queue: durable, each once, closed when every target is past them."""

from __future__ import annotations

import pytest

from pysync.queue import EventQueue
from pysync.queue import gaps as gaps_module
from tests.support.queues import Disk, Reopener, fill, park


@pytest.fixture
def queue(reopen: Reopener) -> EventQueue:
    return reopen()


def keys(queue: EventQueue) -> list[str]:
    return [gap.key for gap in queue.open_gaps()]


def test_a_gap_is_there_after_a_restart(reopen: Reopener, disk: Disk) -> None:
    disk.now = 1234.5
    assert reopen().open_gap("missing:a:1-2", "events 1 to 2 never came")
    (gap,) = reopen().open_gaps()
    assert (gap.key, gap.reason) == ("missing:a:1-2", "events 1 to 2 never came")
    assert (gap.found_at_ms, gap.upto, gap.closed_at_ms) == (1_234_500, None, None)


def test_what_heals_it_is_there_after_a_restart(reopen: Reopener) -> None:
    queue = reopen()
    fill(queue, 1, 5)
    queue.open_gap("a", "why")
    queue.open_gap("b", "why")
    queue.healed_by(["a"], 5)
    assert [(gap.key, gap.upto) for gap in reopen().open_gaps()] == [("a", 5), ("b", None)]


def test_the_same_gap_is_recorded_once(queue: EventQueue) -> None:
    assert queue.open_gap("a", "first")
    assert not queue.open_gap("a", "second")
    assert [gap.reason for gap in queue.gaps()] == ["first"]


def test_open_ones_come_oldest_first_and_all_of_them_newest_first(queue: EventQueue) -> None:
    for key in "abc":
        queue.open_gap(key, "why")
    assert keys(queue) == ["a", "b", "c"]
    assert [gap.key for gap in queue.gaps()] == ["c", "b", "a"]
    assert [gap.key for gap in queue.gaps(limit=1)] == ["c"]


def test_a_gap_closes_when_the_slowest_target_is_past_what_heals_it(queue: EventQueue, disk: Disk) -> None:
    fill(queue, 1, 9)
    for target in ("dr", "lake"):
        queue.register(target)
    queue.open_gap("a", "why")
    queue.healed_by(["a"], 7)
    queue.advance("dr", 9)
    queue.advance("lake", 6)
    assert queue.close_gaps() == 0
    queue.advance("lake", 7)
    disk.now = 2000.0
    assert queue.close_gaps() == 1
    assert keys(queue) == []
    assert queue.gaps()[0].closed_at_ms == 2_000_000


def test_a_gap_that_nothing_heals_yet_stays_open(queue: EventQueue) -> None:
    fill(queue, 1, 3)
    queue.register("dr")
    queue.advance("dr", 3)
    queue.open_gap("a", "why")
    assert queue.close_gaps() == 0
    assert keys(queue) == ["a"]


def test_without_a_target_none_is_closed(queue: EventQueue) -> None:
    fill(queue, 1, 3)
    queue.open_gap("a", "why")
    queue.healed_by(["a"], 3)
    assert queue.close_gaps() == 0


def test_a_target_that_is_forgotten_holds_no_gap_open(queue: EventQueue) -> None:
    fill(queue, 1, 3)
    for target in ("dr", "former"):
        queue.register(target)
    queue.open_gap("a", "why")
    queue.healed_by(["a"], 3)
    queue.advance("dr", 3)
    assert queue.close_gaps() == 0
    queue.forget("former")
    assert queue.close_gaps() == 1


def test_a_closed_gap_is_not_found_again(reopen: Reopener) -> None:
    queue = reopen()
    fill(queue, 1, 3)
    queue.register("dr")
    queue.open_gap("a", "why")
    queue.healed_by(["a"], 3)
    queue.advance("dr", 3)
    assert queue.close_gaps() == 1
    assert not queue.open_gap("a", "why")
    assert not reopen().open_gap("a", "why")


def test_what_is_parked_may_undo_a_refresh_so_the_gap_is_looked_at_again_after_it(queue: EventQueue) -> None:
    fill(queue, 1, 4)
    queue.register("dr")
    queue.open_gap("a", "why")
    queue.healed_by(["a"], 3)
    queue.advance("dr", 3, [park(2)])
    assert (queue.close_gaps(), [gap.upto for gap in queue.open_gaps()]) == (0, [3])
    queue.unpark_positions("dr", [2])
    assert (queue.close_gaps(), [gap.upto for gap in queue.open_gaps()]) == (0, [None]), "it is to be healed anew"
    queue.healed_by(["a"], 4)
    queue.advance("dr", 4)
    assert (queue.close_gaps(), queue.open_gaps()) == (1, [])


def test_what_is_parked_of_later_events_holds_no_gap_open(queue: EventQueue) -> None:
    fill(queue, 1, 4)
    queue.register("dr")
    queue.open_gap("a", "why")
    queue.healed_by(["a"], 3)
    queue.advance("dr", 4, [park(4)])
    assert queue.close_gaps() == 1


def test_closed_gaps_are_forgotten_at_last_and_open_ones_never(
    queue: EventQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gaps_module, "KEEP_CLOSED", 3)
    fill(queue, 1, 1)
    queue.register("dr")
    queue.advance("dr", 1)
    queue.open_gap("open", "why")
    for number in range(10):
        queue.open_gap(f"g{number}", "why")
        queue.healed_by([f"g{number}"], 1)
        queue.close_gaps()
    assert keys(queue) == ["open"]
    assert [gap.key for gap in queue.gaps()] == ["g9", "g8", "g7", "open"]


def test_notes_are_durable_and_the_last_one_counts(reopen: Reopener) -> None:
    queue = reopen()
    assert queue.noted("goodbye:jvm") is None
    queue.note("goodbye:jvm", "3")
    queue.note("goodbye:jvm", "5")
    assert reopen().noted("goodbye:jvm") == "5"
