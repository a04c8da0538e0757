"""The calm after a history: no client, no fault any more. And what must be so after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations

from tests.simulation import braked, rounds
from tests.simulation.scopes import comparable
from tests.simulation.state import State, differences, state
from tests.simulation.world import World

_REST_SECONDS = 40.0
_REST_STEP_SECONDS = 20.0


def after(world: World) -> str | None:
    """What is wrong once everything has calmed down; None if all is as it should be."""
    if waits := world.hands.kept_waiting():
        return waits
    for cluster in world.clusters:
        cluster.calm()
    if world.topology.is_braked:
        if found := braked.rest(world):
            return found
        return _at_rest(world, _different)
    if world.topology.work.acts and (touched := _by_hand(world)):
        return touched
    return _at_rest(world, partial(_unlike, world) if world.topology.work.acts else _different)


def _at_rest(world: World, unlike: Callable[[Mapping[str, State]], str | None]) -> str | None:
    """What is wrong at rest, where nothing is parked, and `unlike` says what is not as it shall be."""
    if not world.settle():
        return f"it does not come to rest: {rounds.busy(world.clusters)}"
    found = _restless(world) or _parked(world)
    if found:
        return found
    states = {cluster.name: state(cluster.store) for cluster in world.clusters}
    return _overruled(world, states) or unlike(states)


def _by_hand(world: World) -> str | None:
    """Whether anybody has touched what people made by hand. They drop it then, and it is in nobody's way any more."""
    world.settle()  # or not: what is parked behind it keeps a gap open
    touched = world.hands.touched()
    world.hands.leave()
    return touched


def _unlike(world: World, states: Mapping[str, State]) -> str | None:
    """In what the target is not what the source's scope makes of it."""
    hands = world.hands
    wanted = comparable(hands.scope.of(states[hands.source.name]))
    there = comparable(states[hands.target.name])
    left = {key for key in there.keys() - wanted.keys() if key == "default" or hands.may_stay(key)}
    left |= set(filter(hands.may_differ, wanted.keys() & there.keys()))
    states = ({key: item for key, item in it.items() if key not in left} for it in (wanted, there))
    found = differences(*states)
    return "\n".join(f"{hands.target.name} is not what it shall be: {line}" for line in found) or None


def _restless(world: World) -> str | None:
    reported, begun = rounds.reported_changes(world.clusters), world.clock.seconds
    while world.clock.seconds - begun < _REST_SECONDS:
        world.clock.seconds += _REST_STEP_SECONDS
        rounds.take(world.clusters)
    late, busy = rounds.reported_changes(world.clusters) - reported, rounds.busy(world.clusters)
    return f"it does not stay at rest: {late} changes without a client, {busy}" if late or busy else None


def _parked(world: World) -> str | None:
    for cluster in world.clusters:
        sidecar = cluster.sidecar
        for feed in sidecar.feeds if sidecar else ():
            if sidecar and feed.parked:
                rows = [(row.table, row.reason[:300]) for row in sidecar.queue.target(feed.name).parked.tables()]
                return f"parked at {cluster.name} for {feed.name}: {rows}"
    return None


def _overruled(world: World, states: Mapping[str, State]) -> str | None:
    """Where clients are at one cluster only, nobody else may change anything there."""
    used = [cluster for cluster in world.clusters if cluster.client.calls]
    if len(used) != 1:
        return None
    found = differences(state(used[0].intended), states[used[0].name])
    return "\n".join(f"what the clients of {used[0].name} left has changed: {line}" for line in found) or None


def _different(states: Mapping[str, State]) -> str | None:
    pairs = combinations(states, 2)
    found = [
        f"{one} and {other} differ: {line}" for one, other in pairs for line in differences(states[one], states[other])
    ]
    return "\n".join(found) or None
