"""Percentiles: the exact ones of integers, and approximate ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pysync.hiveql.differences import accept
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_double
from pysync.views.typed_expressions import Aggregate, Typed, named, repeated
from pysync.views.types import DOUBLE, HiveType, array

# `g` has the sorted pairs of a value and how often it is there, and the place of the last value; `p` is the part.
_SUM_AND_VALUE = "ROW(bigint, bigint)"
_VALUE_AT = (
    f"reduce(g[1], CAST(ROW(0, NULL) AS {_SUM_AND_VALUE}), (s, e) -> "
    f"IF(s[1] > k, s, CAST(ROW(s[1] + e[2], e[1]) AS {_SUM_AND_VALUE})), s -> s[2])"
)
_PLACE = "(g[2] * p)"
_ENDS = f"transform(ARRAY[floor({_PLACE}), ceil({_PLACE})], k -> {_VALUE_AT})"
_BETWEEN = f"(ceil({_PLACE}) - {_PLACE}) * v[1] + ({_PLACE} - floor({_PLACE})) * v[2]"
_AT = named(_ENDS, "v", f"IF(v[1] = v[2], CAST(v[1] AS double), {_BETWEEN})")


def _exact(values: Sequence[Typed], distinct: str) -> Aggregate:
    """`percentile`: between the two values next to the place, in proportion. It counts each value, as Hive does."""
    value, parts, kind = _arguments("percentile", values[:2], distinct)
    if not value.type.is_integer or len(values) > 2:
        raise CannotTranslate(f"the function percentile of {value.type}" if len(values) < 3 else "percentile by counts")
    sql = repeated(value, 2).sql

    def of(after: str) -> Typed:
        counted = f"ROW(array_sort(map_entries(histogram(CAST({sql} AS bigint)){after})), count({sql}){after} - 1)"
        values = f"IF(g[1] IS NOT NULL, transform({parts}, p -> {_AT}))"
        return _one_or_all(named(counted, "g", values), kind)

    return of


def _approximate(values: Sequence[Typed], distinct: str) -> Aggregate:
    """`percentile_approx`; how exact it is, is left to Trino."""
    value, parts, kind = _arguments("percentile_approx", values[:2], distinct)
    accept("percentile", "the function percentile_approx, whose result is another in each engine")
    sql = as_double(value).sql
    return lambda after: _one_or_all(f"approx_percentile({sql}, {parts}){after}", kind)


def _arguments(name: str, values: Sequence[Typed], distinct: str) -> tuple[Typed, str, HiveType]:
    """The value, an array of the parts of 1 that are asked for, and the type of the result."""
    if len(values) < 2 or distinct:
        raise CannotTranslate(f"the function {name} of {distinct.lower()}{len(values)} values")
    value, part = values
    if '"' in part.sql or "(*)" in part.sql:
        raise CannotTranslate(f"the function {name} for parts that are not constants")
    if part.type.name == "array":
        return value, f"CAST({part.sql} AS array(double))", array(DOUBLE)
    return value, f"ARRAY[{as_double(part).sql}]", DOUBLE


def _one_or_all(sql: str, kind: HiveType) -> Typed:
    return Typed(sql if kind != DOUBLE else f"element_at({sql}, 1)", kind)


PERCENTILES: Mapping[str, Callable[[Sequence[Typed], str], Aggregate]] = {
    "percentile": _exact,
    "percentile_approx": _approximate,
}
