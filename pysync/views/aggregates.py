"""Aggregate functions, alone or over a window. What follows each call is put in later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_string, common, widened
from pysync.views.percentiles import PERCENTILES
from pysync.views.spreads import SPREADS, number_of
from pysync.views.typed_expressions import Aggregate, Typed, number, repeated, single
from pysync.views.types import BIGINT, DOUBLE, INT, MAX_PRECISION, HiveType, array, decimal

_SUM_DIGITS, _AVERAGE_DIGITS = 10, 4


def _call(sql: str, kind: HiveType) -> Aggregate:
    return lambda after: Typed(f"{sql}{after}", kind)


def _count(values: Sequence[Typed], distinct: str) -> Aggregate:
    if not values:
        return _call("count(*)", BIGINT)
    if distinct and len(values) > 1:
        return _call(f"count(DISTINCT {_row(values)})", BIGINT)
    return _call(f"count({distinct}{single(values, 'count').sql})", BIGINT)


def _row(values: Sequence[Typed]) -> str:
    """A row of values, NULL if one of them is: Hive counts no others."""
    if any(it.type.within or it.type.name in {"double", "float"} for it in values):
        raise CannotTranslate("the function count of several values, doubles or arrays among them")
    known = " AND ".join(f"{repeated(it, 2).sql} IS NOT NULL" for it in values)
    return f"IF({known}, ROW({', '.join(as_string(it).sql if it.type.is_text else it.sql for it in values)}))"


def _sum(values: Sequence[Typed], distinct: str) -> Aggregate:
    value = single(values, "sum")
    if value.type.is_integer:
        return _call(f"sum({distinct}{value.sql})", BIGINT)
    if value.type.name == "decimal":
        kind = decimal(min(MAX_PRECISION, value.type.precision + _SUM_DIGITS), value.type.scale)
        return lambda after: Typed(f"CAST(sum({distinct}{value.sql}){after} AS {kind.trino})", kind)
    return _call(f"sum({distinct}{number_of(value, 'sum', distinct)})", DOUBLE)


def _avg(values: Sequence[Typed], distinct: str) -> Aggregate:
    value = single(values, "avg")
    if value.type.name != "decimal":
        return _call(f"avg({distinct}{number_of(value, 'avg', distinct)})", DOUBLE)
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
        value = single(values, name)
        if value.type.within or value.type.name in {"char", "binary", "boolean"}:
            raise CannotTranslate(f"the function {name} of {value.type}")
        if name == "max" and value.type.name in {"double", "float"}:  # NaN is more than any other, and Trino skips it
            nan, sql = f"CAST(nan() AS {value.type.trino})", repeated(value, 2).sql
            return lambda after: Typed(f"IF(bool_or(is_nan({sql})){after}, {nan}, max({sql}){after})", value.type)
        return _call(f"{name}({value.sql})", value.type)

    return of


def _collected(distinct_always: bool) -> Callable[[Sequence[Typed], str], Aggregate]:
    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        value = single(values, "collect_list")
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


def _sum_of_strings(values: Sequence[Typed], distinct: str) -> Aggregate:
    """0 of strings of which none is a number."""
    value = single(values, "sum")
    if not value.type.is_text:
        return _sum(values, distinct)
    numbers = number_of(value, "sum", distinct)
    return lambda after: Typed(f"COALESCE(sum({numbers}){after}, IF(count({value.sql}){after} > 0, 0e0))", DOUBLE)


def _average_of_strings(values: Sequence[Typed], distinct: str) -> Aggregate:
    """Strings that are no numbers count as 0."""
    value = single(values, "avg")
    if not value.type.is_text:
        return _avg(values, distinct)
    numbers = number_of(value, "avg", distinct)
    return lambda after: Typed(f"(COALESCE(sum({numbers}){after}, 0e0) / NULLIF(count({value.sql}){after}, 0))", DOUBLE)


AGGREGATES: Mapping[str, Callable[[Sequence[Typed], str], Aggregate]] = {
    "avg": _avg,
    "avg of strings": _average_of_strings,
    "collect_list": _collected(False),
    "collect_set": _collected(True),
    "count": _count,
    "max": _most("max"),
    "min": _most("min"),
    **PERCENTILES,
    **SPREADS,
    "sum": _sum,
    "sum of strings": _sum_of_strings,
}


def _ranked(name: str, kind: HiveType) -> Callable[[Sequence[Typed]], Aggregate]:
    def of(values: Sequence[Typed]) -> Aggregate:
        if values:
            raise CannotTranslate(f"the function {name} with arguments")
        return lambda after: Typed(f"CAST({name}(){after} AS {kind.trino})", kind)

    return of


def _ntile(values: Sequence[Typed]) -> Aggregate:
    count = number(single(values, "ntile"), "the argument of ntile", 1)
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
    """What is there instead of a row that there is not, in the type of the values."""
    if not _is_short(value, kind) and common((value.type, kind)) != kind:
        raise CannotTranslate(f"a default of {value.type} for values of {kind}")
    return widened(value, kind).sql


def _is_short(value: Typed, kind: HiveType) -> bool:
    """Whether it is a whole number that is written there, and that a decimal of this type can hold."""
    is_whole = isinstance(value.literal, int) and kind.name == "decimal"
    return is_whole and len(str(abs(int(value.literal or 0)))) <= kind.precision - kind.scale


def _end(name: str) -> Callable[[Sequence[Typed]], Aggregate]:
    """`first_value` and `last_value`; TRUE behind the value is to pass over NULLs."""

    def of(values: Sequence[Typed]) -> Aggregate:
        is_marked = len(values) == 2 and values[1].sql in {"true", "false"}
        value = values[0] if is_marked else single(values, name)
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
