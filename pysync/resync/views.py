"""Views: translated again when a table that they read has come, gone or got other columns at the target, and when the
source's Hive is found to be another one.

A translation depends on the columns that the target has, which the event of a view does not say. So each write of a
target that redefines tables is noted, and the views of the source that read one of them are refreshed. A view that is
written for that is noted, too: so views of views follow. The scope of a resync has what views are read by since then
(SourceHive.as_json).
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pysync.base.errors import PysyncError
from pysync.metastore.reads import Reads
from pysync.model.names import TableName
from pysync.queue import Resync
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.view_names import names_in_view
from pysync.resync.rows import ResyncRows
from pysync.resync.trigger import ResyncRequest, Trigger, Wanted
from pysync.resync.wanted import RefreshScope, chosen
from pysync.targets.base import Unavailable
from pysync.targets.source_hive import SourceHive

_QUIET_SECONDS = 2.0
"""Tables are often redefined one after another: their views are refreshed when that has stopped for so long,"""
_LONGEST_SECONDS = 30.0
"""or when the first of them has waited for so long."""
_NOTHING = "{}"
_MOST = 10_000
"""Tables that are kept in mind; if there are more, all views are refreshed."""


@dataclass(slots=True)
class Redefined:
    """Tables whose views are due, by their names at the target; `every`: those of all tables are."""

    every: bool = False
    tables: set[TableName] = field(default_factory=set)

    def add(self, names: Collection[TableName], *, every: bool = False) -> None:
        """Add some, or all."""
        self.every |= every
        self.tables.update(names)
        if self.every or len(self.tables) > _MOST:
            self.every, self.tables = True, set()

    def __bool__(self) -> bool:
        return self.every or bool(self.tables)


class RedefinedTables(Trigger):
    """The views of one target, if they are translated (`translates`).

    That views are due is on disk, in `rows`; which ones is in memory only, so after a kill all are refreshed. `hive`
    returns the Hive that views are read by now. `clock` returns seconds that only grow.
    """

    name = "views"
    is_frequent = True

    def __init__(
        self,
        rows: ResyncRows,
        scope: RefreshScope,
        mapping: NameMapping,
        *,
        translates: bool,
        hive: Callable[[], SourceHive] = SourceHive,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rows = rows
        self._translates = translates
        self._hive = hive
        self._scope = scope
        self._mapping = mapping
        self._clock = clock
        last = rows.last(self.name)
        self._due = Redefined(every=last is not None and last.is_queueing)
        self._reading = Redefined()
        self._writing: Counter[TableName] = Counter()
        self._first = self._last = clock()

    @contextmanager
    def redefining(self, names: Collection[TableName]) -> Iterator[None]:
        """Around a write that redefines these tables. From any thread.

        It is on disk that views are due before the write begins: a kill right after it loses nothing. Raises
        Unavailable if that cannot be noted.
        """
        if not self._translates:
            yield
            return
        with self._rows.lock:
            self._writing.update(names)
        try:
            self._add(names)
            yield
        finally:
            with self._rows.lock:
                self._writing = self._writing - Counter(names)
                self._last = self._clock()

    def due(self, last: Resync | None, now: float) -> ResyncRequest | None:  # noqa: ARG002 - the row has its own time
        """All views, if those at the target were read by something else."""
        read_by = self._hive().as_json()
        if not self._translates or read_by == (last.scope if last is not None else _NOTHING):
            return None
        with self._rows.lock:
            self._due.add((), every=True)
        known = ", ".join(f"{key} {value}" for key, value in json.loads(read_by).items())
        return ResyncRequest(f"views are read by {known or 'all versions of Hive'}", read_by)

    def is_ready(self) -> bool:
        """Whether no table was redefined for a while, or the first one long ago."""
        now = self._clock()
        is_quiet = not self._writing and now - self._last >= _QUIET_SECONDS
        return is_quiet or now - self._first >= _LONGEST_SECONDS

    def wanted(self, source: Reads, resync: Resync) -> Wanted:  # noqa: ARG002 - it always begins anew
        """The views of what is due. Tables that are being written stay due."""
        with self._rows.lock:
            self._reading.add(self._due.tables, every=self._due.every)
            self._due, self._first = Redefined(tables=set(self._writing)), self._clock()
        return Wanted(chosen(source, self._scope, self._reads, source.views))

    def all_queued(self, resync: Resync) -> bool:  # noqa: ARG002
        """False if more tables were redefined meanwhile."""
        self._reading = Redefined()
        return not self._due

    def _add(self, names: Collection[TableName]) -> None:
        with self._rows.lock:
            if not self._due:
                self._first = self._clock()
            self._due.add(names)
            last = self._rows.last(self.name)
            if last is None or not last.is_queueing:
                # What views are read by stays that of the last resync of all: whether it has changed is for `due`.
                read_by = last.scope if last is not None else _NOTHING
                try:
                    self._rows.begin(self, ResyncRequest("tables that views may read were redefined", read_by))
                except PysyncError as error:
                    raise Unavailable(f"cannot note that views are to be refreshed: {error}", error.hint) from error

    def _reads(self, view: Any) -> bool:
        names = (TableName.of(*it.split(".", 1)) for it in names_in_view(view))
        return self._reading.every or not self._reading.tables.isdisjoint(map(self._mapping.table, names))
