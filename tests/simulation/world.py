"""A simulated world: the clusters of one topology, in which one history happens."""

from __future__ import annotations

import random
import shutil
from collections import ChainMap
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError
from pysync.journal import Record
from pysync.lab.faulty import FaultySettings
from pysync.queue import EventQueue
from pysync.targets.settings import TargetSettings
from tests.simulation import rounds
from tests.simulation.clients import DATABASES
from tests.simulation.clock import Clock
from tests.simulation.cluster import Cluster, Killed
from tests.simulation.hands import Executor
from tests.simulation.history import POINTS, Step
from tests.simulation.losses import Bounds, Losses
from tests.simulation.person import Edge, Person
from tests.simulation.scopes import EVERYTHING, Scope
from tests.simulation.topologies import Topology

_NO_BRAKE = {"max_drop_share": 0, "max_drops_per_window": 0}
"""Nobody is there to decide about a hold."""

RecordOf = Callable[[str, Record], object]


class World:
    """The clusters, the clock, and the steps that happen; `story` tells what did, in words, if it is wanted.

    `record` takes what the sidecars have for their journals, each with the name of its cluster.
    """

    def __init__(
        self,
        topology: Topology,
        directory: Path,
        clock: Clock,
        seed: int,
        *,
        tells: bool = False,
        record: RecordOf | None = None,
    ) -> None:
        self.topology = topology
        self.clock = clock
        self.story: list[str] | None = [] if tells else None
        self.clusters = [
            Cluster(
                name,
                self.clock,
                alike=topology.both_ways,
                tables=topology.tables,
                record=partial(record, name) if record else None,
            )
            for name in topology.clusters
        ]
        self._dice = random.Random(seed)
        self._at: list[Cluster] = []  # those whose sidecar takes a turn now
        self._step: Step | None = None
        self._calls = 0
        stores = {it.name: it.store for it in self.clusters}
        for cluster in self.clusters:
            if targets := topology.targets.get(cluster.name):
                place = directory / cluster.name
                _new_queue(place, directory.parent / "empty-queue")
                ends = {name: (_settings(topology, name), stores[name]) for name in targets}
                cluster.connect(place, ends, self._before_call, self._dice)
        self.person = Person(self.clusters, dict(self._losses()) if topology.is_braked else {})
        self.hands = Executor(self.clusters[0], self.clusters[1], self._rescoped, clock)

    def _losses(self) -> Iterator[tuple[Edge, Losses]]:
        stores = {it.name: it.store for it in self.clusters}
        listeners = {it.name: it.listener for it in self.clusters}
        clients = [it.client for it in self.clusters]
        renamed, made = ChainMap(*(it.renamed for it in clients)), [it.made for it in clients]
        for source, targets in self.topology.targets.items():
            for name in targets:
                settings = _settings(self.topology, name)
                drops, _ = settings.drops_over_time
                bounds = Bounds(drops, settings.max_drop_share, settings.max_drop_share_from)
                yield (source, name), Losses(stores[source], stores[name], bounds, renamed, made, listeners[name])

    def look(self) -> None:
        """See what the targets have lost."""
        for losses in self.person.losses.values():
            losses.look()

    def broken(self) -> str | None:
        """What should not have gone from a target; None if nothing has."""
        self.look()
        return next((f"{it.wrong} at {name}" for (_, name), it in self.person.losses.items() if it.wrong), None)

    def settle(self) -> bool:
        """Let everybody take turns until nothing is left to do; False where that does not come."""
        return rounds.settles(self.clusters, self.clock)

    def tell(self, line: str) -> None:
        """Add to the story."""
        if self.story is not None:
            self.story.append(f"{self.clock.seconds - 1000:6.1f}s {'  ' * len(self._at)}{line}")

    def do(self, step: Step) -> None:
        """One step."""
        getattr(self, f"_{step.kind}")(self.clusters[step.at % len(self.clusters)], step)

    def come_by(self, point: str) -> None:
        """Whoever takes a turn comes by a crash point."""
        if self._at:
            self._at[-1].come_by(point)

    def close(self) -> None:
        """End all sidecars."""
        for cluster in self.clusters:
            cluster.kill()

    # --- clients

    def _client(self, cluster: Cluster, step: Step) -> None:
        self.clock.seconds += step.c % 4 / 4
        self._call(cluster, lambda: cluster.client.do(step.a, step.b, step.c))

    def _fill(self, cluster: Cluster, step: Step) -> None:
        """Tables come, which are old once there is an `_age`."""
        self._call(cluster, lambda: cluster.client.fill(DATABASES[step.a % 2]))

    def _call(self, cluster: Cluster, call: Callable[[], str]) -> None:
        """A call of a client, which may take what it likes from its own cluster."""
        self.look()
        self.tell(f"client at {cluster.name}: {call()}")
        for (source, target), losses in self.person.losses.items():
            if cluster.name == source:
                losses.look_at_source()
            if cluster.name == target:
                losses.forget_own()

    def _age(self, _: Cluster, __: Step) -> None:
        """All tables become old."""
        self.tell("hours pass")
        self.clock.jump(2 * 3600.0)
        for losses in self.person.losses.values():
            losses.aged_at = self.clock.time() - 3600.0

    def _late(self, cluster: Cluster, step: Step) -> None:
        """A client's call whose callback comes later than that of the next one, which is another thread's."""
        listener = cluster.listener
        listener.held = []
        self._client(cluster, step)
        held, listener.held = listener.held, None
        self.tell("  which the listener hears of later")
        listener.let_go_after(held, lambda: self._client(cluster, Step("client", step.at, step.b, step.b, step.a)))

    # --- turns

    def _settle(self, _: Cluster, __: Step) -> None:
        """Everybody takes the turns that there are, for a while."""
        self.tell("everything is replicated")
        self.settle()

    def _ship(self, cluster: Cluster, step: Step) -> None:
        self.tell(f"the listener of {cluster.name} ships {len(cluster.listener.spool)} events")
        self._turn(cluster, step, lambda: cluster.listener.ship(cluster, 1 + step.a))

    def _replay(self, cluster: Cluster, step: Step) -> None:
        if cluster.sidecar is None:
            return
        feed = cluster.sidecar.feeds[step.a % len(cluster.sidecar.feeds)]
        self.tell(f"{cluster.name} replays {feed.behind} events to {feed.name}")
        self._turn(cluster, step, feed.turn)

    def _heal(self, cluster: Cluster, step: Step) -> None:
        if cluster.sidecar is not None:
            self._turn(cluster, step, cluster.sidecar.heal)

    def _pass(self, _: Cluster, step: Step) -> None:
        self.clock.seconds += (0.1, 0.5, 1.0, 2.0, 6.0)[step.a % 5]

    def _turn(self, cluster: Cluster, step: Step, turn: Any) -> None:
        """A turn of the cluster's sidecar, which may die in it; those of others may come within it."""
        if cluster in self._at:
            return
        outer = self._step, self._calls
        self._at.append(cluster)
        self._step, self._calls = step, 0
        try:
            turn()
        except Killed:
            self.tell(f"the sidecar of {cluster.name} dies")
            cluster.kill()
        except PysyncError as error:
            self.tell(f"{cluster.name}: {error}")
        finally:
            self._at.pop()
            self._step, self._calls = outer

    def _before_call(self) -> None:
        """Before a call of a sidecar to a metastore."""
        self.look()
        self._calls += 1
        if self._step is not None and self._calls == self._step.call:
            for step in self._step.within:
                self.do(step)

    # --- what people do by hand

    def _decide(self, _: Cluster, step: Step) -> None:
        self.tell(self.person.decide(step))

    def _release(self, _: Cluster, step: Step) -> None:
        self.tell(self.person.release(step))

    def _compare(self, _: Cluster, step: Step) -> None:
        self.tell(self.person.compare(step))

    def _rescope(self, _: Cluster, step: Step) -> None:
        self.tell(self.hands.rescope(step))

    def _make(self, _: Cluster, step: Step) -> None:
        self.tell(self.hands.make(step))

    def _hang(self, _: Cluster, step: Step) -> None:
        self.tell(self.hands.hang(step))

    def _dump(self, _: Cluster, step: Step) -> None:
        self.tell(self.hands.dump(step))

    def _load(self, cluster: Cluster, step: Step) -> None:
        self._turn(cluster, step, lambda: self.tell(self.hands.load(step)))

    def _trim(self, cluster: Cluster, step: Step) -> None:
        self._turn(cluster, step, lambda: self.tell(self.hands.trim(step)))

    def _backup(self, _: Cluster, step: Step) -> None:
        self.tell(self.hands.backup(step))

    def _restore(self, _: Cluster, step: Step) -> None:
        self.tell(self.hands.restore(step))

    def _rescoped(self, scope: Scope) -> None:
        source, target = self.clusters[0], self.clusters[1].name
        source.settings[target] = _settings(self.topology, target, scope)

    # --- what goes wrong

    def _kill(self, cluster: Cluster, step: Step) -> None:
        """The sidecar will die at a crash point."""
        cluster.fatal = POINTS[step.a % len(POINTS)], step.b % 4
        self.tell(f"the sidecar of {cluster.name} is to die at {cluster.fatal}")

    def _stop(self, cluster: Cluster, _: Step) -> None:
        """The sidecar is away; or back."""
        if cluster.sidecar is None:
            cluster.start()
        elif cluster not in self._at:
            cluster.kill()
        self.tell(f"the sidecar of {cluster.name} is {'back' if cluster.sidecar else 'away'}")

    def _link(self, cluster: Cluster, step: Step, fault: str) -> None:
        """Calls of the sidecar to one of its targets, or to its source, fail."""
        links = sorted(cluster.links)
        if links:
            name = links[step.a % len(links)]
            setattr(cluster.links[name], fault, 1 + step.b % 3)
            self.tell(f"calls from {cluster.name} to {name} will be {fault}: {1 + step.b % 3}")

    def _away(self, cluster: Cluster, step: Step) -> None:
        self._link(cluster, step, "away")

    def _undone(self, cluster: Cluster, step: Step) -> None:
        self._link(cluster, step, "undone")

    def _unanswered(self, cluster: Cluster, step: Step) -> None:
        self._link(cluster, step, "unanswered")
        cluster.lost_answers = step.c % 2

    def _unheard(self, cluster: Cluster, step: Step) -> None:
        """The metastore is killed between the commit of a client's call and the callback."""
        if self.clusters.index(cluster) not in self.topology.workload.writers:
            return
        cluster.listener.deaf = True
        self._client(cluster, step)
        cluster.listener.deaf = False
        self.tell(f"the metastore of {cluster.name} is killed before the listener hears of it")
        cluster.listener.die()

    def _power(self, cluster: Cluster, _: Step) -> None:
        """The power of the host of metastore and sidecar fails."""
        self.tell(f"the power of {cluster.name} fails")
        if cluster not in self._at:
            cluster.kill()
        cluster.listener.die(power=True)

    def _end(self, cluster: Cluster, _: Step) -> None:
        """The metastore is killed, and started again."""
        self.tell(f"the metastore of {cluster.name} is killed")
        cluster.listener.die()

    def _jump(self, _: Cluster, step: Step) -> None:
        seconds = (-3600.0, -10.0, 10.0, 3600.0)[step.a % 4]
        self.tell(f"the clock jumps by {seconds}")
        self.clock.jump(seconds)


@lru_cache
def _settings(topology: Topology, name: str, scope: Scope = EVERYTHING) -> TargetSettings:
    values = {"name": name, "kind": "faulty", "retry_max_seconds": 1e-6, "lanes": 1, **topology.settings}
    return FaultySettings.model_validate({**_NO_BRAKE, **values, **scope.settings})


def _new_queue(place: Path, empty: Path) -> None:
    """A new queue file; to copy one takes a tenth of the time to make it."""
    if not empty.exists():
        EventQueue(empty, min_free_bytes=0, clock=lambda: 1.7e9).close()
    shutil.copytree(empty, place, copy_function=shutil.copyfile)
