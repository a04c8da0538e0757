"""Arithmetic as Hive does it: integers divide into doubles, a division by zero is NULL, decimals grow. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pysync.views.casts import as_double, cast, common
from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed
from pysync.views.types import BIGINT, DOUBLE, MAX_PRECISION, VOID, HiveType, decimal

_MIN_SCALE = 6  # of a quotient of decimals


def arithmetic(one: Typed, operator: str, other: Typed) -> Typed:
    """`+ - * / %` of two values. Raises CannotTranslate for types that have no such operator in all engines."""
    one, other = _number(one), _number(other)
    if operator == "/":
        return _quotient(one, other)
    kind = _kind(one, operator, other)
    divisor = f"NULLIF({other.sql}, 0)" if operator == "%" else other.sql
    return Typed(f"CAST({one.sql} {operator} {divisor} AS {kind.trino})", kind)


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
        if a.scale + b.scale > MAX_PRECISION:
            raise CannotTranslate(f"a product with more than {MAX_PRECISION} digits behind the point")
        return _adjusted(a.whole + a.scale + b.whole + b.scale + 1, a.scale + b.scale)
    if operator == "%":
        return decimal(min(a.whole, b.whole) + scale, scale)
    return _adjusted(whole + scale + 1, scale)


def _quotient(one: Typed, other: Typed) -> Typed:
    exact = one.type.is_exact and other.type.is_exact
    if "float" in {one.type.name, other.type.name} and one.type != other.type and DOUBLE not in {one.type, other.type}:
        raise CannotTranslate(f"arithmetic with {one.type} and {other.type}")
    if not exact or (one.type.is_integer and other.type.is_integer):
        return Typed(f"({as_double(one).sql} / NULLIF({as_double(other).sql}, double '0'))", DOUBLE)
    a, b = _digits(one), _digits(other)
    behind = max(_MIN_SCALE, a.scale + b.whole + b.scale + 1)
    kind = _adjusted(a.whole + b.scale + behind, behind)
    if b.scale > kind.scale:
        raise CannotTranslate("a division of decimals that rounds twice")
    above = HiveType("decimal", (min(MAX_PRECISION, a.whole + kind.scale), kind.scale))
    return Typed(f"TRY_CAST(CAST({one.sql} AS {above.trino}) / NULLIF({other.sql}, 0) AS {kind.trino})", kind)


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
