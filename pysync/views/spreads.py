"""Variances, deviations, covariances and correlations, which Hive calculates in several ways.

Up to Hive 2.3, and over windows always, they are taken row by row, as Trino does. Since 3.1 a variance of a group is
one of sums of squares, which loses digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_double
from pysync.views.typed_expressions import Aggregate, Typed, repeated, single
from pysync.views.types import DOUBLE

_Rule = Callable[[Sequence[Typed], str], Aggregate]
_VARIANCES = ("stddev_pop", "stddev_samp", "var_pop", "var_samp")


def number_of(value: Typed, name: str, distinct: str) -> str:
    """The double that an aggregate function counts. Raises CannotTranslate for different strings, as of one number."""
    if distinct and value.type.is_text:
        raise CannotTranslate(f"the function {name} of different strings, which may be one number")
    return as_double(value).sql


def _spread(name: str) -> _Rule:
    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        sql = number_of(single(values, name), name, distinct)
        return lambda after: Typed(f"{name}({distinct}{sql}){after}", DOUBLE)

    return of


def _spread_or_zero(name: str) -> _Rule:
    """0 of one row, also of NaN and infinity."""

    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        sql = distinct + number_of(repeated(single(values, name), 2), name, distinct)
        return lambda after: Typed(f"IF(count({sql}){after} = 1, 0e0, {name}({sql}){after})", DOUBLE)

    return of


def _of_all_or_zero(name: str) -> _Rule:
    """The same of all rows, not of a sample: what is exact has no NaN or infinity, and 0 without being asked."""

    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        is_exact = single(values, name).type.is_exact
        return (_spread(name) if is_exact else _spread_or_zero(name))(values, distinct)

    return of


def _of_squares(name: str) -> _Rule:
    """A variance as the sum of squares less the square of the sum; or the root of it."""

    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        if distinct:
            raise CannotTranslate(f"the function {name} of different values, of which Hive squares the different")
        x = repeated(as_double(single(values, name)), 6).sql

        def following(after: str) -> Typed:
            total, count = f"sum({x}){after}", f"count({x}){after}"
            divisor = f"{count} - 1" if name.endswith("_samp") else count
            variance = f"((sum({x} * {x}){after} - {total} * {total} / {count}) / NULLIF({divisor}, 0))"
            return Typed(f"sqrt({variance})" if name.startswith("stddev") else variance, DOUBLE)

        return following

    return of


def _pair(values: Sequence[Typed], name: str, distinct: str) -> tuple[str, str]:
    if len(values) != 2 or distinct:
        raise CannotTranslate(f"the function {name} of {len(values)} {distinct.lower()}values")
    one, other = (repeated(as_double(it), 12).sql for it in values)
    return one, other


def _of_pairs(name: str) -> _Rule:
    def of(values: Sequence[Typed], distinct: str) -> Aggregate:
        one, other = _pair(values, name, distinct)
        return lambda after: Typed(f"{name}({one}, {other}){after}", DOUBLE)

    return of


def _covariance_or_zero(values: Sequence[Typed], distinct: str) -> Aggregate:
    """0 of one pair, also of NaN and infinity."""
    plain, (one, other) = _of_pairs("covar_pop")(values, distinct), _pair(values, "covar_pop", distinct)
    if all(it.type.is_exact for it in values):
        return plain
    return lambda after: Typed(f"IF(count({one} + {other}){after} = 1, 0e0, {plain(after).sql})", DOUBLE)


def _correlation_or_nan(values: Sequence[Typed], distinct: str) -> Aggregate:
    """NaN of several pairs with a number that is not finite, where Trino has NULL; NULL if one side is a constant."""
    plain, pair = _of_pairs("corr")(values, distinct), _pair(values, "corr", distinct)
    if all(it.type.is_exact for it in values):
        return plain
    one, other = pair
    # Of pairs only: with a NULL beside it a value does not count.
    sides = [f"IF({other} IS NOT NULL, {one})", f"IF({one} IS NOT NULL, {other})"]

    def of(after: str) -> Typed:
        odd = f"count({one} + {other}){after} > 1 AND bool_or(NOT is_finite({one} + {other})){after}"
        vary = (f"(bool_or(NOT is_finite({it})){after} OR min({it}){after} < max({it}){after})" for it in sides)
        return Typed(f"IF({' AND '.join((odd, *vary))}, nan(), {plain(after).sql})", DOUBLE)

    return of


SPREADS: Mapping[str, _Rule] = {
    **{name: _spread(name) for name in _VARIANCES},
    **{f"{name} or 0": _of_all_or_zero(name) for name in ("stddev_pop", "var_pop")},
    **{f"{name} or 0": _spread_or_zero(name) for name in ("stddev_samp", "var_samp")},
    **{f"{name} of squares": _of_squares(name) for name in _VARIANCES},
    "corr": _of_pairs("corr"),
    "corr or NaN": _correlation_or_nan,
    "covar_pop": _of_pairs("covar_pop"),
    "covar_pop or 0": _covariance_or_zero,
}
"""By the name of a function, and what is different in it."""
