"""The sidecar of a simulated cluster: the real queue, reception, gaps, healing and replay, without their threads."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pysync.capture.bridge import Reception
from pysync.capture.gaps import GapWatch
from pysync.capture.overlaps import Overlaps
from pysync.capture.source_watch import SourceWatch
from pysync.lab.memory import MemoryMetastore, MemoryStore
from pysync.metastore.source import reading
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.recording import Append
from pysync.replay.window.direction import Direction
from pysync.replay.window.translate import Translator
from pysync.resync.healing import Healer
from pysync.resync.refreshes import Refreshes
from pysync.resync.rescoping import compare_scope
from pysync.resync.triggers import Resyncs
from pysync.targets.settings import TargetSettings
from tests.simulation.clock import Clock
from tests.simulation.dumps import Dumped
from tests.simulation.feed import Feed
from tests.simulation.links import Connection, Link, LinkedTarget

SILENCE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Wiring:
    """What a sidecar is connected to: its own metastore, and that of each target, by the target's settings. `record`
    takes what is for the journal.
    """

    source: str
    store: MemoryStore
    own: Link
    targets: Mapping[str, tuple[TargetSettings, MemoryStore, Link]]
    record: Append | None = None


class Sidecar:
    """One process; what it knows but for the queue file ends with it."""

    def __init__(
        self, directory: Path, wiring: Wiring, clock: Clock, dice: random.Random, dumped: Dumped | None = None
    ) -> None:
        """With a dump its feeds read that, not the source: it is there for a load alone."""
        self._clock = clock
        self.queue = EventQueue(
            directory, min_free_bytes=0, lock_timeout=0, free_bytes=lambda _: 1 << 40, clock=clock.time
        )
        self.watch, self.overlaps = GapWatch(self.queue, SILENCE_SECONDS), Overlaps()
        self.overlaps.recall(self.queue)
        settings = [it for it, _, _ in wiring.targets.values()]
        lost = [Translator.of(it).lost for it in settings]
        self.reception = Reception(self.queue.intake, self.watch, self.overlaps, lost)
        source: Any = dumped.opened if dumped else self._source(wiring)
        self.feeds = [
            Feed(
                self.queue,
                settings,
                _opener(settings, store, link),
                source,
                clock=clock,
                dice=dice,
                link=link,
                record=wiring.record,
            )
            for settings, store, link in wiring.targets.values()
        ]
        refreshes = Refreshes(self.queue, wiring.source)
        self.healer = Healer(
            self.queue,
            self.watch,
            self.overlaps,
            refreshes,
            source=self._source(wiring),  # type: ignore[arg-type]  # see stage.stage
            done=lambda: self.queue.last,
            tables_per_second=1e9,
            relays=any(Direction.of(it).relays for it in settings),
        )
        rescoped = [] if dumped else wiring.targets.values()
        self.resyncs = [self._resyncs_of(settings, refreshes, wiring) for settings, _, _ in rescoped]
        self._healed_at = clock.monotonic()
        source = MemoryMetastore(wiring.store)
        self.source_watch = SourceWatch(
            self.queue, lambda: nullcontext(source), self.watch, has_come=lambda _: self.watch.is_settled()
        )

    def heal(self) -> None:
        """A turn of the healer, of each target's resyncs, and of the source watch, for which no call fails."""
        now = self._clock.monotonic()
        self.healer._turn(now, now - self._healed_at)
        self._healed_at = now
        for resyncs in self.resyncs:
            resyncs.job.turn()
        self.source_watch.turn()

    @property
    def resting(self) -> bool:
        """Whether nothing is left to do, but for what is parked."""
        return not (self.compares or any(feed.behind for feed in self.feeds))

    @property
    def compares(self) -> bool:
        """Whether something has to be read at the source, as an event may be missing, or out of order."""
        is_due = self.overlaps._new or self.overlaps._due or self.healer._due or self.source_watch._suspected
        return bool(is_due or self.queue.gaps.unclosed())

    def end(self) -> None:
        """The process is gone, whatever it was at; its file is free."""
        self.queue._file.close()

    def _resyncs_of(self, settings: TargetSettings, refreshes: Refreshes, wiring: Wiring) -> Resyncs:
        compare_scope(self.queue, settings)
        opened: Any = partial(reading, self._source(wiring))  # type: ignore[arg-type]  # see stage.stage
        translator = Translator.of(settings)
        return Resyncs.of(
            self.queue,
            refreshes,
            settings,
            translator,
            source=opened,
            drain=_no_drain,
            tables_per_second=1e9,
            clock=self._clock.time,
            timer=self._clock.monotonic,
        )

    @staticmethod
    def _source(wiring: Wiring) -> Callable[[], Connection]:
        return lambda: Connection(wiring.store, wiring.own)


def _no_drain() -> Drain:
    raise AssertionError("a history bootstraps by hand")


def _opener(settings: TargetSettings, store: MemoryStore, link: Link) -> Callable[[], LinkedTarget]:
    return lambda: LinkedTarget(settings, store, link)
