"""Pins and pending works: a pinned database shows exactly what it was at an event, and everything else goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pysync.queue import Queued
from pysync.replay.batch import Batch, Job
from pysync.replay.lanes import Ended
from pysync.replay.pending import Pending
from pysync.replay.scheduler import Scheduler
from pysync.replay.window.blocks import Blocks, Refusal
from pysync.replay.window.concerns import concerns
from pysync.replay.window.draft import Draft
from pysync.replay.window.order import database_of
from pysync.replay.window.pins import Pin, Pins
from pysync.replay.window.plan import Work

DATABASES = ("a", "b")
TABLES = tuple(f"{database}.{table}" for database in DATABASES for table in "xyz")
FOR_EVER = 1e9


def queued(*positions: int) -> list[Queued]:
    return [Queued(position, b"", 0) for position in positions]


def positions(events: Sequence[Queued]) -> list[int]:
    return [it.position for it in events]


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pins(clock: Clock) -> Pins:
    return Pins(lambda: None, clock)


# --- one by one


def test_a_window_ends_at_the_first_pin_in_it(pins: Pins) -> None:
    pins.begin({"a"}, 3, FOR_EVER)
    pins.begin({"b"}, 5, FOR_EVER)
    assert positions(pins.take(queued(1, 2, 3, 4, 5, 6))) == [1, 2, 3]
    assert positions(pins.take(queued(4, 5, 6))) == [4, 5]
    assert positions(pins.take(queued(6, 7))) == [6, 7]


def test_a_pin_is_behind_what_is_on_its_way_already(pins: Pins) -> None:
    pins.take(queued(1, 2, 3, 4))
    assert pins.begin({"a"}, 2, FOR_EVER).upto == 4


@pytest.mark.parametrize(
    ("keys", "position", "waits"),
    [
        ({"a.x"}, 4, True),
        ({"a.x"}, 3, False),
        ({"a"}, 4, True),
        ({"a.*"}, 4, True),
        ({"a.f()"}, 4, True),
        ({"b.x", "a.x"}, 4, True),
        ({"b.x"}, 4, False),
        (set(), 4, True),
    ],
)
def test_what_touches_a_pinned_database_behind_its_event_waits(
    pins: Pins, keys: set[str], position: int, waits: bool
) -> None:
    pins.begin({"a"}, 3, FOR_EVER)
    assert pins.covers(keys, [position]) is waits


def test_a_pin_ends_by_itself(pins: Pins, clock: Clock) -> None:
    pin = pins.begin({"a"}, 3, 10.0)
    assert (pins.lasts(pin), pins.databases()) == (True, ["a"])
    clock.now += 10
    assert not pins.covers({"a.x"}, [4])
    assert (pins.lasts(pin), pins.databases(), pins.end(pin)) == (False, [], False)


def test_a_pin_does_not_survive_that_events_come_again(pins: Pins) -> None:
    pin = pins.begin({"a"}, 3, FOR_EVER)
    pins.forget(1)
    assert not pins.lasts(pin)
    assert pins.begin({"a"}, 0, FOR_EVER).upto == 1


def test_a_refused_event_is_not_taken_for_applied_until_it_is_parked() -> None:
    pending, events = Pending(NoQueue()), queued(1, 2)
    works = [Work(frozenset({"a.x"}), (), (1,)), Work(frozenset({"a.y"}), (), (2,))]
    batch = Batch(Draft(events, works, {}, [], 0, {}), Blocks(), 1)
    pending.take(batch)
    refused, other = batch.left
    pending.refuse(refused, Refusal.of(events[0], frozenset({"a.x"}), "rejected", "no"))
    pending.end(refused)
    assert (pending.upto(concerns({"a.x"})), pending.upto(concerns({"a.y"}))) == (0, 1)
    pending.end(other)
    assert pending.upto(concerns({"a"})) == 0
    assert pending.ended() == [batch]
    assert [it.event.position for it in pending.advance(2)] == [1]
    assert (pending.upto(concerns({"a"})), bool(pending)) == (2, False)


@pytest.mark.parametrize(
    ("objects", "keys", "concerned"),
    [
        ({"a"}, {"a.x"}, True),
        ({"a"}, {"a.*"}, True),
        ({"a"}, {"b.x"}, False),
        ({"a"}, {"ab.x"}, False),
        ({"a.x"}, {"a.x"}, True),
        ({"a.x"}, {"a.y"}, False),
        ({"a.x"}, {"a.y", "a.x"}, True),
        ({"a.x"}, {"a"}, True),
        ({"a.x"}, {"a.*"}, True),
        ({"a.x"}, set(), True),
    ],
)
def test_what_a_work_concerns(objects: set[str], keys: set[str], concerned: bool) -> None:
    assert concerns(objects)(keys) is concerned


# --- whatever happens, in whatever order


@dataclass
class Site:
    """Lanes that apply a work when the test says so: a table has the number of its last event."""

    count: int = 3
    in_flight: list[Job] = field(default_factory=list)
    over: list[Ended] = field(default_factory=list)
    tables: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin(self, job: Job) -> None:
        self.in_flight.append(job)

    def ended(self) -> list[Ended]:
        over, self.over = self.over, []
        return over

    def apply(self, number: int) -> None:
        job = self.in_flight.pop(number % len(self.in_flight))
        for key in job.work.keys:
            self.tables[key] = max(job.work.positions)
        self.over.append((job, None))


class NoQueue:
    """Where a target's position is kept: from the first event on, and whatever it becomes is taken."""

    name = "dr"
    parked = SimpleNamespace(names=dict, blocked=set)

    def position(self) -> int:
        return 0

    def finished(self) -> frozenset[int]:
        return frozenset()

    def advance(self, *_: object, **__: object) -> None:
        pass


class World:
    """A queue of events of one table each (of two, for a rename), its windows, and a target."""

    def __init__(self, events: list[frozenset[str]], window: int) -> None:
        self.events, self.window, self.taken = events, window, 0
        self.site, self.pending = Site(), Pending(NoQueue())
        self.pins = Pins(lambda: None, lambda: 0.0)
        self.pinned: list[Pin] = []
        self.scheduler = Scheduler(
            lambda: 0.0, lambda _: False, self._no_refusal, self._waits_for_pin, self.pending.end
        )

    def take(self) -> None:
        events = queued(*range(self.taken + 1, min(self.taken + self.window, len(self.events)) + 1))
        if events:
            events = list(self.pins.take(events))
            batch = Batch(Draft(events, self._works(events), {}, [], 0, {}), Blocks(), 1)
            self.taken = batch.last
            self.pending.take(batch)
            self.scheduler.add(batch)

    def turn(self) -> None:
        self.scheduler.note(self.site)
        self.scheduler.release()
        self.scheduler.begin(self.site)

    def rest(self) -> None:
        """Until nothing goes on by itself."""
        self.turn()
        while self.taken < len(self.events) or self.site.in_flight:
            before = self.taken, len(self.site.in_flight)
            if self.site.in_flight:
                self.site.apply(0)
            self.take()
            self.turn()
            if before == (self.taken, len(self.site.in_flight)) and not self.site.in_flight:
                return

    def wanted(self, upto: int, tables: set[str]) -> dict[str, int]:
        return {key: at for at, keys in enumerate(self.events[:upto], 1) for key in keys if key in tables}

    def check(self) -> None:
        for pin in filter(self.pins.lasts, self.pinned):
            tables = {it for it in TABLES if database_of(it) in pin.databases}
            there = {key: at for key, at in self.site.tables.items() if key in tables}
            assert all(at <= pin.upto for at in there.values()), (pin, there)
            if self.pending.upto(concerns(pin.databases)) >= pin.upto:
                assert there == self.wanted(pin.upto, tables), pin

    def _works(self, events: list[Queued]) -> list[Work]:
        """Folded as a window is: a table has one work, but for what is before and after a rename."""
        open_works: dict[str, list[int]] = {}
        found: list[Work] = []
        for event in events:
            keys = self.events[event.position - 1]
            if len(keys) == 1:
                open_works.setdefault(min(keys), []).append(event.position)
                continue
            found += [Work(frozenset({it}), (), tuple(open_works.pop(it))) for it in keys if it in open_works]
            found.append(Work(keys, (), (event.position,)))
        return [*found, *(Work(frozenset({key}), (), tuple(at)) for key, at in open_works.items())]

    def _waits_for_pin(self, job: Job) -> bool:
        return self.pins.covers(job.work.keys, job.work.positions)

    def _no_refusal(self, *_: object) -> None:
        raise AssertionError("nothing is refused here")


KEYS = st.sampled_from(TABLES)
EVENTS = st.lists(
    st.builds(lambda one: frozenset({one}), KEYS) | st.builds(lambda one, two: frozenset({one, two}), KEYS, KEYS),
    min_size=1,
    max_size=30,
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["take", "turn", "apply", "pin", "release"]), st.integers(0, 40)), max_size=60
)


@settings(max_examples=300)
@given(EVENTS, st.integers(1, 10), STEPS)
def test_a_pinned_database_is_what_it_was_at_one_event(
    events: list[frozenset[str]], window: int, steps: list[tuple[str, int]]
) -> None:
    world = World(events, window)
    for step, number in steps:
        if step == "take":
            world.take()
        elif step == "turn":
            world.turn()
        elif step == "apply" and world.site.in_flight:
            world.site.apply(number)
        elif step == "pin":
            least = min(world.taken + number % 8, len(events))  # mostly within the next window
            world.pinned.append(world.pins.begin({DATABASES[number % 2]}, least, FOR_EVER))
        elif step == "release" and world.pinned:
            world.pins.end(world.pinned.pop(number % len(world.pinned)))
        world.check()
    world.rest()
    for pin in sorted(world.pinned, key=lambda it: it.upto):  # what is before one may wait for the end of another
        assert world.pending.upto(concerns(pin.databases)) >= pin.upto, "what is before a pin is applied"
        world.check()
        world.pins.end(pin)
        world.rest()
    assert world.site.tables == world.wanted(len(events), set(TABLES)), "in the end all is there"


@given(EVENTS, st.integers(1, 10), st.integers(0, 30))
def test_other_databases_go_on_while_one_is_pinned(events: list[frozenset[str]], window: int, least: int) -> None:
    alone = [keys for keys in events if len({database_of(key) for key in keys}) == 1]
    world = World(alone, window)
    world.pinned.append(world.pins.begin({"a"}, min(least, len(alone)), FOR_EVER))
    world.rest()
    others = {it for it in TABLES if it.startswith("b.")}
    assert {key: at for key, at in world.site.tables.items() if key in others} == world.wanted(len(alone), others)
    assert world.pending.upto(concerns({"b"})) == len(alone)
