"""What is done to a stand while clients change the source. Each scenario ends with everything in order again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from pysync.base.crashpoints import POINTS
from pysync.control.client import ask
from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from pysync.model.mark import Mark
from tests.chaos.stand import Stand, Tally
from tests.support import new_database, table, wait_until
from tests.support.crashes import PATIENCE_SECONDS, start, start_armed, wait_for_crash
from tests.support.hanging import stopped
from tests.support.proxy import Proxy
from tests.support.tmpfs import fill, free

_FLOOR = 16 * 1024 * 1024  # the stage's min_free_mb
_BELOW_FLOOR = _FLOOR // 2
_MOST_COUNTS = {"append": 12, "window": 3, "apply": 12, "advance": 3, "park": 1, "trim": 1}
"""The last of its hits at which a point may kill: windows grow with the load, and trimming is seldom."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """`act` does it, `rounds` times, amid a stream of `clients` that wait `pause` seconds between their calls.

    `needs_disks`: it is no use where nothing can be mounted. `durable`: it kills a metastore, whose database must
    survive that.
    """

    name: str
    act: Callable[[Stand, random.Random], None]
    rounds: int = 1
    clients: int = 4
    pause: float = 0.05
    needs_disks: bool = False
    durable: bool = False


def perform(stand: Stand, scenario: Scenario, seed: int = 0) -> Tally:
    """All rounds of a scenario; AssertionError when the ends are not equal."""
    chance = random.Random(f"{scenario.name} {seed}")
    with stand.stream(scenario.clients, scenario.pause):
        for _ in range(scenario.rounds):
            scenario.act(stand, chance)
            time.sleep(chance.uniform(0.1, 0.6))
    return stand.settle()


def crash_at(point: str) -> Callable[[Stand, random.Random], None]:
    """The sidecar dies at a crash point, and is started again."""

    def act(stand: Stand, chance: random.Random) -> None:
        provoke = _parking(stand) if point.startswith("park.") else None
        stand.stage.kill_sidecar()
        start_armed(stand.stage, point, chance.randint(1, _MOST_COUNTS[point.partition(".")[0]]))
        if provoke:
            provoke()
        wait_for_crash(stand.stage, point)
        start(stand.stage)
        if provoke:
            _release_parked(stand)

    return act


def _parking(stand: Stand) -> Callable[[], None]:
    """Prepare a table that the target will refuse; call what is returned to have it created at the source."""
    with stand.source() as source, closing(Metastore(stand.target_uri)) as target:
        database = new_database(source, "park")
        wait_until(
            lambda: target.database(database) is not None, seconds=PATIENCE_SECONDS, what="the database at the target"
        )
        target.call(lambda client: client.create_table(table(database, "taken")))

    def provoke() -> None:
        with stand.source() as source:
            source.call(lambda client: client.create_table(table(database, "taken")))

    return provoke


def _release_parked(stand: Stand) -> None:
    """Take the foreign tables away, and have what was parked tried again."""
    status = stand.stage.status

    def released() -> bool:
        ask(stand.stage.config.queue.directory, "parked retry", target=stand.stage.config.targets[0].name)
        return status()["targets"][0]["parked"] == 0

    wait_until(lambda: status()["targets"][0]["parked"] > 0, seconds=PATIENCE_SECONDS, what="parking after the crash")
    with closing(Metastore(stand.target_uri)) as target:
        for database in target.databases():
            there = target.table(database, "taken") if database.startswith("park") else None
            if there is not None and Mark.read(there.parameters) is None:
                target.call(lambda client, name=database: client.drop_table(name, "taken", False))
    wait_until(released, seconds=PATIENCE_SECONDS, what="the release of what was parked")


def cut_power(stand: Stand, chance: random.Random) -> None:
    """The queue's disk loses its power at a random moment, and the sidecar with it."""
    assert stand.disk is not None
    time.sleep(chance.uniform(0.1, 0.8))
    stand.disk.cut()
    stand.stage.kill_sidecar()
    stand.disk.restore()
    start(stand.stage)


def fill_queue_disk(stand: Stand, chance: random.Random) -> None:
    """First below the floor, so that events are refused; then to the last byte, so that SQLite meets it; then freed."""
    assert stand.disk is not None
    full = stand.stage.status()["bridge"]["answers"].get("full", 0)
    try:
        fill(stand.disk.directory, leave=_BELOW_FLOOR)
        wait_until(
            lambda: stand.stage.status()["bridge"]["answers"].get("full", 0) > full,
            seconds=PATIENCE_SECONDS,
            what="full",
        )
        fill(stand.disk.directory)
        time.sleep(chance.uniform(1.0, 3.0))
    finally:
        free(stand.disk.directory)


def fill_spool_disk(stand: Stand, chance: random.Random) -> None:
    """The spool has no room while the sidecar is away: what happens then can only be healed by comparison."""
    assert stand.spool is not None
    stand.stage.kill_sidecar()
    time.sleep(chance.uniform(0.5, 1.5))
    fill(stand.spool)
    time.sleep(chance.uniform(1.0, 2.0))
    free(stand.spool)
    time.sleep(chance.uniform(0.5, 1.5))
    start(stand.stage)


def stop_sidecar(stand: Stand, chance: random.Random) -> None:
    """The sidecar hangs."""
    with stopped(stand.stage.status()["pid"]):
        time.sleep(chance.uniform(2.0, 7.0))


def stop_target(stand: Stand, chance: random.Random) -> None:
    """The target hangs."""
    with stopped(stand.stage.target.pid):
        time.sleep(chance.uniform(2.0, 7.0))


def disturb(which: Callable[[Stand], Proxy]) -> Callable[[Stand, random.Random], None]:
    """A network that is slow, resets connections, closes one way of them, and stands still."""

    def act(stand: Stand, chance: random.Random) -> None:
        proxy = which(stand)
        for _ in range(5):
            proxy.delay = chance.choice((0.0, 0.02, 0.2))
            time.sleep(chance.uniform(0.2, 0.6))
            chance.choice((proxy.cut, proxy.half_close))()
        proxy.hold()
        time.sleep(chance.uniform(0.5, 2.0))
        if chance.random() < 0.5:
            proxy.cut()
        proxy.release()
        proxy.delay = 0.0
        assert proxy.ended, "there was no connection to disturb"

    return act


def kill_at_random(stand: Stand, chance: random.Random) -> None:
    """The sidecar is killed whenever it happens to be, and stays away for a moment."""
    time.sleep(chance.uniform(0.2, 2.0))
    stand.stage.kill_sidecar()
    time.sleep(chance.uniform(0.0, 1.0))
    start(stand.stage)


def kill_metastore(which: Callable[[Stand], EmbeddedMetastore]) -> Callable[[Stand, random.Random], None]:
    """A metastore is killed whenever it happens to be, and stays away for a moment."""

    def act(stand: Stand, chance: random.Random) -> None:
        time.sleep(chance.uniform(2.0, 5.0))
        server = which(stand)
        server.kill()
        time.sleep(chance.uniform(0.0, 2.0))
        server.start()

    return act


def kill_anything(stand: Stand, chance: random.Random) -> None:
    """Source, sidecar and target are killed in any order, each while another may still be away."""
    parts: list[tuple[Callable[[], object], Callable[[], object]]] = [
        (stand.stage.source.kill, stand.stage.source.start),
        (stand.stage.kill_sidecar, lambda: start(stand.stage)),
        (stand.stage.target.kill, stand.stage.target.start),
    ]
    time.sleep(chance.uniform(1.0, 3.0))
    for kill, _ in chance.sample(parts, len(parts)):
        kill()
        time.sleep(chance.uniform(0.0, 0.5))
    for _, again in chance.sample(parts, len(parts)):
        again()


def all_scenarios(rounds: int = 3, power_cuts: int = 20) -> list[Scenario]:
    """Every crash point `rounds` times, and the rest."""
    return [
        *(Scenario(f"crash at {point}", crash_at(point), rounds) for point in POINTS),
        Scenario("power cut of the queue's disk", cut_power, power_cuts, needs_disks=True),
        Scenario("the queue's disk is full (ENOSPC)", fill_queue_disk, rounds, needs_disks=True),
        Scenario("the spool's disk is full, sidecar away", fill_spool_disk, rounds, needs_disks=True),
        Scenario("SIGSTOP of the sidecar", stop_sidecar, rounds),
        Scenario("SIGSTOP of the target", stop_target, rounds),
        Scenario("bad network: listener to sidecar", disturb(lambda stand: stand.bridge), rounds),
        Scenario("bad network: sidecar to target", disturb(lambda stand: stand.target), rounds),
        Scenario("8 clients, sidecar killed at random", kill_at_random, 5 * rounds, clients=8, pause=0.02),
        Scenario("source killed at random", kill_metastore(lambda stand: stand.stage.source), rounds, durable=True),
        Scenario("target killed at random", kill_metastore(lambda stand: stand.stage.target), rounds, durable=True),
        Scenario("source, sidecar and target killed at random", kill_anything, rounds, durable=True),
    ]
