"""Hive's functions of dates and times. Nothing that depends on the time zone of a session."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_date, as_integer, cast
from pysync.views.typed_expressions import Typed, named, text, written
from pysync.views.types import DATE, DOUBLE, INT, STRING, TIMESTAMP

# What has a meaning of its own in some version of Java is not among the characters that stand for themselves.
_ITSELF = r"[^A-Za-z%'\"#{}\[\]]"
_TRINO_PATTERN = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%i", "ss": "%s"}
_TRINO_NAMES = {"EEEE": "%W", "EEE": "%a", "E": "%a", "MMMM": "%M", "MMM": "%b"}  # in English
_NUMBER_OF_DAY = "u"  # 1 is a Monday
_UNITS = {"YEAR": "year", "YYYY": "year", "YY": "year", "MONTH": "month", "MON": "month", "MM": "month"}

_MONTHS = "(year(x[1]) - year(x[2])) * 12 + month(x[1]) - month(x[2])"
_SAME_DAY = "day(x[1]) = day(x[2])"
_LAST_DAYS = " AND ".join(f"day(x[{it}]) = day(last_day_of_month(x[{it}]))" for it in (1, 2))
_SECOND = "(day(x[{0}]) * 86400 + hour(x[{0}]) * 3600 + minute(x[{0}]) * 60 + second(x[{0}]))"
_PART = f"({_SECOND.format(1)} - {_SECOND.format(2)}) / 2678400e0"


def _part(name: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(f"CAST({name}({as_date(value).sql}) AS integer)", INT)


def _time_part(name: str) -> Callable[[Typed], Typed]:
    def of(value: Typed) -> Typed:
        if value.type != TIMESTAMP:
            raise CannotTranslate(f"the function {name} of {value.type}")
        return Typed(f"CAST({name}({value.sql}) AS integer)", INT)

    return of


def _date_add(value: Typed, days: Typed) -> Typed:
    return Typed(f"date_add('day', {as_integer(days).sql}, {as_date(value).sql})", DATE)


def _date_sub(value: Typed, days: Typed) -> Typed:
    return Typed(f"date_add('day', -{as_integer(days).sql}, {as_date(value).sql})", DATE)


def _datediff(end: Typed, start: Typed) -> Typed:
    return Typed(f"CAST(date_diff('day', {as_date(start).sql}, {as_date(end).sql}) AS integer)", INT)


def _dayofweek(value: Typed) -> Typed:
    """1 is a Sunday."""
    return Typed(f"CAST(day_of_week({as_date(value).sql}) % 7 + 1 AS integer)", INT)


def _trunc(value: Typed, unit: Typed) -> Typed:
    name = _UNITS.get(written(unit, "a unit of trunc"))  # Hive 2.3 knows no small letters
    if name is None:
        raise CannotTranslate(f"the function trunc to {unit.literal!r}")
    return Typed(f"date_trunc('{name}', {as_date(value).sql})", DATE)


def _date_format(value: Typed, pattern: Typed, more: Mapping[str, str] = MappingProxyType({})) -> Typed:
    java = written(pattern, "a pattern of date_format")
    if value.type not in {DATE, TIMESTAMP}:
        raise CannotTranslate(f"the function date_format of {value.type} with {java!r}")
    return Typed(_formatted(cast(value, TIMESTAMP).sql, java, "date_format", more), STRING)


def date_format(value: Typed, pattern: Typed) -> Typed:
    """The same with names of days and months, as every Hive has them."""
    return _date_format(value, pattern, _TRINO_NAMES)


def date_format_of_java_util(value: Typed, pattern: Typed) -> Typed:
    """The same with the number of the day, which the pattern u is before Hive 4."""
    if pattern.literal == _NUMBER_OF_DAY and value.type in {DATE, TIMESTAMP}:
        return Typed(f"CAST(day_of_week({value.sql}) AS varchar)", STRING)
    return date_format(value, pattern)


def formatted(time: str, java: str, name: str) -> str:
    """A time of Trino by a pattern of Java, names of days and months among it. Raises CannotTranslate."""
    return _formatted(time, java, name, _TRINO_NAMES)


def _formatted(time: str, java: str, name: str, more: Mapping[str, str]) -> str:
    known = {**_TRINO_PATTERN, **more}
    pattern = re.compile("|".join([*sorted(known, key=len, reverse=True), _ITSELF]))
    if not java or "".join(pattern.findall(java)) != java:
        raise CannotTranslate(f"the function {name} with {java!r}")
    trino = pattern.sub(lambda it: known.get(it[0], it[0]), java)
    return f"date_format({time}, {text(trino)})"


def _months_between(end: Typed, start: Typed) -> Typed:
    """Whole months between two of the same day, or two last days of months; else with a part of 31 days."""
    pair = ", ".join(cast(it if it.type == TIMESTAMP else as_date(it), TIMESTAMP).sql for it in (end, start))
    rounded = f"CAST(CAST(CAST({_MONTHS} + {_PART} AS varchar) AS decimal(38,8)) AS double)"
    months = f"IF({_SAME_DAY} OR ({_LAST_DAYS}), CAST({_MONTHS} AS double), {rounded})"
    return Typed(named(f"ROW({pair})", "x", months), DOUBLE)


def moved(value: Typed, count: int, unit: str) -> Typed:
    """A date, that many days, months or years later. Raises CannotTranslate."""
    if value.type != DATE or unit not in {"day", "month", "year"}:
        raise CannotTranslate(f"an interval of {unit}s beside {value.type}")
    return Typed(f"date_add('{unit}', {count}, {value.sql})", DATE)


MOMENTS: Mapping[str, Callable[..., Typed]] = {
    "date_add": _date_add,
    "date_format": _date_format,
    "date_sub": _date_sub,
    "datediff": _datediff,
    "day": _part("day"),
    "dayofmonth": _part("day"),
    "dayofweek": _dayofweek,
    "hour": _time_part("hour"),
    "last_day": lambda value: Typed(f"last_day_of_month({as_date(value).sql})", DATE),
    "minute": _time_part("minute"),
    "month": _part("month"),
    "months_between": _months_between,
    "quarter": _part("quarter"),
    "second": _time_part("second"),
    "to_date": as_date,
    "trunc": _trunc,
    "weekofyear": _part("week"),
    "year": _part("year"),
}
