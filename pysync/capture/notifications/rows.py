"""LogRows: what the poller queues for the rows that it has read, and what it counts and reports of them.

A row is replayed, left out with a reason, or unread: then its object is read at the source. Where nothing names the
object, that is a gap. Nothing is left out silently, and no row stops those after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import structlog

from pysync.capture.notifications.kinds import LEFT_OUT, OTHER_CATALOG, REPLAYED
from pysync.capture.notifications.log import Notification
from pysync.capture.notifications.messages import Stamp, UndecodableMessage, decode_notification
from pysync.capture.notifications.origin import Lookups, Once
from pysync.capture.notifications.unread_rows import NamelessNotification, read_again
from pysync.model.event import Event
from pysync.model.names import is_default_catalog, normalized
from pysync.model.wire import encode_event
from pysync.queue import Entry

KeepUnreadable = Callable[[bytes, str], None]
"""Keeps a message aside, on disk, with the reason."""

_MOST_BYTES = 16 * 1024 * 1024
"""Of the events that are made at once. A page of the log may hold gigabytes, packed."""
_SUPERSEDED = "what has changed is gone, as later events show"

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class TakenRows:
    """What rows become: `entries` to queue, `gaps` to report, and how many were left out (by kind) or unread.

    `rows` counts the rows that it is of.
    """

    entries: list[Entry] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unread: int = 0
    rows: int = 0


class LogRows:
    """Makes events of rows for one queue. Not to be shared between threads."""

    def __init__(
        self, keep_unreadable: KeepUnreadable, source: str, instance: str, catalogs: Collection[str] = ()
    ) -> None:
        self._keep_unreadable = keep_unreadable
        self._source, self._instance, self._catalogs = source, instance, catalogs
        self._reported: set[str] = set()  # the kinds and catalogs that the log has reported

    def take(self, rows: Sequence[Notification], source: Lookups, first: int) -> TakenRows:
        """What to queue for the rows, in their order, with sequences from `first` on: of the first ones if it is much.

        Messages that cannot be read are kept aside when this returns. Raises MetastoreError if the source cannot be
        asked.
        """
        taken, source, size = TakenRows(), Once(source), 0
        for row in rows:
            # Numbered by what is queued, not by row: rows that are left out must not look like events that never came.
            stamp = Stamp(self._source, self._instance, first + len(taken.entries))
            entries = self._entries(row, stamp, source, taken)
            taken.entries += entries
            taken.rows += 1
            size += sum(len(it.data) for it in entries)
            if size > _MOST_BYTES:
                break
        return taken

    def _entries(self, row: Notification, stamp: Stamp, source: Lookups, taken: TakenRows) -> list[Entry]:
        reason = LEFT_OUT.get(row.kind) if self._takes(row.catalog) else OTHER_CATALOG
        if reason is not None:
            self._leave_out(row, reason, taken)
            return []
        if row.kind not in REPLAYED:
            return self._unread(row, stamp, source, taken, f"{row} is of a kind that this pysync does not know")
        try:
            event = decode_notification(row, stamp, source)
            if event is not None:
                return [self._entry(event)]
        except (UndecodableMessage, ValueError) as error:  # ValueError: larger than the queue takes
            self._keep_unreadable(row.message, str(error))
            return self._unread(row, stamp, source, taken, str(error))
        self._leave_out(row, _SUPERSEDED, taken)
        return []

    def _unread(self, row: Notification, stamp: Stamp, source: Lookups, taken: TakenRows, reason: str) -> list[Entry]:
        try:
            entries = [self._entry(event) for event in read_again(row, stamp, source)]
        except NamelessNotification:
            # A kind that nobody knows and that names nothing is about no object that could be read.
            if row.kind in REPLAYED:
                taken.gaps.append(reason)
            else:
                self._leave_out(row, "the kind is not known, and it names no database", taken)
            return []
        taken.unread += 1
        if row.kind in REPLAYED or self._is_news(row.kind):
            log.warning("notification_unread", source=self._source, reason=reason)
        return entries

    def _leave_out(self, row: Notification, reason: str, taken: TakenRows) -> None:
        taken.left_out[row.kind] += 1
        if self._is_news(row.kind if self._takes(row.catalog) else f"catalog {row.catalog}"):
            log.info("notification_left_out", kind=row.kind, reason=reason)

    def _takes(self, catalog: str | None) -> bool:
        return is_default_catalog(catalog) or normalized(catalog or "") in self._catalogs

    def _is_news(self, what: str) -> bool:
        """Whether the log has not reported this kind or catalog yet: there may be thousands of its rows."""
        is_news = what not in self._reported
        self._reported.add(what)
        return is_news

    def _entry(self, event: Event) -> Entry:
        return Entry(self._instance, event.sequence, self._source, encode_event(event))
