"""Probe: short reads at both ends beside the lanes: what a target has now, and what the source has again."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack, closing, contextmanager

from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName, normalized
from pysync.model.operation import DropDatabase
from pysync.replay.refresh import Refresher, SourceUnavailable
from pysync.targets.base import OutcomeUnknown, Target, Unavailable

_PAUSE_SECONDS = 30.0


class Probe:
    """Short reads beside the lanes. Before `open_target` is set there is nothing at the target.

    `writer` gives who writes the target's marks, `since` the position of the first event that came at a time (ms) or
    later; `clock` gives seconds that only grow.
    """

    def __init__(
        self,
        refresher: Refresher,
        writer: Callable[[], Writer],
        since: Callable[[int], int],
        clock: Callable[[], float],
    ) -> None:
        self.open_target: Callable[[], Target] | None = None
        self._refresher, self._writer, self._since = refresher, writer, since
        self._clock = clock
        self._checked_at = -math.inf

    def is_due(self) -> bool:
        """Whether `answers` was not called for 30 s."""
        return self._clock() - self._checked_at >= _PAUSE_SECONDS

    def answers(self) -> bool:
        """Whether the target answers a call that concerns no object."""
        self._checked_at = self._clock()
        if self.open_target is None:
            return False
        try:
            with closing(self.open_target()) as target:
                return target.databases() is not None
        except (Unavailable, OutcomeUnknown):
            return False

    @contextmanager
    def reading(self) -> Iterator[Ends]:
        """Both ends, for some reads until the block ends. The target is opened when it is first asked."""
        with ExitStack() as stack:
            yield Ends(self._refresher, self._writer(), self._since, self.open_target, stack)


class Ends:
    """What both ends have (see pysync.replay.brake.BothEnds), read by one connection to the target, in one thread.

    Methods raise what the target raises, unless they say otherwise.
    """

    def __init__(
        self,
        refresher: Refresher,
        writer: Writer,
        since: Callable[[int], int],
        open_target: Callable[[], Target] | None,
        stack: ExitStack,
    ) -> None:
        self._refresher, self._writer, self._since = refresher, writer, since
        self._open_target, self._stack = open_target, stack
        self._opened: Target | None = None

    # --- what the target has

    def at_target(self, database: str) -> Set[str]:
        """What the target has of a database, by names as for `at_source`."""
        target = self._target()
        if target is None or target.database(database) is None:
            return set()
        functions = (f"{database}.{normalized(it.functionName)}()" for it in target.functions(database))
        return {database, *(f"{database}.{it}" for it in target.tables(database)), *functions}

    def tables_of(self, database: str) -> Collection[str]:
        """The names of the tables that the target has in a database."""
        target = self._target()
        return target.tables(database) if target is not None and target.database(database) is not None else ()

    def tables_with(self, drop: DropDatabase) -> Mapping[str, int]:
        """The names of the tables that the drop of a database takes along, with their createTime at the source."""
        target = self._target()
        return target.tables_with(drop) if target else {}

    def partitions_of(self, table: TableName, most: int) -> Sequence[str]:
        """The names of a table's partitions at the target, at most so many."""
        target = self._target()
        return target.partition_names(table, most) if target else ()

    def is_young(self, database: str, seconds: float) -> bool:
        """Whether this queue has seen how the source made the database, within so many seconds.

        True also of a database that the target does not have.
        """
        target = self._target()
        there = target.database(database) if target else None
        mark = Mark.read(there.parameters) if there is not None else None
        if there is None:
            return True
        if mark is None or not mark.born or not self._writer.wrote(mark):
            return False
        return mark.born >= self._since(round((time.time() - seconds) * 1000))

    # --- what the source has

    def at_source(self, database: str) -> Set[str] | None:
        """What the source has now for a database of the target: see `Refresher.at_source`; None: it cannot be read."""
        try:
            return self._refresher.at_source(database)
        except SourceUnavailable:
            return None

    def partitions_at_source(self, table: TableName) -> Set[str] | None:
        """The names of the partitions that the source has now for a table of the target; None: it cannot be read."""
        try:
            return self._refresher.partitions_at_source(table)
        except SourceUnavailable:
            return None

    def _target(self) -> Target | None:
        if self._opened is None and self._open_target is not None:
            self._opened = self._stack.enter_context(closing(self._open_target()))
        return self._opened
