"""A simulated cluster: a metastore with its listener and clients, and a sidecar that may be killed and started."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pysync.lab.memory import MemoryMetastore, MemoryStore
from pysync.replay.recording import Append
from pysync.targets.settings import TargetSettings
from tests.simulation.clients import TABLES, Client
from tests.simulation.clock import Clock
from tests.simulation.dumps import Dumped
from tests.simulation.links import Link
from tests.simulation.listener import Listener, Unanswered
from tests.simulation.sidecar import Sidecar, Wiring

T = TypeVar("T")


class Killed(BaseException):
    """A sidecar dies here. No code of it may catch this."""


class Cluster:
    """One metastore, and what replicates it; one that replicates to nobody has no sidecar.

    `record` takes what its sidecar has for the journal.
    """

    def __init__(
        self,
        name: str,
        clock: Clock,
        *,
        alike: bool = False,
        tables: Sequence[str] = TABLES,
        record: Append | None = None,
    ) -> None:
        self.name = name
        self._clock = clock
        self.now = clock.time
        self.store = MemoryStore(clock=clock.time)
        self.listener = Listener(name, clock.time)
        self.store.listener = self.listener.hear
        self.intended = MemoryStore(clock=clock.time)
        self.client = Client(MemoryMetastore(self.store), MemoryMetastore(self.intended), alike=alike, tables=tables)
        self.links: dict[str, Link] = {}
        self.sidecar: Sidecar | None = None
        self.fatal: tuple[str, int] | None = None
        self.lost_answers = 0
        self._record = record
        self.settings: dict[str, TargetSettings] = {}
        self._start: Callable[[Dumped | None], Sidecar] | None = None

    def connect(
        self,
        directory: Path,
        targets: Mapping[str, tuple[TargetSettings, MemoryStore]],
        before: Callable[[], None],
        dice: random.Random,
    ) -> None:
        """Give it a sidecar with these targets, and start it."""
        self.links = {name: Link(before) for name in (self.name, *targets)}
        self.settings = {name: settings for name, (settings, _) in targets.items()}
        stores = {name: store for name, (_, store) in targets.items()}
        self._start = lambda dumped: Sidecar(directory, self._wiring(stores), self._clock, dice, dumped)
        self.start()

    def _wiring(self, stores: Mapping[str, MemoryStore]) -> Wiring:
        """As the settings are when the sidecar starts."""
        ends = {name: (self.settings[name], store, self.links[name]) for name, store in stores.items()}
        return Wiring(self.name, self.store, self.links[self.name], ends, self._record)

    @property
    def replicates(self) -> bool:
        """Whether it has a sidecar, running or not."""
        return self._start is not None

    def start(self, dumped: Dumped | None = None) -> None:
        """Start the sidecar if it does not run: one that takes events, or loads a dump."""
        if self._start is not None and self.sidecar is None:
            self.sidecar = self._start(dumped)

    def kill(self) -> None:
        """The sidecar is gone, at once."""
        if self.sidecar is not None:
            self.sidecar.end()
        self.sidecar = self.fatal = None

    def come_by(self, point: str) -> None:
        """The sidecar comes by a crash point. Raises Killed where that is its end."""
        if self.fatal is not None and self.fatal[0] == point:
            self.fatal = (point, self.fatal[1] - 1) if self.fatal[1] else None
            if self.fatal is None:
                raise Killed

    # --- what the listener calls

    def append(self, payload: str, *more: str) -> str:
        """Events come to the bridge."""
        return self._asked(lambda sidecar: sidecar.reception.append(payload, *more))

    def report(self, payload: str) -> str:
        """A report comes to the bridge."""
        return self._asked(lambda sidecar: sidecar.reception.report(payload))

    def _asked(self, call: Callable[[Sidecar], str]) -> str:
        if self.sidecar is None:
            raise Unanswered
        try:
            answer = call(self.sidecar)
        except Killed:
            self.kill()
            raise Unanswered from None
        if self.lost_answers:
            self.lost_answers -= 1
            raise Unanswered
        return answer

    def calm(self) -> None:
        """No fault any more: the sidecar runs, and all callbacks have come."""
        self.fatal, self.lost_answers = None, 0
        for link in self.links.values():
            link.calm()
        self.start()
