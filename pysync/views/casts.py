"""Conversions as Hive makes them: what it cannot convert is NULL, and each pair of types has rules of its own. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import reduce

from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed, condition, text
from pysync.views.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    STRING,
    TIMESTAMP,
    VOID,
    HiveType,
    decimal,
)

_BLANK = r"[ \t\n\r\f\x0B]*"
# A sign, digits, and a fraction that is cut: 1.9 is 1, .5 is 0.
_INTEGER = rf"^{_BLANK}(?=[+-]?\.?[0-9])(?<s>[+-]?)(?<d>[0-9]*)(?:\.[0-9]*)?{_BLANK}$"
_DATE = rf"^{_BLANK}([0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}})(?:[ T].*)?{_BLANK}$"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,3})?"
# Digits behind the milliseconds are cut.
_TIMESTAMP = rf"^{_BLANK}([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?: {_TIME})?)(?:(?<=\.[0-9]{{3}})[0-9]+)?{_BLANK}$"
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,3})?")


def cast(value: Typed, to: HiveType) -> Typed:
    """The value as Hive's CAST makes it. Raises CannotTranslate for conversions that engines do in different ways."""
    if value.type == to:
        return value
    if to == DATE and isinstance(value.literal, str) and is_day(value.literal):
        return Typed(f"date {text(value.literal)}", DATE)
    if value.type == VOID:
        return Typed(f"CAST(NULL AS {to.trino})", to)
    sql = _cast(value, to)
    if sql is None:
        raise CannotTranslate(f"a cast from {value.type} to {to}")
    return Typed(sql, to)


def _cast(value: Typed, to: HiveType) -> str | None:
    if to.is_text:
        return _to_text(value, to)
    if value.type.is_text:
        return _from_text(as_string(value).sql, to)
    if value.type.is_number:
        return _from_number(value, to)
    if value.type == BOOLEAN and to.is_integer:
        return f"CAST({value.sql} AS {to.trino})"
    if {value.type.name, to.name} == {"date", "timestamp"}:
        return f"CAST({value.sql} AS {to.trino})"
    return None


def _to_text(value: Typed, to: HiveType) -> str | None:
    if value.type.is_text:
        source = as_string(value).sql
    elif value.type.is_integer or value.type == DATE:
        source = f"CAST({value.sql} AS varchar)"
    elif value.type == TIMESTAMP:  # Hive writes no zeros at the end of a fraction
        source = f"regexp_replace(CAST({value.sql} AS varchar), '\\.?0+$', '')"
    else:
        return None
    return source if to == STRING else f"CAST({source} AS {to.trino})"


def _from_text(sql: str, to: HiveType) -> str | None:
    if to.is_integer:
        return f"TRY_CAST(regexp_replace({sql}, {text(_INTEGER)}, '${{s}}0${{d}}') AS {to.trino})"
    if to.name == "decimal":
        return f"TRY_CAST(trim({sql}) AS {to.trino})"
    if to.name in {"double", "float"}:
        return f"TRY_CAST({sql} AS {to.trino})"
    if to == DATE:
        return f"TRY_CAST(regexp_extract({sql}, {text(_DATE)}, 1) AS date)"
    if to == TIMESTAMP:
        return f"TRY_CAST(regexp_extract({sql}, {text(_TIMESTAMP)}, 1) AS timestamp(3))"
    return None


def _from_number(value: Typed, to: HiveType) -> str | None:
    sql = value.sql
    if to.is_integer:
        if value.type.is_integer:
            return f"CAST({sql} AS {to.trino})"
        return f"{'TRY_CAST' if value.type.name == 'decimal' else 'CAST'}(truncate({sql}) AS {to.trino})"
    if to.name == "decimal":
        return f"TRY_CAST({sql} AS {to.trino})"
    if to.name in {"double", "float"}:
        return f"CAST({sql} AS {to.trino})"
    return f"({sql} <> 0)" if to == BOOLEAN and value.type.is_exact else None


def as_string(value: Typed) -> Typed:
    """Any value as a string; the blanks that fill up a char do not count."""
    if value.type == STRING:
        return value
    if value.type.name == "char":
        return Typed(f"rtrim(CAST({value.sql} AS varchar))", STRING)
    if value.type.name == "varchar":
        return Typed(f"CAST({value.sql} AS varchar)", STRING, value.literal)
    return cast(value, STRING)


def as_double(value: Typed) -> Typed:
    """A number, or a string that Hive takes for one, as a double."""
    if not (value.type.is_number or value.type.is_text or value.type == VOID):
        raise CannotTranslate(f"{value.type} where a number is needed")
    return cast(value, DOUBLE)


def as_date(value: Typed) -> Typed:
    """A date, the date of a timestamp, or of a string that begins with one."""
    if value.type not in {DATE, TIMESTAMP, VOID} and not value.type.is_text:
        raise CannotTranslate(f"{value.type} where a date is needed")
    return cast(value, DATE)


def as_integer(value: Typed) -> Typed:
    """An int of an int or something smaller; others Hive refuses, or cuts in silence."""
    if value.type == VOID or (value.type.is_integer and value.type != BIGINT):
        return cast(value, INT)
    raise CannotTranslate(f"{value.type} where an int is needed")


def common(types: Iterable[HiveType]) -> HiveType:
    """The type of a CASE, COALESCE, UNION or array of values of these types. Raises CannotTranslate if none is safe."""
    return reduce(_common, types, VOID)


def _common(one: HiveType, other: HiveType) -> HiveType:
    if other in {one, VOID}:
        return one
    if one == VOID:
        return other
    if (one.is_text and _is_written(other)) or (other.is_text and _is_written(one)):
        return STRING
    if one.is_exact and other.is_exact:
        return _common_exact(one, other)
    if one.is_number and other.is_number and "float" not in {one.name, other.name}:
        return DOUBLE
    if one.name == other.name and one.within and one.names == other.names:
        return HiveType(one.name, within=tuple(map(_common, one.within, other.within)), names=one.names)
    raise CannotTranslate(f"values of {one} and {other} in one column")


def _is_written(kind: HiveType) -> bool:
    """Whether all engines write such values in the same way."""
    return kind.is_text or kind.is_integer or kind == DATE


def _common_exact(one: HiveType, other: HiveType) -> HiveType:
    if one.is_integer and other.is_integer:
        return max(one, other, key=INTEGERS.index)
    scale = max(one.scale, other.scale)
    return decimal(max(one.precision - one.scale, other.precision - other.scale) + scale, scale)


def unified(values: Sequence[Typed]) -> tuple[HiveType, list[Typed]]:
    """The values in their common type."""
    to = common(it.type for it in values)
    return to, [widened(it, to) for it in values]


def widened(value: Typed, to: HiveType) -> Typed:
    """The value in a type that `common` gives, which loses nothing."""
    if value.type.within and value.type != to:
        return Typed(f"CAST({value.sql} AS {to.trino})", to)
    return cast(value, to)


_CONVERSE = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


def compared(one: Typed, operator: str, other: Typed) -> Typed:
    """A comparison as Hive makes it; `operator` is Trino's. Raises CannotTranslate where Hive's versions differ."""
    sides = _comparable(one, operator, other)
    if sides is None:
        converse = _comparable(other, _CONVERSE.get(operator, operator), one)
        if converse is None:
            raise CannotTranslate(f"a comparison of {one.type} with {other.type}")
        sides = converse[1], converse[0]
    return condition(f"{sides[0]} {operator} {sides[1]}")


def _comparable(one: Typed, operator: str, other: Typed) -> tuple[str, str] | None:
    """Both sides in a form in which they can be compared; None if only the converse may have a rule."""
    a, b = one.type, other.type
    if VOID in {a, b} or (a == b and not a.within and a.name not in {"char", "binary"}):
        return one.sql, other.sql
    if a.is_text and b.is_text:
        return as_string(one).sql, as_string(other).sql
    if b.is_number and (a.is_number or a.is_text):
        return _numbers(one, other)
    if a == DATE and b == TIMESTAMP:
        return cast(one, TIMESTAMP).sql, other.sql
    if isinstance(other.literal, str) and a in {DATE, TIMESTAMP}:
        return one.sql, moment(other.literal, a, operator)
    return None


def _numbers(one: Typed, other: Typed) -> tuple[str, str]:
    names = {one.type.name, other.type.name}
    if len(names) == 1 or (one.type.is_exact and other.type.is_exact):
        return one.sql, other.sql
    is_plain = one.type.is_text or "float" not in names or "double" in names
    if not (is_plain or one.is_constant or other.is_constant):
        raise CannotTranslate(f"a comparison of {one.type} with {other.type}")
    return as_double(one).sql, as_double(other).sql


def moment(literal: str, kind: HiveType, operator: str) -> str:
    """A string as the date or timestamp that it is compared with.

    Engines compare these as strings or as moments: the result is the same only for canonical ones.
    """
    whole = _ISO_TIMESTAMP.fullmatch(literal)
    # Midnight, or a string that any time of the day is longer than: these two tell no difference.
    is_safe = kind == DATE or operator in {">=", "<"}
    if not (is_day(literal) and is_safe) and not (whole and is_day(whole[1]) and kind == TIMESTAMP):
        raise CannotTranslate(f"a comparison of {kind} with the string {literal!r}")
    return f"{'date' if kind == DATE else 'timestamp'} {text(literal)}"


def is_day(literal: str) -> bool:
    """Whether all engines read the string as one and the same date."""
    try:
        return bool(_ISO_DATE.fullmatch(literal) and date.fromisoformat(literal))
    except ValueError:
        return False
