"""Hive's functions of numbers, as Trino's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.arithmetic import arithmetic
from pysync.views.casts import as_double, cast, common, unified
from pysync.views.typed_expressions import Typed, named, repeated
from pysync.views.types import BIGINT, DOUBLE, INT, HiveType, decimal

_MOST_PLACES = 15


def _double(template: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(template.format(as_double(value).sql), DOUBLE)


def _number(value: Typed) -> Typed:
    if value.type.is_text:
        return as_double(value)
    if not value.type.is_number or value.type.name == "float":
        raise CannotTranslate(f"a function of numbers of {value.type}")
    return value


def _abs(value: Typed) -> Typed:
    it = _number(value)
    kind = INT if it.type.is_integer and it.type != BIGINT else it.type
    return Typed(f"abs({cast(it, kind).sql})", kind)


def _whole(name: str) -> Callable[[Typed], Typed]:
    """`ceil` and `floor`: bigint, or a decimal without digits behind the point."""

    def of(value: Typed) -> Typed:
        it = _number(value)
        if it.type.name == "decimal":
            kind = decimal(it.type.precision - it.type.scale + 1, 0)
            return Typed(f"CAST({name}({it.sql}) AS {kind.trino})", kind)
        if it.type == BIGINT:
            raise CannotTranslate(f"the function {name} of bigint")  # Hive makes a double of it, which may be another
        return cast(Typed(f"{name}({as_double(it).sql})", DOUBLE), BIGINT)

    return of


def _round(value: Typed, digits: Typed | None = None) -> Typed:
    it, places = _number(value), 0 if digits is None else digits.literal
    if not isinstance(places, int):
        raise CannotTranslate("the digits of round that are not a constant")
    if places < 0:
        return _round_whole(it, places)
    if it.type.is_integer:
        return it
    if it.type.name == "decimal":
        scale = min(places, it.type.scale)
        kind = decimal(it.type.precision - it.type.scale + scale + (scale < it.type.scale), scale)
        return Typed(f"CAST({it.sql} AS {kind.trino})", kind)
    if places > _MOST_PLACES:
        raise CannotTranslate(f"the function round with more than {_MOST_PLACES} digits")
    # Hive rounds the digits that the number is written with: 1.005 is 1.01. Large ones have none behind the point.
    sql = repeated(it, 3).sql
    rounded = f"CAST(CAST(CAST({sql} AS varchar) AS decimal(38,{places})) AS double)"
    return Typed(f"IF(abs({sql}) < 1e17, {rounded}, {sql})", DOUBLE)


def _round_whole(value: Typed, places: int) -> Typed:
    """To tens, hundreds and so on."""
    if not value.type.is_exact or places < -_MOST_PLACES:
        raise CannotTranslate(f"the function round of {value.type} with {places} digits")
    is_whole = value.type.is_integer
    kind = value.type if is_whole else decimal(value.type.precision - value.type.scale + 1, 0)
    # What is behind the point does not count, and might not fit any more.
    whole = value.sql if is_whole else f"truncate({value.sql})"
    return Typed(f"CAST(round({whole}, {places}) AS {kind.trino})", kind)


def _power(base: Typed, exponent: Typed) -> Typed:
    return Typed(f"power({as_double(base).sql}, {as_double(exponent).sql})", DOUBLE)


def _pmod(one: Typed, other: Typed) -> Typed:
    if not (one.type.is_integer and other.type.is_integer):
        raise CannotTranslate(f"the function pmod of {one.type} and {other.type}")
    rest = arithmetic(one, "%", other)
    return arithmetic(arithmetic(rest, "+", other), "%", other)


def _most(name: str) -> Callable[..., Typed]:
    """`greatest` and `least`."""

    def of(*values: Typed) -> Typed:
        kind: HiveType = common(it.type for it in values)
        is_mixed = any(it.type.is_text != kind.is_text for it in values)
        is_known = kind.is_exact or kind.is_text or kind.name in {"date", "timestamp"}
        if len(values) < 2 or is_mixed or not (is_known or kind == DOUBLE):
            raise CannotTranslate(f"the function {name} of {', '.join(str(it.type) for it in values)}")
        items = unified(values)[1]
        if kind == DOUBLE:
            return reduce(_MORE[name], items)
        return Typed(f"{name}({', '.join(it.sql for it in items)})", kind)

    return of


def _greater(one: Typed, other: Typed) -> Typed:
    """The greater of two doubles, of equal ones the first, as of 0.0 and -0.0; NaN is the greatest."""
    return _one_of(one, other, "is_nan(x[1]) OR (NOT is_nan(x[2]) AND x[1] >= x[2])")


def _less(one: Typed, other: Typed) -> Typed:
    """The lesser one."""
    return _one_of(one, other, "is_nan(x[2]) OR x[1] <= x[2]")


def _one_of(one: Typed, other: Typed, is_first: str) -> Typed:
    choice = f"IF(x[1] IS NOT NULL AND x[2] IS NOT NULL, IF({is_first}, x[1], x[2]))"
    return Typed(named(f"ARRAY[{one.sql}, {other.sql}]", "x", choice), DOUBLE)


_MORE = {"greatest": _greater, "least": _less}


def _unless(template: str) -> Callable[[Typed], Typed]:
    """NULL for a number that fulfils the condition before the colon; NaN never does."""
    excluded, function = template.split(": ")

    def of(value: Typed) -> Typed:
        sql = repeated(as_double(value), 2).sql
        return Typed(f"IF({sql} {excluded}, NULL, {function}({sql}))", DOUBLE)

    return of


def _sign(value: Typed) -> Typed:
    """-1, 0 or 1: a double, but an int of a decimal; -1 also of NaN."""
    it = _number(value)
    if it.type.name == "decimal":
        return Typed(f"CAST(sign({it.sql}) AS integer)", INT)
    sql = repeated(as_double(it), 3).sql
    return Typed(f"IF({sql} > 0, 1e0, IF({sql} = 0, 0e0, IF({sql} IS NOT NULL, -1e0)))", DOUBLE)


NUMBERS: Mapping[str, Callable[..., Typed]] = {
    "abs": _abs,
    "acos": _double("acos({})"),
    "asin": _double("asin({})"),
    "atan": _double("atan({})"),
    "ceil": _whole("ceil"),
    "ceiling": _whole("ceil"),
    "cos": _double("cos({})"),
    "degrees": _double("degrees({})"),
    "e": lambda: Typed("e()", DOUBLE),
    "exp": _double("exp({})"),
    "floor": _whole("floor"),
    "greatest": _most("greatest"),
    "least": _most("least"),
    "ln": _unless("<= 0e0: ln"),
    "log10": _unless("<= 0e0: log10"),
    "log2": _unless("<= 0e0: log2"),
    "pi": lambda: Typed("pi()", DOUBLE),
    "pmod": _pmod,
    "pow": _power,
    "power": _power,
    "radians": _double("radians({})"),
    "round": _round,
    "sign": _sign,
    "sin": _double("sin({})"),
    "sqrt": _unless("< 0e0: sqrt"),
    "tan": _double("tan({})"),
}


def _angle_or_null(name: str) -> Callable[[Typed], Typed]:
    def of(value: Typed) -> Typed:
        sql = repeated(as_double(value), 2).sql
        return Typed(f"IF({sql} BETWEEN -1e0 AND 1e0, {name}({sql}))", DOUBLE)

    return of


ANGLES_OR_NULL: Mapping[str, Callable[..., Typed]] = {it: _angle_or_null(it) for it in ("acos", "asin")}
"""NULL, since Hive 3, where 2.3 gives NaN."""
