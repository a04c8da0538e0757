"""Where chaos happens: a stage with a proxy on either side of the sidecar, and small disks for queue and spool.

One event log goes with it from the beginning to the end, so that at any time of rest the events that the source has
committed by that log must be those that the sidecar has received: not one less, and not one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pysync.lab import EmbeddedMetastore
from pysync.lab.demo.stage import Stage
from pysync.metastore.client import Metastore
from tests.support import new_database, wait_until
from tests.support.crashes import start
from tests.support.eventlog import EventLog, LoggedClient, OrderWatch, RecordingMetastore, versions
from tests.support.powercut import LoopDisk
from tests.support.proxy import HOST, Proxy
from tests.support.stages import NO_BRAKE, assert_converges, wait_until_compared
from tests.support.tmpfs import CannotMount, tmpfs
from tests.versions.releases import RELEASES
from tests.versions.server import VersionedMetastore, metastore_of

QUEUE_MIB = 64
SPOOL_MIB = 32
SETTLE_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the events of one scenario. `healed`: their listener lost them, a comparison made them good.

    `unanswered` are beyond those that are known to be committed: their clients got no answer, because the source was
    killed just then.
    """

    calls: int
    committed: int
    applied: int
    healed: int
    unanswered: int = 0

    @property
    def lost(self) -> int:
        return self.committed + self.unanswered - self.applied - self.healed


class _BehindProxy(EmbeddedMetastore):
    """A metastore whose clients reach it through a proxy; its own start is looked at directly."""

    proxy: Proxy | None = None

    def start(self) -> EmbeddedMetastore:
        proxy, self.proxy = self.proxy, None
        try:
            return super().start()
        finally:
            self.proxy = proxy

    @property
    def uri(self) -> str:
        return f"thrift://{HOST}:{self.proxy.port if self.proxy else self.port}"


class _ReleaseBehindProxy(_BehindProxy, VersionedMetastore):
    """The same, of a released Hive."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a stand is made of: the versions of Hive at both ends, and whether what they hold survives a kill."""

    source: str = ""
    target: str = ""
    durable: bool = False


EMBEDDED = Setup()


@dataclass(slots=True)
class Stand:
    """The stage and what can be done to it. Where nothing can be mounted it has no disks; `no_disks` says why."""

    stage: Stage
    bridge: Proxy
    target: Proxy
    disk: LoopDisk | None
    spool: Path | None
    no_disks: str = ""
    log: EventLog = field(default_factory=EventLog)
    watch: OrderWatch | None = None
    _streams: int = 0
    _nudged: bool = False
    _before: tuple[int, int, int, int] = (0, 0, 0, 0)
    _compared: int = 0

    @property
    def target_uri(self) -> str:
        """The target itself, whatever its proxy does."""
        return f"thrift://{HOST}:{self.stage.target.port}"

    def source(self) -> closing[RecordingMetastore]:
        """A connection to the source whose changes are in the log."""
        return closing(RecordingMetastore(self.stage.source.uri, self.log))

    @contextmanager
    def stream(self, clients: int, pause: float) -> Iterator[list[LoggedClient]]:
        """Clients that change the source while the block runs, and a watch on the order at the target."""
        self._streams += 1
        names = [f"s{self._streams}c{n}" for n in range(clients)]
        running = [LoggedClient(self.stage.source.uri, name, at, self.log, pause) for at, name in enumerate(names)]
        self.watch = OrderWatch(self.target_uri, names)
        for thread in (*running, self.watch):
            thread.start()
        try:
            yield running
        finally:
            for client in running:
                client.stop()
            self.watch.stop()
        assert sum(client.done for client in running) > clients, [client.done for client in running]

    def settle(self) -> Tally:
        """Wait for the end of all work; AssertionError unless the target is then what source and log say."""
        tally = self._wait_for_events()
        assert_converges(self.stage, seconds=SETTLE_SECONDS)
        self._check_order(tally)
        self._check_versions()
        extra, possible = -tally.lost, self.log.uncertain() + self.log.retold(self.stage.source.log_file)
        assert extra <= possible, f"{extra} events more than the source committed, of which {possible} are uncertain"
        self._clear()
        return replace(tally, unanswered=max(0, extra))

    def _wait_for_events(self) -> Tally:
        """Until every event was received, or is known to be missing and made good, and the target is done."""
        before, self._nudged = self._tally(), False
        try:
            wait_until(self._complete, seconds=SETTLE_SECONDS, what="receiving and applying all")
        except AssertionError as error:
            raise AssertionError(f"{error}: {before}, then {self._tally()}; {self.stage.status()}") from error
        return self._tally()

    def _complete(self) -> bool:
        status = self.stage.status()
        target = status["targets"][0]
        idle = target["queued"] == 0 and target["parked"] == 0
        healed = all(gap["state"] == "closed" for gap in status["gaps"])
        if idle and healed and self._tally().lost > 0:
            self._nudge()
        return idle and healed and self._tally().lost <= 0

    def _nudge(self) -> None:
        """One more change, once: what a full spool lost last is known to be missing when a later number has come."""
        if not self._nudged:
            self._nudged = True
            with self.source() as source:
                new_database(source, "nudge")

    def _tally(self) -> Tally:
        return Tally(*(now - before for now, before in zip(self._numbers(), self._before, strict=True)))

    def _numbers(self) -> tuple[int, int, int, int]:
        """Since the beginning: calls, events committed, received, and missing."""
        calls, committed = len(self.log.calls("done")), self.log.committed()
        instances = self.stage.status()["instances"]
        missing = sum(last - first + 1 for it in instances for first, last in it["missing"])
        return calls, committed, sum(it["received"] for it in instances), missing

    def _check_order(self, tally: Tally) -> None:
        """No table was seen to go back, but where a comparison had to read it ahead of events that were to come."""
        compared = tally.healed or len(self.stage.status()["gaps"]) > self._compared
        broken = self.watch.broken if self.watch is not None and not compared else []
        assert not broken, f"the order was broken: {broken[:5]}"

    def _check_versions(self) -> None:
        expected, unsure = self.log.expected()
        databases = sorted({key.partition(".")[0] for key in expected})
        with closing(Metastore(self.target_uri)) as metastore:
            found = versions(metastore, databases)
        sure = (expected.keys() | found.keys()) - unsure
        wrong = {key: (expected.get(key), found.get(key)) for key in sure if expected.get(key) != found.get(key)}
        assert not wrong, f"versions that the log has, and the target: {wrong}"

    def _clear(self) -> None:
        """Leave nothing for the next scenario to compare."""
        with self.source() as source:
            for database in source.databases():
                if database != "default":
                    source.call(lambda client, name=database: client.drop_database(name, True, True))
        self._wait_for_events()
        self._rest()

    def _rest(self) -> None:
        """From here on counts what the next scenario does."""
        self._before, self._compared = self._numbers(), len(self.stage.status()["gaps"])


@contextmanager
def chaos_stand(
    directory: Path, say: Callable[[str], None] = lambda _: None, setup: Setup = EMBEDDED
) -> Iterator[Stand]:
    """Everything started; takes down all of it, disks included."""
    proxies: list[Proxy] = []

    def source(*where: Path, overrides: dict[str, str], **settings: Any) -> EmbeddedMetastore:
        proxies.append(Proxy(int(overrides["pysync.bridge.port"])))
        overrides = {**overrides, "pysync.bridge.port": str(proxies[-1].port)}
        return metastore_of(setup.source)(*where, overrides=overrides, **settings)

    def target(*where: Path, port: int, **settings: Any) -> EmbeddedMetastore:
        proxies.append(Proxy(port))
        made = _proxied(setup.target)(*where, port=port, **settings)
        made.proxy = proxies[-1]
        return made

    with ExitStack() as stack:
        disk, spool, why = _disks(directory, stack)
        database: Literal["memory", "disk"] = "disk" if setup.durable else "memory"
        stage = Stage(directory, source=source, target=target, database=database, options=NO_BRAKE)
        for proxy in proxies:
            stack.callback(proxy.close)
        stack.enter_context(stage)
        say("two metastores and a sidecar start")
        stage.target.start()
        stage.source.start()
        start(stage)
        wait_until_compared(stage)
        yield Stand(stage, bridge=proxies[1], target=proxies[0], disk=disk, spool=spool, no_disks=why)


def _proxied(version: str) -> Callable[..., _BehindProxy]:
    return partial(_ReleaseBehindProxy, RELEASES[version]) if version in RELEASES else _BehindProxy


def _disks(directory: Path, stack: ExitStack) -> tuple[LoopDisk | None, Path | None, str]:
    """The queue's and the spool's own disks, or why there are none."""
    try:
        disk = stack.enter_context(closing(LoopDisk(directory / "queue.img", directory / "queue", QUEUE_MIB)))
        spool = stack.enter_context(tmpfs(directory / "spool", SPOOL_MIB))
    except CannotMount as error:
        return None, None, str(error)
    return disk, spool, ""
