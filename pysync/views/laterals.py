"""Lateral views: rows made of a value, as UNNEST makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import unified
from pysync.views.json_values import json_tuple
from pysync.views.scopes import Scope, Source
from pysync.views.typed_expressions import Typed, number, quoted
from pysync.views.types import BIGINT, INT, VOID, HiveType
from pysync.views.urls import parse_url_tuple

_Rows = Sequence[Sequence[Typed]]


def lateral(node: exp.Lateral, scope: Scope, many: Callable[[Sequence[exp.Expression]], list[Typed]]) -> str:
    """The text of a lateral view, whose columns go into the scope; `many` translates arguments.

    Raises CannotTranslate.
    """
    alias, function = node.args.get("alias"), node.this
    if not node.args.get("view") or alias is None or not isinstance(function, exp.Anonymous):
        raise CannotTranslate(f"{node.sql('hive')[:60]!r}")
    name, arguments = function.name.lower(), many(function.expressions)
    source = (alias.name or f"_l{len(scope.sources)}").lower()
    given = [it.name.lower() for it in alias.columns]
    if name in _ROWS_OF and len(arguments) > 1:
        scope.rules.call(name, arguments)
        return _rows_written(scope, source, given, name, _ROWS_OF[name](arguments))
    if name not in _DEFAULTS or len(arguments) != 1:
        raise CannotTranslate(f"a lateral view of {name}")
    unnest, columns = _unnest(name, arguments[0])
    given = given or _DEFAULTS[name](arguments[0].type)
    _assert_named(given, columns, name)
    scope.add(_exploded(source, name, given, columns))
    names = [*given[1:], given[0]] if name == "posexplode" else given
    head = "LEFT JOIN" if node.args.get("outer") else "CROSS JOIN"
    tail = " ON true" if node.args.get("outer") else ""
    return f"{head} {unnest} AS {quoted(source)} ({', '.join(map(quoted, names))}){tail}"


def _assert_named(names: Sequence[str], columns: Sequence[object], function: str) -> None:
    if len(names) != len(columns):
        raise CannotTranslate(f"a lateral view of {function} with {len(names)} names")


def _rows_written(scope: Scope, source: str, names: Sequence[str], function: str, rows: _Rows) -> str:
    """Some rows for each, whatever is in them."""
    names = names or [f"c{place}" for place in range(len(rows[0]))]
    _assert_named(names, rows[0], function)
    scope.add(Source.of(source, [(name, it.type) for name, it in zip(names, rows[0], strict=True)]))
    written = (f"ROW({', '.join(it.sql for it in row)})" for row in rows)
    return f"CROSS JOIN UNNEST(ARRAY[{', '.join(written)}]) AS {quoted(source)} ({', '.join(map(quoted, names))})"


def _stacked(arguments: Sequence[Typed]) -> _Rows:
    """So many rows, of values of the same types; the last row may lack some, which are NULL."""
    count, values = number(arguments[0], "the rows of stack", 1), arguments[1:]
    width = -(-len(values) // count)
    values = [*values, *[Typed("NULL", VOID)] * (count * width - len(values))]
    columns = [unified(values[place::width]) for place in range(width)]
    if any(kind == VOID for kind, _ in columns) or len({it.type for it in values[:width]} & {VOID}):
        raise CannotTranslate("the function stack with a NULL in its first row")
    return list(zip(*(items for _, items in columns), strict=True))


_ROWS_OF: dict[str, Callable[[Sequence[Typed]], _Rows]] = {
    "json_tuple": lambda arguments: [json_tuple(arguments[0], arguments[1:])],
    "parse_url_tuple": lambda arguments: [parse_url_tuple(arguments[0], arguments[1:])],
    "stack": _stacked,
}


def _default_names(kind: HiveType) -> list[str]:
    return ["key", "value"] if kind.name == "map" else ["col"]


_DEFAULTS: dict[str, Callable[[HiveType], list[str]]] = {
    "explode": _default_names,
    "posexplode": lambda kind: ["pos", *(["val"] if kind.name == "array" else _default_names(kind))],
    "inline": lambda kind: list(kind.within[0].names),
}


TABLE_FUNCTIONS = frozenset({*_DEFAULTS, *_ROWS_OF})
"""The functions that make rows."""


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
    source = Source.of(alias, list(zip(names, types, strict=True)))
    if function != "posexplode":
        return source
    (name, place), *others = source.columns
    return Source(alias, [(name, Typed(f"CAST({Typed(place.sql, BIGINT).sql} - 1 AS integer)", INT)), *others])
