"""Compare: every object in scope at the source against the target's, field by field, by the target's own rules.

Target.differences decides what counts as equal, by the rules that also decide what is written. So a refresh makes good
what is found here, and leaves alone what is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from thrift.Thrift import TException

from pysync.base.text import count
from pysync.metastore.client import Metastore
from pysync.metastore.errors import MetastoreError
from pysync.model.names import TableName
from pysync.targets.base import Target, Unavailable
from pysync.targets.settings import TargetSettings
from pysync.verify.comparator import Comparator, DatabaseItem, ExtraDatabaseItem, Item, TableItem
from pysync.verify.findings import DIFFERENT, EQUAL, EXTRA, FOREIGN, MISSING, ComparedObject, Selection
from pysync.verify.partitions import PartitionTally, compare_many
from pysync.verify.pool import ComparedEnds, WorkerPool
from pysync.verify.rules import DEFAULT, Rules
from pysync.verify.tables import with_partitions

__all__ = ["DIFFERENT", "EQUAL", "EXTRA", "FOREIGN", "MISSING", "ComparedObject", "Comparison", "Selection"]

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
    ) -> None:
        self._open_pool = partial(WorkerPool, open_source, open_target, threads, keep_pace)
        self._rules = Rules.of(settings, source)

    def run(
        self, selection: Selection | None = None, on_progress: OnProgress = lambda *_: None
    ) -> Iterator[ComparedObject]:
        """Everything, or what is selected: databases, their tables with all partitions and constraints, functions.

        What only the target has comes as extra, or as foreign if it did not come from the source. In the order of their
        names, databases first. Raises what a target raises, and Unavailable when the source cannot be read.
        """
        with self._open_pool() as pool:
            try:
                yield from self._run(pool, selection, on_progress)
            except (MetastoreError, TException) as error:
                raise Unavailable(f"cannot read the source: {error}") from error

    def _run(self, pool: WorkerPool, selection: Selection | None, on_progress: OnProgress) -> Iterator[ComparedObject]:
        comparator = Comparator(self._rules)
        items = pool.ask(lambda ends: sorted(self._items(ends, selection), key=_place)).result()
        for done, (item, seen) in enumerate(zip(items, pool.each(comparator.compare, items), strict=True)):
            on_progress(str(item.new), done, len(items))
            if seen.many is None:
                yield from seen.judged()
                continue
            tally = PartitionTally()
            for tally, total in compare_many(pool, seen.many, self._rules):
                on_progress(f"{item.new}, {tally.parts:,} of {count(total, 'partition')}", done, len(items))
            yield from replace(seen, compared=(with_partitions(seen.compared[0], tally), *seen.compared[1:])).judged()
        on_progress("", len(items), len(items))

    # --- what there is

    def _items(self, ends: ComparedEnds, selection: Selection | None) -> Iterator[Item]:
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

    def _tables(self, ends: ComparedEnds, names: list[str]) -> Iterator[TableItem]:
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
