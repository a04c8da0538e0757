"""Aggregates and windows: what they give for NULLs and frames, and where Hive and Trino differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from pysync.views.casts import as_double, as_string, common, widened
from pysync.views.types import (
    BIGINT,
    DOUBLE,
    INT,
    MAX_PRECISION,
    Aggregate,
    CannotTranslate,
    HiveType,
    Typed,
    array,
    decimal,
    number,
    repeated,
)

# --- Windows and orders: where Hive puts NULLs, and which rows are in a frame


Translate = Callable[[exp.Expression], Typed]


def ordered(node: exp.Ordered, value: Typed, *, has_two_zeros: bool = False) -> str:
    """One item of an ORDER BY: NULLs come first unless the order descends, which sqlglot has read from the dialect.

    Hive sorts -0.0 before 0.0 where rows are cut by a LIMIT, and takes them for equal in windows.
    """
    way = "DESC" if node.args.get("desc") else "ASC"
    is_first = bool(node.args.get("nulls_first"))
    # Where NULLs come first, Trino takes NaN for the least; it is the most.
    is_double = value.type.name in {"double", "float"}
    keys = [f"is_nan({value.sql})", value.sql] if is_first and is_double else [value.sql]
    keys += [f"(1e0 / {value.sql})"] if has_two_zeros and is_double else []
    return ", ".join(f"{it} {way} NULLS {'FIRST' if is_first else 'LAST'}" for it in keys)


def over(node: exp.Window, translate: Translate, *, has_frame: bool, by_values: str = "") -> str:
    """` OVER (…)`; functions that look at all rows have no frame in Trino. Raises CannotTranslate.

    `by_values` is why a frame by values is another, if it is.
    """
    if node.args.get("alias") or node.args.get("first") or not set(node.args) <= _KNOWN:
        raise CannotTranslate("a window with a name")
    parts = []
    items: Sequence[exp.Ordered] = node.args["order"].expressions if node.args.get("order") else ()
    if node.args.get("partition_by"):
        parts.append(f"PARTITION BY {', '.join(translate(it).sql for it in node.args['partition_by'])}")
    if items:
        parts.append(f"ORDER BY {', '.join(ordered(it, translate(it.this)) for it in items)}")
    frame = _frame(node.args["spec"]) if has_frame and node.args.get("spec") else ""
    if _BY_VALUES.search(frame):
        if by_values:
            raise CannotTranslate(f"a frame by values, {by_values}")
        parts[-1] = f"ORDER BY {_by_values(frame, items, translate)}"
    parts += [frame] if frame else []
    return f" OVER ({' '.join(parts)})"


_KNOWN = {"this", "partition_by", "order", "spec", "alias", "over", "first"}
_UNBOUNDED = 2**31 - 1  # as Hive writes it
_BY_VALUES = re.compile(r"RANGE .*\d")
_WITH_ROW = re.compile(r"BETWEEN (?:.* PRECEDING|CURRENT ROW) AND (?:.* FOLLOWING|CURRENT ROW)")


def _by_values(frame: str, items: Sequence[exp.Ordered], translate: Translate) -> str:
    """The order of a frame by values, in a type that sums with an integer do not overflow."""
    values = [translate(it.this) for it in items]
    if len(values) != 1 or not values[0].type.is_integer or values[0].type == BIGINT:
        raise CannotTranslate("a frame by values that are not of one int")
    if not _WITH_ROW.search(frame):  # Hive's of a NULL is empty
        raise CannotTranslate("a frame by values without the current row")
    return ordered(items[0], Typed(f"CAST({values[0].sql} AS bigint)", BIGINT))


def _frame(spec: exp.WindowSpec) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    if kind not in {"ROWS", "RANGE"} or spec.args.get("exclude"):
        raise CannotTranslate(f"a frame of {kind}")
    start = _bound(spec, "start")
    return f"{kind} BETWEEN {start} AND {_bound(spec, 'end') if spec.args.get('end') else 'CURRENT ROW'}"


def _bound(spec: exp.WindowSpec, end: str) -> str:
    value, side = spec.args.get(end), str(spec.args.get(f"{end}_side") or "").upper()
    if isinstance(value, exp.Literal) and not value.is_string and value.this.isdigit() and int(value.this) < _UNBOUNDED:
        return f"{value.this} {side}"
    word = str(value).upper()
    if word == "CURRENT ROW":
        return word
    if word == "UNBOUNDED" and side in {"PRECEDING", "FOLLOWING"}:
        return f"{word} {side}"
    raise CannotTranslate("a frame by values")


# --- Aggregate functions, alone or over a window. What follows each call is put in later

_SUM_DIGITS, _AVERAGE_DIGITS = 10, 4


def _call(sql: str, kind: HiveType) -> Aggregate:
    return lambda after: Typed(f"{sql}{after}", kind)


def _one(values: Sequence[Typed], name: str) -> Typed:
    if len(values) != 1:
        raise CannotTranslate(f"the function {name} of {len(values)} values")
    return values[0]


def _count(values: Sequence[Typed], distinct: str) -> Aggregate:
    if not values:
        return _call("count(*)", BIGINT)
    if distinct and len(values) > 1:
        return _call(f"count(DISTINCT {_row(values)})", BIGINT)
    return _call(f"count({distinct}{_one(values, 'count').sql})", BIGINT)


def _row(values: Sequence[Typed]) -> str:
    """A row of values, NULL if one of them is: Hive counts no others."""
    if any(it.type.within or it.type.name in {"double", "float"} for it in values):
        raise CannotTranslate("the function count of several values, doubles or arrays among them")
    known = " AND ".join(f"{repeated(it, 2).sql} IS NOT NULL" for it in values)
    return f"IF({known}, ROW({', '.join(as_string(it).sql if it.type.is_text else it.sql for it in values)}))"


def _sum(values: Sequence[Typed], distinct: str) -> Aggregate:
    value = _one(values, "sum")
    if value.type.is_integer:
        return _call(f"sum({distinct}{value.sql})", BIGINT)
    if value.type.name == "decimal":
        kind = decimal(min(MAX_PRECISION, value.type.precision + _SUM_DIGITS), value.type.scale)
        return lambda after: Typed(f"CAST(sum({distinct}{value.sql}){after} AS {kind.trino})", kind)
    return _call(f"sum({distinct}{as_double(value).sql})", DOUBLE)


def _avg(values: Sequence[Typed], distinct: str) -> Aggregate:
    value = _one(values, "avg")
    if value.type.name != "decimal":
        return _call(f"avg({distinct}{as_double(value).sql})", DOUBLE)
    digits, scale = value.type.precision - value.type.scale, value.type.scale + _AVERAGE_DIGITS
    kind = decimal(digits + scale, scale)
    # Trino's own average has no more digits than its values.
    total = decimal(MAX_PRECISION, scale)

    def of(after: str) -> Typed:
        average = f"CAST(sum({distinct}{value.sql}){after} AS {total.trino})"
        return Typed(f"CAST({average} / NULLIF(count({distinct}{value.sql}){after}, 0) AS {kind.trino})", kind)

    return of


def _most(name: str) -> Callable[[Sequence[Typed], str], Aggregate]:
    def of(values: Sequence[Typed], distinct: str) -> Aggregate:  # noqa: ARG001 - the same with DISTINCT
        value = _one(values, name)
        if value.type.within or value.type.name in {"char", "binary", "boolean"}:
            raise CannotTranslate(f"the function {name} of {value.type}")
        if name == "max" and value.type.name in {"double", "float"}:  # NaN is more than any other, and Trino skips it
            nan, sql = f"CAST(nan() AS {value.type.trino})", repeated(value, 2).sql
            return lambda after: Typed(f"IF(bool_or(is_nan({sql})){after}, {nan}, max({sql}){after})", value.type)
        return _call(f"{name}({value.sql})", value.type)

    return of


def _collected(distinct_always: bool) -> Callable[[Sequence[Typed], str], Aggregate]:
    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        value = _one(values, "collect_list")
        each = "DISTINCT " if distinct_always else distinct
        kind = array(value.type)
        # NULLs are not collected, and nothing is an empty array.
        call = f"array_agg({each}{value.sql}) FILTER (WHERE {value.sql} IS NOT NULL)"
        return lambda after: Typed(f"COALESCE({call}{_unfiltered(after)}, CAST(ARRAY[] AS {kind.trino}))", kind)

    return of


def _unfiltered(after: str) -> str:
    if "FILTER" in after:
        raise CannotTranslate("a FILTER on what is collected")
    return after


def _spread(name: str) -> Callable[[Sequence[Typed], str], Aggregate]:
    return lambda values, distinct: _call(f"{name}({distinct}{as_double(_one(values, name)).sql})", DOUBLE)


def _spread_or_zero(name: str) -> Callable[[Sequence[Typed], str], Aggregate]:
    """Of one row 0, as in Hive 2."""

    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        sql = distinct + repeated(as_double(_one(values, name)), 2).sql
        return lambda after: Typed(f"IF(count({sql}){after} = 1, 0e0, {name}({sql}){after})", DOUBLE)

    return of


AGGREGATES: Mapping[str, Callable[[Sequence[Typed], str], Aggregate]] = {
    "avg": _avg,
    "collect_list": _collected(False),
    "collect_set": _collected(True),
    "count": _count,
    "max": _most("max"),
    "min": _most("min"),
    "stddev_pop": _spread("stddev_pop"),
    "stddev_samp": _spread("stddev_samp"),
    "stddev_samp or 0": _spread_or_zero("stddev_samp"),
    "sum": _sum,
    "var_pop": _spread("var_pop"),
    "var_samp": _spread("var_samp"),
    "var_samp or 0": _spread_or_zero("var_samp"),
}


def _ranked(name: str, kind: HiveType) -> Callable[[Sequence[Typed]], Aggregate]:
    def of(values: Sequence[Typed]) -> Aggregate:
        if values:
            raise CannotTranslate(f"the function {name} with arguments")
        return lambda after: Typed(f"CAST({name}(){after} AS {kind.trino})", kind)

    return of


def _ntile(values: Sequence[Typed]) -> Aggregate:
    count = number(_one(values, "ntile"), "the argument of ntile", 1)
    return lambda after: Typed(f"CAST(ntile({count}){after} AS integer)", INT)


def _shifted(name: str) -> Callable[[Sequence[Typed]], Aggregate]:
    def of(values: Sequence[Typed]) -> Aggregate:
        if not 1 <= len(values) <= 3:
            raise CannotTranslate(f"the function {name} with {len(values)} arguments")
        value, rows = values[0], number(values[1], f"the rows of {name}") if len(values) > 1 else 1
        default = [f"{_default(values[2], value.type)}"] if len(values) > 2 else []
        return _call(f"{name}({', '.join([value.sql, str(rows), *default])})", value.type)

    return of


def _default(value: Typed, kind: HiveType) -> str:
    if common((value.type, kind)) != kind:
        raise CannotTranslate(f"a default of {value.type} for {kind}")
    return widened(value, kind).sql


def _end(name: str) -> Callable[[Sequence[Typed]], Aggregate]:
    """`first_value` and `last_value`; TRUE behind the value is to pass over NULLs."""

    def of(values: Sequence[Typed]) -> Aggregate:
        is_marked = len(values) == 2 and values[1].sql in {"true", "false"}
        value = values[0] if is_marked else _one(values, name)
        nulls = " IGNORE NULLS" if is_marked and values[1].sql == "true" else ""
        return _call(f"{name}({value.sql}){nulls}", value.type)

    return of


WINDOWS: Mapping[str, Callable[[Sequence[Typed]], Aggregate]] = {
    "cume_dist": _ranked("cume_dist", DOUBLE),
    "dense_rank": _ranked("dense_rank", INT),
    "first_value": _end("first_value"),
    "lag": _shifted("lag"),
    "last_value": _end("last_value"),
    "lead": _shifted("lead"),
    "ntile": _ntile,
    "percent_rank": _ranked("percent_rank", DOUBLE),
    "rank": _ranked("rank", INT),
    "row_number": _ranked("row_number", INT),
}
