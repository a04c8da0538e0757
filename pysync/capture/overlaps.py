"""Overlaps: events of one object whose order nobody knows.

A metastore calls its listener after the commit, in the thread of the client's request. So the events of one thread are
in the order of the commits, and those of two threads, or of two metastores, need not be when they come close together.
Then only the source knows what the object has become, and it is read there once things have calmed down.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.protocol.TBase import TBase
from thrift.Thrift import TType

from pysync.base.errors import PysyncError
from pysync.model.catalogs import database_in
from pysync.model.event import Event, Kind
from pysync.model.event_objects import named_in_event
from pysync.model.names import TableName
from pysync.model.reread import is_reread_request
from pysync.model.wire import decode, decode_event
from pysync.queue import EventQueue

CLOSE_SECONDS = 5.0
"""Events further apart are taken to be in order: as long as a callback may lag behind its commit."""

CALM_SECONDS = 2.0
"""For so long a table must be left alone until it is refreshed, or it is after half a minute."""

RECALLED_SECONDS = 60.0
"""Events so young are kept for `recall`, whatever the history is; of earlier overlaps there is a note."""

_LATEST_SECONDS = 30.0
_REMEMBERED = 50_000
_WAITING = 10_000
_WAITING_BYTES = 16 * 1024 * 1024
"""Of events that nobody has looked at: nothing does while the source hangs, or if its address is not set."""
_RECALLED = 10_000
_RECALLED_BYTES = 16 * 1024 * 1024
_PARTITIONS = frozenset({Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION})
_TABLES = frozenset({Kind.CREATE_TABLE, Kind.ALTER_TABLE, Kind.DROP_TABLE})
_DATABASES = frozenset({Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.DROP_DATABASE})
_FUNCTIONS = frozenset({Kind.CREATE_FUNCTION, Kind.DROP_FUNCTION})


_Key = tuple[TableName, "str | tuple[str, ...]"]
"""A table and `table`, `partitions`, or the values of one partition; a database is a table without a name."""


_SEVERAL = ("several", None)
"""The origin of an event that may be older than one that is forgotten: it is of no thread."""


@dataclass(frozen=True, slots=True)
class _KeyOf:
    """A key of an event. `counts`: later events must be in order with it. `minds`: it must be so with earlier ones."""

    name: _Key
    counts: bool = True
    minds: bool = True


@dataclass(frozen=True, slots=True)
class _Came:
    """When an event came (monotonic seconds), when its listener was called, and in which thread.

    `other` is the last event of the same key from any other thread.
    """

    at: float
    time_ms: int
    origin: tuple[str, str | None]
    tables: frozenset[TableName] = frozenset()
    other: _Came | None = None

    def may_belong_before(self, last: _Came) -> bool:
        """Whether it may be older than `last`, or than the last event of another thread, though it came after both."""
        other = last if self.origin != last.origin else last.other
        if other is None:
            return False
        # However much later it comes: it may have waited in its spool.
        return min(self.at - other.at, (self.time_ms - other.time_ms) / 1000) < CLOSE_SECONDS

    def after(self, last: _Came | None) -> _Came:
        """The same event, as the one that came after `last`."""
        if last is None:
            return self
        return replace(self, other=replace(last, other=None) if self.origin != last.origin else last.other)


@dataclass(slots=True)
class _DueTable:
    """A table to be refreshed: since when that is known, and when it was last changed (monotonic seconds)."""

    since: float
    changed: float


class _PartitionValues(TBase):  # type: ignore[misc]
    """As much of a Partition as it takes to know which one it is."""

    thrift_spec = (None, (1, TType.LIST, "values", (TType.STRING, "UTF8", False), None))

    def __init__(self) -> None:
        self.values: list[str] | None = None


class Overlaps:
    """Finds the tables and databases whose events overlap. For any thread.

    A database is a TableName without a table.
    """

    def __init__(self) -> None:
        self._new: deque[tuple[float, Event]] = deque()
        self._bytes = 0  # of those
        self._looking = threading.Lock()  # over everything below
        self._last: OrderedDict[_Key, _Came] = OrderedDict()
        self._forgotten: dict[str, int] = {}  # by metastore: the time (ms) of the newest event that left `_last`
        self._due: dict[TableName, _DueTable] = {}

    def seen(self, event: Event) -> None:
        """Note an event that came; cheap. If `due` is not called for long, this looks at older events each time."""
        self._add(time.monotonic(), event)
        while len(self._new) > _WAITING or (self._new and self._bytes > _WAITING_BYTES):
            self._check(renames=True)  # whether renames are wanted is not known here

    def recall(self, queue: EventQueue) -> None:
        """Note the last events that are still queued, by when they came: a new process knows of no overlaps."""
        now, time_ms = time.monotonic(), time.time() * 1000
        for queued in queue.events(max(0, queue.last - _RECALLED), _RECALLED, _RECALLED_BYTES):
            with suppress(PysyncError):
                event = decode_event(queued.data)
                self._add(now - max(0.0, time_ms - queued.at_ms) / 1000, event)

    def due(self, now: float, *, renames: bool = False) -> list[TableName]:
        """The tables and databases to refresh at `now` (monotonic seconds), each once: those that have calmed down.

        With `renames` all tables that were renamed since the last call are among them.
        """
        while self._new:
            self._check(renames)
        with self._looking:
            due = [
                name
                for name, it in self._due.items()
                if now - it.changed >= CALM_SECONDS or now - it.since >= _LATEST_SECONDS
            ]
            for name in due:
                del self._due[name]
        return due

    def unsettled(self, upto: float) -> set[TableName]:
        """The tables and databases to refresh because of events that came up to then (monotonic seconds), as far as
        `due` has looked at them.
        """
        with self._looking:
            return {name for name, it in self._due.items() if it.since <= upto}

    def lately(self, limit: int = 1000) -> list[TableName]:
        """The tables whose events came last, the latest first."""
        tables: dict[TableName, None] = {}
        with self._looking:
            for name, _ in reversed(self._last):
                if name.table:
                    tables[name] = None
                if len(tables) == limit:
                    break
        return list(tables)

    def _add(self, at: float, event: Event) -> None:
        with self._looking:
            self._new.append((at, event))
            self._bytes += event.size

    def _check(self, renames: bool) -> None:
        """Look at the oldest event that nobody has looked at, if there is one."""
        with self._looking:
            if self._new:  # else another thread was faster
                at, event = self._new.popleft()
                self._bytes -= event.size
                self._note(at, event, renames)

    # --- with the lock held

    def _note(self, at: float, event: Event, renames: bool) -> None:
        tables = _tables(event)
        # A table that was away when its partition's alter was reported: that is older than whatever took it away.
        time_ms = 0 if event.outlives_its_table else event.time_ms
        came = _Came(at, time_ms, (event.instance, event.attributes.get("thread")), frozenset(tables))
        # A rename brings what is doubtful under one of its names to the other.
        tainted = len(tables) > 1 and (renames or not tables.isdisjoint(self._due))
        # Sorted: of a set they would come in another order in each process, and a simulated history would not repeat.
        for table in sorted(tables):
            self._note_table(came, event, table, tainted)

    def _note_table(self, came: _Came, event: Event, table: TableName, wanted: bool) -> None:
        # A list, not a generator: `_overlaps` also remembers the event, and must be called for every key.
        suspicious = [wanted, *(self._overlaps(key, came) for key in _keys(event, table))]
        request, at = self._due.get(table), came.at
        if request is not None:
            request.changed = at
        elif any(suspicious):
            self._due[table] = _DueTable(at, at)

    def _overlaps(self, key: _KeyOf, came: _Came) -> bool:
        """Whether its order and that of the last event of the key are not known; remembers this one if it counts."""
        last = self._last.get(key.name)
        overlaps = came.may_belong_before(last) if last is not None else self._may_belong_before_forgotten(came)
        if key.counts:
            # Of which thread the one was that is forgotten nobody knows.
            new = replace(came, origin=_SEVERAL) if overlaps and last is None else came
            self._last[key.name] = new.after(last)
            self._last.move_to_end(key.name)
            self._forget(came.at)
        if last is not None and overlaps and key.minds:
            for table in sorted(
                last.tables | came.tables
            ):  # both names of a rename: what came late is missing under the new
                self._due.setdefault(table, _DueTable(came.at, came.at))
        return overlaps and key.minds

    def _forget(self, now: float) -> None:
        """Forget the oldest keys if there are many, but none that may yet overlap because it is close."""
        while len(self._last) > _REMEMBERED:
            key, oldest = next(iter(self._last.items()))
            if now - oldest.at < CLOSE_SECONDS:
                return
            del self._last[key]
            name = oldest.origin[0]
            self._forgotten[name] = max(oldest.time_ms, self._forgotten.get(name, 0))

    def _may_belong_before_forgotten(self, came: _Came) -> bool:
        """Whether it may be older than an event of another metastore that is forgotten."""
        return any(came.time_ms < at for name, at in self._forgotten.items() if name != came.origin[0])


def _tables(event: Event) -> set[TableName]:
    """The tables that an event is about, two for a rename; or the database, if it is of that or a function."""
    if event.kind is Kind.ALTER_TABLE:
        names = {named_in_event(event), named_in_event(replace(event, before=event.after))}
    elif event.kind in _PARTITIONS or event.kind in _TABLES:
        names = {named_in_event(event)}
    elif event.kind in _DATABASES or event.kind in _FUNCTIONS:
        names = {_database(event)}
    else:
        names = set()
    return {name for name in names if name is not None}


def _keys(event: Event, table: TableName) -> Iterator[_KeyOf]:
    """What an event is known by. Two partitions do not mind each other; both mind their table."""
    if event.kind in _TABLES:
        yield _KeyOf((table, "table"))
        yield _KeyOf((table, "partitions"), counts=False)
        return
    if event.kind in _DATABASES:
        yield _KeyOf((table, "table"))
        yield _KeyOf((table, "functions"), counts=False)
        return
    yield _KeyOf((table, "table"), counts=False)
    if event.kind in _FUNCTIONS:
        yield _KeyOf((table, "functions"))
        return
    yield _KeyOf((table, "partitions"), minds=False)
    for raw in (*event.before, *event.after):
        values = _values(raw)
        if values is not None:
            yield _KeyOf((table, values))


def _database(event: Event) -> TableName | None:
    try:
        item = decode(hive.Database if event.kind in _DATABASES else hive.Function, (event.before or event.after)[0])
    except (PysyncError, IndexError):
        return None
    if event.kind in _FUNCTIONS and is_reread_request(item):
        return None
    name = item.name if event.kind in _DATABASES else item.dbName
    return TableName.of(database_in(event.catalog, name), "") if name else None


def _values(raw: bytes) -> tuple[str, ...] | None:
    try:
        return tuple(decode(_PartitionValues, raw).values or ())
    except PysyncError:
        return None
