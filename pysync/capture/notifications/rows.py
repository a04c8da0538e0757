"""Rows of the notification log in order: reading ahead, entries that cannot be read, and events for the queue."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.base.text import span
from pysync.capture.notifications.log import LEFT_OUT, OTHER_CATALOG, PAGE, REPLAYED, Notification, NotificationLog
from pysync.capture.notifications.messages import (
    Lookups,
    Once,
    Stamp,
    UndecodableMessage,
    answered,
    decode_notification,
    other_names,
)
from pysync.metastore.errors import MetastoreError
from pysync.model.event import Event, Kind
from pysync.model.names import TableName, is_default_catalog, normalized
from pysync.model.wire import encode, encode_event
from pysync.queue import Entry

# --- Reader: what is new in the notification log since a position, with the flaws of the log made good.
#
# Hive 2.3 gives one id to several events whose transactions overlap, and the second may be committed, and so be seen,
# long after events of higher ids: its id may even go back. So every read begins some ids before the position and
# leaves out what was seen, by id and content. What is missing shows: ids have no holes, and what was seen and is not
# too old for the log must still be there.


LOOK_BACK = 100
"""Ids: more than there are DDLs at work at one time."""

_Seen = frozenset[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log has been read: the highest id, and the rows of the last `LOOK_BACK` ids that were seen."""

    last: int
    seen: _Seen = frozenset()

    @property
    def since(self) -> int:
        """After which id to read."""
        return max(0, self.last - LOOK_BACK)

    def past(self, rows: Sequence[Notification]) -> Position:
        """The position when these rows were seen too."""
        seen = self.seen | {(row.id, row.digest) for row in rows}
        return Position(self.last, seen).at(max([self.last, *(row.id for row in rows)]))

    def at(self, last: int) -> Position:
        """The position when the highest id is `last`, or higher."""
        last = max(last, self.last)
        return Position(last, frozenset(item for item in self.seen if item[0] > last - LOOK_BACK))

    def to_json(self) -> str:
        """As text, which `from_json` reads."""
        return json.dumps({"last": self.last, "seen": sorted(self.seen)}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Position:
        """Read what `to_json` wrote; raises ValueError for anything else."""
        try:
            fields = json.loads(text)
            return cls(int(fields["last"]), frozenset((int(id), str(digest)) for id, digest in fields["seen"]))  # noqa: A001
        except (TypeError, KeyError) as error:
            raise ValueError(f"this is not a position in a notification log: {text[:80]}") from error


@dataclass(frozen=True, slots=True)
class Batch:
    """What one read found: `fresh` rows in the order of the log, and the position after them.

    `gap` says what is missing before or among them; `more`: there is more to read at once.
    """

    fresh: Sequence[Notification]
    after: Position
    gap: str | None = None
    more: bool = False


def begin(log: NotificationLog, page: int = PAGE) -> Position:
    """The position from which everything that is to come is new: what is in the log now counts as seen."""
    current = log.current()
    here = Position(current)
    # What was written while this reads is new, and not seen.
    return here.past([row for row in log.scan(here.since, page) if row.id <= current])


def read(log: NotificationLog, position: Position, current: int, page: int = PAGE) -> Batch:
    """What the log holds that has not been seen, a page at most; `current` is its current id, asked just before.

    Changes nothing: the same again until `after` is used. A log that was begun again is taken up where it is now, with
    a gap.
    """
    rows, full = _rows(log, position, page)
    if not rows and current < position.last:
        return _after_reset(log, page, f"its newest id is {current}, but pysync has read up to id {position.last}")
    if rows and _is_another(rows, position, full):
        return _after_reset(log, page, f"its events up to id {position.last} are not those that pysync has read")
    fresh = [row for row in rows if (row.id, row.digest) not in position.seen]
    after = position.past(fresh)
    missing = _missing(fresh, position.last, after.last if full else current)
    return Batch(fresh, after if full else after.at(current), missing, full)


def _rows(log: NotificationLog, position: Position, page: int) -> tuple[list[Notification], bool]:
    """The first page with a row that was not seen, and whether it is full; an older page is not kept in memory."""
    since = position.since
    while True:
        rows = log.after(since, page)
        full = len(rows) >= page
        if not full or any((row.id, row.digest) not in position.seen for row in rows):
            return rows, full
        # Back by one id: more rows of the last one may follow. Where a page is all of one id, it takes a larger one.
        page, since = (page, rows[-1].id - 1) if rows[-1].id - 1 > since else (page * 2, since)


def _is_another(rows: Sequence[Notification], position: Position, full: bool) -> bool:
    """Whether the last row that was seen is not there, though older ones, which the log forgets first, are."""
    anchors = {item for item in position.seen if item[0] == position.last}
    reaches = rows[0].id <= position.last and (rows[-1].id >= position.last or not full)
    return bool(anchors) and reaches and anchors.isdisjoint((row.id, row.digest) for row in rows)


def _missing(fresh: Sequence[Notification], last: int, current: int) -> str | None:
    """The first hole in the ids after `last`, up to `current`."""
    for row in fresh:
        if row.id > last + 1:
            return _lost(last + 1, row.id - 1)
        last = max(last, row.id)
    return _lost(last + 1, current) if current > last else None


def _lost(first: int, last: int) -> str:
    return (
        f"the notification log no longer holds {span('notification', first, last)}: pysync did not read the log for "
        "longer than the metastore keeps events"
    )


def _after_reset(log: NotificationLog, page: int, why: str) -> Batch:
    return Batch((), begin(log, page), f"the notification log was reset: {why}")


# --- Unread: what is to be read at the source because a notification does not say what has changed.
#
# That is a notification whose message cannot be read, and one of a kind that only a newer Hive knows. Its columns, or
# what can be read of its message, name the object. Only that object is read; everything else goes on.


class NamelessNotification(Exception):
    """Nothing in the notification names all that it may have changed."""


def read_again(notification: Notification, stamp: Stamp, source: Lookups) -> list[Event]:
    """The events that have the object of a notification read at the source, numbered from the stamp's sequence on.

    A dropped database has its name alone. None if the database is gone: its drop has an event of its own. Raises
    NamelessNotification, and MetastoreError if the source cannot be asked.
    """
    plain = Event(
        kind=Kind.TABLE_CHANGED,
        source=stamp.source,
        instance=stamp.instance,
        sequence=stamp.sequence,
        time_ms=notification.time * 1000,
        notification_id=notification.id,
        catalog=notification.catalog,
    )
    objects = list(_event_fields(notification, source))
    return [replace(plain, sequence=stamp.sequence + at, **fields) for at, fields in enumerate(objects)]


def _event_fields(notification: Notification, source: Lookups) -> Iterator[dict[str, Any]]:
    """The fields of the events that differ from one to the other."""
    if not notification.database:
        raise NamelessNotification
    if notification.table:
        names = other_names(notification)
        if names is None:
            raise NamelessNotification
        for name in dict.fromkeys(TableName.of(*it) for it in [(notification.database, notification.table), *names]):
            yield {"attributes": _table(name, source) | {"kind": notification.kind}}
    elif REPLAYED.get(notification.kind) is Kind.DROP_DATABASE:
        yield {"kind": Kind.DROP_DATABASE, "before": (encode(hive.Database(name=notification.database)),)}
    else:
        yield from _database(notification.database, source)


def _table(name: TableName, source: Lookups) -> dict[str, str]:
    named = {"database": name.database, "table": name.table}
    try:
        there = source.table(name.database, name.table)
    except (TException, MetastoreError) as error:
        if not answered(error):
            raise
        return named  # what is wrong with it shows again when it is read for a target
    return named | ({"absent": "true"} if there is None else {"created": str(there.createTime or 0)})


def _database(name: str, source: Lookups) -> Iterator[dict[str, Any]]:
    """The database itself, and its functions. The tables that it has now are named, so that none of them is dropped."""
    try:
        if source.database(name) is not None:
            tables = "\n".join(sorted(source.tables(name)))
            yield {"kind": Kind.REFRESH, "attributes": {"database": normalized(name), "present": tables}}
    except (TException, MetastoreError) as error:
        if not answered(error):
            raise
        raise NamelessNotification from error


# --- Rows: what the poller queues for the rows that it has read, and what it counts and reports of them.
#
# A row is replayed, left out with a reason, or unread: then its object is read at the source. Where nothing names the
# object, that is a gap. Nothing is left out silently, and no row stops those after it.

KeepUnreadable = Callable[[bytes, str], None]
"""Keeps a message aside, on disk, with the reason."""

_SUPERSEDED = "what has changed is gone, as later events show"

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Taken:
    """What rows become: `entries` to queue, `gaps` to report, and how many were left out (by kind) or unread."""

    entries: list[Entry] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    unread: int = 0


class Rows:
    """Makes events of rows for one queue. Not to be shared between threads."""

    def __init__(
        self, keep_unreadable: KeepUnreadable, source: str, instance: str, catalogs: Collection[str] = ()
    ) -> None:
        self._keep_unreadable = keep_unreadable
        self._source, self._instance, self._catalogs = source, instance, catalogs
        self._reported: set[str] = set()  # the kinds and catalogs that the log has reported

    def take(self, rows: Sequence[Notification], source: Lookups, first: int) -> Taken:
        """What to queue for the rows, in their order, with sequences from `first` on.

        Messages that cannot be read are kept aside when this returns. Raises MetastoreError if the source cannot be
        asked.
        """
        taken, source = Taken(), Once(source)
        for row in rows:
            # Numbered by what is queued, not by row: rows that are left out must not look like events that never came.
            stamp = Stamp(self._source, self._instance, first + len(taken.entries))
            taken.entries += self._entries(row, stamp, source, taken)
        return taken

    def _entries(self, row: Notification, stamp: Stamp, source: Lookups, taken: Taken) -> list[Entry]:
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
            self._keep_unreadable(row.message.encode("utf-8", "backslashreplace"), str(error))
            return self._unread(row, stamp, source, taken, str(error))
        self._leave_out(row, _SUPERSEDED, taken)
        return []

    def _unread(self, row: Notification, stamp: Stamp, source: Lookups, taken: Taken, reason: str) -> list[Entry]:
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

    def _leave_out(self, row: Notification, reason: str, taken: Taken) -> None:
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
