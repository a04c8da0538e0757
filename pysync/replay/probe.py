"""Probe: what a drain's own thread asks the target before it takes a window, each time by a connection of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from pysync.model.operation import DropDatabase
from pysync.targets.base import OutcomeUnknown, Target, Unavailable

_PAUSE_SECONDS = 30.0


class Probe:
    """Short reads at a target. Before `open_target` is set there is nothing at the target.

    `clock` gives seconds that only grow. Methods raise what the target raises, unless they say otherwise.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.open_target: Callable[[], Target] | None = None
        self._clock = clock
        self._asked_at = -math.inf

    def tables_of(self, database: str) -> Collection[str]:
        """The names of the tables in a database."""
        with self._target() as target:
            return target.tables(database) if target else ()

    def tables_with(self, drop: DropDatabase) -> Collection[str]:
        """The names of the tables that the drop of a database takes along."""
        with self._target() as target:
            return target.tables_with(drop) if target else ()

    def answers(self) -> bool:
        """Whether the target answers a call that concerns no object. Asked every 30 s at most: False in between."""
        if self._clock() - self._asked_at < _PAUSE_SECONDS:
            return False
        self._asked_at = self._clock()
        try:
            with self._target() as target:
                return target is not None and target.databases() is not None
        except (Unavailable, OutcomeUnknown):
            return False

    @contextmanager
    def _target(self) -> Iterator[Target | None]:
        target = self.open_target() if self.open_target else None
        try:
            yield target
        finally:
            if target is not None:
                target.close()
