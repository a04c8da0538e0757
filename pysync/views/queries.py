"""Queries: SELECT, UNION and WITH; tables, queries, joins and lateral views behind FROM; ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from pysync.base.text import whole_number
from pysync.hiveql.differences import accept
from pysync.hiveql.refusal import CannotTranslate
from pysync.model.names import TableName
from pysync.views.aggregates import AGGREGATES
from pysync.views.casts import common, compared, widened
from pysync.views.conditions import truth
from pysync.views.expressions import Expressions
from pysync.views.laterals import lateral
from pysync.views.plain_trees import make_plain
from pysync.views.scopes import Scope, Source
from pysync.views.typed_expressions import Typed, quoted
from pysync.views.types import Columns
from pysync.views.windows import ordered

_WHOLE = quoted("_q")
_ONE_ROW = '(SELECT 1) AS "_one"'
_SET_OPERATIONS = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}
_OF_SELECT = frozenset(
    {"expressions", "from_", "joins", "laterals", "where", "group", "having", "order", "limit", "distinct", "with_"}
    | {"windows", "hint", "sort", "distribute", "cluster"}
)
_OF_SET = frozenset({"this", "expression", "distinct", "order", "limit", "with_", "sort", "distribute", "cluster"})
_OF_REDUCERS = ("sort", "distribute", "cluster")


Query = Callable[[exp.Query, Scope], tuple[str, Columns]]

_EXISTENCE = {"SEMI": "EXISTS", "ANTI": "NOT EXISTS"}
_SIDES = {"": "", "INNER": "", "LEFT": "LEFT ", "RIGHT": "RIGHT ", "FULL": "FULL "}


def query(node: exp.Query, scope: Scope) -> tuple[str, Columns]:
    """The query in Trino's language, and its columns. `scope` is empty, and becomes the query's own.

    Raises CannotTranslate.
    """
    if isinstance(node, exp.Subquery):
        if any(value for name, value in node.args.items() if name not in {"this", "alias"}) or node.alias:
            raise CannotTranslate("a query in parentheses with more behind it")
        return query(node.this, scope)
    named = _named_queries(node, scope)
    if isinstance(node, exp.Select):
        sql, columns = _select(node, scope)
    elif type(node) in _SET_OPERATIONS:
        sql, columns = _set_operation(node, scope)
    else:
        raise CannotTranslate(f"{node.key.upper()} where a query is needed")
    return named + sql, columns


def within(node: exp.Query, scope: Scope) -> tuple[str, Columns]:
    """A query in an expression of `scope`, to whose names it may refer."""
    return query(node, scope.inner())


def _named_queries(node: exp.Query, scope: Scope) -> str:
    """The text of WITH; its queries go into the scope."""
    clause = node.args.get("with_")
    if clause is None:
        return ""
    if clause.args.get("recursive"):
        raise CannotTranslate("WITH RECURSIVE")
    texts = []
    for it in clause.expressions:
        if it.args["alias"].columns:
            raise CannotTranslate("WITH that gives names to columns")
        sql, columns = query(it.this, scope.apart())
        scope.queries = {**scope.queries, it.alias.lower(): columns}
        texts.append(f"{quoted(it.alias.lower())} AS ({sql})")
    return f"WITH {', '.join(texts)} "


def _assert_known(node: exp.Query, known: frozenset[str]) -> None:
    others = sorted(name for name, value in node.args.items() if value and name not in known)
    if others:
        raise CannotTranslate(f"the clause {others[0].strip('_').upper()}")


def _select(node: exp.Select, scope: Scope) -> tuple[str, Columns]:
    _assert_known(node, _OF_SELECT)
    make_plain(node)
    scope.windows = {it.name.lower(): it for it in node.args.get("windows") or () if not it.args.get("alias")}
    sources = From(scope, query, within)
    origin = sources.translated(node)
    translate = Expressions(scope, within)
    where = [truth(translate(node.args["where"].this)).sql] if node.args.get("where") else []
    where += sources.conditions
    items = _items(node, scope, translate)
    scope.aliases = dict(items)
    listed = ", ".join(f"{it.sql} AS {quoted(name)}" for name, it in items)
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise CannotTranslate("DISTINCT ON")
    if distinct is not None:
        _assert_exact([it for _, it in items], "DISTINCT")
    parts = [f"SELECT {'DISTINCT ' if distinct else ''}{listed}", origin]
    parts += [f"WHERE {' AND '.join(where)}"] if where else []
    parts += [_group(_without_places(node, scope), translate)] if node.args.get("group") else []
    scope.after_select = True
    parts += [f"HAVING {truth(translate(node.args['having'].this)).sql}"] if node.args.get("having") else []
    columns = [(name, it.type) for name, it in items]
    parts += _tail(node, columns, scope, translate)
    return " ".join(filter(None, parts)), columns


def _assert_exact(values: Sequence[Typed], what: str) -> None:
    """Engines choose 0.0 or -0.0 for both in different ways."""
    if any(it.type.name in {"double", "float"} for it in values):
        accept("negative-zero", f"{what} of doubles or floats, among which 0.0 and -0.0 may be two values")


def _items(node: exp.Select, scope: Scope, translate: Expressions) -> list[tuple[str, Typed]]:
    """The columns of a SELECT, with their names."""
    items: list[tuple[str, Typed]] = []
    if not node.expressions:
        raise CannotTranslate("a SELECT of nothing")
    for it in node.expressions:
        star = _star(it)
        if star is not None:
            items += scope.star(star or None)
            for _, column in items:
                scope.rules.read(column.type)
            continue
        value = translate(it.this if isinstance(it, exp.Alias) else it)
        items.append((_name(it, len(items)), value))
    return items


def _star(node: exp.Expression) -> str | None:
    """The alias before a star, "" if there is none; None for what is no star."""
    if isinstance(node, exp.Star):
        if any(node.args.values()):
            raise CannotTranslate("* without some columns")
        return ""
    is_column = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
    return node.parts[0].name.lower() if is_column else None


def _name(node: exp.Expression, place: int) -> str:
    if isinstance(node, exp.Alias):
        return str(node.alias).lower()
    if isinstance(node, exp.Column | exp.Dot):
        return str(node.name or node.expression.name).lower()
    return f"_c{place}"


def _without_places(node: exp.Select, scope: Scope) -> exp.Group:
    """GROUP BY with the expressions that its numbers stand for; in a view of Hive they are constants."""
    group = node.args["group"]
    if not any(isinstance(it, exp.Literal) for it in group.expressions):
        return group
    if not scope.rules.of_spark:
        raise CannotTranslate("GROUP BY with a constant, which may stand for a column's place")
    changed = group.copy()
    changed.set("expressions", [_key_at(it, node.expressions).copy() for it in group.expressions])
    return changed


def _key_at(key: exp.Expression, items: Sequence[exp.Expression]) -> exp.Expression:
    if not isinstance(key, exp.Literal):
        return key
    place = 0 if key.is_string else whole_number(str(key.this)) or 0
    item = items[place - 1].unalias() if 0 < place <= len(items) else key
    has_aggregate = any(it.name.lower() in AGGREGATES for it in item.find_all(exp.Anonymous))
    if has_aggregate or item.find(exp.Column) is None or item.find(exp.Star) or item.find(exp.Window):
        raise CannotTranslate("GROUP BY with a constant, which may stand for a column's place")
    return item


def _group(node: exp.Group, translate: Expressions) -> str:
    items = node.expressions
    if len(items) == 1 and isinstance(items[0], exp.Rollup | exp.Cube):
        word = "ROLLUP" if isinstance(items[0], exp.Rollup) else "CUBE"
        return f"GROUP BY {word} ({', '.join(_columns(items[0].expressions, translate))})"
    rollup, cube, sets = (node.args.get(it) or [] for it in ("rollup", "cube", "grouping_sets"))
    if len([*rollup, *cube, *sets]) > 1 or node.args.get("totals") or node.args.get("all"):
        raise CannotTranslate("GROUP BY of several kinds")
    if sets:
        return f"GROUP BY GROUPING SETS ({', '.join(_set(it, translate) for it in sets[0].expressions)})"
    if not rollup and not cube:
        keys = translate.many(node.expressions)
        _assert_exact(keys, "GROUP BY")
        return f"GROUP BY {', '.join(it.sql for it in keys)}"
    inner = (rollup or cube)[0].expressions
    if inner and node.expressions:
        raise CannotTranslate("GROUP BY of several kinds")
    return f"GROUP BY {'ROLLUP' if rollup else 'CUBE'} ({', '.join(_columns(inner or node.expressions, translate))})"


def _set(node: exp.Expression, translate: Expressions) -> str:
    items = node.expressions if isinstance(node, exp.Tuple) else [node.unnest()]
    return f"({', '.join(_columns(items, translate))})"


def _columns(items: Sequence[exp.Expression], translate: Expressions) -> list[str]:
    """Trino groups in several ways by columns only."""
    if any(not isinstance(it, exp.Column) for it in items):
        raise CannotTranslate("ROLLUP, CUBE or GROUPING SETS of other things than columns")
    keys = translate.many(items)
    _assert_exact(keys, "GROUP BY")
    return [it.sql for it in keys]


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
        joins, laterals = select.args.get("joins") or [], select.args.get("laterals") or []
        if first is None and not laterals:
            return ""
        relation = self._relation(first.this, self._scope) if first is not None else _ONE_ROW
        parts = [f"FROM {relation}", *map(self._join, joins)]
        sides = {it.side.upper() for it in joins}
        if self.conditions and sides & {"RIGHT", "FULL"}:
            raise CannotTranslate("a semi join beside an outer join")
        return " ".join(
            filter(
                None,
                [*parts, *(lateral(it, self._scope, Expressions(self._scope, self._within).many) for it in laterals)],
            )
        )

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
        if node.args.get("method") or node.args.get("global_"):
            raise CannotTranslate("a NATURAL join")
        kind, side = node.kind.upper(), node.side.upper()
        if kind in _EXISTENCE:
            return self._semi(node, kind)
        if kind not in {"", "INNER", "OUTER", "CROSS"} or side not in _SIDES:
            raise CannotTranslate(f"a {side} {kind} join")
        named = [(it.name.lower(), self._scope.column([it.name.lower()])[0]) for it in node.args.get("using") or ()]
        relation, on = self._relation(node.this, self._scope), node.args.get("on")
        if named:
            return f"{_SIDES[side]}JOIN {relation} ON {self._using(named)}"
        if on is None:
            if side:
                raise CannotTranslate("an outer join without a condition")
            return f"CROSS JOIN {relation}"
        return f"{_SIDES[side]}JOIN {relation} ON {self._condition(on, self._scope)}"

    def _using(self, named: Sequence[tuple[str, Typed]]) -> str:
        """The condition of a join by columns of one name: those of what is before it, and of the last source."""
        self._scope.is_joined_by_names = True
        right = dict(self._scope.sources[-1].columns)
        if any(name not in right or right[name].type != it.type for name, it in named):
            raise CannotTranslate("a join USING columns of several types")
        return " AND ".join(compared(it, "=", right[name]).sql for name, it in named)

    def _semi(self, node: exp.Join, kind: str) -> str:
        inner, on = self._scope.inner(), node.args.get("on")
        if on is None or node.args.get("using"):
            raise CannotTranslate("a semi join without a condition")
        relation = self._relation(node.this, inner)
        taken = {it.alias for it in self._scope.sources}
        if any(it.alias in taken for it in inner.sources):
            raise CannotTranslate("a semi join of two sources with one name")
        self.conditions.append(f"{_EXISTENCE[kind]} (SELECT 1 FROM {relation} WHERE {self._condition(on, inner)})")
        return ""

    def _condition(self, node: exp.Expression, scope: Scope) -> str:
        return truth(Expressions(scope, self._within)(node)).sql


def _set_operation(node: exp.Query, scope: Scope) -> tuple[str, Columns]:
    _assert_known(node, _OF_SET)
    left, right = query(node.args["this"], scope.apart()), query(node.args["expression"], scope.apart())
    if len(left[1]) != len(right[1]):
        raise CannotTranslate("queries of different width in one UNION")
    for (_, a), (_, b) in zip(left[1], right[1], strict=True):
        scope.rules.mix((a, b))
    types = [common((a, b)) for (_, a), (_, b) in zip(left[1], right[1], strict=True)]
    if node.args.get("distinct"):
        _assert_exact([Typed("", it) for it in types], "UNION")
    columns = [(name, kind) for (name, _), kind in zip(left[1], types, strict=True)]
    word = _SET_OPERATIONS[type(node)] + ("" if node.args.get("distinct") else " ALL")
    sql = f"{_branch(*left, columns)} {word} {_branch(*right, columns)}"
    return " ".join([sql, *_tail(node, columns, scope, None)]), columns


def _branch(sql: str, own: Columns, columns: Columns) -> str:
    """A branch whose columns have the names and types of the whole."""
    if [kind for _, kind in own] == [kind for _, kind in columns]:
        return f"({sql})"
    return f"({renamed(sql, own, columns)})"


def renamed(sql: str, own: Columns, columns: Columns) -> str:
    """The rows of a query in columns with other names and wider types."""
    places = [f"_c{place}" for place in range(len(own))]
    values = [Typed(f"{_WHOLE}.{quoted(place)}", have) for place, (_, have) in zip(places, own, strict=True)]
    items = (f"{widened(it, want).sql} AS {quoted(name)}" for it, (name, want) in zip(values, columns, strict=True))
    return f"SELECT {', '.join(items)} FROM ({sql}) AS {_WHOLE} ({', '.join(map(quoted, places))})"


def _tail(node: exp.Query, columns: Columns, scope: Scope, translate: Expressions | None) -> list[str]:
    """LIMIT, and the order before it: one without LIMIT says nothing of the rows."""
    limit, has_reducers = node.args.get("limit"), any(node.args.get(it) for it in _OF_REDUCERS)
    if (has_reducers and limit) or ((has_reducers or node.args.get("order")) and _collects(node)):
        raise CannotTranslate("an order without LIMIT, or of reducers, that says which rows come first")
    if not limit:
        return []
    rows = whole_number(limit.expression.this) if isinstance(limit.expression, exp.Literal) else None
    if rows is None or limit.args.get("offset"):
        raise CannotTranslate("LIMIT that is not a constant")
    rules = scope.rules
    items = [
        ordered(it, _order_item(it, columns, translate, rules.of_spark), has_two_zeros=not rules.of_spark)
        for it in (node.args["order"].expressions if node.args.get("order") else ())
    ]
    return [*([f"ORDER BY {', '.join(items)}"] if items else []), f"LIMIT {rows}"]


def _order_item(node: exp.Ordered, columns: Columns, translate: Expressions | None, has_places: bool) -> Typed:
    """An output column, or an expression of the sources."""
    it, types = node.this, dict(columns)
    if isinstance(it, exp.Literal):
        return _place(node, columns, has_places)
    if isinstance(it, exp.Column) and len(it.parts) == 1 and it.name.lower() in types:
        return Typed(quoted(it.name.lower()), types[it.name.lower()])
    if translate is None:
        raise CannotTranslate("ORDER BY of a UNION by other things than its columns")
    return translate(it)


def _collects(node: exp.Query) -> bool:
    """Whether a function round the query may look at the order of its rows."""
    return any(it.name.lower().startswith("collect_") for it in node.root().find_all(exp.Anonymous))


def _place(node: exp.Ordered, columns: Columns, has_places: bool) -> Typed:
    """The column at that place; in a view of Hive a constant."""
    place = whole_number(str(node.this.this)) or 0
    if not has_places or not 0 < place <= len(columns):
        raise CannotTranslate("ORDER BY with a constant, which may stand for a column's place")
    name, kind = columns[place - 1]
    return Typed(quoted(name), kind)
