"""The comparison of source and target: threads or executors compare, and findings are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from thrift.Thrift import TException

from pysync.base.text import count
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.model.names import TableName
from pysync.targets.base import Rejected, Target, Unavailable
from pysync.targets.settings import TargetSettings
from pysync.verify.objects import (
    Batch,
    Keyed,
    Owner,
    Seen,
    Tally,
    compare_batch,
    compare_extra,
    compare_many,
    compare_table,
    compared_with,
    excused,
    owner_of,
    with_partitions,
)
from pysync.verify.pool import Ends, WorkerPool
from pysync.verify.rules import DEFAULT, DIFFERENT, EQUAL, EXTRA, FOREIGN, MISSING, Compared, Rules, Selection, listed

# --- Comparator: what there is to compare, and the comparison of one object. Items and answers are values


@dataclass(frozen=True, slots=True)
class DatabaseItem:
    """A database with its functions; `sources` are the databases of the source that go there."""

    new: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ExtraDatabaseItem:
    """A database that only the target has."""

    new: str


@dataclass(frozen=True, slots=True)
class TableItem:
    """A table; `extra` if only the target has it."""

    old: TableName
    new: TableName
    extra: bool = False


Item = DatabaseItem | ExtraDatabaseItem | TableItem
"""What there is to compare: an object with what belongs to it."""


@dataclass(frozen=True, slots=True)
class Comparator:
    """Compares one thing at a time, by the rules of one target; any number of threads may call."""

    rules: Rules

    def compare_item(self, ends: Ends, item: Item) -> Seen:
        """Compare one object, with its partitions if they are few. Raises as both ends do."""
        if isinstance(item, DatabaseItem):
            return Seen(tuple(self._database(ends, item)))
        if isinstance(item, ExtraDatabaseItem):
            return Seen(tuple(self._extra_database(ends, item.new)))
        compare = compare_extra if item.extra else compare_table
        return compare(ends, item.old, item.new, self.rules)

    def owner(self, ends: Ends, keyed: Keyed) -> Owner:
        """What it takes to compare partitions of a table that has many. Raises as both ends do."""
        return owner_of(ends, keyed, self.rules)

    def compare(self, ends: Ends, owner: Owner, batch: Batch) -> Tally:
        """Compare some of them. Raises as both ends do."""
        return compare_batch(ends, owner, self.rules, batch)

    def _database(self, ends: Ends, item: DatabaseItem) -> Iterator[Compared]:
        rules, name = self.rules, item.sources[0]
        wanted, there = ends.source.database(name), ends.target.database(item.new)
        # Each metastore has a `default` of its own: only what is in it is compared.
        if item.new != DEFAULT and wanted is not None:
            blank, stays = Compared("database", item.new, EQUAL, source=name), rules.stays(wanted)
            compared = compared_with(ends.target, rules, blank, wanted, there)
            yield from Seen((compared,), stays=stays).judged()
        if there is not None:
            yield from self._functions(ends, item, ours=rules.has_parts(there))

    def _extra_database(self, ends: Ends, new: str) -> Iterator[Compared]:
        there, old = ends.target.database(new), self.rules.mapping.source_database(new)
        if there is not None:
            compared = Compared("database", new, EXTRA, source=old)
            names = self.rules.mapping.source_databases(new)
            yield excused(compared, self.rules, there, in_scope=any(map(self.rules.policy.takes_database, names)))

    def _functions(self, ends: Ends, item: DatabaseItem, *, ours: bool) -> Iterator[Compared]:
        rules = self.rules
        there = {function.functionName: function for function in ends.target.functions(item.new)}
        for database in item.sources:
            for function in ends.source.functions(database):
                at_target = there.pop(function.functionName, None)
                yield self._function(ends.target, database, function, at_target)
        for name in sorted(there):
            excuse = (
                rules.excuse("function", EXTRA, item.sources[0]) if ours else "its database is not from this source"
            )
            yield Compared("function", f"{item.new}.{name}", EXTRA, excuse=excuse, source=item.sources[0])

    def _function(self, target: Target, database: str, wanted: Any, there: Any | None) -> Compared:
        """Compare a function. It has no mark: whether its database is ours is reported with the database."""
        result = MISSING if there is None else DIFFERENT
        name = f"{self.rules.mapping.database(database)}.{wanted.functionName}"
        blank = Compared("function", name, EQUAL, source=database)
        try:
            fields = target.differences(self.rules.rewritten(wanted), there)
        except Rejected as error:
            return replace(blank, result=result, excuse=error.message)
        excuse = self.rules.excuse("function", result, database)
        return replace(blank, result=result, fields=listed(fields) if there else (), excuse=excuse) if fields else blank


# --- Executor: who looks at the objects of a comparison: the threads of this process, or others elsewhere

R = TypeVar("R")


class Executor(Protocol):
    """Looks at several objects at once; reads only. All methods raise as both ends do, or what prevents a look."""

    def ask(self, read: Callable[[Ends], R]) -> Future[R]:
        """Have a thread of this process look."""

    def objects(self, items: Sequence[Item]) -> Iterator[tuple[Item, Seen]]:
        """What is seen of each, in their order."""

    def batches(self, keyed: Keyed, batches: Iterable[Batch]) -> Iterator[Tally]:
        """What is found in batches of a table's partitions, in order; one tally may be of several batches."""


@dataclass(frozen=True, slots=True)
class LocalExecutor:
    """The threads of this process."""

    pool: WorkerPool
    comparator: Comparator

    def ask(self, read: Callable[[Ends], R]) -> Future[R]:
        """As `Executor.ask`."""
        return self.pool.ask(read)

    def objects(self, items: Sequence[Item]) -> Iterator[tuple[Item, Seen]]:
        """As `Executor.objects`."""
        return self.pool.each(lambda ends, item: (item, self.comparator.compare_item(ends, item)), items)

    def batches(self, keyed: Keyed, batches: Iterable[Batch]) -> Iterator[Tally]:
        """As `Executor.batches`."""
        owner = self.pool.ask(lambda ends: self.comparator.owner(ends, keyed)).result()
        return self.pool.each(lambda ends, batch: self.comparator.compare(ends, owner, batch), batches)


# --- Compare: every object in scope at the source against the target's, field by field, by the target's own rules.
#
# Target.differences decides what counts as equal, by the rules that also decide what is written. So a refresh makes
# good what is found here, and leaves alone what is not.

__all__ = ["DIFFERENT", "EQUAL", "EXTRA", "FOREIGN", "MISSING", "Compared", "Comparison", "Selection"]

THREADS = 4
"""How many look at once unless somebody says so: each has a connection to both ends."""

OnProgress = Callable[[str, int, int], None]
"""Called with what is compared now, how many objects are done, and how many there are."""


class Comparison:
    """Compares a source with one target; reads only. `source` is the name that the target's marks have.

    Not a snapshot: of what changes meanwhile it may see one end before and the other after the change. `keep_pace` is
    called before every object and every batch of partitions that is looked at; it may wait, or raise to end it all.
    """

    def __init__(
        self,
        open_source: Callable[[], Metastore],
        open_target: Callable[[], Target],
        settings: TargetSettings,
        source: str,
        *,
        threads: int = THREADS,
        keep_pace: Callable[[], None] = lambda: None,
        executor: Callable[[WorkerPool, Comparator], Executor] = LocalExecutor,
    ) -> None:
        """`executor` makes, from the pool of these threads, what compares; it may do so elsewhere, as on Spark."""
        self._crew = partial(WorkerPool, open_source, open_target, threads, keep_pace)
        self._rules = Rules.of(settings, source)
        self._executor = executor

    def run(self, selection: Selection | None = None, on_progress: OnProgress = lambda *_: None) -> Iterator[Compared]:
        """Everything, or what is selected: databases, their tables with all partitions and constraints, functions.

        What only the target has comes as extra, or as foreign if it did not come from the source. In the order of their
        names, databases first. Raises what a target raises, and Unavailable when the source cannot be read.
        """
        with self._crew() as pool:
            try:
                yield from self._run(self._executor(pool, Comparator(self._rules)), selection, on_progress)
            except (MetastoreError, TException) as error:
                raise Unavailable(f"cannot read the source: {error}") from error

    def _run(self, executor: Executor, selection: Selection | None, on_progress: OnProgress) -> Iterator[Compared]:
        items = executor.ask(lambda ends: sorted(self._items(ends, selection), key=_place)).result()
        for done, (item, seen) in enumerate(executor.objects(items)):
            on_progress(str(item.new), done, len(items))
            if seen.many is None:
                yield from seen.judged()
                continue
            tally = Tally()
            for tally, total in compare_many(executor, seen.many, self._rules):
                on_progress(f"{item.new}, {tally.parts:,} of {count(total, 'partition')}", done, len(items))
            yield from replace(seen, compared=(with_partitions(seen.compared[0], tally), *seen.compared[1:])).judged()
        on_progress("", len(items), len(items))

    # --- what there is

    def _items(self, ends: Ends, selection: Selection | None) -> Iterator[Item]:
        rules = self._rules
        names = [name for name in ends.source.databases() if rules.policy.takes_database(name)]
        for new in {rules.mapping.database(name) for name in names}:
            sources = tuple(sorted(name for name in names if rules.mapping.database(name) == new))
            if selection is None or any(map(selection.has_database, sources)):
                yield DatabaseItem(new, sources)
        for item in self._tables(ends, names):
            if selection is None or selection.has_table(item.old):
                yield item
        # `default` is no extra: every metastore has one.
        known = rules.mapping.databases_of(names) | {DEFAULT} | rules.trash
        for new in set(ends.target.databases()) - known:
            if selection is None or selection.has_database(rules.mapping.source_database(new)):
                yield ExtraDatabaseItem(new)

    def _tables(self, ends: Ends, names: list[str]) -> Iterator[TableItem]:
        """The tables of these databases of the source, and the extra ones in the target's databases for them."""
        rules = self._rules
        expected: set[TableName] = set()
        for database in names:
            for old in (TableName.of(database, table) for table in ends.source.tables(database)):
                if rules.policy.takes_table(old):
                    expected.add(rules.mapping.table(old))
                    yield TableItem(old, rules.mapping.table(old))
        for database in sorted(rules.mapping.databases_of(names)):
            for new in (TableName.of(database, table) for table in ends.target.tables(database)):
                if new not in expected:
                    yield TableItem(rules.mapping.source_table(new), new, extra=True)


def _place(item: Item) -> tuple[str, str]:
    """Where an object comes in the order: a database before its tables."""
    return (item.new.database, item.new.table) if isinstance(item, TableItem) else (item.new, "")
