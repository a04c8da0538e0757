"""View refreshes: have views translated again when a table that they read has come, gone or got other columns.

A translation depends on the columns that the target has, which the event of a view does not say. So each write of a
target that redefines tables is noted, and the views of the source that read one of them are refreshed. A view that is
written for that is noted, too: so views of views follow.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.model.names import TableName
from pysync.queue import EventQueue, note_of
from pysync.replay.window.translate import Translator
from pysync.replay.window.view_names import names_in_view
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Refreshes, RefreshScope, chosen
from pysync.targets.base import Unavailable
from pysync.targets.settings import TargetSettings
from pysync.worker import Worker

_EVERY_SECONDS = 0.5
_RETRY_SECONDS = 60.0
_QUIET_SECONDS = 2.0
"""Tables are often redefined one after another: their views are refreshed when that has stopped for so long,"""
_LONGEST_SECONDS = 30.0
"""or when the first of them has waited for so long."""
_MOST = 10_000
"""Tables that are kept in mind; if there are more, all views are refreshed."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Redefined:
    """Tables whose views are due, by their names at the target; `every`: those of all tables are."""

    every: bool = False
    tables: set[TableName] = field(default_factory=set)

    def add(self, names: Collection[TableName]) -> None:
        """Add some."""
        if not self.every:
            self.tables.update(names)
        if len(self.tables) > _MOST:
            self.every, self.tables = True, set()

    def __bool__(self) -> bool:
        return self.every or bool(self.tables)


class ViewRefreshes:
    """The worker that refreshes the views of one target, if its setting `views` has them translated.

    After a kill, all views are refreshed if any were due: that is in the queue's file, the names are in memory only.
    `source` opens the source, if it is known. `tables_per_second` is the pace, `clock` returns seconds that only grow.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        settings: TargetSettings,
        translator: Translator,
        *,
        source: Callable[[], AbstractContextManager[Reads]] | None,
        tables_per_second: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._queue = queue
        self._target = settings.name
        self._translates = settings.translates_views and settings.mode != "shadow"
        self._mapping = translator.mapping
        self._scope = RefreshScope(translator.policy.takes_database, translator.policy.takes_table)
        self._source = source
        self._clock = clock
        self._lock = threading.Lock()
        self._noted = bool(queue.notes.get(self._note))
        self._due = Redefined(every=self._noted)
        self._writing: Counter[TableName] = Counter()
        self._first = self._last = clock()
        self.worker = Worker(f"views-{settings.name}", self.turn, every=_EVERY_SECONDS, retry=_RETRY_SECONDS)
        self._feed = Feed(refreshes, self.worker.stopping, self._done, tables_per_second)

    def start(self) -> None:
        """Begin, where views are translated and the source is known; waits for nothing."""
        if self._translates and self._source is not None:
            self.worker.start()

    @contextmanager
    def redefining(self, names: Collection[TableName]) -> Iterator[None]:
        """Around a write that redefines these tables. From any thread.

        It is on disk that views are due before the write begins: a kill right after it loses nothing. Raises
        Unavailable if that cannot be noted.
        """
        if not self._translates:
            yield
            return
        with self._lock:
            self._writing.update(names)
        try:
            self._add(names)
            yield
        finally:
            with self._lock:
                self._writing = self._writing - Counter(names)
                self._last = self._clock()

    def turn(self) -> None:
        """Queue the refreshes if it is time. Raises PysyncError if the source cannot be read."""
        due = self._take()
        if due:
            try:
                whole = self._refresh(due)
            except BaseException:
                self._requeue(due)
                raise
            if whole:
                self._forget()
        self.worker.succeeded()

    def _add(self, names: Collection[TableName]) -> None:
        with self._lock:
            if not self._due:
                self._first = self._clock()
            self._due.add(names)
            if not self._noted:
                try:
                    self._queue.notes.put(self._note, "due")
                except PysyncError as error:
                    raise Unavailable(f"cannot note that views are to be refreshed: {error}", error.hint) from error
                self._noted = True

    def _take(self) -> Redefined | None:
        """What is due, if it is time. Tables that are being written stay due."""
        with self._lock:
            now = self._clock()
            is_time = now - self._last >= _QUIET_SECONDS or now - self._first >= _LONGEST_SECONDS
            if not self._due or not is_time:
                return None
            due, self._due, self._first = self._due, Redefined(tables=set(self._writing)), now
            return due

    def _requeue(self, due: Redefined) -> None:
        with self._lock:
            self._due.every |= due.every
            self._due.add(due.tables)

    def _refresh(self, due: Redefined) -> bool:
        """Queue the refreshes; returns whether they are all."""
        with known(self._source)() as source:
            views = chosen(source, self._scope, lambda view: self._reads(view, due), source.views)
            fed = self._feed.queue({**it, "targets": self._target} for it in views)
        if fed.refreshes:
            log.info("view_refreshes_queued", target=self._target, views=fed.refreshes)
        return fed.whole

    def _reads(self, view: Any, due: Redefined) -> bool:
        names = (TableName.of(*it.split(".", 1)) for it in names_in_view(view))
        return due.every or not due.tables.isdisjoint(map(self._mapping.table, names))

    def _forget(self) -> None:
        """The refreshes are in the queue; unless more tables were redefined meanwhile, no views are due."""
        with self._lock:
            if not self._due:
                self._queue.notes.put(self._note, "")
                self._noted = False

    @property
    def _note(self) -> str:
        return note_of(self._target, "views")

    def _done(self) -> int:
        return self._queue.target(self._target).position()
