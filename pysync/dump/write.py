"""Write: reads a metastore page by page, as records in the order of their names, with one page in memory at a time.

This is no snapshot: each object is as it was when its turn came, which is after the notification `upto` of the dump.
What vanishes on the way is left out. `changes_since` shows afterwards whether it was one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.base.errors import PysyncError
from pysync.capture.notifications import Notification, NotificationLog, NotificationLogRefused, named, reaches, touched
from pysync.capture.notifications.reader import LOOK_BACK
from pysync.dump.manifest import DumpCounts
from pysync.dump.record import DumpRecord, Reply, What, framed
from pysync.dump.replies import ReplyRecorder
from pysync.metastore.client import PARTITIONS_PER_CALL, Metastore
from pysync.model.definition import is_index
from pysync.model.names import TableName
from pysync.resync.wanted import RefreshScope

_TRIES = 3

OnProgress = Callable[[str, DumpCounts], None]
"""Called now and then with the current table, and the counts so far."""


@dataclass(frozen=True, slots=True)
class DumpSelection:
    """What is dumped: what is in `scope`; with `tables`, only these of its tables, and those that are new in it.

    A table is new if it is in `scope` and not in `former`; `by_definition`: its name alone does not say that.
    """

    scope: RefreshScope
    tables: Collection[TableName] | None = None
    former: RefreshScope | None = None
    by_definition: bool = False

    def may_take(self, name: TableName) -> bool:
        """Whether the dump may have a table of this name, and not just its name."""
        is_new = self.former is not None and (self.by_definition or not self.former.table(name))
        return self.scope.table(name) and (self._is_requested(name) or is_new)

    def takes(self, name: TableName, table: Any) -> bool:
        """Whether the dump has this `ttypes.Table`, of a name that it may take."""
        is_new = self.former is not None and not self.former.definition(name, table)
        return self.scope.definition(name, table) and (self._is_requested(name) or is_new)

    def _is_requested(self, name: TableName) -> bool:
        return self.tables is None or name in self.tables


def newest(source: Metastore) -> int | None:
    """The newest notification; None where the source has no log of them that could be read."""
    try:
        # 0: nobody writes the log, which is no error there.
        return NotificationLog(source).current() or None
    except NotificationLogRefused:
        return None


def newest_within(source: Metastore, scope: RefreshScope, since: int, to: int | None, limit: int | None) -> int:
    """The last notification of a dump from `since` on: `to`, or the last of `limit` that are about `scope`.

    If there are fewer, it is the newest of all. Rows that share an id are not torn apart. Raises PysyncError where the
    log does not reach back that far.
    """
    log = NotificationLog(source)
    current = log.expected()
    if since > current or not reaches(source, since):
        raise PysyncError(
            f"the notification log of {source.uri} does not hold all notifications after {since} (its newest is "
            f"{current})",
            "make a full dump: without --from, or FROM in REPL DUMP",
        )
    upto = current if to is None else min(to, current)
    if limit is None:
        return upto
    within = (row for row in log.scan(since) if _is_about(row, scope))
    last = next(islice(within, limit - 1, None), None)
    return upto if last is None else min(upto, last.id)


def changes_since(source: Metastore, scope: RefreshScope, since: int) -> int | None:
    """How many notifications after `since` are about `scope`; None where the log does not reach back that far."""
    return sum(_is_about(row, scope) for row in NotificationLog(source).scan(since)) if reaches(source, since) else None


def _is_about(row: Notification, scope: RefreshScope) -> bool:
    """Whether a row names something in scope; a rename has two names."""
    return any(
        scope.database(it.database) if it.table is None else scope.table(TableName(it.database, it.table))
        for it in named(row)
    )


def touched_tables(source: Metastore, since: int, upto: int) -> frozenset[TableName]:
    """The tables of the notifications from `since` to `upto`, and of some before `since`, which may come late."""
    tables = touched(source, max(0, since - LOOK_BACK))
    return frozenset(TableName(it.database, it.table) for it in tables if it.id <= upto and it.table is not None)


@dataclass(slots=True)
class Writing:
    """One run of a dump, which goes on after the table or database `after` (None: from the beginning)."""

    source: ReplyRecorder
    selection: DumpSelection
    after: TableName | None = None
    counts: DumpCounts = field(default_factory=DumpCounts)

    def parts(self, on_progress: OnProgress) -> Iterator[tuple[bytes, DumpCounts]]:
        """The records as bytes, each with what it completes. Raises MetastoreError."""
        unfinished = 0
        for record, counts in self._records():
            self.counts = self.counts.plus(counts)
            unfinished = unfinished + len(record.names) if record.what is What.PARTITIONS else 0
            so_far = self.counts.plus(DumpCounts(partitions=unfinished))
            on_progress(f"{record.database}.{record.table}" if record.table else record.database, so_far)
            yield framed(record), counts

    def _records(self) -> Iterator[tuple[DumpRecord, DumpCounts]]:
        databases = sorted(self.source.databases())
        if self.after is None:
            yield DumpRecord(What.DATABASES, names=tuple(databases)), DumpCounts()
        after = self.after or TableName("", "")
        for database in databases:
            if database < after.database:
                continue
            tables = sorted(self.source.tables(database))
            if TableName(database, "") > after:
                yield self._database(database, tables)
            names = (TableName(database, table) for table in tables)
            for name in names:
                if name > after and self.selection.may_take(name):
                    yield from self._table(name)

    def _database(self, name: str, tables: list[str]) -> tuple[DumpRecord, DumpCounts]:
        """A database. Out of scope, it has only the names of its tables and functions."""
        self.source.taken()
        database = self.source.database(name) if self.selection.scope.database(name) else None
        if database is None:
            self.source.call(lambda client: client.get_functions(name, "*"))
            return DumpRecord(What.DATABASE, name, names=tuple(tables), replies=self.source.taken()), DumpCounts()
        functions = self.source.functions(name)
        replies = tuple(it for it in self.source.taken() if it.call != "get_functions")
        counts = DumpCounts(databases=1, functions=len(functions))
        return DumpRecord(What.DATABASE, name, names=tuple(tables), replies=replies), counts

    def _table(self, name: TableName) -> Iterator[tuple[DumpRecord, DumpCounts]]:
        """A table; once more if it is another one by the end. No END if it vanishes, or is replaced each time."""
        for _ in range(_TRIES):
            # Replies to listings, or of the try before, belong to no record.
            self.source.taken()
            try:
                table = self.source.table(name.database, name.table)
                if table is None or is_index(table) or not self.selection.takes(name, table):
                    return
                constraints = sum(map(len, self.source.constraints(table).values()))
                yield self._record(What.TABLE, name, replies=self.source.taken()), DumpCounts()
                partitions = 0
                if table.partitionKeys:
                    for page in self._pages(name):
                        partitions += len(page.names)
                        yield page, DumpCounts()
                again = self.source.table(name.database, name.table)
            except hive.NoSuchObjectException:
                return
            # Another createTime: it was dropped and created again while its partitions were read.
            if again is not None and again.createTime == table.createTime:
                counts = DumpCounts(tables=1, partitions=partitions, constraints=constraints)
                yield self._record(What.END, name), counts
                return

    def _pages(self, name: TableName) -> Iterator[DumpRecord]:
        names = self.source.partition_names(name.database, name.table)
        self.source.taken()
        for start in range(0, len(names), PARTITIONS_PER_CALL):
            page = tuple(names[start : start + PARTITIONS_PER_CALL])
            self.source.partitions_by_name(name.database, name.table, page)
            yield self._record(What.PARTITIONS, name, names=page, replies=self.source.taken())

    def _record(
        self, what: What, name: TableName, names: tuple[str, ...] = (), replies: tuple[Reply, ...] = ()
    ) -> DumpRecord:
        return DumpRecord(what, name.database, name.table, names, replies)
