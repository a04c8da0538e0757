"""The calm after a history: no client, no fault any more. And what must be so after it."""

from __future__ import annotations

from itertools import combinations

from tests.simulation import rounds
from tests.simulation.state import differences
from tests.simulation.world import World

_REST_SECONDS = 40.0
_REST_STEP_SECONDS = 20.0


def after(world: World) -> str | None:
    """What is wrong once everything has calmed down; None if all is as it should be."""
    for cluster in world.clusters:
        cluster.calm()
    if not world.settle():
        return f"it does not come to rest: {rounds.busy(world.clusters)}"
    return _restless(world) or _parked(world) or _overruled(world) or _different(world)


def _restless(world: World) -> str | None:
    told, begun = rounds.told(world.clusters), world.clock.seconds
    while world.clock.seconds - begun < _REST_SECONDS:
        world.clock.seconds += _REST_STEP_SECONDS
        rounds.take(world.clusters)
    late, busy = rounds.told(world.clusters) - told, rounds.busy(world.clusters)
    return f"it does not stay at rest: {late} changes without a client, {busy}" if late or busy else None


def _parked(world: World) -> str | None:
    for cluster in world.clusters:
        sidecar = cluster.sidecar
        for feed in sidecar.feeds if sidecar else ():
            if sidecar and feed.parked:
                rows = [(row.table, row.reason[:300]) for row in sidecar.queue.parked_tables(feed.name)]
                return f"parked at {cluster.name} for {feed.name}: {rows}"
    return None


def _overruled(world: World) -> str | None:
    """Where clients are at one cluster only, nobody else may change anything there."""
    used = [cluster for cluster in world.clusters if cluster.client.calls]
    found = differences(used[0].intended, used[0].store) if len(used) == 1 else []
    return "\n".join(f"what the clients of {used[0].name} left has changed: {line}" for line in found) or None


def _different(world: World) -> str | None:
    pairs = combinations(world.clusters, 2)
    found = [
        f"{one.name} and {other.name} differ: {line}"
        for one, other in pairs
        for line in differences(one.store, other.store)
    ]
    return "\n".join(found) or None
