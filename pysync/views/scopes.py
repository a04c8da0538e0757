"""Scopes: what a name means at some place of a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from pysync.hiveql.refusal import CannotTranslate
from pysync.model.names import TableName
from pysync.views.spark import HiveRules
from pysync.views.typed_expressions import Typed, quoted
from pysync.views.types import Columns

ColumnsOf = Callable[[TableName], Columns]
"""The columns of a table, partition keys behind the others. Raises CannotTranslate if they are not known."""


@dataclass(frozen=True, slots=True)
class Source:
    """What FROM, JOIN or LATERAL VIEW brings in: a name, and the columns below it, each with its expression."""

    alias: str
    columns: Sequence[tuple[str, Typed]]

    @classmethod
    def of(cls, alias: str, columns: Columns) -> Source:
        """Columns that are called by the name of their source."""
        return cls(alias, [(name, Typed(f"{quoted(alias)}.{quoted(name)}", kind)) for name, kind in columns])


@dataclass(slots=True)
class Scope:
    """The sources of one SELECT; what is not found there is looked for in the query round it."""

    tables: ColumnsOf
    database: str
    rules: HiveRules  # of the engine whose view it is
    queries: Mapping[str, Columns] = field(default_factory=dict)  # those of WITH
    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list)
    aliases: Mapping[str, Typed] = field(default_factory=dict)  # of the SELECT itself: the last resort
    windows: Mapping[str, exp.Window] = field(default_factory=dict)  # of the clause WINDOW
    is_joined_by_names: bool = False  # by USING: `*` has such columns once
    fixed: frozenset[str] = frozenset()  # names of columns that the whole query makes constants
    trace: list[tuple[exp.Expression, str]] | None = None  # of all expressions, each behind those that are in it
    after_select: bool = False  # in HAVING and ORDER BY engines do not agree what counts more, column or alias

    def inner(self) -> Scope:
        """The scope of a query within this one that may refer to it."""
        return Scope(self.tables, self.database, self.rules, self.queries, self, fixed=self.fixed, trace=self.trace)

    def apart(self) -> Scope:
        """The scope of a query that knows nothing of its surroundings: one in FROM, a branch of a UNION."""
        return replace(self.inner(), outer=self.outer)

    def add(self, source: Source) -> None:
        """Bring in a source. Raises CannotTranslate if there is one of that name."""
        if any(it.alias == source.alias for it in self.sources):
            raise CannotTranslate(f"two sources with the name {source.alias}")
        self.sources.append(source)

    def column(self, parts: Sequence[str]) -> tuple[Typed, Sequence[str]]:
        """What `a.b.c` means: a column, and the fields to take from it. Raises CannotTranslate.

        The name of a source counts more than that of a column, and what is near more than what is round it.
        """
        of_source = self._of_source(parts) if len(parts) > 1 else None
        if of_source is not None:
            self._assert_no_struct(parts[0])
            return of_source
        of_column = next((it for scope in self._chain() if (it := scope._of_column(parts)) is not None), None)
        if of_column is not None:
            self._assert_no_other_alias(parts, of_column[0])
            return of_column
        if len(parts) == 1 and parts[0] in self.aliases:
            return self.aliases[parts[0]], ()
        raise CannotTranslate(f"the name {'.'.join(parts)}, which is not known")

    def is_fixed(self, value: Typed) -> bool:
        """Whether a column that the query makes a constant is in it."""
        return any(f".{quoted(name)}" in value.sql for name in self.fixed)

    def has_column(self, name: str) -> bool:
        """Whether a source has a column of that name."""
        return any(it._of_column([name]) is not None for it in self._chain())

    def star(self, alias: str | None) -> Iterator[tuple[str, Typed]]:
        """The columns of `*`, or of `alias.*`."""
        if alias is None and self.is_joined_by_names:
            raise CannotTranslate("* of a join USING columns")
        sources = [it for it in self.sources if alias in {None, it.alias}]
        if not sources:
            raise CannotTranslate(f"the name {alias or '*'}, which is not known")
        return (column for it in sources for column in it.columns)

    def _chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def _assert_no_struct(self, name: str) -> None:
        columns = (it for scope in self._chain() for source in scope.sources for it in source.columns)
        if any(column == name and it.type.names for column, it in columns):
            raise CannotTranslate(f"the name {name}, which is both a source and a struct")

    def _assert_no_other_alias(self, parts: Sequence[str], column: Typed) -> None:
        alias = self.aliases.get(parts[0]) if self.after_select and len(parts) == 1 else None
        if alias is not None and alias.sql != column.sql:
            raise CannotTranslate(f"the name {parts[0]}, which is a column and another one's alias")

    def _of_source(self, parts: Sequence[str]) -> tuple[Typed, Sequence[str]] | None:
        sources = (it for scope in self._chain() for it in scope.sources if it.alias == parts[0])
        source = next(sources, None)
        return None if source is None else (_only(source.columns, parts[1]), parts[2:])

    def _of_column(self, parts: Sequence[str]) -> tuple[Typed, Sequence[str]] | None:
        columns = [it for source in self.sources for it in source.columns]
        return (_only(columns, parts[0]), parts[1:]) if any(it[0] == parts[0] for it in columns) else None


def _only(columns: Sequence[tuple[str, Typed]], name: str) -> Typed:
    matching = [it for column, it in columns if column == name]
    if len(matching) != 1:
        raise CannotTranslate(f"the name {name}, which is {'ambiguous' if matching else 'not known'}")
    return matching[0]
