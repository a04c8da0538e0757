"""Lanes: tables go in parallel, each in order, and what fails takes along only what must wait behind it."""

from __future__ import annotations

import random
import threading

import pytest

from pysync.replay.lanes import Lane, Lanes, Stopped
from pysync.replay.plan import Work
from pysync.targets.base import Rejected, Unavailable
from tests.support import wait_until
from tests.support.targets import FakeTarget


def work(position: int, *keys: str) -> Work:
    return Work(frozenset(keys), (), (position,))


class Site:
    """Where works are done: notes which, fails those that it is told to, and knows how many went at once."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.fails: dict[int, Exception] = {}
        self.meet: threading.Barrier | None = None
        self._lock = threading.Lock()

    def apply(self, _: Lane, item: Work) -> None:
        if self.meet is not None:
            self.meet.wait(60)
        (position,) = item.positions
        if position in self.fails:
            raise self.fails[position]
        with self._lock:
            self.done.append(position)


def run(site: Site, *works: Work, count: int = 4) -> list[tuple[int, Exception | None]]:
    with Lanes(count, FakeTarget, site.apply) as lanes:
        return [(failed.work.positions[0], failed.error) for failed in lanes.run(works)]


def test_works_of_one_key_keep_their_order():
    site = Site()
    assert run(site, *(work(position, "db.t") for position in range(200))) == []
    assert site.done == list(range(200))


def test_works_of_different_tables_go_at_once():
    """Each waits for the other: one after the other they would never meet."""
    site = Site()
    site.meet = threading.Barrier(2)
    assert run(site, work(1, "db.t"), work(2, "db.u")) == []


def test_two_works_go_no_more_at_once_than_there_are_lanes():
    site = Site()
    assert run(site, *(work(position, f"db.t{position}") for position in range(50)), count=1) == []
    assert site.done == list(range(50))


def test_a_database_comes_before_its_tables_and_its_drop_after_them():
    site = Site()
    assert (
        run(site, work(1, "db"), work(2, "db.t"), work(3, "db.u"), work(4, "db.*"), work(5, "db"), work(6, "db.t"))
        == []
    )
    assert (site.done[0], sorted(site.done[1:3]), site.done[3:]) == (1, [2, 3], [4, 5, 6])


def test_a_failure_takes_along_what_must_wait_behind_it_and_nothing_else():
    site, error = Site(), Rejected("no")
    site.fails = {1: error}
    works = [work(1, "db.t"), work(2, "db.u"), work(3, "db.t", "db.v"), work(4, "db.v"), work(5, "db.u"), work(6, "db")]
    assert run(site, *works) == [(1, error), (3, None), (4, None)]
    assert sorted(site.done) == [2, 5, 6]


def test_a_failure_of_a_database_holds_back_itself_but_not_its_tables():
    site, error = Site(), Rejected("no")
    site.fails = {1: error}
    assert run(site, work(1, "db"), work(2, "db.t"), work(3, "db")) == [(1, error), (3, None)]
    assert site.done == [2]


def test_a_drop_of_a_database_waits_for_its_tables_past_a_function_that_need_not():
    """Dependencies are told from one to the next, being held back is not: the function between is done."""
    site, error = Site(), Rejected("no")
    site.fails = {1: error}
    assert run(site, work(1, "db.t"), work(2, "db"), work(3, "db.*")) == [(1, error), (3, None)]
    assert site.done == [2]


def test_what_a_later_work_drops_with_its_database_waits_if_that_could_not_be_made():
    """It would find no database, and take it for the drop that was applied before a crash."""
    site, error = Site(), Rejected("no")
    site.fails = {1: error}
    doomed = Work(frozenset({"db.t"}), (), (2,), fleeting=frozenset({"db"}))
    assert run(site, work(1, "db"), doomed, work(3, "db.*"), work(4, "other.t")) == [(1, error), (2, None), (3, None)]
    assert site.done == [4]


def test_a_failed_drop_of_a_database_holds_back_all_that_comes_after_in_it():
    site, error = Site(), Rejected("no")
    site.fails = {1: error}
    assert run(site, work(1, "db.*"), work(2, "db.t"), work(3, "db"), work(4, "other.t")) == [
        (1, error),
        (2, None),
        (3, None),
    ]
    assert site.done == [4]


def test_what_waits_behind_a_stopped_work_is_stopped_too_and_not_refused():
    """Else it would be parked behind an event that is not parked itself."""
    site, stopped = Site(), Stopped()
    site.fails = {1: Rejected("no"), 2: stopped}
    works = [work(1, "db.t"), work(2, "db.u"), work(3, "db.t", "db.u"), work(4, "db.*"), work(5, "db.t")]
    failed = run(site, *works)
    assert [position for position, _ in failed] == [1, 2, 3, 4, 5]
    assert [type(error) for _, error in failed] == [Rejected, Stopped, Stopped, Stopped, Stopped]


def test_every_error_is_handed_back_and_the_lanes_go_on():
    site = Site()
    site.fails = {position: RuntimeError(str(position)) for position in range(20)}
    works = [work(position, f"db.t{position}") for position in range(40)]
    assert run(site, *works, count=2) == list(site.fails.items())
    assert sorted(site.done) == list(range(20, 40))


def test_no_works_are_no_failures():
    assert run(Site()) == []


def test_lanes_can_be_run_again_and_again():
    site = Site()
    with Lanes(3, FakeTarget, site.apply) as lanes:
        for position in range(100):
            assert lanes.run([work(position, "db.t"), work(position + 1000, "db.u")]) == []
    assert len(site.done) == 200


@pytest.mark.parametrize("seed", range(5))
def test_many_works_all_end_with_their_order_kept(seed):
    order = random.Random(seed)
    names = [f"d{database}{rest}" for database in range(3) for rest in ("", ".*", ".a", ".b", ".c", ".d")]
    works = [work(position, *order.sample(names, order.choice([1, 1, 1, 2]))) for position in range(600)]
    site = Site()
    site.fails = {position: Rejected("no") for position in order.sample(range(600), 3)}
    failed = run(site, *works, count=8)
    assert sorted([*site.done, *(position for position, _ in failed)]) == list(range(600))
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

    def apply(lane, item):
        assert lane.target in opened
        site.apply(lane, item)

    with Lanes(3, open_target, apply) as lanes:
        lanes.run([work(position, f"db.t{position}") for position in range(60)])
    wait_until(lambda: all(target.closed == 1 for target in opened), what="closing")
    assert 1 <= len(opened) <= 3
