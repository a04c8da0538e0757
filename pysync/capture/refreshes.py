"""Refreshes: events of the sidecar's own, which ask every target to read an object anew (docs/wire-format.md)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pysync.metastore import Metastore
from pysync.model.event import Event, Kind
from pysync.model.names import TableName
from pysync.model.wire import encode_event
from pysync.queue import Entry, EventQueue

INSTANCE = "sidecar"
"""What such events have for the instance of a listener."""

_TABLES_PER_CALL = 50

Names = Mapping[str, str]
"""What to refresh: the attributes of one event."""


class Refreshes:
    """Appends refreshes to the queue, from any thread."""

    def __init__(self, queue: EventQueue, source: str) -> None:
        self._queue = queue
        self._source = source
        self._lock = threading.Lock()
        self._sequence = max((it.highest for it in queue.instances() if it.instance == INSTANCE), default=0)
        self.upto = queue.last if self._sequence else 0
        """A position that no refresh is behind."""

    def ask(self, wanted: Iterable[Names]) -> int:
        """Queue a refresh of each; returns a position that none of them is behind. Raises as the queue's `append`."""
        with self._lock:
            entries = [self._entry(number, names) for number, names in enumerate(wanted, self._sequence + 1)]
            self._queue.append_all(entries)
            self._sequence += len(entries)
            self.upto = self._queue.last
            return self.upto

    def _entry(self, sequence: int, names: Names) -> Entry:
        now = int(time.time() * 1000)
        event = Event(Kind.REFRESH, self._source, INSTANCE, sequence, now, attributes=dict(names))
        return Entry(INSTANCE, sequence, self._source, encode_event(event))


def some(source: Metastore, databases: Iterable[str], tables: Iterable[TableName]) -> Iterator[Names]:
    """Refreshes of these databases (without their tables) and tables, any of which may be gone at the source."""
    yield {"present": "\n".join(source.databases())}
    for database in databases:
        yield {"database": database, "present": "\n".join(source.tables(database))}
    yield from (table(source, name) for name in tables)


def everything(source: Metastore, first: Sequence[TableName] = ()) -> Iterator[Names]:
    """Refreshes of all that the source has, read while they are asked for: the tables of `first` before the others.

    Those come again, because that of their database makes void what is parked in it.
    Each tells what was there at that time, so that a later drop or rename is not taken for one that was missed.
    """
    databases = source.databases()
    yield {"present": "\n".join(databases), "whole": "true"}
    for name in first:
        yield table(source, name)
    for database in databases:
        tables = source.tables(database)
        yield {"database": database, "present": "\n".join(tables), "whole": "true"}
        for start in range(0, len(tables), _TABLES_PER_CALL):
            found = source.tables_by_name(database, tables[start : start + _TABLES_PER_CALL])
            yield from (_names(TableName(database, it.tableName), it) for it in found)


def table(source: Metastore, name: TableName) -> Names:
    """The refresh of one table, which may be gone at the source."""
    return _names(name, source.table(name.database, name.table))


def _names(name: TableName, found: Any) -> Names:
    which = {"database": name.database, "table": name.table}
    return {**which, "absent": "true"} if found is None else {**which, "created": str(found.createTime or 0)}
