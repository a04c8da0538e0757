"""Compare: every object in scope at the source against the target's, field by field, by the target's own rules.

What counts as equal is decided in the target (Target.differences), where it also decides what is written: so what is
found here a refresh makes good, and what is not it would not touch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from thrift.Thrift import TException

from pysync.metastore import Metastore, MetastoreError
from pysync.model.names import TableName
from pysync.targets.base import Rejected, Target, Unavailable
from pysync.targets.settings import TargetSettings
from pysync.verify.crew import Crew, Ends
from pysync.verify.found import DIFFERENT, EQUAL, EXTRA, FOREIGN, MISSING, Compared, Selection, listed
from pysync.verify.partitions import Tally, compare_many
from pysync.verify.rules import DEFAULT, Rules
from pysync.verify.tables import Seen, compared_with, excused, look_at_extra, look_at_table, with_partitions

__all__ = ["DIFFERENT", "EQUAL", "EXTRA", "FOREIGN", "MISSING", "Compared", "Comparison", "Selection"]

THREADS = 4
"""How many look at once unless somebody says so: each has a connection to both ends."""

Tell = Callable[[str, int, int], None]
"""Is told what is compared now, and how many of how many objects are done."""


@dataclass(frozen=True, slots=True)
class _Database:
    """A database with its functions; `sources` are those of the source that go there."""

    new: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ExtraDatabase:
    """One that only the target has."""

    new: str


@dataclass(frozen=True, slots=True)
class _Table:
    """A table; `extra` if only the target has it."""

    old: TableName
    new: TableName
    extra: bool = False


_Item = _Database | _ExtraDatabase | _Table


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
        self._crew = partial(Crew, open_source, open_target, threads, keep_pace)
        self._rules = Rules.of(settings, source)

    def run(self, selection: Selection | None = None, tell: Tell = lambda *_: None) -> Iterator[Compared]:
        """Everything, or what is selected: databases, their tables with all partitions and constraints, functions.

        What only the target has comes as extra, or as foreign if it did not come from the source. In the order of their
        names, databases first. Raises what a target raises, and Unavailable when the source cannot be read.
        """
        with self._crew() as crew:
            try:
                yield from self._run(crew, selection, tell)
            except (MetastoreError, TException) as error:
                raise Unavailable(f"the source cannot be read: {error}") from error

    def _run(self, crew: Crew, selection: Selection | None, tell: Tell) -> Iterator[Compared]:
        items = crew.ask(lambda ends: sorted(self._items(ends, selection), key=_place)).result()
        for done, (item, seen) in enumerate(crew.each(self._look, items)):
            tell(str(item.new), done, len(items))
            if seen.many is None:
                yield from seen.found
                continue
            tally = Tally()
            for tally, total in compare_many(crew, seen.many, self._rules):
                tell(f"{item.new}, {tally.parts:,} of {total:,} partitions", done, len(items))
            yield with_partitions(seen.found[0], tally)
            yield from seen.found[1:]
        tell("", len(items), len(items))

    # --- what there is

    def _items(self, ends: Ends, selection: Selection | None) -> Iterator[_Item]:
        rules = self._rules
        names = [name for name in ends.source.databases() if rules.policy.takes_database(name)]
        for new in {rules.rewrite.database(name) for name in names}:
            sources = tuple(sorted(name for name in names if rules.rewrite.database(name) == new))
            if selection is None or any(map(selection.has_database, sources)):
                yield _Database(new, sources)
        for item in self._tables(ends, names):
            if selection is None or selection.has_table(item.old):
                yield item
        for new in set(ends.target.databases()) - rules.rewrite.databases_of(names) - {DEFAULT}:
            if selection is None or selection.has_database(rules.rewrite.source_database(new)):
                yield _ExtraDatabase(new)

    def _tables(self, ends: Ends, names: list[str]) -> Iterator[_Table]:
        """The tables of these databases of the source, and those of the target's that belong to none of them."""
        rules = self._rules
        expected: set[TableName] = set()
        for database in names:
            for old in (TableName.of(database, table) for table in ends.source.tables(database)):
                if rules.policy.takes_table(old):
                    expected.add(rules.rewrite.table(old))
                    yield _Table(old, rules.rewrite.table(old))
        for database in sorted(rules.rewrite.databases_of(names)):
            for new in (TableName.of(database, table) for table in ends.target.tables(database)):
                if new not in expected:
                    yield _Table(rules.rewrite.source_table(new), new, extra=True)

    # --- looks, each by one thread

    def _look(self, ends: Ends, item: _Item) -> tuple[_Item, Seen]:
        if isinstance(item, _Database):
            return item, Seen(tuple(self._database(ends, item)))
        if isinstance(item, _ExtraDatabase):
            return item, Seen(tuple(self._extra_database(ends, item.new)))
        look = look_at_extra if item.extra else look_at_table
        return item, look(ends, item.old, item.new, self._rules)

    def _database(self, ends: Ends, item: _Database) -> Iterator[Compared]:
        rules, name = self._rules, item.sources[0]
        wanted, there = ends.source.database(name), ends.target.database(item.new)
        if item.new != DEFAULT and wanted is not None and not rules.comes_from_target(wanted):
            blank = Compared("database", item.new, EQUAL, source=name)
            yield compared_with(ends.target, rules, blank, rules.rewritten(wanted), there)
        if there is not None:
            yield from self._functions(ends, item, ours=rules.is_ours(there))

    def _extra_database(self, ends: Ends, new: str) -> Iterator[Compared]:
        there, old = ends.target.database(new), self._rules.rewrite.source_database(new)
        if there is not None:
            found = Compared("database", new, EXTRA, source=old)
            yield excused(found, self._rules, there, in_scope=self._rules.policy.takes_database(old))

    def _functions(self, ends: Ends, item: _Database, *, ours: bool) -> Iterator[Compared]:
        rules = self._rules
        there = {function.functionName: function for function in ends.target.functions(item.new)}
        for database in item.sources:
            for function in ends.source.functions(database):
                its = there.pop(function.functionName, None)
                yield self._function(ends.target, database, rules.rewritten(function), its)
        for name in sorted(there):
            told = rules.excuse("function", EXTRA) if ours else "its database is not ours"
            yield Compared("function", f"{item.new}.{name}", EXTRA, told=told, source=item.sources[0])

    def _function(self, target: Target, database: str, wanted: Any, there: Any | None) -> Compared:
        """Functions have no marks: in whose database they are was told of that."""
        result = MISSING if there is None else DIFFERENT
        blank = Compared("function", f"{wanted.dbName}.{wanted.functionName}", EQUAL, source=database)
        try:
            fields = target.differences(wanted, there)
        except Rejected as error:
            return replace(blank, result=result, told=error.message)
        told = self._rules.excuse("function", result)
        return replace(blank, result=result, fields=listed(fields) if there else (), told=told) if fields else blank


def _place(item: _Item) -> tuple[str, str]:
    """Where an object comes in the order: a database before its tables."""
    return (item.new.database, item.new.table) if isinstance(item, _Table) else (item.new, "")
