"""Arithmetic as Hive does it: integers divide into doubles, a division by zero is NULL, decimals grow. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from pysync.hiveql.differences import accept
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_double, cast, common
from pysync.views.typed_expressions import Typed, named
from pysync.views.types import BIGINT, DOUBLE, MAX_PRECISION, VOID, HiveType, decimal

_MIN_SCALE = 6  # of a quotient of decimals


_ZERO = re.compile(r"(?:CAST\()?(?:double ')?0+(?:\.0*)?(?:[eE][+-]?[0-9]+)?(?:'| AS double\))?")


def is_zero(value: Typed) -> bool:
    """Whether it is a zero that is written there."""
    return value.literal == 0 or bool(_ZERO.fullmatch(value.sql))


def _is_negative_zero(zero: Typed, operator: str, other: Typed) -> bool:
    """Whether it may be a double that is -0.0: Hive has none among what it calculates while it compiles a query."""
    are_exact, are_whole = zero.type.is_exact and other.type.is_exact, zero.type.is_integer and other.type.is_integer
    if operator not in "*/" or (are_exact and not (operator == "/" and are_whole)):
        return False
    is_positive = (isinstance(other.literal, int) and other.literal > 0) or other.sql.startswith("double '")
    return is_zero(zero) and '"' not in other.sql and not is_positive


LongProducts = Literal["null", "rounded"] | None


def arithmetic(one: Typed, operator: str, other: Typed, long_products: LongProducts = None) -> Typed:
    """`+ - * / %` of two values. Raises CannotTranslate for types that have no such operator in all engines.

    `long_products` says what a product with more than 38 digits is; None refuses those that may have them.
    """
    one, other = _number(one), _number(other)
    if _is_negative_zero(one, operator, other) or (operator == "*" and _is_negative_zero(other, operator, one)):
        accept("negative-zero", "0 times or divided by a constant that may be negative, which is 0.0 or -0.0")
    if operator == "/":
        return _quotient(one, other)
    kind = _kind(one, operator, other)
    if operator == "%" and kind.name == "decimal":
        _assert_digits_known(operator, one, other)
    if kind == DOUBLE:  # Trino's own cast, of what has one in Hive
        for it in (one, other):
            as_double(it)
    if kind.name == "decimal" and operator == "*" and kind.scale < one.type.scale + other.type.scale:
        return Typed(_cut_product(one, other, kind, long_products), kind)
    divisor = f"NULLIF({other.sql}, 0)" if operator == "%" else other.sql
    return Typed(_or_null(f"CAST({one.sql} {operator} {divisor} AS {kind.trino})", kind), kind)


def has_other_digits(one: Typed, operator: str, other: Typed, result: Typed) -> bool:
    """Whether the result is another where Hive knows an operand while it compiles the query, and so its digits."""
    if result.type.name == "decimal":
        return operator in "/%" or result.type.precision == MAX_PRECISION
    return operator in "*/" and result.type == DOUBLE and (is_zero(one) or is_zero(other))


_OF_ROWS = ('"', "(*)", " OVER ")
"""What is in the text of a value that is not the same for all rows."""


def _assert_digits_known(operator: str, one: Typed, other: Typed) -> None:
    """That versions of Hive take the same digits for those of an operand, whether or not they know its value."""
    constants = [it for it in (one, other) if not any(mark in it.sql for mark in _OF_ROWS)]
    if (operator == "%" and len(constants) == 2) or any(_is_calculated(it) for it in constants):
        raise CannotTranslate(f"{operator} of decimals with a constant whose digits depend on the version of Hive")


def _is_calculated(constant: Typed) -> bool:
    return constant.literal is None and not constant.sql.startswith("decimal '")


def _or_null(sql: str, kind: HiveType) -> str:
    """What has more digits than a decimal can have is NULL."""
    return f"TRY({sql})" if kind.name == "decimal" and kind.precision == MAX_PRECISION else sql


def _number(value: Typed) -> Typed:
    """The operand; strings are doubles."""
    if value.type.is_text or value.type == VOID:
        return as_double(value)
    if not value.type.is_number:
        raise CannotTranslate(f"arithmetic with {value.type}")
    return value


def _kind(one: Typed, operator: str, other: Typed) -> HiveType:
    a, b = one.type, other.type
    if not (a.is_exact and b.is_exact):
        if "float" in {a.name, b.name} and a != b and DOUBLE not in {a, b}:
            raise CannotTranslate(f"arithmetic with {a} and {b}")
        return a if a == b else DOUBLE
    if a.is_integer and b.is_integer:
        return common((a, b))
    return _decimal_kind(_digits(one), operator, _digits(other))


def _decimal_kind(a: _Digits, operator: str, b: _Digits) -> HiveType:
    whole, scale = max(a.whole, b.whole), max(a.scale, b.scale)
    if operator == "*":
        return _adjusted(a.whole + a.scale + b.whole + b.scale + 1, a.scale + b.scale)
    if operator == "%":
        return decimal(min(a.whole, b.whole) + scale, scale)
    return _unadjusted(whole + scale + 1, scale)


def _unadjusted(precision: int, scale: int) -> HiveType:
    """A decimal that keeps its digits behind the point. Raises CannotTranslate: Trino overflows before it cuts them."""
    kind = _adjusted(precision, scale)
    if kind.scale < scale:
        raise CannotTranslate(f"a decimal with more than {MAX_PRECISION} digits, of which Hive cuts some")
    return kind


def _cut_product(one: Typed, other: Typed, kind: HiveType, long_products: LongProducts) -> str:
    """A product whose type has fewer digits behind the point than it may have itself.

    Trino's has no more than 38 digits, zeros at its end counted. So the whole part of a factor is multiplied alone, and
    the sum of both products is made with fewer and fewer digits behind the point, down to those of the type.
    """
    a, b = _digits(one), _digits(other)
    scale = a.scale + b.scale
    if a.whole + b.whole + scale <= MAX_PRECISION:
        return f"TRY_CAST({one.sql} * {other.sql} AS {kind.trino})"
    if not _is_cut_apart(a, b, kind):
        one, other, a, b = other, one, b, a
    if not _is_cut_apart(a, b, kind) or long_products is None:
        raise CannotTranslate(f"a decimal with more than {MAX_PRECISION} digits, of which Hive cuts some")
    whole, behind = "truncate(x[1]) * x[2]", f"CAST(x[1] - truncate(x[1]) AS decimal({a.scale},{a.scale})) * x[2]"
    sums = []
    for step in (f"decimal({MAX_PRECISION},{it})" for it in range(scale, kind.scale - 1, -1)):
        sum_ = f"CAST(CAST({whole} AS {step}) + CAST({behind} AS {step}) AS {kind.trino})"
        is_exact = f"CAST({behind} AS {step}) = {behind}"
        sums.append(f"TRY({sum_})" if long_products == "rounded" else f"TRY(IF({is_exact}, {sum_}))")
    return named(f"ROW({one.sql}, {other.sql})", "x", f"COALESCE({', '.join(sums)})")


def _is_cut_apart(a: _Digits, b: _Digits, kind: HiveType) -> bool:
    """Whether the digits of `a` behind the point, times `b`, fit; and those of `b` are digits of the product."""
    return 0 < a.scale <= MAX_PRECISION - b.whole - b.scale and b.scale <= kind.scale


def _quotient(one: Typed, other: Typed) -> Typed:
    exact = one.type.is_exact and other.type.is_exact
    if "float" in {one.type.name, other.type.name} and one.type != other.type and DOUBLE not in {one.type, other.type}:
        raise CannotTranslate(f"arithmetic with {one.type} and {other.type}")
    if not exact or (one.type.is_integer and other.type.is_integer):
        return Typed(f"({as_double(one).sql} / NULLIF({as_double(other).sql}, double '0'))", DOUBLE)
    _assert_digits_known("/", one, other)
    a, b = _digits(one), _digits(other)
    behind = max(_MIN_SCALE, a.scale + b.whole + b.scale + 1)
    kind = _adjusted(a.whole + b.scale + behind, behind)
    if max(a.scale, b.scale) > kind.scale:
        raise CannotTranslate("a division of decimals that rounds twice")
    above = HiveType("decimal", (min(MAX_PRECISION, a.whole + kind.scale), kind.scale))
    quotient = f"TRY_CAST(CAST({one.sql} AS {above.trino}) / NULLIF({other.sql}, 0) AS {kind.trino})"
    return Typed(_or_null(quotient, kind), kind)


def _adjusted(precision: int, scale: int) -> HiveType:
    """A decimal; where there are too many digits, those behind the point give way, down to six."""
    if precision > MAX_PRECISION:
        scale = max(MAX_PRECISION - (precision - scale), min(scale, _MIN_SCALE))
    return HiveType("decimal", (min(precision, MAX_PRECISION), scale))


class _Digits(NamedTuple):
    """The digits of an exact number, before and behind the point."""

    whole: int
    scale: int


def _digits(value: Typed) -> _Digits:
    """Those of its type; an integer that is written there has as many as it shows."""
    if isinstance(value.literal, int):
        return _Digits(len(str(abs(value.literal))), 0)
    return _Digits(value.type.precision - value.type.scale, value.type.scale)


def whole_quotient(one: Typed, other: Typed) -> Typed:
    """`DIV` of two integers."""
    if not (one.type.is_integer and other.type.is_integer):
        raise CannotTranslate(f"DIV of {one.type} and {other.type}")
    return Typed(f"(CAST({one.sql} AS bigint) / NULLIF(CAST({other.sql} AS bigint), 0))", BIGINT)


def negative(value: Typed) -> Typed:
    """`-value`."""
    number = _number(value)
    if number.type == DOUBLE and is_zero(number):
        accept("negative-zero", "a double -0, which engines make 0.0 or -0.0")
    literal = -number.literal if isinstance(number.literal, int) else None
    return Typed(f"(-{number.sql})", number.type, literal)


def bitwise(name: str) -> Callable[[Typed, Typed], Typed]:
    """`&`, `|` of integers, by the name of Trino's function."""

    def of(one: Typed, other: Typed) -> Typed:
        if not (one.type.is_integer and other.type.is_integer):
            raise CannotTranslate(f"bits of {one.type} and {other.type}")
        kind = common((one.type, other.type))
        return cast(Typed(f"{name}({one.sql}, {other.sql})", BIGINT), kind)

    return of


BITWISE: Mapping[str, Callable[[Typed, Typed], Typed]] = {
    "&": bitwise("bitwise_and"),
    "|": bitwise("bitwise_or"),
}
