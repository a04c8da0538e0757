"""bench-capture: what the listener adds to a DDL, and how fast the bridge takes events in.

Metastores on disk, as those are whose changes somebody wants to keep, and alike but for the listener: two without, two
whose sidecar runs (or is stopped with SIGSTOP for the hung case), one whose calls wait until the sidecar has their
events on disk (`pysync.synchronous`), one whose sidecar is away. They are asked in turn, a short run each, so that
whatever else the machine does meets all of them alike; the ratios are those of the medians over all runs. Two that are
alike differ, too: `capture.alike` tells by how much, and so what a ratio is worth. The sidecar's target does nothing: a
target on the same machine would be measured too. Then the sidecar stays away for ten thousand events more, and when it
starts all of them must come. The bridge is measured by the threads of a JVM with the listener and no metastore, from
the first event until the last is on disk in the queue, next to bare fdatasync calls on the same disk, while the target
is paused.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from pysync.base.jars import listener_jar
from pysync.lab import EmbeddedMetastore
from pysync.metastore.client import Metastore
from tests.bench.frame import Row, Say, percentile
from tests.listener.driver import Driver, Place, compile_driver
from tests.support import new_database, table, wait_until
from tests.support.sidecars import FaultyPlace, Sidecar, pysync, sidecar, unused_port
from tests.support.spools import spooled

DEADLINE_MS = 500
_ROUNDS = 12
_STATEMENTS = 60  # of one client in one run
_WARM_UP = 400
_CALM_SECONDS = 0.5  # what one run leaves to its sidecar must not be a part of the next one
_CLIENTS = 8
_HUNG_ROUNDS = 4
_SPOOLED_ROUNDS = 42  # short ones: whatever else the machine does meets both alike
_SPOOLED_STATEMENTS = 30  # of one client in one run: ten thousand of all
_WRITER_EVENTS = 12_000
_PADDING = 1_900
_FSYNC_SECONDS = 2.0
_PACED = 300

T = TypeVar("T")


@dataclass(slots=True)
class Server:
    """A metastore under measurement, with the seconds that each statement took, by the number of clients."""

    metastore: EmbeddedMetastore
    seconds: dict[int, list[float]] = field(default_factory=lambda: {1: [], _CLIENTS: []})
    rates: dict[int, list[float]] = field(default_factory=lambda: {1: [], _CLIENTS: []})

    def measure(self, clients: int) -> None:
        """One run: every client creates, alters and drops tables of its own."""
        time.sleep(_CALM_SECONDS)
        began = time.perf_counter()
        found = _together(clients, lambda number: _statements(self.metastore.uri, number))
        self.rates[clients].append(clients * _STATEMENTS / (time.perf_counter() - began))
        self.seconds[clients] += [seconds for each in found for seconds in each]

    def and_its_like(self, other: Server) -> Server:
        """What both took, as of one."""
        return Server(
            self.metastore,
            {clients: [*self.seconds[clients], *other.seconds[clients]] for clients in self.seconds},
            {clients: [*self.rates[clients], *other.rates[clients]] for clients in self.rates},
        )


def run(say: Say) -> Iterator[Row]:
    """The rows `capture.{up,down,hung,synchronous,alike}.*_ratio`, `capture.one.*`, `capture.down.rate_ratio`,
    `capture.spooled.*`, `capture.bridge.*`.
    """
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pysync-bench-")))
        yield from _latencies(directory, stack, say)
    with tempfile.TemporaryDirectory(prefix="pysync-bench-") as name:
        yield from _bridge(Path(name), say)


# --- what a DDL takes


def _latencies(directory: Path, stack: ExitStack, say: Say) -> list[Row]:
    say("six metastores and a sidecar start")
    place = _place(directory / "sidecar")
    running = stack.enter_context(sidecar(place))
    port, away = _port(running), unused_port()
    bares = [_server(directory, f"bare{number}", stack) for number in range(2)]
    ups = [_server(directory, f"up{number}", stack, port, place.token) for number in range(2)]
    waits = _server(directory, "synchronous", stack, port, place.token, synchronous=True)
    down = _server(directory, "down", stack, away, place.token)
    servers = deque([bares[0], ups[0], waits, bares[1], ups[1], down])
    for number in range(_ROUNDS):
        for clients in (1, _CLIENTS):
            say(f"round {number + 1} of {_ROUNDS}, {clients} clients")
            for server in servers:
                server.measure(clients)
        servers.rotate()
    alike = list(_rows("alike", bares[1], bares[0], goals=False))
    bare, up = bares[0].and_its_like(bares[1]), ups[0].and_its_like(ups[1])
    hung, beside = Server(up.metastore), Server(bare.metastore)
    with _stopped(running):
        for number in range(_HUNG_ROUNDS):
            say(f"the sidecar hangs, round {number + 1} of {_HUNG_ROUNDS}")
            for clients in (1, _CLIENTS):
                hung.measure(clients)
                beside.measure(clients)
    rows = [*_rows("up", up, bare), *_rows("down", down, bare), *_rows("hung", hung, beside)]
    rows += [*_more(hung, beside, down, bare), *_rows("synchronous", waits, bare, goals=False), *alike]
    return [*rows, _limit(directory, bare), *_spooled(directory, down, bare, away, say)]


def _rows(name: str, server: Server, bare: Server, *, goals: bool = True) -> Iterator[Row]:
    for clients, prefix in ((_CLIENTS, "capture"), (1, "capture.one")):
        with_it, without = server.seconds[clients], bare.seconds[clients]
        for percent, goal in ((50, 1.05), (99, 1.10)):
            ratio = percentile(with_it, percent) / percentile(without, percent)
            yield Row(f"{prefix}.{name}.p{percent}_ratio", ratio, "ratio", goal=goal if goals else None)


def _limit(directory: Path, bare: Server) -> Row:
    """The p50_ratio of one client whose calls wait, if for nothing but the fsync: what that promise itself costs."""
    alone = percentile(bare.seconds[1], 50)
    took = []
    with (directory / "paced").open("wb", buffering=0) as file:
        for _ in range(_PACED):
            time.sleep(alone)  # a disk, and a processor, that has rested takes longer
            began = time.perf_counter()
            file.write(os.urandom(2048))
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return Row("capture.one.fsync_alone", 1 + percentile(took, 50) / alone, "ratio")


def _more(hung: Server, beside: Server, down: Server, bare: Server) -> Iterator[Row]:
    longest = max(max(times) for times in hung.seconds.values()) * 1000
    slowest = max(max(times) for times in beside.seconds.values()) * 1000
    yield Row("capture.hung.longest_ms", longest, "ms", slowest, goal=DEADLINE_MS + slowest)
    rate, without = max(down.rates[_CLIENTS]), max(bare.rates[_CLIENTS])
    yield Row("capture.down.rate_ratio", rate / without, "ratio", goal=0.95, more_is_better=True)


def _spooled(directory: Path, down: Server, bare: Server, port: int, say: Say) -> Iterator[Row]:
    """The rate of ten thousand DDLs while nobody takes their events; then how fast a sidecar on `port` gets all."""
    rates: dict[int, list[float]] = {id(down): [], id(bare): []}
    each = _CLIENTS * _SPOOLED_STATEMENTS
    for number in range(_SPOOLED_ROUNDS):
        say(f"the sidecar is away for long, round {number + 1} of {_SPOOLED_ROUNDS}")
        for server in (bare, down) if number % 2 else (down, bare):
            uri, began = server.metastore.uri, time.perf_counter()
            _together(_CLIENTS, lambda client, uri=uri: _statements(uri, client, _SPOOLED_STATEMENTS))
            rates[id(server)].append(each / (time.perf_counter() - began))
    with_it, without = median(rates[id(down)]), median(rates[id(bare)])
    yield Row("capture.spooled.rate", with_it, "DDL/s", without)
    yield Row("capture.spooled.rate_ratio", with_it / without, "ratio", goal=0.95, more_is_better=True)
    say("a sidecar starts, and gets what was spooled")
    yield Row(
        "capture.spooled.delivered_rate", _delivered(directory, port, _SPOOLED_ROUNDS * each), "events/s", with_it
    )


def _delivered(directory: Path, port: int, least: int) -> float:
    """Events a second, of the spool into the queue; raises RuntimeError if there are not `least`, or one is missing."""
    place = _place(directory / "late")
    place.write(port=port, more="remember = false\n")
    spool = directory / "down-spool"
    began = time.perf_counter()
    with sidecar(place) as running:
        wait_until(lambda: not spooled(spool), seconds=600, what="the delivery of the spool")
        took = time.perf_counter() - began
        (found,) = running.status()["instances"]
    if found["missing"] or found["received"] < least:
        raise RuntimeError(f"not all events came: {found}")
    return float(found["received"] / took)


def _server(
    directory: Path, name: str, stack: ExitStack, port: int = 0, token: Path | None = None, *, synchronous: bool = False
) -> Server:
    overrides = {
        "pysync.source.name": "bench",
        "pysync.bridge.port": str(port),
        "pysync.bridge.token.file": str(token),
        "pysync.spool.dir": str(directory / f"{name}-spool"),
        "pysync.deadline.ms": str(DEADLINE_MS),
        "pysync.synchronous": str(synchronous).lower(),
        "hive.metastore.event.listeners": "org.pysync.listener.SidecarListener",
    }
    metastore = EmbeddedMetastore(
        directory / name,
        name=name,
        database="disk",
        overrides=overrides if port else {},
        jars=[listener_jar()] if port else [],
    )
    stack.enter_context(metastore)
    _together(_CLIENTS, lambda number: _statements(metastore.uri, number, _WARM_UP // _CLIENTS))
    return Server(metastore)


def _statements(uri: str, number: int, count: int = _STATEMENTS) -> list[float]:
    """Seconds of each of `count` statements: create, alter, drop, and again."""
    took: list[float] = []
    with closing(Metastore(uri)) as client:
        database = new_database(client, f"bench{number}")
        for at in range(0, count, 3):
            there = table(database, f"t{at}")
            took.append(_timed(client, lambda c, it=there: c.create_table(it)))
            changed = client.table(database, f"t{at}")
            changed.parameters["changed"] = "yes"
            took.append(_timed(client, lambda c, it=changed: c.alter_table(it.dbName, it.tableName, it)))
            took.append(_timed(client, lambda c, it=changed: c.drop_table(it.dbName, it.tableName, False)))
    return took


def _timed(client: Metastore, request: Callable[[Any], Any]) -> float:
    began = time.perf_counter()
    client.call(request)
    return time.perf_counter() - began


@contextmanager
def _stopped(running: Sidecar) -> Iterator[None]:
    running.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        running.process.send_signal(signal.SIGCONT)


# --- what the bridge takes in


def _bridge(directory: Path, say: Say) -> Iterator[Row]:
    say("bare fdatasync")
    bare = _fsyncs(directory)
    for writers in (1, 8, 50):
        for synchronous in (False, True):
            name = f"{'synchronous.' if synchronous else ''}w{writers}"
            say(f"the bridge with {writers} writers{', which wait for each answer' if synchronous else ''}")
            rate = _rate(directory / name, writers, synchronous)
            yield Row(f"capture.bridge.{name}_rate", rate, "events/s", bare)
            if writers == 8 and not synchronous:
                yield Row("capture.bridge.w8_over_fsync", rate / bare, "ratio", goal=2.0, more_is_better=True)


def _rate(directory: Path, writers: int, synchronous: bool) -> float:
    place = _place(directory)
    with sidecar(place) as running:
        pysync("pause", "try", "-c", place.file).check_returncode()  # the replay has benches of its own
        return _write(place, running, writers, synchronous)


def _fsyncs(directory: Path) -> float:
    """How often a second one writer can append 4 KiB and have it on disk."""
    page, done = os.urandom(4096), 0
    until = time.perf_counter() + _FSYNC_SECONDS
    with (directory / "fsync").open("wb", buffering=0) as file:
        while time.perf_counter() < until:
            file.write(page)
            os.fdatasync(file.fileno())
            done += 1
    return done / _FSYNC_SECONDS


def _write(place: FaultyPlace, running: Sidecar, writers: int, synchronous: bool) -> float:
    """Events of about 2 KB a second, of one listener in as many threads of its JVM, until all are in the queue.

    Raises RuntimeError if they are not.
    """
    directory = place.directory / "jvm"
    classes = directory / "classes"
    classes.mkdir(parents=True)
    compile_driver(classes, listener_jar())
    with closing(Place(directory, classes, listener_jar())) as jvm:
        driver = jvm.driver(
            bridge_port=str(_port(running)),
            bridge_token_file=str(place.token),
            spool_max_bytes=str(1 << 30),
            synchronous=str(synchronous).lower(),
        )
        jvm.wait_for_direct()
        count = _stored(driver, jvm, writers, _WRITER_EVENTS // 4, "warm")
        began = time.perf_counter()
        new = _stored(driver, jvm, writers, _WRITER_EVENTS, "t")
        took = time.perf_counter() - began
    (found,) = running.status()["instances"]
    if found["missing"] or found["received"] != count + new:
        raise RuntimeError(f"not all events came: {found}")
    return new / took


def _stored(driver: Driver, jvm: Place, writers: int, count: int, prefix: str) -> int:
    """Has about `count` events written, waits until the sidecar has answered for all; returns how many it were."""
    driver.storm(writers, count // writers, prefix, _PADDING)
    wait_until(lambda: not jvm.files(), what="the delivery of the last events")
    return count // writers * writers


# --- both


def _place(directory: Path) -> FaultyPlace:
    directory.mkdir(parents=True)
    place = FaultyPlace(directory)
    place.write(more="remember = false\n")
    return place


def _port(running: Sidecar) -> int:
    port: int = running.status()["bridge"]["port"]
    return port


def _together(count: int, work: Callable[[int], T]) -> list[T]:
    """What `work` gives for 0 to `count` - 1, each in a thread of its own."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(work, range(count)))
