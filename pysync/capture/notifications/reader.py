"""Reader: what is new in the notification log since a position, with the flaws of the log made good.

Hive 2.3 gives one id to several events whose transactions overlap, and the second may be committed, and so be seen,
long after events of higher ids: its id may even go back. So every read begins some ids before the position and leaves
out what was seen, by id and content. What is missing shows: ids have no holes, and what was seen and is not too old for
the log must still be there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from pysync.base.text import span
from pysync.capture.notifications.log import PAGE, Notification, NotificationLog

LOOK_BACK = 100
"""Ids: more than there are DDLs at work at one time."""

_Seen = frozenset[tuple[int, str]]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log has been read: the highest id, and the rows of the last `LOOK_BACK` ids that were seen."""

    last: int
    seen: _Seen = frozenset()

    @property
    def since(self) -> int:
        """After which id to read."""
        return max(0, self.last - LOOK_BACK)

    @property
    def newest(self) -> int:
        """After which id to read what is new, and the row before it that shows whether it is the same log."""
        return self.last - 1 if any(number == self.last for number, _ in self.seen) else self.last

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
class NewRows:
    """What one read found: `fresh` rows in the order of the log, and the position after them.

    `gap` says what is missing before or among them; `more`: there is more to read at once. `size` is that of
    all messages that came, in bytes, also of rows that were seen before.
    """

    fresh: Sequence[Notification]
    after: Position
    gap: str | None = None
    more: bool = False
    size: int = 0


def begin(log: NotificationLog, page: int = PAGE) -> Position:
    """The position from which everything that is to come is new: what is in the log now counts as seen."""
    current = log.current()
    here = Position(current)
    # What was written while this reads is new, and not seen.
    return here.past([row for row in log.scan(here.since, page) if row.id <= current])


def read(
    log: NotificationLog, position: Position, current: int, page: int = PAGE, *, looks_back: bool = True
) -> NewRows:
    """What the log holds that has not been seen, a page at most; `current` is its current id, asked just before.

    Changes nothing: the same again until `after` is used. A log that was begun again is taken up where it is now, with
    a gap. With `looks_back=False`, for a `current` that is not below the position, only what follows it is read.
    """
    rows, full, size = _rows(log, position, position.since if looks_back else position.newest, page)
    if not rows and current < position.last:
        return _after_reset(log, page, f"its newest id is {current}, but pysync has read up to id {position.last}")
    if rows and _is_another(rows, position, full):
        return _after_reset(log, page, f"its events up to id {position.last} are not those that pysync has read")
    fresh = [row for row in rows if (row.id, row.digest) not in position.seen]
    after = position.past(fresh)
    missing = _missing(fresh, position.last, after.last if full else current)
    return NewRows(fresh, after if full else after.at(current), missing, full, size)


def _rows(log: NotificationLog, position: Position, since: int, page: int) -> tuple[list[Notification], bool, int]:
    """The first page with a row that was not seen, whether it is full, and the bytes of all messages so far.

    An older page is not kept in memory.
    """
    size = 0
    for rows, full in log.pages(since, page):
        size += sum(len(row.message) for row in rows)
        if not full or any((row.id, row.digest) not in position.seen for row in rows):
            break
    return rows, full, size


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
        "longer than the metastore keeps events, or what is missing cannot be sent, or is larger than an answer may be"
    )


def _after_reset(log: NotificationLog, page: int, why: str) -> NewRows:
    return NewRows((), begin(log, page), f"the notification log was reset: {why}")
