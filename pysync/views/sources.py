"""What is behind FROM: tables, queries, joins and lateral views."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from pysync.model.names import TableName
from pysync.views.expressions import Expressions
from pysync.views.functions.conditions import truth
from pysync.views.refusal import CannotTranslate
from pysync.views.scopes import Scope, Source
from pysync.views.typed import Typed, quoted
from pysync.views.types import BIGINT, INT, Columns, HiveType

Query = Callable[[exp.Query, Scope], tuple[str, Columns]]

_EXISTENCE = {"SEMI": "EXISTS", "ANTI": "NOT EXISTS"}
_SIDES = {"": "", "INNER": "", "LEFT": "LEFT ", "RIGHT": "RIGHT ", "FULL": "FULL "}


class From:
    """The sources of a SELECT, put into its scope as they are read."""

    def __init__(self, scope: Scope, derived: Query, within: Query) -> None:
        """`derived` translates a query in FROM, `within` one in a condition."""
        self._scope = scope
        self._derived = derived
        self._within = within
        self.conditions: list[str] = []
        """What semi joins ask for: it belongs into WHERE."""

    def translated(self, select: exp.Select) -> str:
        """Text from FROM on; empty if there is none. Raises CannotTranslate."""
        first = select.args.get("from_")
        if first is None:
            return ""
        joins, laterals = select.args.get("joins") or [], select.args.get("laterals") or []
        parts = [f"FROM {self._relation(first.this, self._scope)}", *map(self._join, joins)]
        sides = {it.side.upper() for it in joins}
        if self.conditions and sides & {"RIGHT", "FULL"}:
            raise CannotTranslate("a semi join beside an outer join")
        return " ".join(filter(None, [*parts, *map(self._lateral, laterals)]))

    def _relation(self, node: exp.Expression, scope: Scope) -> str:
        if node.args.get("joins") or node.args.get("laterals") or node.args.get("sample") or node.args.get("pivots"):
            raise CannotTranslate(f"{node.sql('hive')[:60]!r} in FROM")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            return self._table(node, scope)
        if isinstance(node, exp.Subquery):
            return self._subquery(node, scope)
        raise CannotTranslate(f"{node.key.upper()} in FROM")

    def _table(self, node: exp.Table, scope: Scope) -> str:
        if node.catalog or (node.args.get("alias") and node.args["alias"].columns):
            raise CannotTranslate(f"{node.sql('hive')[:60]!r} in FROM")
        name, alias = node.name.lower(), (node.alias or node.name).lower()
        if not node.db and name in scope.queries:
            scope.add(Source.of(alias, scope.queries[name]))
            return f"{quoted(name)} AS {quoted(alias)}"
        table = TableName.of(node.db or scope.database, name)
        scope.add(Source.of(alias, scope.tables(table)))
        return f"{quoted(table.database)}.{quoted(table.table)} AS {quoted(alias)}"

    def _subquery(self, node: exp.Subquery, scope: Scope) -> str:
        if not isinstance(node.this, exp.Query) or (node.args.get("alias") and node.args["alias"].columns):
            raise CannotTranslate(f"{node.sql('hive')[:60]!r} in FROM")
        sql, columns = self._derived(node.this, self._scope.apart())
        alias = (node.alias or f"_q{len(scope.sources)}").lower()
        scope.add(Source.of(alias, columns))
        return f"({sql}) AS {quoted(alias)}"

    def _join(self, node: exp.Join) -> str:
        if node.args.get("using") or node.args.get("method") or node.args.get("global_"):
            raise CannotTranslate("a join USING columns, or NATURAL")
        kind, side = node.kind.upper(), node.side.upper()
        if kind in _EXISTENCE:
            return self._semi(node, kind)
        if kind not in {"", "INNER", "OUTER", "CROSS"} or side not in _SIDES:
            raise CannotTranslate(f"a {side} {kind} join")
        relation, on = self._relation(node.this, self._scope), node.args.get("on")
        if on is None:
            if side:
                raise CannotTranslate("an outer join without a condition")
            return f"CROSS JOIN {relation}"
        return f"{_SIDES[side]}JOIN {relation} ON {self._condition(on, self._scope)}"

    def _semi(self, node: exp.Join, kind: str) -> str:
        inner, on = self._scope.inner(), node.args.get("on")
        if on is None:
            raise CannotTranslate("a semi join without a condition")
        relation = self._relation(node.this, inner)
        taken = {it.alias for it in self._scope.sources}
        if any(it.alias in taken for it in inner.sources):
            raise CannotTranslate("a semi join of two sources with one name")
        self.conditions.append(f"{_EXISTENCE[kind]} (SELECT 1 FROM {relation} WHERE {self._condition(on, inner)})")
        return ""

    def _condition(self, node: exp.Expression, scope: Scope) -> str:
        return truth(Expressions(scope, self._within)(node)).sql

    # --- lateral views

    def _lateral(self, node: exp.Lateral) -> str:
        alias, function = node.args.get("alias"), node.this
        if not node.args.get("view") or alias is None or not isinstance(function, exp.Anonymous):
            raise CannotTranslate(f"{node.sql('hive')[:60]!r}")
        name, arguments = function.name.lower(), Expressions(self._scope, self._within).many(function.expressions)
        if name not in {"explode", "posexplode", "inline"} or len(arguments) != 1:
            raise CannotTranslate(f"a lateral view of {name}")
        source = (alias.name or f"_l{len(self._scope.sources)}").lower()
        unnest, found = _unnest(name, arguments[0])
        given = [it.name.lower() for it in alias.columns] or _DEFAULTS[name](arguments[0].type)
        if len(given) != len(found):
            raise CannotTranslate(f"a lateral view of {name} with {len(given)} names")
        self._scope.add(_exploded(source, name, given, found))
        names = [*given[1:], given[0]] if name == "posexplode" else given
        head = "LEFT JOIN" if node.args.get("outer") else "CROSS JOIN"
        tail = " ON true" if node.args.get("outer") else ""
        return f"{head} {unnest} AS {quoted(source)} ({', '.join(map(quoted, names))}){tail}"


def _default_names(kind: HiveType) -> list[str]:
    return ["key", "value"] if kind.name == "map" else ["col"]


_DEFAULTS: dict[str, Callable[[HiveType], list[str]]] = {
    "explode": _default_names,
    "posexplode": lambda kind: ["pos", *(["val"] if kind.name == "array" else _default_names(kind))],
    "inline": lambda kind: list(kind.within[0].names),
}


def _unnest(name: str, value: Typed) -> tuple[str, Sequence[HiveType]]:
    """The call that makes rows, and the types of Hive's columns."""
    kind = value.type
    if name == "inline":
        if kind.name != "array" or kind.within[0].name != "struct":
            raise CannotTranslate(f"a lateral view of inline of {kind}")
        return f"UNNEST({value.sql})", kind.within[0].within
    if kind.name not in {"array", "map"}:
        raise CannotTranslate(f"a lateral view of {name} of {kind}")
    # Rows of an array would become one column for each of their fields.
    is_rows = kind.name == "array" and kind.within[0].name == "struct"
    argument = f"transform({value.sql}, x -> ROW(x))" if is_rows else value.sql
    if name == "posexplode":
        return f"UNNEST({argument}) WITH ORDINALITY", [INT, *kind.within]
    return f"UNNEST({argument})", kind.within


def _exploded(alias: str, function: str, names: Sequence[str], types: Sequence[HiveType]) -> Source:
    """The columns; positions are counted from 0 in Hive."""
    found = Source.of(alias, list(zip(names, types, strict=True)))
    if function != "posexplode":
        return found
    (name, place), *others = found.columns
    return Source(alias, [(name, Typed(f"CAST({Typed(place.sql, BIGINT).sql} - 1 AS integer)", INT)), *others])
