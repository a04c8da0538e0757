"""Whatever happens at the source, however it is cut into windows, the target ends as the source is."""

from __future__ import annotations

import contextlib
import random
import tempfile
import threading
from collections.abc import Iterable, Sequence, Set
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import structlog
from hypothesis import HealthCheck, given, note
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from pysync.model.event import Event
from pysync.model.mark import Writer
from pysync.model.operation import DropDatabase, DropTable, Operation
from pysync.model.wire import encode_event
from pysync.queue import EventQueue, Park, Parked, Queued, Removal
from pysync.replay.batch import Job
from pysync.replay.drain import Drain
from pysync.replay.replayer import Replayer
from pysync.replay.window.fold import fold
from pysync.replay.window.order import Order, holds_back
from pysync.replay.window.plan import Work, leftover, plan
from pysync.replay.window.translate import Translator
from pysync.targets.base import Missing, Outcome, OutcomeUnknown, Unavailable
from tests.support import wait_until
from tests.support.events import append, settings
from tests.support.examples import EXAMPLES
from tests.support.flying import OneLane, finish, fly
from tests.support.model.source import DATABASES, TABLES, Source, summary
from tests.support.model.target import Crash, ModelTarget
from tests.support.model.world import World

EPOCH = 5
ALL = Translator.of(settings())

HISTORIES = st.binary(min_size=36, max_size=90)
SEEDS = st.integers(0, 2**32 - 1)


def examples(number: int):
    return hypothesis_settings(
        max_examples=max(1, int(number * EXAMPLES)),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def works_of(events: Sequence[tuple[int, Event]], translator: Translator = ALL) -> list[Work]:
    changes = [translator.translate(encode_event(item), position) for position, item in events]
    return plan(fold(change for change in changes if change is not None), Writer(EPOCH))


def run(works: Sequence[Work], target: ModelTarget, order: random.Random, *, again: bool = False) -> None:
    """Apply works as lanes would: any that has nothing before it may be next.

    `again`: they were applied before, so the database of what misses it is gone at the source.
    """
    waits: Order[int] = Order()
    ready = [index for index, work in enumerate(works) if not waits.add(index, work.keys)]
    while ready:
        index = ready.pop(order.randrange(len(ready)))
        for operation in works[index].operations:
            try:
                target.apply(operation)
            except Missing:
                if not again:
                    raise
                if left := leftover(operation):
                    target.apply(left)
        ready += waits.end(index, works[index].keys)


def windows(events: Sequence[Event], order: random.Random) -> list[list[tuple[int, Event]]]:
    numbered = list(enumerate(events, 1))
    cuts, at = [], 0
    longest = order.choice([1, 3, 8, 100])
    while at < len(numbered):
        size = order.randint(1, longest)
        cuts.append(numbered[at : at + size])
        at += size
    return cuts


def check(target: ModelTarget, source: Source) -> None:
    assert target.world.plain() == source.world.plain()


@examples(300)
@given(HISTORIES, SEEDS)
def test_a_history_in_any_windows_ends_as_the_source_is_and_as_event_by_event(steps, seed):
    source, order, target, singly = Source(steps), random.Random(seed), ModelTarget(), ModelTarget()
    note("\n".join(summary(source.events)))
    cuts = windows(source.events, order)
    note(str([[position for position, _ in cut] for cut in cuts]))
    for window in cuts:
        run(works_of(window), target, order)
    check(target, source)
    for numbered in enumerate(source.events, 1):
        run(works_of([numbered]), singly, order)
    check(singly, source)


@examples(300)
@given(HISTORIES, SEEDS)
def test_windows_that_come_again_change_nothing(steps, seed):
    source, order, target = Source(steps), random.Random(seed), ModelTarget()
    note("\n".join(summary(source.events)))
    for window in windows(source.events, order):
        run(works_of(window), target, order)
        there = target.world.plain()
        for _ in range(order.randint(0, 2)):
            run(works_of(window), target, order, again=True)
            assert target.world.plain() == there
    check(target, source)


SUPPRESSING = Translator.of(settings(drops="suppress"))


@examples(200)
@given(HISTORIES, SEEDS)
def test_with_drops_suppressed_there_is_all_that_the_source_has_and_what_it_had(steps, seed):
    source, order, target = Source(steps), random.Random(seed), ModelTarget()
    note("\n".join(summary(source.events)))
    for window in windows(source.events, order):
        run(works_of(window, SUPPRESSING), target, order)
    assert target.world.databases.keys() >= source.world.databases.keys()
    for name, wanted in source.world.tables.items():
        there = target.world.tables[name]
        assert there.definition() == wanted.definition()
        assert {values: there.parts.get(values) for values in wanted.parts} == wanted.parts
    assert not [operation for operation, _ in target.log if isinstance(operation, (DropTable, DropDatabase))]


# --- what a target refuses


class ShortQueue:
    """As much of an EventQueue as a Replayer needs, in memory, for one target, whose queue it is as well."""

    def __init__(self, events: Sequence[Event]) -> None:
        self.all: list[Queued] = []
        self.add(events)
        self.done = 0
        self.over: set[int] = set()
        self.parked = ShortParked()
        kept: dict[str, str] = {}
        self.notes = SimpleNamespace(put=kept.__setitem__, get=kept.get)
        self.removals = ShortRemovals()

    name = "dr"

    def target(self, _: str) -> ShortQueue:
        return self

    def writer(self, target: str) -> Writer:
        return Writer(EPOCH, target=target)

    def add(self, events: Iterable[Event]) -> None:
        last = len(self.all)
        self.all += [Queued(position, encode_event(item), 0) for position, item in enumerate(events, last + 1)]

    @property
    def last(self) -> int:
        return len(self.all)

    def position(self) -> int:
        return self.done

    def since(self, _: int) -> int:
        return 1  # all of it came a moment ago

    def events(self, after: int, limit: int, _bytes: int) -> list[Queued]:
        return self.all[after : after + limit]

    def wait(self, *_: object, **__: object) -> bool:
        return False  # all that could be waited for is done when one asks

    def wake(self) -> None:
        """Nobody waits."""

    def advance(
        self,
        position: int,
        parks: Sequence[Park] = (),
        finished: Set[int] = frozenset(),
        superseded: Sequence[int] = (),
    ) -> None:
        self.parked.supersede(superseded)
        self.parked.add(parks)
        assert self.done < position <= self.last or (self.done == position and finished)
        assert not finished or max(finished) <= self.last
        self.done = position
        self.over = {it for it in self.over | finished if it > position}

    def finished(self) -> set[int]:
        return set(self.over)

    @property
    def left(self) -> bool:
        """Whether the target is not done with everything."""
        return self.done < self.last

    @property
    def rows(self) -> list[Parked]:
        """What is parked."""
        return self.parked.rows


class ShortRemovals:
    """As much of the Removals of a target as a brake needs."""

    def __init__(self) -> None:
        self.rows: dict[str, Removal] = {}

    def all(self) -> list[Removal]:
        return list(self.rows.values())

    def change(self, written: Iterable[Removal] = (), forgotten: Iterable[str] = ()) -> None:
        for name in forgotten:
            self.rows.pop(name, None)
        self.rows.update({it.object: it for it in written})


class ShortParked:
    """As much of the ParkedEvents of a target as a Replayer needs."""

    target = "dr"

    def __init__(self) -> None:
        self.rows: list[Parked] = []

    def add(self, parks: Sequence[Park]) -> None:
        first = max((row.id for row in self.rows), default=0) + 1
        fields = Park.__slots__
        self.rows += [Parked(*(getattr(row, it) for it in fields), first + at) for at, row in enumerate(parks)]
        self.rows.sort(key=lambda row: (row.position, row.id))

    def blocked(self) -> set[str]:
        return {row.table for row in self.rows}

    def events(self, *, after: Parked | None = None, limit: int = 500) -> list[Parked]:
        last = (after.position, after.id) if after else (0, 0)
        return [row for row in self.rows if (row.position, row.id) > last][:limit]

    def names(self) -> dict[int, set[str]]:
        return {at: {row.table for row in self.rows if row.position == at} for at in {it.position for it in self.rows}}

    def supersede(self, positions: Sequence[int]) -> None:
        self.rows = [row for row in self.rows if row.position not in positions]

    def replace(self, applied: Sequence[Parked], parks: Sequence[Park]) -> None:
        there = {(row.position, row.table) for row in self.rows if row not in applied}
        self.rows = [row for row in self.rows if row not in applied]
        self.add([it for it in parks if (it.position, it.table) not in there])

    def update(self, rows: Sequence[Parked]) -> None:
        new = {row.id: row for row in rows}
        self.rows = [new.get(row.id, row) for row in self.rows]


def new_replayer(queue: ShortQueue, **values: Any) -> Replayer:
    own = settings(retry_attempts=1, max_drops_per_window=0, **values)
    return Replayer(queue, own, Translator.of(own), pace=0.0)


@examples(350)
@given(HISTORIES, SEEDS)
def test_begun_anew_after_a_death_amid_overlapping_windows_it_ends_as_the_source_is(steps, seed):
    source, order, target = Source(steps), random.Random(seed), ModelTarget()
    note("\n".join(summary(source.events)))
    queue, deaths = ShortQueue(source.events), order.choice([1, 1, 3, 10])
    with structlog.testing.capture_logs():
        while queue.left:
            deaths -= 1
            target.dies_after = order.randint(0, 40) if deaths >= 0 else None
            replayer = new_replayer(queue, window=order.choice([1, 3, 8, 100]))
            note(f"from {queue.done + 1}, dies after {target.dies_after}")
            with contextlib.suppress(Crash):
                fly(replayer, OneLane(replayer, target, order), order, lambda: queue.left)
    assert queue.rows == []
    check(target, source)


class Hanging(OneLane):
    """One of the works never ends until it is let go: the first that an event from a position on is part of."""

    def __init__(self, replayer: Replayer, target: ModelTarget, order: random.Random, stuck: int) -> None:
        super().__init__(replayer, target, order)
        self._stuck: int | None = stuck
        self.held: list[Job] = []

    def begin(self, job: Job) -> None:
        if self._stuck is not None and not self.held and max(job.work.positions) >= self._stuck:
            self.held.append(job)
        else:
            super().begin(job)

    def let_go(self) -> None:
        self._stuck = None
        for job in self.held:
            super().begin(job)
        self.held = []


@examples(150)
@given(HISTORIES, SEEDS)
def test_while_a_work_hangs_others_go_on_to_a_bound_and_the_position_stays_before_it(steps, seed):
    """Others go no farther than the bound, and the position does not pass the work that hangs."""
    source, order, target = Source(steps), random.Random(seed), ModelTarget()
    queue = ShortQueue(source.events)
    replayer = new_replayer(queue, window=order.choice([1, 3]))
    replayer.reach = order.choice([3, 8])
    hanging = Hanging(replayer, target, order, order.randint(1, max(1, queue.last)))
    with structlog.testing.capture_logs():
        for _ in range(4 * queue.last):
            replayer.step(hanging)
            assert replayer.pending.taken - queue.done <= replayer.reach
            assert all(queue.done < min(job.work.positions) for job in hanging.held)
        hanging.let_go()
        fly(replayer, hanging, order, lambda: queue.left)
    check(target, source)


def test_a_window_that_cannot_be_read_now_is_not_tried_again_at_once() -> None:
    queue = ShortQueue(Source(bytes(range(90))).events)
    assert queue.left
    replayer = new_replayer(queue)
    lanes = OneLane(replayer, ModelTarget(), random.Random(1))
    queue.events = lambda *_: []
    assert replayer.step(lanes).seconds > 0


def unhindered(world: World, blocked: set[str]) -> dict[str, Any]:
    """What is there of the objects that nothing parked holds back; of a database without its functions that are."""
    there = {name: what for name, what in world.plain().items() if not holds_back(blocked, {name})}
    for name, what in there.items():
        if "functions" in what:
            what["functions"] = {it: of for it, of in what["functions"].items() if f"{name}.{it}()" not in blocked}
    return there


@examples(500)
@given(HISTORIES, SEEDS)
def test_what_a_target_refuses_for_a_while_hinders_nothing_else_and_is_made_up_for(steps, seed):
    source, order, target = Source(steps), random.Random(seed), ModelTarget()
    note("\n".join(summary(source.events)))
    queue = ShortQueue(source.events)
    with structlog.testing.capture_logs():
        replayer, lanes = replay_with_refusals(queue, target, order)
        note(f"parked {[(row.position, row.table, row.kind, row.reason) for row in queue.rows]}")
        blocked = queue.target("dr").parked.blocked()
        target.refuses, target.halts = set(), None
        assert unhindered(target.world, blocked) == unhindered(source.world, blocked)
        assert replayer.retry(lanes)
    assert queue.rows == []
    check(target, source)


def replay_with_refusals(queue: ShortQueue, target: ModelTarget, order: random.Random) -> tuple[Replayer, OneLane]:
    """To the end of the queue; what the target refuses changes from window to window, and some are left half-way."""
    replayer = new_replayer(queue, window=order.choice([1, 3, 8, 100]))
    halt = replayer.halt
    lanes = OneLane(replayer, target, order)
    names = [f"{database}.{table}" for database in DATABASES for table in TABLES]

    def change() -> None:
        if halt.is_set():
            note(f"halted at {replayer.pending.taken}")
            replayer.stop_works(lanes)
            halt.clear()
        target.refuses = set(order.sample([*names, *DATABASES], order.choice([0, 0, 1, 2])))
        note(f"{queue.done}, {replayer.pending.taken}: refuses {sorted(target.refuses)}")
        target.halts = (halt, order.randint(0, 6)) if order.random() < 0.2 else None
        if order.random() < 0.2 and not replayer.retrying:
            note("retry")
            replayer.begin_retry()

    fly(replayer, lanes, order, lambda: queue.left, change)
    target.halts = None
    halt.clear()
    finish(replayer, lanes)
    return replayer, lanes


class Deaf:
    """A lane's own view of the one target: some calls are done and not answered, or not done at all."""

    def __init__(self, target: ModelTarget, lock: threading.Lock, seed: int) -> None:
        self._target, self._lock, self._moods = target, lock, random.Random(seed)

    def apply(self, operation: Operation) -> Outcome:
        mood = self._moods.random()
        with self._lock:
            if mood < 0.05:
                raise Unavailable("the target is away")
            outcome = self._target.apply(operation)
        if mood > 0.95:
            raise OutcomeUnknown("no answer came")
        return outcome

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


@examples(12)
@given(HISTORIES, SEEDS)
def test_a_real_drain_ends_as_the_source_is_whatever_is_refused_and_stopped(steps, seed):
    """On a real queue."""
    source, order, target, lock = Source(steps), random.Random(seed), ModelTarget(), threading.Lock()
    note("\n".join(summary(source.events)))
    values = settings(window=order.choice([1, 3, 100]), lanes=3, retry_max_seconds=0.001, max_drops_per_window=0)
    with (
        structlog.testing.capture_logs(),
        tempfile.TemporaryDirectory() as directory,
        EventQueue(Path(directory), min_free_bytes=0) as queue,
    ):
        append(queue, *source.events)
        target.refuses = {f"{order.choice(DATABASES)}.{order.choice(TABLES)}"}

        def started() -> Drain:
            drain = Drain(Replayer(queue, values, Translator.of(values)), lambda: Deaf(target, lock, order.random()))
            drain.start()
            return drain

        for _ in range(order.randint(0, 3)):
            halted = started()
            wait_until(lambda: len(target.log) >= order.randint(0, 5) or queue.target("dr").depth().queued == 0)
            halted.stop()
            assert halted.join(60)
        drain = started()
        wait_until(lambda: queue.target("dr").depth().queued == 0, what="the end of the queue")
        with lock:
            target.refuses = set()
        drain.stop()
        assert drain.join(60)
        drain = started()
        wait_until(lambda: queue.target("dr").parked.events() == [], what="the retry")
        drain.stop()
        assert drain.join(60)
    check(target, source)
