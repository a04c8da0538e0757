"""Healing: closes the gaps that were found, by asking every target to read at the source what may have been missed.

Where the metastore keeps a notification log, and it reaches back far enough, that names the objects; else all of them
are compared: first the tables that were changed lately, then everything in scope. The differences go through the queue
like any other event, so that order, policy, brakes and parking hold for them too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import structlog
from thrift.Thrift import TException

from pysync.capture.gaps import GapWatch
from pysync.capture.notifications import NotificationLogRefused, reaches, touched
from pysync.capture.overlaps import CLOSE_SECONDS, Overlaps
from pysync.errors import PysyncError
from pysync.metastore.access import Where
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.model.names import TableName
from pysync.queue import EventQueue, Gap
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Last, Names, Refreshes, everything, some, table
from pysync.worker import Worker

_LOOK_SECONDS = 1.0
_RETRY_SECONDS = 10.0
_MOST_NAMED = 20
_PATIENCE_SECONDS = 60.0
"""How long a comparison waits for listeners that have older events left: these would undo some of it, for a while."""
_NOTE_SECONDS = 10.0
_LOOK_BACK = 1000
"""Ids of the notification log that are read again: an event may be late, or share its id with another."""
_CERTAIN = "notification-id"
_OF_LISTENERS = ("ended:", "missing:")

log = structlog.get_logger(__name__)


class Healer:
    """The thread that looks for gaps and closes them. `done` is the position that the slowest busy target has reached.

    `tables_per_second` is the budget: how many tables are asked to be read, at most. `elsewhere` tells which gaps are
    being closed by others.
    """

    def __init__(
        self,
        queue: EventQueue,
        watch: GapWatch,
        overlaps: Overlaps,
        refreshes: Refreshes,
        *,
        source: Where | None,
        done: Callable[[], int],
        tables_per_second: float,
        elsewhere: Callable[[Gap], bool] = lambda _: False,
    ) -> None:
        self._queue = queue
        self._watch = watch
        self._overlaps = overlaps
        self._refreshes = refreshes
        self._source = source
        self._elsewhere = elsewhere
        self._retry_at = 0.0
        self._due: dict[TableName, None] = {}  # tables that are to be refreshed as soon as the source can be read
        self._careful_until = 0.0
        self._unsettled_since = 0.0
        self._certain = int(queue.noted(_CERTAIN) or 0)
        self._note_at = 0.0
        self._looked_at = time.monotonic()
        self.worker = Worker("healer", self._look, every=_LOOK_SECONDS, retry=_LOOK_SECONDS)
        self._feed = Feed(refreshes, self.worker.stopping, done, tables_per_second, meanwhile=self._notice)

    def start(self) -> None:
        """Begin to look; waits for nothing."""
        self.worker.start()

    def refresh(self, tables: Sequence[TableName], databases: Sequence[str] = ()) -> str:
        """Ask for a comparison of some tables and databases, or of everything, from any thread.

        Those of databases are without their tables, but for what the source has no more. Returns the reason of its gap.
        Raises PysyncError when the source cannot be read.
        """
        if self._source is None:
            raise PysyncError("the source's address is not known", "set [source] metastore and restart the sidecar")
        names = [*databases, *map(str, tables)]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        what = ", ".join(names[:_MOST_NAMED]) + more or "everything"
        reason = f"comparison of {what} asked for by hand"
        key = f"asked:{time.time_ns()}"
        if names:
            with reading(self._source) as source:
                upto = self._refreshes.ask(list(_asked(source, self._last, databases, tables)))
        self._queue.open_gap(key, reason)
        if names:
            self._queue.healed_by([key], upto)
        return reason

    def absent(self, tables: Sequence[TableName]) -> list[TableName]:
        """Those that the source does not have now. Raises PysyncError when it cannot be read."""
        if self._source is None or not tables:
            return []
        with reading(self._source) as source:
            return [name for name in tables if source.table(name.database, name.table) is None]

    def _look(self) -> None:
        """Look for gaps, always; after an error the source is left alone for a while."""
        now = time.monotonic()
        seconds, self._looked_at = now - self._looked_at, now
        tries = now >= self._retry_at
        try:
            self._turn(now, seconds)
        except Exception:
            self._retry_at = now + _RETRY_SECONDS
            raise
        if tries:
            self.worker.well()

    def _turn(self, now: float, seconds: float) -> None:
        self._watch.look(seconds)
        self._notice()
        if self._source is not None and now >= self._retry_at:
            if self._due:
                self._settle(self._source)
            waiting = [gap for gap in self._queue.open_gaps() if gap.upto is None and not self._elsewhere(gap)]
            self._unsettled_since = self._unsettled_since if waiting else now
            if waiting and (self._watch.is_settled() or now - self._unsettled_since > _PATIENCE_SECONDS):
                self._heal(self._source, waiting)
        self._queue.close_gaps()
        self._keep_certain(now)

    def _keep_certain(self, now: float) -> None:
        """Note from time to time up to which id of the notification log nothing is missing."""
        found = self._watch.certain_id()
        if now >= self._note_at and found > self._certain and not self._queue.open_gaps():
            self._queue.note(_CERTAIN, str(found))
            self._certain, self._note_at = found, now + _NOTE_SECONDS

    def _notice(self) -> None:
        """Look at the events that came meanwhile.

        What was renamed while a refresh of it waits, or was just done, is read again: the refresh may have found the
        table under the one name and the event under the other.
        """
        now = time.monotonic()
        if min(self._queue.positions().values(), default=0) < self._refreshes.upto:
            self._careful_until = now + CLOSE_SECONDS
        self._careful_until = max(self._careful_until, self._refreshes.asked_at + CLOSE_SECONDS)
        due = self._overlaps.due(now, renames=now < self._careful_until)
        if self._source is not None:
            self._due |= dict.fromkeys(due)

    def _settle(self, where: Where) -> None:
        """Have the tables read whose events may be in another order than the changes."""
        tables = [name for name in self._due if name.table]
        databases = sorted(name.database for name in self._due if not name.table)
        with reading(where) as source:
            within = [TableName(name, it) for name in databases for it in source.tables(name)]
            self._refreshes.ask(list(_asked(source, self._last, databases, list(dict.fromkeys([*tables, *within])))))
        names = [*databases, *map(str, tables)]
        self._due.clear()
        log.info("overlap_found", tables=names[:10])

    def _heal(self, where: Where, found: Sequence[Gap]) -> None:
        log.warning("healing_started", gaps=len(found))
        with reading(where) as source:
            fed = self._feed.queue(self._wanted(source, found), goes_on=lambda: not all(map(self._elsewhere, found)))
        if fed.whole:
            self._queue.healed_by([gap.key for gap in found], fed.upto)
            log.info("comparison_queued", refreshes=fed.refreshes, upto=fed.upto)

    def _wanted(self, source: Metastore, found: Sequence[Gap]) -> Iterator[Names]:
        """What the notification log names since nothing was missing, where it can tell; else everything."""
        since = max(0, self._certain - _LOOK_BACK)
        told = self._certain > 0 and all(gap.key.startswith(_OF_LISTENERS) for gap in found)
        try:
            if told and reaches(source, since):
                return _named(source, self._last, since)
        except NotificationLogRefused as error:
            log.info("notifications_unavailable", reason=str(error))
        return everything(source, self._last, self._overlaps.lately())

    def _last(self) -> int:
        return self._queue.last


def _named(source: Metastore, last: Last, since: int) -> Iterator[Names]:
    names = list(touched(source, since))
    tables = {TableName(it.database, it.table) for it in names if it.table is not None}
    return some(source, last, sorted({it.database for it in names}), sorted(tables))


def _asked(source: Metastore, last: Last, databases: Sequence[str], tables: Sequence[TableName]) -> Iterator[Names]:
    return some(source, last, databases, tables) if databases else (table(source, name) for name in tables)


@contextmanager
def reading(where: Where) -> Iterator[Metastore]:
    """The source that is there; raises PysyncError, one line that names it, for whatever keeps it from being read."""
    try:
        with Metastore(where) as source:
            yield source
    except (MetastoreError, TException) as error:
        raise PysyncError(f"the source at {where} cannot be read: {error}") from error
