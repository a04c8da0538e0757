"""Comparator: what there is to compare, and the comparison of one object. Items and answers are values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pysync.model.names import TableName
from pysync.targets.base import Rejected, Target
from pysync.verify.findings import DIFFERENT, EQUAL, EXTRA, MISSING, ComparedObject, listed
from pysync.verify.partitions import excused
from pysync.verify.pool import ComparedEnds
from pysync.verify.rules import DEFAULT, Rules
from pysync.verify.tables import SeenTable, compare_extra, compare_table, compared_with


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

    def compare(self, ends: ComparedEnds, item: Item) -> SeenTable:
        """Compare one object, with its partitions if they are few. Raises as both ends do."""
        if isinstance(item, DatabaseItem):
            return SeenTable(tuple(self._database(ends, item)))
        if isinstance(item, ExtraDatabaseItem):
            return SeenTable(tuple(self._extra_database(ends, item.new)))
        compare = compare_extra if item.extra else compare_table
        return compare(ends, item.old, item.new, self.rules)

    def _database(self, ends: ComparedEnds, item: DatabaseItem) -> Iterator[ComparedObject]:
        rules, name = self.rules, item.sources[0]
        wanted, there = ends.source.database(name), ends.target.database(item.new)
        # Each metastore has a `default` of its own: only what is in it is compared.
        if item.new != DEFAULT and wanted is not None:
            blank, stays = ComparedObject("database", item.new, EQUAL, source=name), rules.stays(wanted)
            compared = compared_with(ends.target, rules, blank, wanted, there)
            yield from SeenTable((compared,), stays=stays).judged()
        if there is not None:
            yield from self._functions(ends, item, ours=rules.has_parts(there))

    def _extra_database(self, ends: ComparedEnds, new: str) -> Iterator[ComparedObject]:
        there, old = ends.target.database(new), self.rules.mapping.source_database(new)
        if there is not None:
            compared = ComparedObject("database", new, EXTRA, source=old)
            names = self.rules.mapping.source_databases(new)
            yield excused(compared, self.rules, there, in_scope=any(map(self.rules.policy.takes_database, names)))

    def _functions(self, ends: ComparedEnds, item: DatabaseItem, *, ours: bool) -> Iterator[ComparedObject]:
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
            yield ComparedObject("function", f"{item.new}.{name}", EXTRA, excuse=excuse, source=item.sources[0])

    def _function(self, target: Target, database: str, wanted: Any, there: Any | None) -> ComparedObject:
        """Compare a function. It has no mark: whether its database is ours is reported with the database."""
        result = MISSING if there is None else DIFFERENT
        name = f"{self.rules.mapping.database(database)}.{wanted.functionName}"
        blank = ComparedObject("function", name, EQUAL, source=database)
        try:
            fields = target.differences(self.rules.rewritten(wanted), there)
        except Rejected as error:
            return self.rules.refused_object(blank, there, error)
        excuse = self.rules.excuse("function", result, database)
        return replace(blank, result=result, fields=listed(fields) if there else (), excuse=excuse) if fields else blank
