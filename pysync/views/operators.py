"""Arithmetic as Hive does it: integers divide into doubles, a division by zero is NULL, decimals grow. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pysync.views.casts import as_double, cast, common
from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed
from pysync.views.types import BIGINT, DOUBLE, VOID, HiveType, decimal

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
    digits, scale = max(a.precision - a.scale, b.precision - b.scale), max(a.scale, b.scale)
    if operator == "*":
        return decimal(a.precision + b.precision + 1, a.scale + b.scale)
    if operator == "%":
        return decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    return decimal(digits + scale + 1, scale)


def _quotient(one: Typed, other: Typed) -> Typed:
    a, b = one.type, other.type
    if "float" in {a.name, b.name} or not (a.is_exact and b.is_exact) or (a.is_integer and b.is_integer):
        return Typed(f"({as_double(one).sql} / NULLIF({as_double(other).sql}, 0e0))", DOUBLE)
    behind = _behind(a, b.precision)
    if behind != _behind(a, _digits(other)):
        raise CannotTranslate("a division of a decimal by a number that is written there: engines count its digits")
    kind = decimal(a.precision - a.scale + b.scale + behind, behind)
    above = decimal(a.precision - a.scale + behind, behind)
    return Typed(f"TRY_CAST(CAST({one.sql} AS {above.trino}) / NULLIF({other.sql}, 0) AS {kind.trino})", kind)


def _behind(a: HiveType, digits: int) -> int:
    """The digits behind the point of a quotient."""
    return max(_MIN_SCALE, a.scale + digits + 1)


def _digits(value: Typed) -> int:
    """The digits that Spark counts for a number that is written there; Hive counts those of its type."""
    return len(str(abs(value.literal))) if isinstance(value.literal, int) else value.type.precision


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
