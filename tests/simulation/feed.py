"""One target of a simulated sidecar: the turns of a drain, without its thread."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import partial
from typing import cast

from pysync.queue import EventQueue, Parked
from pysync.replay.brake import Brake
from pysync.replay.recording import Append
from pysync.replay.refresh import OpenSource
from pysync.replay.replayer import Replayer
from pysync.replay.window.translate import Translator
from pysync.targets.base import Target
from pysync.targets.settings import TargetSettings
from tests.simulation.clock import Clock
from tests.simulation.lanes import OneByOne
from tests.simulation.links import Link

_IN_FLIGHT, _RESTING = 2, 32
"""So many works may be in flight for each lane, and as many more that are tried again (docs/architecture.md)."""


class Feed:
    """The turns of a `Drain`, on the world's clock."""

    def __init__(
        self,
        queue: EventQueue,
        settings: TargetSettings,
        open_target: Callable[[], Target],
        source: OpenSource,
        *,
        clock: Clock,
        dice: random.Random,
        link: Link,
        record: Append | None = None,
    ) -> None:
        self.name = settings.name
        self._queue, self._settings, self._clock = queue, settings, clock
        queue.target(self.name).register()
        self._replayer = Replayer(
            queue,
            settings,
            Translator.of(settings),
            source=source,
            record=record,
            clock=clock.monotonic,
            chance=dice.random,
            open_lanes=partial(OneByOne, dice=dice, link=link),
            pace=0.0,
        )
        self.progress = self._replayer.progress
        self._dice = dice
        self._lanes = cast(OneByOne, self._replayer.lanes(open_target))

    @property
    def behind(self) -> int:
        """How many events it has not had yet."""
        return self._queue.last - self._queue.target(self.name).position()

    @property
    def parked(self) -> int:
        """How many events it has refused."""
        return self._queue.target(self.name).parked.count()

    def ask_for_retry(self) -> None:
        """What is parked is tried again at once, and soon again if it fails."""
        self._replayer.restart_retries()

    @property
    def released(self) -> list[str]:
        """The objects that a person keeps no longer, and that no comparison has dropped yet."""
        return [it.object for it in self._queue.target(self.name).removals.all() if it.state == "released"]

    @property
    def parked_rows(self) -> list[Parked]:
        """The first thousand of what it has refused."""
        return self._queue.target(self.name).parked.events(limit=1000)

    @property
    def parked_positions(self) -> set[int]:
        """Those of the events."""
        return {it.position for it in self.parked_rows}

    @property
    def brake(self) -> Brake:
        """What holds its removals."""
        return self._replayer.brake

    def retry_soon(self) -> None:
        """A person has decided: what waits for that is tried again."""
        self._replayer.retry_soon()

    def turn(self) -> bool:
        """What is parked, if it is time for that, or else the next window, or a step on with what is under way; False
        if there was nothing to do.
        """
        is_idle = not self._replayer.busy and not self.behind
        rest = self._replayer.step(self._lanes, takes=is_idle or self._dice.random() < 0.5)
        if is_idle and not self._replayer.busy:
            return False
        if not self._lanes.busy and rest.seconds < math.inf:
            self._clock.sleep(rest.seconds)
        self._check_bounds()
        return True

    @property
    def refuses(self) -> bool:
        """Whether an event was refused that is parked only when the position passes it."""
        return self._replayer.pending.has_refused

    @property
    def is_full(self) -> bool:
        """Whether as much is under way as may be."""
        return self._replayer.pending.taken - self._replayer.done >= self._replayer.reach

    def _check_bounds(self) -> None:
        """What is under way is bounded, in events and in works."""
        ahead = self._replayer.pending.taken - self._replayer.done
        assert ahead <= self._replayer.reach, f"{ahead} events are under way: they fill the memory"
        assert self._lanes.begun <= _IN_FLIGHT * self._lanes.count + _RESTING, (
            f"{self._lanes.begun} works are in flight"
        )
