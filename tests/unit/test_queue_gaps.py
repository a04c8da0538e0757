"""The gaps in the queue: durable, each once, closed when every target is past them."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from pysync.queue import EventQueue, losses
from tests.support.queues import Disk, Reopener, fill, park


@pytest.fixture
def queue(reopen: Reopener) -> EventQueue:
    return reopen()


def keys(queue: EventQueue) -> list[str]:
    return [gap.key for gap in queue.gaps.unclosed()]


def test_a_gap_is_there_after_a_restart(reopen: Reopener, disk: Disk) -> None:
    disk.now = 1234.5
    assert reopen().gaps.open("missing:a:1-2", "events 1 to 2 never came")
    (gap,) = reopen().gaps.unclosed()
    assert (gap.key, gap.reason) == ("missing:a:1-2", "events 1 to 2 never came")
    assert (gap.found_at_ms, gap.upto, gap.closed_at_ms) == (1_234_500, None, None)


def test_what_heals_it_is_there_after_a_restart(reopen: Reopener) -> None:
    queue = reopen()
    fill(queue, 1, 5)
    queue.gaps.open("a", "why")
    queue.gaps.open("b", "why")
    queue.gaps.healed_by(["a"], 5)
    assert [(gap.key, gap.upto) for gap in reopen().gaps.unclosed()] == [("a", 5), ("b", None)]


def test_the_same_gap_is_recorded_once(queue: EventQueue) -> None:
    assert queue.gaps.open("a", "first")
    assert not queue.gaps.open("a", "second")
    assert [gap.reason for gap in queue.gaps.latest()] == ["first"]


def test_open_ones_come_oldest_first_and_all_of_them_newest_first(queue: EventQueue) -> None:
    for key in "abc":
        queue.gaps.open(key, "why")
    assert keys(queue) == ["a", "b", "c"]
    assert [gap.key for gap in queue.gaps.latest()] == ["c", "b", "a"]
    assert [gap.key for gap in queue.gaps.latest(limit=1)] == ["c"]


def test_a_gap_closes_when_the_slowest_target_is_past_what_heals_it(queue: EventQueue, disk: Disk) -> None:
    fill(queue, 1, 9)
    for target in ("dr", "lake"):
        queue.target(target).register()
    queue.gaps.open("a", "why")
    queue.gaps.healed_by(["a"], 7)
    queue.target("dr").advance(9)
    queue.target("lake").advance(6)
    assert queue.gaps.close_passed() == 0
    queue.target("lake").advance(7)
    disk.now = 2000.0
    with capture_logs() as lines:
        assert queue.gaps.close_passed() == 1
    assert [(it["event"], it["reason"], it["seconds"]) for it in lines] == [("gap_closed", "why", 1000.0)]
    assert keys(queue) == []
    assert queue.gaps.latest()[0].closed_at_ms == 2_000_000


def test_without_a_target_none_is_closed(queue: EventQueue) -> None:
    fill(queue, 1, 3)
    queue.gaps.open("a", "why")
    queue.gaps.healed_by(["a"], 3)
    assert queue.gaps.close_passed() == 0


def test_a_target_that_is_forgotten_holds_no_gap_open(queue: EventQueue) -> None:
    fill(queue, 1, 3)
    for target in ("dr", "former"):
        queue.target(target).register()
    queue.gaps.open("a", "why")
    queue.gaps.healed_by(["a"], 3)
    queue.target("dr").advance(3)
    assert queue.gaps.close_passed() == 0
    queue.target("former").forget()
    assert queue.gaps.close_passed() == 1


def test_a_closed_gap_is_not_found_again(reopen: Reopener) -> None:
    queue = reopen()
    fill(queue, 1, 3)
    queue.target("dr").register()
    queue.gaps.open("a", "why")
    queue.gaps.healed_by(["a"], 3)
    queue.target("dr").advance(3)
    assert queue.gaps.close_passed() == 1
    assert not queue.gaps.open("a", "why")
    assert not reopen().gaps.open("a", "why")


def test_what_is_parked_may_undo_a_refresh_so_the_gap_is_looked_at_again_after_it(queue: EventQueue) -> None:
    fill(queue, 1, 4)
    queue.target("dr").register()
    queue.gaps.open("a", "why")
    queue.gaps.healed_by(["a"], 3)
    queue.target("dr").advance(3, [park(2)])
    assert (queue.gaps.close_passed(), [gap.upto for gap in queue.gaps.unclosed()]) == (0, [3])
    queue.target("dr").parked.remove_at([2])
    assert (queue.gaps.close_passed(), [gap.upto for gap in queue.gaps.unclosed()]) == (0, [None]), (
        "it is to be healed anew"
    )
    queue.gaps.healed_by(["a"], 4)
    queue.target("dr").advance(4)
    assert (queue.gaps.close_passed(), queue.gaps.unclosed()) == (1, [])


def test_an_event_that_a_refresh_supersedes_undoes_nothing_so_the_gap_closes(queue: EventQueue) -> None:
    """Before: two gaps and one table that is refused had everything compared once a second, for ever."""
    fill(queue, 1, 9)
    dr = queue.target("dr")
    dr.register()
    queue.gaps.open("a", "why", 3)
    dr.advance(3, [park(2)])
    assert queue.gaps.close_passed() == 0
    queue.gaps.open("b", "why", 8)
    dr.advance(dr.position(), superseded=[2])
    dr.advance(8, [park(6)])
    assert (queue.gaps.close_passed(), [gap.key for gap in queue.gaps.unclosed()]) == (1, ["b"])
    dr.advance(dr.position(), superseded=[6])
    assert (queue.gaps.close_passed(), queue.gaps.unclosed()) == (1, [])


def test_an_event_applied_late_counts_though_another_is_superseded(queue: EventQueue) -> None:
    fill(queue, 1, 9)
    dr = queue.target("dr")
    dr.register()
    queue.gaps.open("a", "why", 4)
    queue.gaps.open("before", "why", 1)
    dr.advance(4, [park(2), park(3)])
    dr.parked.remove([event for event in dr.parked.events() if event.position == 2])
    dr.advance(dr.position(), superseded=[3])
    assert queue.gaps.close_passed() == 1
    assert [(gap.key, gap.upto) for gap in queue.gaps.unclosed()] == [("a", None)], "it is to be healed anew"


def test_what_is_parked_of_later_events_holds_no_gap_open(queue: EventQueue) -> None:
    fill(queue, 1, 4)
    queue.target("dr").register()
    queue.gaps.open("a", "why")
    queue.gaps.healed_by(["a"], 3)
    queue.target("dr").advance(4, [park(4)])
    assert queue.gaps.close_passed() == 1


def test_closed_gaps_are_forgotten_at_last_and_open_ones_never(
    queue: EventQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "KEEP_CLOSED", 3)
    fill(queue, 1, 1)
    queue.target("dr").register()
    queue.target("dr").advance(1)
    queue.gaps.open("open", "why")
    for number in range(10):
        queue.gaps.open(f"g{number}", "why")
        queue.gaps.healed_by([f"g{number}"], 1)
        queue.gaps.close_passed()
    assert keys(queue) == ["open"]
    assert [gap.key for gap in queue.gaps.latest()] == ["g9", "g8", "g7", "open"]


def test_notes_are_durable_and_the_last_one_counts(reopen: Reopener) -> None:
    queue = reopen()
    assert queue.notes.get("goodbye:jvm") is None
    queue.notes.put("goodbye:jvm", "3")
    queue.notes.put("goodbye:jvm", "5")
    assert reopen().notes.get("goodbye:jvm") == "5"
