"""Healing: closes the gaps of all targets, which are asked to read at the source what they may have missed.

If the metastore keeps a notification log that reaches back far enough, the log names the objects. Else everything in
scope is compared, first the tables that changed lately. Refreshes go through the queue like any other event, so that
order, policy, brakes and parking hold for them, too.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import structlog

from pysync.base.bounded import Questions
from pysync.capture.gaps import REPORTED, GapWatch
from pysync.capture.notifications import NotificationLogRefused, reaches
from pysync.capture.overlaps import CLOSE_SECONDS, Overlaps
from pysync.metastore.access import MetastoreRef
from pysync.metastore.client import Metastore
from pysync.metastore.source import SOURCE, SourceNotSet, reading
from pysync.model.names import TableName
from pysync.model.reread import RereadRequest
from pysync.queue import EventQueue, Gap
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Refreshes
from pysync.resync.wanted import Last, Names, everything, named, some, table
from pysync.worker import Worker

REQUESTED = "requested:"
"""How the keys of the gaps begin that people have opened: they asked for a comparison."""
_EVERY_SECONDS = 1.0
_RETRY_SECONDS = 10.0
_MOST_NAMED = 20
_PATIENCE_SECONDS = 60.0
"""How long a comparison waits for listeners that still have older events: those would undo some of it for a while."""
_NOTE_SECONDS = 10.0
_REQUEST_SECONDS = 4.0  # for the source, while somebody waits for an answer
_LOOK_BACK = 1000
"""Ids of the notification log that are read again: an event may be late, or share its id with another."""
_CERTAIN = "notification-id"
_UNSETTLED = "unsettled"
# Gaps in what a listener delivered. Only for these does the log since the last certain id name all that is missing.
_OF_LISTENERS = ("ended:", "missing:")
# Nothing was lost here.
_KNOWN = (REQUESTED, REPORTED)

log = structlog.get_logger(__name__)


class Healer:
    """The thread that looks for gaps and closes them. `done` returns the position that the slowest target has reached.

    `tables_per_second` limits how many tables are queued for reading. `is_early` says for which gaps changes may not be
    captured yet: what changes after the comparison would be in no event.
    `relays`: targets pass on what they get, so clusters behind them must know what this one may have lost.
    """

    def __init__(
        self,
        queue: EventQueue,
        watch: GapWatch,
        overlaps: Overlaps,
        refreshes: Refreshes,
        *,
        source: MetastoreRef | None,
        done: Callable[[], int],
        tables_per_second: float,
        is_early: Callable[[Gap], bool] = lambda _: False,
        relays: bool = False,
    ) -> None:
        self._queue = queue
        self._watch = watch
        self._overlaps = overlaps
        self._refreshes = refreshes
        self._source = source
        self._is_early = is_early
        self._relays = relays
        self._questions = Questions()
        self._retry_at = 0.0
        self._noted = queue.notes.get(_UNSETTLED) or "[]"
        # Tables that are to be refreshed as soon as the source can be read; also those of a process that ended before.
        self._due: dict[TableName, None] = {TableName(*it): None for it in json.loads(self._noted) if source}
        self._settling: dict[TableName, None] = {}  # those whose refreshes are being queued
        self._noticing = threading.Lock()  # over both, and from when a table is due until it is among the first
        self._careful_until = 0.0
        self._unsettled_since = 0.0
        self._begun: set[str] = set()  # the keys of the gaps that the log says are being closed
        self._certain = int(queue.notes.get(_CERTAIN) or 0)
        self._note_at = 0.0
        self._looked_at = time.monotonic()
        self.worker = Worker("gap-resync", self._checked_turn, every=_EVERY_SECONDS, retry=_EVERY_SECONDS)
        self._feed = Feed(refreshes, self.worker.stopping, done, tables_per_second, meanwhile=self._notice)

    def start(self) -> None:
        """Begin to look for gaps; does not wait."""
        self.worker.start()

    def refresh(self, tables: Sequence[TableName], databases: Sequence[str] = ()) -> str:
        """Request a comparison of some tables and databases, or of everything, from any thread.

        A database is compared without its tables, except for those that the source no longer has. Returns the reason of
        the gap. Raises PysyncError if the source cannot be read.
        """
        if self._source is None:
            raise SourceNotSet
        names = [*databases, *map(str, tables)]
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        what = ", ".join(names[:_MOST_NAMED]) + more or "everything"
        reason = f"comparison of {what} requested by hand"
        key = f"{REQUESTED}{time.time_ns()}"
        if names:
            upto = self._refreshes.ask(self._names_within_request(databases, tables))
        # Opened last: if the source cannot be read, no gap stays that would have everything compared.
        self._queue.gaps.open(key, reason, upto if names else None)
        return reason

    def read_again(self, tables: Sequence[TableName]) -> None:
        """Have all targets read some tables at the source again, from any thread. No gap opens: nothing was missed.

        Raises PysyncError if the source cannot be read.
        """
        if self._source is not None:
            self._refreshes.ask(self._names_within_request((), tables))

    def _names_within_request(self, databases: Sequence[str], tables: Sequence[TableName]) -> list[Names]:
        """What is to be read again, asked of the source while somebody waits. Raises PysyncError, also if it hangs."""

        def read() -> list[Names]:
            with reading(self._source) as source:
                return list(_names_of(source, self._last, databases, tables))

        return self._questions.begin(SOURCE, read, _REQUEST_SECONDS).answer()

    def unsettled(self, upto: float) -> set[TableName]:
        """The tables and databases (a name without a table) whose order of changes up to then (monotonic seconds) is
        not known, and for which no refresh is queued yet. From any thread.
        """
        self._notice()
        with self._noticing:
            return self._overlaps.unsettled(upto) | set(self._due) | set(self._settling)

    def _checked_turn(self) -> None:
        """Look for gaps; after an error the source is not asked for a while."""
        now = time.monotonic()
        seconds, self._looked_at = now - self._looked_at, now
        tries = now >= self._retry_at
        try:
            self._turn(now, seconds)
        except Exception:
            self._retry_at = now + _RETRY_SECONDS
            raise
        # A look that did not touch the source says nothing about whether it can be read again.
        if tries:
            self.worker.succeeded()

    def _turn(self, now: float, seconds: float) -> None:
        self._watch.check(seconds)
        self.note_unsettled()
        if self._source is not None and now >= self._retry_at:
            if self._due:
                self._settle(self._source)
            gaps = [gap for gap in self._queue.gaps.unclosed() if gap.target is None and gap.upto is None]
            waiting = [gap for gap in gaps if not self._is_early(gap)]
            # The patience counts from the first gap that waits.
            self._unsettled_since = self._unsettled_since if waiting else now
            if waiting and (self._watch.is_settled() or now - self._unsettled_since > _PATIENCE_SECONDS):
                self._heal(self._source, waiting)
        self._queue.gaps.close_passed()
        self._keep_certain(now)

    def _keep_certain(self, now: float) -> None:
        """Note, now and then, the id of the notification log up to which nothing is missing."""
        certain = self._watch.certain_id()
        if now >= self._note_at and certain > self._certain and not self._queue.gaps.unclosed():
            self._queue.notes.put(_CERTAIN, str(certain))
            self._certain, self._note_at = certain, now + _NOTE_SECONDS

    def note_unsettled(self) -> None:
        """Note in the queue what `unsettled` has: after a crash the events that overlap may be gone."""
        if self._source is not None:
            names = json.dumps(sorted((it.database, it.table) for it in self.unsettled(math.inf)))
            if names != self._noted:
                self._queue.notes.put(_UNSETTLED, names)
                self._noted = names

    def _notice(self) -> None:
        """Look at the events that have come meanwhile.

        A table that was renamed while a refresh of it waited, or shortly after, is read again: the refresh may have
        found it under one name and the event under the other.
        """
        with self._noticing:
            now = time.monotonic()
            if min(self._queue.positions().values(), default=0) < self._refreshes.upto:
                self._careful_until = now + CLOSE_SECONDS
            self._careful_until = max(self._careful_until, self._refreshes.asked_at + CLOSE_SECONDS)
            due = self._overlaps.due(now, renames=now < self._careful_until)
            if self._source is not None:
                self._due |= dict.fromkeys(due)

    def _settle(self, where: MetastoreRef) -> None:
        """Queue refreshes of the tables whose events may be in another order than the changes."""
        with self._taking_due() as due, reading(where) as source:
            tables = [name for name in due if name.table]
            databases = sorted(name.database for name in due if not name.table)
            # The order of a database's own events is unknown, so its tables may be from before or after them.
            within = [TableName(name, it) for name in databases for it in source.tables(name)]
            self._refreshes.ask(list(_names_of(source, self._last, databases, list(dict.fromkeys([*tables, *within])))))
        names = [*databases, *map(str, tables)]
        log.info("overlap_found", tables=names[:10])

    @contextmanager
    def _taking_due(self) -> Iterator[Mapping[TableName, None]]:
        """What is due, until its refreshes are queued; it stays due if that fails. Others may become due meanwhile."""
        with self._noticing:
            due, self._due = self._due, {}
            self._settling = due
        try:
            yield due
        except BaseException:
            with self._noticing:
                self._due = due | self._due
            raise
        finally:
            with self._noticing:
                self._settling = {}

    def _heal(self, where: MetastoreRef, gaps: Sequence[Gap]) -> None:
        with reading(where) as source:
            self._log_begun({gap.key for gap in gaps})
            fed = self._feed.queue(self._wanted(source, gaps))
        if fed.whole:
            upto = self._notify_clusters(gaps) or fed.upto
            self._queue.gaps.healed_by([gap.key for gap in gaps], upto)
            self._begun.clear()
            log.info("resync_queued", refreshes=fed.refreshes, upto=fed.upto)

    def _notify_clusters(self, gaps: Sequence[Gap]) -> int:
        """Have the targets pass on that this cluster may have lost changes; 0 if that does not concern them."""
        if not self._relays or all(gap.key.startswith(_KNOWN) for gap in gaps):
            return 0
        return self._refreshes.ask([RereadRequest("", home=self._refreshes.source).attributes()])

    def _log_begun(self, keys: set[str]) -> None:
        """Log that a resync begins; not when it is tried again."""
        if not keys <= self._begun:
            log.info("resync_started", gaps=len(keys))
        self._begun = keys

    def _wanted(self, source: Metastore, gaps: Sequence[Gap]) -> Iterator[Names]:
        """The objects that the notification log names since the last certain id, or everything."""
        since = max(0, self._certain - _LOOK_BACK)
        is_named = self._certain > 0 and all(gap.key.startswith(_OF_LISTENERS) for gap in gaps)
        try:
            if is_named and reaches(source, since):
                return named(source, self._last, since)
        except NotificationLogRefused as error:
            log.info("notifications_unavailable", reason=str(error))
        return everything(source, self._last, self._overlaps.lately())

    def _last(self) -> int:
        return self._queue.last


def _names_of(source: Metastore, last: Last, databases: Sequence[str], tables: Sequence[TableName]) -> Iterator[Names]:
    return some(source, last, databases, tables) if databases else (table(source, name) for name in tables)
