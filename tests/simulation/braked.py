"""The end of a history with brakes: what may be held then, and that all goes once a person lets it go."""

from __future__ import annotations

from collections.abc import Iterable, Set
from itertools import combinations

from pysync.queue import Parked
from tests.simulation import rounds
from tests.simulation.feed import Feed
from tests.simulation.person import Edge
from tests.simulation.state import State, differences, state
from tests.simulation.world import World

_REST_SECONDS, _REST_STEP_SECONDS = 60.0, 2.0
_QUIET_SECONDS = 24.0
"""So long nothing has changed, though all that waits was tried again a few times, and every silence was noticed."""
_MOST_DECISIONS = 6
_OF_NO_ERROR = frozenset({"held", "waits"})


def rest(world: World) -> str | None:
    """What is wrong while something is held; None if nothing is. Then all of it goes."""
    for cluster in world.clusters:
        cluster.calm()
    _go_on(world)
    for losses in world.person.losses.values():
        losses.look_at_rest()
    if found := world.broken() or _held_without_reason(world) or _parked(world) or _different(world):
        return found
    for _ in range(_MOST_DECISIONS):
        world.tell("a person lets everything go that is held or kept")
        was_any = world.person.let_all_go()
        _go_on(world)
        if found := world.broken():
            return found
        if not was_any:
            return None
    return f"a person lets it go, and it is held again and again: {_held(world)}"


def _go_on(world: World) -> None:
    """Let time pass, until nothing changes. What is parked keeps a comparison open: they may always have work to do."""
    quiet = begun = world.clock.seconds
    before = _waits(world)
    while world.clock.seconds - begun < _REST_SECONDS and world.clock.seconds - quiet < _QUIET_SECONDS:
        rounds.take(world.clusters)
        world.look()
        if (now := _waits(world)) != before:
            before, quiet = now, world.clock.seconds
        world.clock.seconds += _REST_STEP_SECONDS


def _waits(world: World) -> tuple[int, object]:
    """The changes so far, and what is parked and held after them."""
    feeds = [feed for _, feed in world.person.feeds()]
    parked = [{(it.position, it.table, it.kind) for it in feed.parked_rows} for feed in feeds]
    held = [(feed.brake.held(), feed.brake.kept()) for feed in feeds]
    return rounds.reported_changes(world.clusters), (parked, held)


def _held(world: World) -> dict[Edge, list[str]]:
    return {edge: [it.object for it in feed.brake.held()] for edge, feed in world.person.feeds()}


def _held_without_reason(world: World) -> str | None:
    """What is held though the source has it, or the target does not, and no event that waits will bring it."""
    states = {it.name: state(it.store) for it in world.clusters}
    for (source, target), feed in world.person.feeds():
        parked = feed.parked_positions
        for it in feed.brake.held():
            there = it.table if it.object.endswith("/*") else it.object
            if not it.object.endswith("/*") and _named(states[source], it.object):
                return f"what the source has is held: {it.object} of {source} at {target}"
            if not _named(states[target], there) and it.position not in parked:
                return f"what the target does not have is held: {it.object} of {source} at {target}"
    return None


def _named(held: State, name: str) -> bool:
    """Whether this is there; a partition is named by its values in a state."""
    table, slash, part = name.partition("/")
    values = ",".join(it.partition("=")[2] for it in part.split("/"))
    return f"{table}{slash}{values}" in held


def _parked(world: World) -> str | None:
    """What is parked, but for what is held, and what waits for that."""
    for (source, target), feed in world.person.feeds():
        waiting = _waiting(feed)
        for row in feed.parked_rows:
            is_error = row.kind not in _OF_NO_ERROR and not _was_refused_before(feed, row)
            if is_error or row.position not in waiting:
                reason = f"{row.kind}: {row.reason[:300]}; held: {[it.object for it in feed.brake.held()]}"
                return f"what is not held is parked: {row.table} of {source} at {target}, {reason}"
    return None


def _was_refused_before(feed: Feed, row: Parked) -> bool:
    """Whether the table is held by a later event: so this one is not tried again, and what was wrong with it stands."""
    held = {it.object: it.position for it in feed.brake.held()}
    return row.position < held.get(_name(row), 0)


def _waiting(feed: Feed) -> set[int]:
    """The positions of the parked events that wait for what is held, or for others that do; and those of tables that
    cannot be made anew while a person keeps their partitions.

    Of a rename both names wait. The drop of a database waits for what is held in it, and all that comes later in the
    database waits for the drop.
    """
    kept = {it.object for it in feed.brake.kept() if it.object.endswith("/*")}
    held, waiting = kept.union(it.object for it in feed.brake.held()), set[int]()
    rows = feed.parked_rows
    while more := {it.position for it in rows if _waits_for(_name(it), held)} - waiting:
        waiting |= more
        held |= {_name(it) for it in rows if it.position in waiting and (it.table.endswith(".*") or "." in it.table)}
    return waiting


def _name(row: Parked) -> str:
    return row.table.removesuffix(".*")


def _waits_for(name: str, held: Iterable[str]) -> bool:
    """Whether a table, or a database, has to wait for any of these: for itself, what is in it, or its database."""
    return any(name in {it, it.partition("/")[0], it.partition(".")[0]} or name.partition(".")[0] == it for it in held)


def _different(world: World) -> str | None:
    """In what two ends differ that has nothing to do with what one of them holds or keeps."""
    states = {it.name: state(it.store) for it in world.clusters}
    held = [it.object for _, feed in world.person.feeds() for it in feed.brake.held()]
    rows = [row for _, feed in world.person.feeds() for row in feed.parked_rows]
    held += [_name(row) for row in rows]
    dropped = {_name(row) for row in rows if row.table.endswith(".*")}
    kept = [it.object for _, feed in world.person.feeds() for it in feed.brake.kept()]
    kept += [it for _, feed in world.person.feeds() for it in feed.released]  # the next comparison drops these
    found = [
        f"what is not held differs: {one} and {other}, held {sorted(set(held))}, kept {sorted(kept)}: {line}"
        for one, other in combinations(states, 2)
        for line in differences(*(_others(states[it], held, kept, dropped) for it in (one, other)))
    ]
    return "\n".join(found) or None


def _others(there: State, held: Iterable[str], kept: Iterable[str], dropped: Set[str]) -> State:
    """Without what is held or kept, what is in a table of that, and the databases of it with their functions; and
    without all of the databases that are `dropped` by an event that waits.
    """
    tables = {it.partition("/")[0] for it in (*held, *kept)}
    databases = {it.partition(".")[0] for it in tables}

    def is_other(name: str) -> bool:
        table = name.partition("/")[0]
        in_database = "." not in table or table.endswith("()")
        if table.partition(".")[0] in dropped:
            return False
        return table not in tables and not (in_database and table.partition(".")[0] in databases)

    return {name: it for name, it in there.items() if is_other(name)}
