"""Lanes and flight: tables go in parallel, each in order, and what fails takes along only what must wait behind it."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from pysync.queue import Queued
from pysync.replay.batch import Batch, Job
from pysync.replay.lanes import Again, Lane, Stopped, Threads
from pysync.replay.scheduler import Scheduler
from pysync.replay.window.blocks import Blocks
from pysync.replay.window.draft import Draft
from pysync.replay.window.order import holds_back
from pysync.replay.window.plan import Work
from pysync.targets.base import Rejected, Unavailable
from tests.support import wait_until
from tests.support.targets import FakeTarget


def work(position: int, *keys: str) -> Work:
    return Work(frozenset(keys), (), (position,))


def batch(*works: Work) -> Batch:
    events = [Queued(position, b"", 0) for item in works for position in item.positions]
    return Batch(Draft(events, works, {}, [], 0, {}), Blocks(), 1)


class Site:
    """Where works are done: notes which, fails those that it is told to, and knows how many went at once."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.fails: dict[int, Exception] = {}
        self.once: dict[int, Exception] = {}
        self.meet: threading.Barrier | None = None
        self.hangs: dict[int, threading.Event] = {}
        self._lock = threading.Lock()

    def apply(self, _: Lane, job: Job) -> None:
        if self.meet is not None:
            self.meet.wait(60)
        (position,) = job.work.positions
        if position in self.hangs:
            assert self.hangs[position].wait(60)
        if position in self.once:
            raise self.once.pop(position)
        if position in self.fails:
            raise self.fails[position]
        with self._lock:
            self.done.append(position)


class Air:
    """A flight on threads, and what was refused in it."""

    def __init__(self, site: Site, count: int = 4) -> None:
        self.refused: dict[int, Any] = {}
        self.ended = threading.Event()
        self._keys: set[str] = set()
        self.lanes = Threads(count, FakeTarget, site.apply, self.ended.set)
        self.flight = Scheduler(time.monotonic, self._holds, self._refuse)

    def __enter__(self) -> Air:
        self.lanes.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.lanes.__exit__()

    def _holds(self, job: Job) -> bool:
        return holds_back(self._keys, job.work.keys)

    def _refuse(self, job: Job, error: Exception | None) -> None:
        self._keys |= job.work.keys
        self.refused[job.work.positions[0]] = error

    def run(self, *works: Work) -> None:
        """Take these works along, and wait until nothing is under way."""
        self.flight.add(batch(*works))
        wait_until(self.lands, what="the end of all works")

    def lands(self) -> bool:
        self.flight.note(self.lanes)
        self.flight.release()
        self.flight.begin(self.lanes)
        return not self.flight.busy


def run(site: Site, *works: Work, count: int = 4) -> list[tuple[int, Exception | None]]:
    with Air(site, count) as air:
        air.run(*works)
        return sorted(air.refused.items())


def test_works_of_different_tables_go_at_once():
    """Each waits for the other: one after the other they would never meet."""
    site = Site()
    site.meet = threading.Barrier(2)
    assert run(site, work(1, "db.t"), work(2, "db.u")) == []


def test_two_works_go_no_more_at_once_than_there_are_lanes():
    site = Site()
    assert run(site, *(work(position, f"db.t{position}") for position in range(50)), count=1) == []
    assert site.done == list(range(50))


def test_a_failure_takes_along_what_must_wait_behind_it_and_nothing_else():
    site, error = Site(), Rejected("no")
    site.fails = {1: error}
    works = [work(1, "db.t"), work(2, "db.u"), work(3, "db.t", "db.v"), work(4, "db.v"), work(5, "db.u"), work(6, "db")]
    assert run(site, *works) == [(1, error), (3, None), (4, None)]
    assert sorted(site.done) == [2, 5, 6]


def test_a_drop_of_a_database_waits_for_its_tables_past_a_function_that_need_not():
    """Dependencies are told from one to the next, being held back is not: the function between is done."""
    site, error = Site(), Rejected("no")
    site.fails = {1: error}
    assert run(site, work(1, "db.t"), work(2, "db"), work(3, "db.*")) == [(1, error), (3, None)]
    assert site.done == [2]


def test_what_comes_after_a_stopped_work_is_left_undone_and_not_refused():
    """Else it would be parked behind an event that is not parked itself."""
    site, error = Site(), Rejected("no")
    site.fails = {1: error, 2: Stopped()}
    taken = batch(work(1, "db.t"), work(2, "db.u"), work(3, "db.t", "db.u"), work(4, "db.*"), work(5, "db.t"))
    with Air(site) as air:
        air.flight.add(taken)
        wait_until(air.lands, what="the end of all works")
        assert (air.refused, air.flight.broken, taken.done_upto()) == ({1: error}, True, 1)
        assert not air.flight.wants(air.lanes), "there is nothing more to begin before all that has come again"


def test_every_error_is_handed_back_and_the_lanes_go_on():
    site = Site()
    site.fails = {position: RuntimeError(str(position)) for position in range(20)}
    works = [work(position, f"db.t{position}") for position in range(40)]
    assert run(site, *works, count=2) == list(site.fails.items())
    assert sorted(site.done) == list(range(20, 40))


def test_while_a_work_hangs_later_windows_go_on_but_for_what_must_come_after_it():
    site, let_go = Site(), threading.Event()
    site.hangs = {1: let_go}
    with Air(site, count=2) as air:
        for position in range(1, 40, 2):
            air.flight.add(batch(work(position, "db.big"), work(position + 1, "db.small")))
        small = list(range(2, 41, 2))
        wait_until(lambda: not air.lands() and site.done == small, what="the end of the small table's")
        let_go.set()
        wait_until(air.lands, what="the end of all works")
    assert site.done == [*range(2, 41, 2), *range(1, 40, 2)]


def test_a_work_that_is_to_be_tried_again_keeps_its_place_and_no_lane():
    site = Site()
    site.once = {1: Again(0.2)}
    with Air(site, count=1) as air:
        air.run(work(1, "db.t"), work(2, "db.t"), work(3, "db.u"), work(4, "db.v"))
    assert site.done == [3, 4, 1, 2]


class ManualLane:
    """One lane, whose works end when the test says so."""

    count = 1

    def __init__(self) -> None:
        self.begun: list[Job] = []
        self.ends: list[tuple[Job, Exception | None]] = []

    def begin(self, job: Job) -> None:
        self.begun.append(job)

    def ended(self) -> list[tuple[Job, Exception | None]]:
        ended, self.ends = self.ends, []
        return ended


def test_a_due_work_for_which_no_lane_has_room_keeps_nobody_awake():
    now, lanes = [0.0], ManualLane()
    scheduler = Scheduler(lambda: now[0], lambda _: False, lambda *_: None)
    scheduler.add(batch(work(1, "db.a"), work(2, "db.b"), work(3, "db.c")))
    scheduler.begin(lanes)
    lanes.ends = [(job, Again(1.0)) for job in lanes.begun]
    scheduler.note(lanes)
    scheduler.begin(lanes)
    assert scheduler.seconds() == 1.0
    now[0] = 5.0
    scheduler.begin(lanes)
    assert (len(lanes.begun), scheduler.resting, scheduler.seconds()) == (4, 1, float("inf"))


def test_where_many_wait_to_be_tried_again_no_others_are_begun():
    """It is the target that is away: to ask it for each of a thousand tables would help nobody."""
    site = Site()
    site.fails = {position: Again(3600.0) for position in range(500)}
    with Air(site, count=2) as air:
        air.flight.add(batch(*(work(position, f"db.t{position}") for position in range(500))))
        wait_until(lambda: not air.lands() and air.flight.resting >= 32, what="many that rest")
        time.sleep(0.1)
        air.lands()
        assert 32 <= air.flight.resting < 50
        assert not air.flight.wants(air.lanes)


def test_on_the_ground_nothing_is_begun_and_what_is_in_flight_is_waited_for():
    site, let_go = Site(), threading.Event()
    site.hangs = {1: let_go}
    taken = batch(work(1, "db.t"), work(2, "db.t"), work(3, "db.u"))
    with Air(site, count=1) as air:
        air.flight.add(taken)
        air.lands()
        air.flight.stop(air.lanes, let_go.set)
        assert not air.flight.busy
    assert (site.done[0], taken.done_upto()) == (1, 1)
    assert 2 not in site.done


@pytest.mark.parametrize("seed", range(5))
def test_many_works_of_many_windows_all_end_with_their_order_kept(seed):
    order = random.Random(seed)
    names = [f"d{database}{rest}" for database in range(3) for rest in ("", ".*", ".a", ".b", ".c", ".d")]
    works = [work(position, *order.sample(names, order.choice([1, 1, 1, 2]))) for position in range(600)]
    site = Site()
    site.fails = {position: Rejected("no") for position in order.sample(range(600), 3)}
    site.once = {position: Again(order.random() / 100) for position in order.sample(range(600), 50)}
    left = list(works)
    with Air(site, count=8) as air:
        while left:
            size = order.randint(1, 20)
            air.flight.add(batch(*left[:size]))
            left = left[size:]
            air.lands()
        wait_until(air.lands, what="the end of all works")
    assert sorted([*site.done, *air.refused]) == list(range(600))
    for name in names:
        of_name = [position for position in site.done if name in works[position].keys]
        assert of_name == sorted(of_name), name


@pytest.mark.parametrize("error", [OSError("no route"), RuntimeError("a bug"), Unavailable("the target is away")])
def test_a_target_that_cannot_be_opened_is_unavailable_and_opened_when_it_can_be(error):
    failures, target = [error], FakeTarget()

    def open_target():
        if failures:
            raise failures.pop()
        return target

    lane = Lane(open_target)
    with pytest.raises(Unavailable, match=str(error)):
        lane.target  # noqa: B018
    assert lane.target is target


def test_each_lane_opens_its_target_once_and_closes_it_at_the_end():
    opened: list[FakeTarget] = []
    site = Site()

    def open_target():
        opened.append(FakeTarget())
        return opened[-1]

    def apply(lane, job):
        assert lane.target in opened
        site.apply(lane, job)

    air = Air(site)
    air.lanes = Threads(3, open_target, apply)
    with air:
        air.run(*(work(position, f"db.t{position}") for position in range(60)))
    wait_until(lambda: all(target.closed == 1 for target in opened), what="closing")
    assert 1 <= len(opened) <= 3
