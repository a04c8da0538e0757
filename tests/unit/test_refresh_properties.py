"""Whatever was lost or came out of order, refreshes bring the target to the source, and destroy nothing of others."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import structlog
from hypothesis import example, given, note

from pysync.model.change import decode_change
from pysync.model.event import Event, Kind
from pysync.model.mark import Mark
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, DropTable
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.resync.wanted import everything
from pysync.resync.wanted import table as table_refresh
from pysync.targets.settings import TargetSettings
from tests.support.events import event, settings
from tests.support.flying import OneLane, fly
from tests.support.model.source import summary
from tests.support.model.target import Crash, ModelTarget
from tests.support.model.timeline import Reader, Timeline
from tests.support.model.world import Database, Table, World
from tests.unit.test_properties import EPOCH, HISTORIES, SEEDS, ShortQueue, examples

KEPT = frozenset({Kind.CREATE_DATABASE})
"""What is not lost here: without it later events are parked, and stay so if their database is dropped meanwhile."""

NEVER_TOLD = frozenset({Kind.ADD_PRIMARYKEY, Kind.DROP_CONSTRAINT})
"""Refreshes do not read constraints, and one whose table's create was lost would stay parked."""


class Losing:
    """A queue that some events of a timeline never reach; from some moment on refreshes of everything are in it.

    `asked` is the position of the last of those refreshes; `upto[position]` is how many events of the source had been
    told when the event at that position came, so that whoever reads the source after it finds nothing older.
    """

    def __init__(self, source: Timeline, order: random.Random) -> None:
        self.reader = Reader(source.moments)
        last = len(source.moments) - 1
        self.asked_at = order.randint(0, last)
        reported = source.moments[self.asked_at].events
        queued = min(max(0, reported + order.choice([-4, -1, 0, 0, 1, 4])), len(source.events))
        share = order.choice([0.05, 0.3, 0.9])
        lost = {
            at for at in range(min(queued, reported)) if order.random() < share and source.events[at].kind not in KEPT
        }
        lost |= {at for at, it in enumerate(source.events) if it.kind in NEVER_TOLD}
        note(f"asked after {reported} events, with {queued} queued; lost {sorted(index + 1 for index in lost)}")
        before = [(it, at) for at, it in enumerate(source.events[:queued], 1) if at - 1 not in lost]
        behind = [(it, at) for at, it in enumerate(source.events[queued:], queued + 1) if at - 1 not in lost]
        listed = len([at for _, at in before if at <= reported])  # the others come while the source is read
        self.reader.reach(self.asked_at)
        refreshes = [(refresh(names), reported) for names in everything(self.reader, lambda: listed)]
        self.events = [item for item, _ in (*before, *refreshes, *behind)]
        self.told = [at for _, at in (*before, *refreshes, *behind)]
        self.asked = len(before) + len(refreshes)
        self.renamed = {name for item, _ in (*before[listed:], *behind) for name in renamed(item)}

    def moment(self, position: int) -> int:
        """The first moment at which whoever has seen the event at `position` can read the source."""
        reported = max(self.told[:position], default=0)
        return next(at for at, it in enumerate(self.reader.moments) if it.events >= reported)


def refresh(names: Mapping[str, str]) -> Event:
    return event(Kind.REFRESH, attributes=dict(names))


def renamed(item: Event) -> set[TableName]:
    """Both names, where the event is of a rename."""
    change = decode_change(item, 1)
    if change is None or change.table_name == change.new_table_name:
        return set()
    return {name for name in (change.table_name, change.new_table_name) if name is not None}


def without_untold(world: World) -> dict[str, Any]:
    """What a refresh makes good: no functions that are gone, no constraints, which it does not read."""
    plain = world.plain()
    for it in plain.values():
        it.pop("primary_key", None)
        it.pop("functions", None)
    return plain


def replayed(losing: Losing, target: ModelTarget, order: random.Random, deaths: int, **values: Any) -> bool:
    """To the end of the queue, and what was parked; the source goes on meanwhile, and the process dies now and then.

    Tells whether anything was parked: it comes after the refreshes then, out of its order.
    """
    own = settings(retry_attempts=1, **{"window": order.choice([1, 3, 8, 100]), "max_drops_per_window": 0, **values})
    queue = ShortQueue(losing.events)
    while queue.left:
        replayer = new_replayer(queue, own, losing.reader)
        target.dies_after = None
        if deaths and order.random() < 0.7:
            deaths -= 1
            target.dies_after = order.randint(0, 8)
        note(f"from {queue.done + 1}, dies after {target.dies_after}, windows of {own.window}")
        with contextlib.suppress(Crash):
            replay_all(replayer, queue, losing, target, order)
    target.dies_after = None
    parked = bool(queue.rows)  # what came into a database whose create was lost waits for its refresh
    if parked:
        replayer = new_replayer(queue, own, losing.reader)
        assert replayer.retry(OneLane(replayer, target, order))
    if queue.rows:  # its events came behind the refresh of another table of that name: another comparison it takes
        losing.reader.reach(len(losing.reader.moments))
        queue.add(map(refresh, everything(losing.reader, lambda: queue.last)))
        fly(replayer, OneLane(replayer, target, order), order, lambda: queue.left)
    assert queue.rows == []
    return parked


def new_replayer(queue: ShortQueue, own: TargetSettings, reader: Reader) -> Replayer:
    return Replayer(queue, own, Translator.of(own), source=lambda: reader, pace=0.0)


def replay_all(
    replayer: Replayer, queue: ShortQueue, losing: Losing, target: ModelTarget, order: random.Random
) -> None:
    lanes = OneLane(replayer, target, order)

    def go_on() -> None:
        replayer.brake.decide([], keep=False)
        last = min(replayer.pending.taken + replayer.settings.window, queue.last)
        losing.reader.reach(losing.moment(last) + order.choice([0, 0, 1, 100]))

    fly(replayer, lanes, order, lambda: queue.left, go_on)


def healed(losing: Losing, target: ModelTarget, order: random.Random, deaths: int = 0, **values: Any) -> None:
    """To the end, and then what was renamed while the refreshes waited is refreshed in turn, once all is calm.

    Everything is, if something was parked.
    """
    parked = replayed(losing, target, order, deaths, **values)
    losing.reader.reach(len(losing.reader.moments))
    again = [table_refresh(losing.reader, name) for name in sorted(losing.renamed)]
    again += everything(losing.reader, lambda: len(losing.events)) if parked else ()
    losing.events += map(refresh, again)
    losing.told += [max(losing.told, default=0)] * len(again)
    replayed(losing, target, order, 0, **values)


@examples(200)
@given(HISTORIES, SEEDS)
def test_whatever_events_were_lost_refreshes_bring_the_target_to_the_source(steps, seed):
    source, order, target = Timeline(steps), random.Random(seed), ModelTarget()
    note("\n".join(summary(source.events)))
    losing = Losing(source, order)
    with structlog.testing.capture_logs():
        healed(losing, target, order, order.choice([0, 0, 1, 4]))
    assert without_untold(target.world) == without_untold(source.world)


OTHERS = Database("theirs", Mark("elsewhere", EPOCH, 1))
THEIRS = TableName("z", "t")


def with_theirs() -> ModelTarget:
    """A target that has a database and a table of somebody else's."""
    target = ModelTarget()
    target.world.databases["z"] = replace(OTHERS)
    target.world.tables[THEIRS] = Table(("x",), (), "/z/t", mark=OTHERS.mark)
    return target


def without_theirs(world: World) -> dict[str, Any]:
    plain = without_untold(world)
    assert {"z", "z.t"} <= plain.keys(), "what is another's was dropped"
    return {name: it for name, it in plain.items() if name not in {"z", "z.t"}}


def refreshed_beside_theirs(steps, seed, **values):
    """A source of which events were lost, and a target with objects of others after the refreshes that heal that."""
    source, order, target = Timeline(steps), random.Random(seed), with_theirs()
    note("\n".join(summary(source.events)))
    with structlog.testing.capture_logs():
        healed(Losing(source, order), target, order, **values)
    return source, target


TWO_RENAMES_LOST = bytes.fromhex(
    "0100000100004c0000010000015700677b014f1000000000000000010000010000010000010000010000010000010000f9b200"
)
"""Of two tables that had one name in turn the target has the first, the refresh is of the second, and that is gone."""


DROP_LOST_BEFORE_A_CREATE = bytes.fromhex(
    "01000001000001000001000001f40001ee0001000029000001000001000001000001a000010000010000010000"
)
"""The drop of a database is lost; a table of the same name is created while the refresh of everything is read."""


@examples(75)
@example(TWO_RENAMES_LOST, 44590)
@example(DROP_LOST_BEFORE_A_CREATE, 254)
@given(HISTORIES, SEEDS)
def test_refreshes_leave_others_objects_alone_and_keep_to_renames_and_the_brake(steps, seed):
    most = random.Random(seed).choice([1, 2, 5])
    source, target = refreshed_beside_theirs(steps, seed, databases={"b": "copy"}, max_drops_per_window=most)
    wanted = {f"copy{name[1:]}" if name[0] == "b" else name: it for name, it in without_untold(source.world).items()}
    assert without_theirs(target.world) == wanted


@examples(75)
@given(HISTORIES, SEEDS)
def test_refreshes_bring_nothing_that_is_out_of_scope(steps, seed):
    source, target = refreshed_beside_theirs(steps, seed, exclude=["a.v", "b.t"])
    wanted = {name: it for name, it in without_untold(source.world).items() if name not in {"a.v", "b.t"}}
    assert without_theirs(target.world) == wanted


@examples(50)
@given(HISTORIES, SEEDS)
def test_refreshes_drop_nothing_where_drops_are_suppressed(steps, seed):
    source, order, target = Timeline(steps), random.Random(seed), ModelTarget()
    note("\n".join(summary(source.events)))
    losing = Losing(source, order)
    values = settings(drops="suppress", retry_attempts=1)
    queue = ShortQueue(losing.events)
    with structlog.testing.capture_logs():
        replay_all(new_replayer(queue, values, losing.reader), queue, losing, target, order)
    drops = (DropTable, DropDatabase)
    assert not [operation for operation, _ in target.log if isinstance(operation, drops)]


def test_a_database_whose_create_was_lost_is_made_and_what_was_parked_for_it_goes_on():
    """Its refresh does not wait behind the tables that wait for it."""
    source, target, order = Timeline(), ModelTarget(), random.Random(1)
    source.create_database("a")
    source.create(TableName("a", "t"), 1)
    source.function("a", 0)
    source.step(1, 0, 0)
    reader = Reader(source.moments)
    reader.reach(len(source.moments))
    queue = ShortQueue([*source.events[1:], *map(refresh, everything(reader, lambda: len(source.events)))])
    own = settings(max_drops_per_window=0)
    with structlog.testing.capture_logs():
        replayer = new_replayer(queue, own, reader)
        lanes = OneLane(replayer, target, order)
        fly(replayer, lanes, order, lambda: queue.left)
    assert queue.rows == [], "the refresh of the database and of all its tables makes good what was parked in it"
    assert without_untold(target.world) == without_untold(source.world)
