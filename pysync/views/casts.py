"""Conversions as Hive makes them: what it cannot convert is NULL, and each pair of types has rules of its own. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date
from functools import reduce

from pysync.hiveql.differences import accept
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.typed_expressions import Typed, condition, named, repeated, text
from pysync.views.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, INTEGERS, STRING, TIMESTAMP, VOID, HiveType, decimal

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_PLAIN_INTEGER = re.compile(r"-?[0-9]+")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ISO_TIMESTAMP = re.compile(r"(\d{4}-\d\d-\d\d) ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,3})?")

_MOST_BEHIND = 20  # digits behind the point of a double that Java writes without an exponent
_MOST_WHOLE_DIGITS = 20  # of a decimal that Hive 2.3 makes a double of: larger ones are NULL

_LONGEST_TEXTS = {"void": 0, "tinyint": 4, "smallint": 6, "int": 11, "bigint": 20, "date": 10}
"""How many characters the values of a type have at most."""

_NULL_SAFE = "IS NOT DISTINCT FROM"
_CONVERSE = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}

_Side = tuple[Typed, str]


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
        raise CannotTranslate(f"a cast from {value.type} to {to}{_why(value.type, to)}")
    return Typed(sql, to)


def _why(of: HiveType, to: HiveType) -> str:
    if of.is_text and to == TIMESTAMP:
        return ": versions of Hive read time zones and short forms in ways of their own"
    if of == TIMESTAMP and to.is_number:
        return ": its result depends on the time zone of the session"
    return ""


def _cast(value: Typed, to: HiveType) -> str | None:
    if to.is_text:
        return _to_text(value, to)
    if value.type.is_text:
        return _from_text(value, to)
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
    elif value.type.name in {"double", "float"}:
        accept("double-text", f"a cast from {value.type} to {to}: versions of Java write other digits")
        source = double_text(value.sql)
    else:
        return None
    return source if to == STRING else f"CAST({source} AS {to.trino})"


def double_text(sql: str) -> str:
    """A double or float in Java's form: with a point, and an exponent below 0.001 and from 10,000,000 on."""
    decimal_text = f"CAST(CAST(CAST(x AS varchar) AS decimal(38,{_MOST_BEHIND})) AS varchar)"
    plain = f"regexp_replace({decimal_text}, '(\\.[0-9]+?)0+$', '$1')"
    zero = "IF(1 / x < 0, '-0.0', '0.0')"
    cases = f"WHEN is_nan(x) THEN 'NaN' WHEN x = 0 THEN {zero} WHEN abs(x) >= 1e-3 AND abs(x) < 1e7 THEN {plain}"
    return named(sql, "x", f"CASE {cases} ELSE CAST(x AS varchar) END")


def _from_text(value: Typed, to: HiveType) -> str | None:
    """Versions of Hive, and Spark, read blanks round an integer, days like 2020-02-30 and short forms differently."""
    sql = as_string(value).sql
    if to.is_integer:
        return f"TRY_CAST({sql} AS {to.trino})" if is_plain_integer(value) else None
    if to.name == "decimal":
        return f"TRY_CAST({sql} AS {to.trino})" if is_plain_number(value) else None
    if to.name in {"double", "float"}:
        return f"TRY_CAST({sql} AS {to.trino})"
    if to == TIMESTAMP and isinstance(value.literal, str) and is_second(value.literal):
        return f"timestamp {text(value.literal)}"
    return None


def _from_number(value: Typed, to: HiveType) -> str | None:
    sql = value.sql
    if to.is_integer:
        if value.type.is_integer:
            return f"CAST({sql} AS {to.trino})"
        if value.type.name == "decimal":
            return f"TRY_CAST(truncate({sql}) AS {to.trino})"
        return _saturated(value, to)
    if to.name == "decimal":
        return f"TRY_CAST({sql} AS {to.trino})"
    if to.name in {"double", "float"}:
        is_large = value.type.name == "decimal" and value.type.precision - value.type.scale > _MOST_WHOLE_DIGITS
        return None if is_large else f"CAST({sql} AS {to.trino})"
    return f"({sql} <> 0)" if to == BOOLEAN and value.type.is_exact else None


def _saturated(value: Typed, to: HiveType) -> str | None:
    """A double as an int or bigint: the nearest that there is, and 0 for NaN, as Java has it."""
    if to not in {INT, BIGINT} or value.type != DOUBLE:
        return None
    limit = 2 ** (31 if to == INT else 63)
    most, least = (f"{to.trino} '{it}'" for it in (limit - 1, -limit))
    sql = repeated(value, 4).sql
    return (
        f"(CASE WHEN is_nan({sql}) THEN {to.trino} '0' WHEN {sql} >= {limit - 1}e0 THEN {most}"
        f" WHEN {sql} <= -{limit}e0 THEN {least} ELSE CAST(truncate({sql}) AS {to.trino}) END)"
    )


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
    if VOID in {one, other} or one == other:
        return other if one == VOID else one
    if "char" in {one.name, other.name}:  # its blanks count in some comparisons of such a value, and in a char of it
        raise CannotTranslate(f"values of {one} and {other} in one column")
    _assert_fits(one, other)
    _assert_fits(other, one)
    if (one.is_text and _is_written(other)) or (other.is_text and _is_written(one)):
        return STRING
    if (one.is_text or other.is_text) and {one.name, other.name} & {"double", "float"}:
        accept("double-text", f"values of {one} and {other} in one column: versions of Java write other digits")
        return STRING
    if one.is_exact and other.is_exact:
        return _common_exact(one, other)
    if one.is_number and other.is_number and "float" not in {one.name, other.name}:
        return DOUBLE
    if one.name == other.name and one.within and one.names == other.names:
        return HiveType(one.name, within=tuple(map(_common, one.within, other.within)), names=one.names)
    raise CannotTranslate(f"values of {one} and {other} in one column")


def _assert_fits(text: HiveType, other: HiveType) -> None:
    """Raise CannotTranslate where Hive cuts a value that is no text to the length of the varchar beside it."""
    if text.name == "varchar" and not other.is_text and text.numbers[0] < _LONGEST_TEXTS.get(other.name, math.inf):
        raise CannotTranslate(f"values of {text} and {other} in one column: Hive may cut them")


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


def compared(one: Typed, operator: str, other: Typed) -> Typed:
    """A comparison as Hive makes it; `operator` is Trino's. Raises CannotTranslate where Hive's versions differ."""
    sides = _comparable(one, operator, other)
    if sides is None:
        converse = _comparable(other, _CONVERSE.get(operator, operator), one)
        if converse is None:
            raise CannotTranslate(f"a comparison of {one.type} with {other.type}")
        sides = converse[1], converse[0]
    if operator == "=" and _is_double_key(one, other):
        accept(
            "negative-zero",
            "doubles, floats, or a string and a number that are equal: as keys of a join -0 and 0 are not",
        )
    if (one.type.is_number or other.type.is_number) and (_may_be_nan(one) or _may_be_nan(other)):
        return _compared_doubles((one, sides[0]), operator, (other, sides[1]))
    return condition(f"{sides[0]} {operator} {sides[1]}")


def _is_double_key(one: Typed, other: Typed) -> bool:
    """Whether Hive may join by them, and takes them for doubles."""
    names, are_text = {one.type.name, other.type.name}, {one.type.is_text, other.type.is_text}
    is_double = bool(names & {"double", "float"}) or (
        len(are_text) == 2 and (one.type.is_number or other.type.is_number)
    )
    return is_double and not any(is_constant(it) for it in (one, other))


def is_constant(value: Typed) -> bool:
    """Whether it is a number, string or date that is written there."""
    return value.literal is not None or value.sql.startswith(("double '", "decimal '", "date '"))


def _may_be_nan(value: Typed) -> bool:
    if value.type.is_text:
        return not _NUMBER.fullmatch(str(value.literal))
    return value.type.name in {"double", "float"} and not value.sql.startswith("double '")  # a constant


def _compared_doubles(one: _Side, operator: str, other: _Side) -> Typed:
    """Hive and Spark take NaN for equal to itself, and for more than all other numbers; to Trino it is neither."""
    if operator in _CONVERSE and operator.startswith(">"):
        return _compared_doubles(other, _CONVERSE[operator], one)
    (_, a), (_, b) = one, other
    plain = f"{a} {operator} {b}"
    if operator.startswith("<") and operator != "<>":
        tail = f"NOT is_nan({a})" if operator == "<" else f"{a} IS NOT NULL"
        return condition(f"{plain} OR (is_nan({b}) AND {tail})" if _may_be_nan(other[0]) else plain)
    if operator == _NULL_SAFE or not (_may_be_nan(one[0]) and _may_be_nan(other[0])):
        return condition(plain)
    are_equal = f"{a} = {b} OR (is_nan({a}) AND is_nan({b}))"
    return condition(are_equal if operator == "=" else f"NOT ({are_equal})")


def _comparable(one: Typed, operator: str, other: Typed) -> tuple[str, str] | None:
    """Both sides in a form in which they can be compared; None if only the converse may have a rule."""
    a, b = one.type, other.type
    if VOID in {a, b} or (a == b and not a.within and a.name not in {"char", "binary"}):
        return one.sql, other.sql
    if a.is_text and b.is_text:
        _assert_no_blanks(one, b)
        _assert_no_blanks(other, a)
        return as_string(one).sql, as_string(other).sql
    if b.is_number and (a.is_number or (a.is_text and operator != _NULL_SAFE)):
        return _numbers(one, other)
    if a == DATE and b == TIMESTAMP:
        return cast(one, TIMESTAMP).sql, other.sql
    if isinstance(other.literal, str) and a in {DATE, TIMESTAMP}:
        return one.sql, moment(other.literal, a)
    return None


def _assert_no_blanks(value: Typed, other: HiveType) -> None:
    """Blanks at the end of a constant count beside a char where Hive makes a list or BETWEEN of the comparison."""
    if other.name == "char" and isinstance(value.literal, str) and value.literal.endswith(" "):
        accept(
            "char-blanks", f"a comparison of {other} with a string that ends with a blank, which Hive counts in places"
        )


def _numbers(one: Typed, other: Typed) -> tuple[str, str]:
    if isinstance(one.literal, str) and one.type.is_text and not _NUMBER.fullmatch(one.literal):
        raise CannotTranslate(f"a comparison of {other.type} with the string {one.literal!r}")
    names = {one.type.name, other.type.name}
    if len(names) == 1 or (one.type.is_exact and other.type.is_exact):
        return one.sql, other.sql
    is_plain = one.type.is_text or "float" not in names or "double" in names
    if not (is_plain or one.is_constant or other.is_constant):
        raise CannotTranslate(f"a comparison of {one.type} with {other.type}")
    return as_double(one).sql, as_double(other).sql


def moment(literal: str, kind: HiveType) -> str:
    """A string as the date or timestamp that it is compared with.

    Engines read others in different ways.
    """
    if not is_day(literal) and not (is_second(literal) and kind == TIMESTAMP):
        raise CannotTranslate(f"a comparison of {kind} with the string {literal!r}")
    return f"{'date' if kind == DATE else 'timestamp'} {text(literal)}"


def is_plain_integer(value: Typed) -> bool:
    """Whether it is a string that is written there and that all engines read as one and the same integer."""
    return isinstance(value.literal, str) and bool(_PLAIN_INTEGER.fullmatch(value.literal))


def is_plain_number(value: Typed) -> bool:
    """The same for a number that may have a fraction."""
    return isinstance(value.literal, str) and bool(_NUMBER.fullmatch(value.literal))


def is_day(literal: str) -> bool:
    """Whether all engines read the string as one and the same date."""
    try:
        return bool(_ISO_DATE.fullmatch(literal) and date.fromisoformat(literal))
    except ValueError:
        return False


def is_second(literal: str) -> bool:
    """Whether all engines read the string as one and the same timestamp."""
    whole = _ISO_TIMESTAMP.fullmatch(literal)
    return whole is not None and is_day(whole[1])
