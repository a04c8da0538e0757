"""Queries: SELECT, UNION and WITH."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from pysync.views.casts import common, widened
from pysync.views.expressions import Expressions
from pysync.views.functions.conditions import truth
from pysync.views.refusal import CannotTranslate
from pysync.views.scopes import Scope
from pysync.views.sources import From
from pysync.views.typed import Typed, quoted
from pysync.views.types import Columns
from pysync.views.windows import ordered

_WHOLE = quoted("_q")
_SET_OPERATIONS = {exp.Union: "UNION", exp.Except: "EXCEPT", exp.Intersect: "INTERSECT"}
_OF_SELECT = frozenset(
    {"expressions", "from_", "joins", "laterals", "where", "group", "having", "order", "limit", "distinct", "with_"}
)
_OF_SET = frozenset({"this", "expression", "distinct", "order", "limit", "with_"})


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


# --- SELECT


def _select(node: exp.Select, scope: Scope) -> tuple[str, Columns]:
    _assert_known(node, _OF_SELECT)
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
    parts = [f"SELECT {'DISTINCT ' if distinct else ''}{listed}", origin]
    parts += [f"WHERE {' AND '.join(where)}"] if where else []
    parts += [_group(node.args["group"], translate)] if node.args.get("group") else []
    scope.after_select = True
    parts += [f"HAVING {truth(translate(node.args['having'].this)).sql}"] if node.args.get("having") else []
    parts += _tail(node, [name for name, _ in items], translate)
    return " ".join(filter(None, parts)), [(name, it.type) for name, it in items]


def _items(node: exp.Select, scope: Scope, translate: Expressions) -> list[tuple[str, Typed]]:
    """The columns of a SELECT, with their names."""
    found: list[tuple[str, Typed]] = []
    if not node.expressions:
        raise CannotTranslate("a SELECT of nothing")
    for it in node.expressions:
        star = _star(it)
        if star is not None:
            found += scope.star(star or None)
            continue
        value = translate(it.this if isinstance(it, exp.Alias) else it)
        found.append((_name(it, len(found)), value))
    return found


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


def _group(node: exp.Group, translate: Expressions) -> str:
    items = node.expressions
    if len(items) == 1 and isinstance(items[0], exp.Rollup | exp.Cube):
        word = "ROLLUP" if isinstance(items[0], exp.Rollup) else "CUBE"
        return f"GROUP BY {word} ({', '.join(_columns(items[0].expressions, translate))})"
    rollup, cube, sets = (node.args.get(it) or [] for it in ("rollup", "cube", "grouping_sets"))
    if len([*rollup, *cube, *sets]) > 1 or node.args.get("totals") or node.args.get("all"):
        raise CannotTranslate("GROUP BY of several kinds")
    for it in node.expressions:
        if isinstance(it, exp.Literal):
            raise CannotTranslate("GROUP BY with a constant, which may stand for a column's place")
    if sets:
        return f"GROUP BY GROUPING SETS ({', '.join(_set(it, translate) for it in sets[0].expressions)})"
    if not rollup and not cube:
        return f"GROUP BY {', '.join(it.sql for it in translate.many(node.expressions))}"
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
    return [it.sql for it in translate.many(items)]


# --- UNION


def _set_operation(node: exp.Query, scope: Scope) -> tuple[str, Columns]:
    _assert_known(node, _OF_SET)
    left, right = query(node.args["this"], scope.apart()), query(node.args["expression"], scope.apart())
    if len(left[1]) != len(right[1]):
        raise CannotTranslate("queries of different width in one UNION")
    for (_, a), (_, b) in zip(left[1], right[1], strict=True):
        scope.rules.mix((a, b))
    types = [common((a, b)) for (_, a), (_, b) in zip(left[1], right[1], strict=True)]
    columns = [(name, kind) for (name, _), kind in zip(left[1], types, strict=True)]
    word = _SET_OPERATIONS[type(node)] + ("" if node.args.get("distinct") else " ALL")
    sql = f"{_branch(*left, columns)} {word} {_branch(*right, columns)}"
    names = [name for name, _ in columns]
    return " ".join([sql, *_tail(node, names, None)]), columns


def _branch(sql: str, its: Columns, columns: Columns) -> str:
    """A branch whose columns have the names and types of the whole."""
    if [kind for _, kind in its] == [kind for _, kind in columns]:
        return f"({sql})"
    return f"({renamed(sql, its, columns)})"


def renamed(sql: str, its: Columns, columns: Columns) -> str:
    """The rows of a query in columns with other names and wider types."""
    places = [f"_c{place}" for place in range(len(its))]
    values = [Typed(f"{_WHOLE}.{quoted(place)}", have) for place, (_, have) in zip(places, its, strict=True)]
    items = (f"{widened(it, want).sql} AS {quoted(name)}" for it, (name, want) in zip(values, columns, strict=True))
    return f"SELECT {', '.join(items)} FROM ({sql}) AS {_WHOLE} ({', '.join(map(quoted, places))})"


# --- ORDER BY and LIMIT


def _tail(node: exp.Query, names: Sequence[str], translate: Expressions | None) -> list[str]:
    parts = []
    if node.args.get("order"):
        items = [_order_item(it, names, translate) for it in node.args["order"].expressions]
        parts.append(f"ORDER BY {', '.join(items)}")
    if node.args.get("limit"):
        count = node.args["limit"].expression
        if not isinstance(count, exp.Literal) or not str(count.this).isdigit() or node.args["limit"].args.get("offset"):
            raise CannotTranslate("LIMIT that is not a constant")
        parts.append(f"LIMIT {count.this}")
    return parts


def _order_item(node: exp.Ordered, names: Sequence[str], translate: Expressions | None) -> str:
    """By an output column, by its place, or by an expression of the sources."""
    it = node.this
    if isinstance(it, exp.Literal) and not it.is_string:
        return ordered(node, str(it.this))
    if isinstance(it, exp.Column) and len(it.parts) == 1 and it.name.lower() in names:
        return ordered(node, quoted(it.name.lower()))
    if translate is None:
        raise CannotTranslate("ORDER BY of a UNION by other things than its columns")
    return ordered(node, translate(it).sql)
