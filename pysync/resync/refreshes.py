"""Refreshes: events of the sidecar's own, which ask every target to read an object anew (docs/wire-format.md)."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pysync.metastore.reads import Reads
from pysync.model.definition import is_index
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.names import TableName
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue

LIVING = "living"
"""Under which the queue notes when the living source was last read for its targets, in milliseconds since 1970."""

_TABLES_PER_CALL = 50

Names = Mapping[str, str]
"""What to refresh: the attributes of one event."""

Last = Callable[[], int]
"""The position of the newest event in the queue, now."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which databases and tables of the source are meant, by their names there."""

    database: Callable[[str], bool]
    table: Callable[[TableName], bool]


EVERYTHING = Scope(lambda _: True, lambda _: True)


class Refreshes:
    """Appends refreshes to the queue, from any thread."""

    def __init__(self, queue: EventQueue, source: str) -> None:
        self._queue = queue
        self._source = source
        self._lock = threading.Lock()
        self._sequence = max((it.highest for it in queue.instances() if it.instance == SIDECAR), default=0)
        self.upto = queue.last if self._sequence else 0
        """A position that no refresh is behind."""
        self.asked_at = -math.inf
        """When the last of them was asked for (monotonic seconds)."""

    def ask(self, wanted: Iterable[Names], *, lives: bool = True) -> int:
        """Queue a refresh of each; returns a position that none of them is behind. Raises as the queue's `append`.

        `lives` is whether the source is read for them, which is noted, and not a dump of it.
        """
        with self._lock:
            if lives:
                self._queue.note(LIVING, str(round(time.time() * 1000)))
            entries = [self._entry(number, names) for number, names in enumerate(wanted, self._sequence + 1)]
            self._queue.append_all(entries)
            self._sequence += len(entries)
            self.upto, self.asked_at = self._queue.last, time.monotonic()
            return self.upto

    def _entry(self, sequence: int, names: Names) -> Entry:
        now = int(time.time() * 1000)
        event = Event(Kind.REFRESH, self._source, SIDECAR, sequence, now, attributes=dict(names))
        return Entry(SIDECAR, sequence, self._source, encode_event(event))


def some(source: Reads, last: Last, databases: Iterable[str], tables: Iterable[TableName]) -> Iterator[Names]:
    """Refreshes of these databases (without their tables) and tables, any of which may be gone at the source."""
    yield _listed(last, source.databases)
    for database in databases:
        yield {"database": database, **_listed(last, partial(source.tables, database))}
    yield from (table(source, name) for name in tables)


def everything(
    source: Reads,
    last: Last,
    first: Sequence[TableName] = (),
    *,
    scope: Scope = EVERYTHING,
    after: TableName | None = None,
    whole: bool = True,
) -> Iterator[Names]:
    """Refreshes of all that is in scope, read while they are asked for: the tables of `first` before the others.

    Those come again, because that of their database makes void what is parked in it.
    Each tells what was there at that time, so that a later drop or rename is not taken for one that was missed.
    All others are in the order of `place`; those up to `after` are left out. A source that is not `whole` lists tables
    that it cannot show: these get no refresh, and what is parked of them stays so.
    """
    marks = {"whole": "true"} if whole else {}
    listed = _listed(last, source.databases)
    if after is None:
        yield {**listed, **marks}
    for name in first:
        yield table(source, name)
    for database in filter(scope.database, _names_in(listed["present"])):
        if after is None or database >= after.database:
            tables = {"database": database, **_listed(last, partial(source.tables, database)), **marks}
            yield from _whole_database(source, tables, scope, after or TableName("", ""))


def place(names: Names) -> TableName:
    """Where a refresh stands among those of everything, which are sorted so."""
    return TableName(names.get("database", ""), names.get("table", ""))


def _whole_database(source: Reads, listed: Names, scope: Scope, after: TableName) -> Iterator[Names]:
    database = listed["database"]
    if TableName(database, "") > after:
        yield listed
    names = (TableName(database, table) for table in _names_in(listed["present"]))
    wanted = [name.table for name in names if name > after and scope.table(name)]
    for start in range(0, len(wanted), _TABLES_PER_CALL):
        found = source.tables_by_name(database, wanted[start : start + _TABLES_PER_CALL])
        for it in sorted((one for one in found if not is_index(one)), key=lambda one: str(one.tableName)):
            yield _names(TableName(database, it.tableName), it)


def _names_in(present: str) -> list[str]:
    return present.split("\n") if present else []


def _listed(last: Last, names: Callable[[], Iterable[str]]) -> Names:
    """What is there now, and the events that had come before it was asked: of later ones it may know nothing."""
    upto = last()
    return {"present": "\n".join(sorted(names())), "upto": str(upto)}


def table(source: Reads, name: TableName) -> Names:
    """The refresh of one table, which may be gone at the source."""
    return _names(name, source.table(name.database, name.table))


def _names(name: TableName, found: Any) -> Names:
    which = {"database": name.database, "table": name.table}
    return {**which, "absent": "true"} if found is None else {**which, "created": str(found.createTime or 0)}
