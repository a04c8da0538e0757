"""Refresh: reads from the source what events do not say, or not in a certain order, and applies it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

import structlog
from hmsclient.genthrift.hive_metastore import ttypes as hive
from thrift.Thrift import TException

from pysync.base.crashpoints import crash_point
from pysync.base.errors import PysyncError
from pysync.metastore.client import is_of_call
from pysync.metastore.errors import MetastoreError
from pysync.metastore.reads import Reads
from pysync.model import idl
from pysync.model.event import Kind
from pysync.model.home import first_home
from pysync.model.names import TableName
from pysync.model.objects import OBJECTS
from pysync.model.operation import (
    DropConstraint,
    DropDatabase,
    DropFunction,
    DropPartitions,
    DropTable,
    Operation,
    PutConstraint,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutStatistics,
    PutTable,
    Refresh,
    RenameTable,
    RequestReread,
)
from pysync.replay.lanes import Stopped
from pysync.replay.rereading import Rereading, partitions_again, there_again
from pysync.replay.source_reads import SourceReads
from pysync.replay.statistics import put_statistics, wants_statistics
from pysync.replay.tally import Count, Tally
from pysync.replay.window.order import database_of
from pysync.replay.window.translate import Translator
from pysync.replay.window.whole import reread
from pysync.targets.base import Held, Outcome, Target, Unavailable, total

log = structlog.get_logger(__name__)
Expect = Callable[[Sequence[Operation], Refresh], None]
"""Called with all drops of a refresh before the first of them (see pysync.replay.brake)."""

OpenSource = Callable[[], AbstractContextManager[Reads]]
"""Opens the source metastore, which connects at its first call, or a dump of it."""


class SourceUnavailable(Unavailable):
    """The source cannot be read now; nothing is wrong with the target or the operation."""


_KINDS: Mapping[type[Operation], Kind] = {
    PutDatabase: Kind.CREATE_DATABASE,
    DropDatabase: Kind.DROP_DATABASE,
    PutFunction: Kind.CREATE_FUNCTION,
    PutTable: Kind.CREATE_TABLE,
    DropTable: Kind.DROP_TABLE,
    PutPartitions: Kind.ADD_PARTITION,
    DropPartitions: Kind.DROP_PARTITION,
    DropFunction: Kind.DROP_FUNCTION,
    DropConstraint: Kind.DROP_CONSTRAINT,
    PutStatistics: Kind.COLUMN_STATISTICS,
    RequestReread: Kind.REFRESH,
}
_CONSTRAINTS = {struct: kind for kind, struct in OBJECTS.items() if struct in idl.ANY_CONSTRAINT}


class Refresher:
    """Refreshes for one target; used by several lanes at once, each with a connection to the source of its own.

    `keep_pace` is called before each operation: it may wait, and returns False to have the refresh given up for now.
    """

    def __init__(
        self,
        source: OpenSource | None,
        translator: Translator,
        expect: Expect,
        tally: Tally | None = None,
        keep_pace: Callable[[], bool] = lambda: True,
    ) -> None:
        self._source = source
        self._translator = translator
        self._expect = expect
        self.tally = tally or Tally()
        self.reads = SourceReads()
        self._keep_pace = keep_pace
        self._idle: SimpleQueue[tuple[Reads, ExitStack]] = SimpleQueue()

    def rest(self) -> None:
        """Close the connections to the source that no lane uses now; the next refresh opens one."""
        with suppress(Empty):
            while True:
                self._idle.get_nowait()[1].close()

    def apply(self, target: Target, refresh: Refresh) -> Outcome:
        """Apply the operations that the refresh becomes.

        Idempotent. Raises what the target raises, SourceUnavailable if the source cannot be read, and at the end Held
        for the drops that the brake holds.
        """
        if refresh.statistics and not wants_statistics(target):
            return Outcome.UNCHANGED
        if self._source is None:
            name, reason = self._translator.policy.target, "[source] metastore is not set"
            log.warning("refresh_skipped", target=name, key=refresh.key, reason=reason)
            return Outcome.UNCHANGED
        outcomes, held, partitions = set[Outcome](), list[Held](), 0
        with self._reading(self._source) as source, self.reads.of(refresh.key):
            rereading = Rereading(source, target, self._translator, refresh)
            for operation in self._operations(rereading):
                if not self._keep_pace():
                    raise Stopped
                try:
                    outcomes.add(self._apply(target, operation))
                except Held as error:
                    held.append(error)
                    continue
                crash_point("apply.done")
                if Outcome.CONFLICT in outcomes and refresh.table is not None:
                    break  # the home says the whole table again, so the rest would be in vain
                partitions += len(operation.partitions) if isinstance(operation, PutPartitions) else 0
                # After each batch, so that people see a large table go on.
                self._count(refresh, Count(0, partitions))
        self.reads.snapshots.update(rereading.snapshots)
        if held:
            raise Held.together(held)
        left_out = len(rereading.left_out)
        self._count(refresh, Count(1, partitions, left_out))
        return total([*outcomes, *[Outcome.FOREIGN] * left_out])

    def _apply(self, target: Target, operation: Operation) -> Outcome:
        if isinstance(operation, PutStatistics):
            return put_statistics(target, operation, self._translator.policy.target)
        return target.apply(operation)

    def placed(self, operation: Operation) -> Operation:
        """A change of a function, with the home of its database at the source, which no event has."""
        condition = operation.condition
        if not isinstance(operation, (PutFunction, DropFunction)) or condition is None or self._source is None:
            return operation
        with self._reading(self._source) as source:
            database = source.database(self._translator.mapping.source_database(operation.database))
        relay = self._translator.policy.direction.relays
        place = None if database is None else first_home(database.parameters, operation.visited[-1], relay=relay)
        return replace(operation, condition=replace(condition, place=place))

    def renamed(self, operation: RenameTable) -> None:
        """Note that the target has done this."""
        if operation.mark.formerly:
            new = self._translator.mapping.source_table(operation.new_name, operation.mark)
            self.reads.rename(TableName.parse(operation.mark.formerly), new)

    def whole(self, operation: Operation) -> Refresh | None:
        """The refresh of the table that the operation describes in part; None without a source."""
        return reread(operation, self._translator.mapping.source_table) if self._source is not None else None

    def database(self, operation: Operation) -> Refresh | None:
        """The refresh of the definition of the operation's database, if that may be missing there; None without a
        source.
        """
        if self._source is None or not self._translator.policy.direction.shares_databases:
            return None
        name, source = self._database_names(operation)
        mark = replace(operation.mark, object=operation.mark.object.partition(".")[0])
        return Refresh(source_database=source, database=name, needed=True, mark=mark, visited=operation.visited)

    def at_source(self, database: str) -> Set[str]:
        """The objects that the source has now for a database of the target, in scope, by their names at the target.

        The database itself, tables `db.table`, functions `db.function()`; nothing without a source. Raises
        SourceUnavailable.
        """
        if self._source is None:
            return set()
        with self._reading(self._source) as source:
            return there_again(source, self._translator, database)

    def partitions_at_source(self, table: TableName) -> Set[str]:
        """The names of the partitions that the source has now for a table of the target. Raises SourceUnavailable."""
        if self._source is None:
            return set()
        with self._reading(self._source) as source:
            return partitions_again(source, self._translator, table)

    def source_answers(self) -> bool:
        """Whether the source answers a call that concerns no object."""
        if self._source is None:
            return False
        try:
            with self._reading(self._source) as source:
                return source.databases() is not None
        except (PysyncError, TException):
            return False

    def is_gone(self, operation: Operation) -> bool:
        """Whether the source has no database for the operation; False if it cannot be asked now."""
        if self._source is None:
            return False
        try:
            with self._reading(self._source) as source:
                return source.database(self._database_names(operation)[1]) is None
        except Unavailable:
            return False

    def _database_names(self, operation: Operation) -> tuple[str, str]:
        """The database that the operation writes into, at the target and at the source."""
        name = operation.new_name.database if isinstance(operation, RenameTable) else database_of(operation.key)
        return name, operation.mark.object.partition(".")[0] or self._translator.mapping.source_database(name)

    def _operations(self, rereading: Rereading) -> Iterator[Operation]:
        """The operations for the target. What they drop is judged before the first drop.

        A refresh of the list of databases comes first in a comparison: it has the drops of all of it judged.
        """
        refresh = rereading.refresh
        every = rereading.operations()
        wanted = (it for it in every if not self._translator.excludes(_kind_of(it), it))
        if refresh.table is not None:
            for operation in wanted:
                if operation.drops:
                    self._expect([operation], refresh)
                yield operation
            return
        listed = list(wanted)
        drops = [it for it in (*listed, *rereading.missing()) if it.drops]
        self._expect([it for it in drops if not self._translator.excludes(_kind_of(it), it)], refresh)
        yield from listed

    def _count(self, refresh: Refresh, count: Count) -> None:
        if refresh.bootstrap and refresh.table is not None:
            self.tally.note(refresh.mark.position, count)

    @contextmanager
    def _reading(self, open_source: OpenSource) -> Iterator[Reads]:
        """A connection to the source, kept for the next refresh unless something failed."""
        try:
            source, stack = self._idle.get_nowait()
        except Empty:
            stack = ExitStack()
            source = stack.enter_context(open_source())
        try:
            yield source
        except (MetastoreError, hive.NoSuchObjectException) as error:  # the object may have been dropped meanwhile
            stack.close()
            if is_of_call(error):
                raise  # the source fails on this object only: other objects must not wait
            raise SourceUnavailable(f"cannot read the source at {source.uri}: {error}") from error
        # A call that was cut short may leave half an answer in the connection, for the next call to read.
        except BaseException:
            stack.close()
            raise
        self._idle.put((source, stack))


def _kind_of(operation: Operation) -> Kind:
    """The kind of event that brings such an operation."""
    return _CONSTRAINTS[type(operation.columns[0])] if isinstance(operation, PutConstraint) else _KINDS[type(operation)]
