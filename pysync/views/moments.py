"""Hive's functions of dates and times, and strings as dates. Nothing that depends on the time zone of a session."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pysync.views.casts import as_date, as_integer, as_string, cast
from pysync.views.types import DATE, DOUBLE, INT, STRING, TIMESTAMP, CannotTranslate, Typed, repeated, text, written

# What has a meaning of its own in some version of Java is not among the characters that stand for themselves.
_PATTERN = re.compile(r"yyyy|MM|dd|HH|mm|ss|[^A-Za-z%'\"#{}\[\]]")
_TRINO_PATTERN = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%i", "ss": "%s"}
_UNITS = {"YEAR": "year", "YYYY": "year", "YY": "year", "MONTH": "month", "MON": "month", "MM": "month"}


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


def _date_format(value: Typed, pattern: Typed) -> Typed:
    java = written(pattern, "a pattern of date_format")
    if value.type not in {DATE, TIMESTAMP} or not java or "".join(_PATTERN.findall(java)) != java:
        raise CannotTranslate(f"the function date_format of {value.type} with {java!r}")
    trino = _PATTERN.sub(lambda it: _TRINO_PATTERN.get(it[0], it[0]), java)
    return Typed(f"date_format({cast(value, TIMESTAMP).sql}, {text(trino)})", STRING)


_MONTHS = "(year(x[1]) - year(x[2])) * 12 + month(x[1]) - month(x[2])"
_SAME_DAY = "day(x[1]) = day(x[2])"
_LAST_DAYS = " AND ".join(f"day(x[{it}]) = day(last_day_of_month(x[{it}]))" for it in (1, 2))
_SECOND = "(day(x[{0}]) * 86400 + hour(x[{0}]) * 3600 + minute(x[{0}]) * 60 + second(x[{0}]))"
_PART = f"({_SECOND.format(1)} - {_SECOND.format(2)}) / 2678400e0"


def _months_between(end: Typed, start: Typed) -> Typed:
    """Whole months between two of the same day, or two last days of months; else with a part of 31 days."""
    pair = ", ".join(cast(it if it.type == TIMESTAMP else as_date(it), TIMESTAMP).sql for it in (end, start))
    rounded = f"CAST(CAST(CAST({_MONTHS} + {_PART} AS varchar) AS decimal(38,8)) AS double)"
    months = f"IF({_SAME_DAY} OR ({_LAST_DAYS}), CAST({_MONTHS} AS double), {rounded})"
    return Typed(f"element_at(transform(ARRAY[ROW({pair})], x -> {months}), 1)", DOUBLE)


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


# --- Strings as dates: what each version of Hive reads in them, as expressions of Trino.
#
# Each pattern covers a whole string: its groups are the parts of a date, and a last branch, without groups, is for
# anything else. `regexp_replace` puts the date in the place of the string, or nothing, which is NULL. A day that a
# month does not have is one of the next month, so days are counted from the first of the month, and months from
# January 2000.


_BLANKS = r"[\x00-\x20]*"
_ANYTHING_ELSE = r"|[\s\S]+"
_DIGIT = r"[\p{Nd}&&[^\x{10000}-\x{10ffff}]]"  # as Java has them: of any script, in one unit of UTF-16
_FIRST_OF_MONTH = "date_add('month', (CAST(x[1] AS bigint) - 2000) * 12 + CAST(x[2] AS bigint) - 1, date '2000-01-01')"
_DAY = f"date_add('day', CAST(x[3] AS bigint) - 1, {_FIRST_OF_MONTH})"


def _date(value: Typed, pattern: str, day: str = _DAY) -> Typed:
    """The date `day` of the groups; a year before Christ, also that of 0000-00-00, is written without saying so."""
    matched = f"regexp_replace({as_string(value).sql}, '{pattern}', x -> CAST({day} AS varchar))"
    year_of_era = "lpad(CAST(COALESCE(CAST(x[1] AS bigint), 0) + 1 AS varchar), 4, '0')"
    of_era = f"regexp_replace({matched}, '\\A(?:-([0-9]+)|0000)(?=-)', x -> {year_of_era})"
    return Typed(f"CAST(NULLIF({of_era}, '') AS date)", DATE)


# --- Hive 2.3

_TWO, _SIGNED = rf"({_DIGIT}{{1,2}}|\+{_DIGIT})", rf"([+-]?{_DIGIT}+)"
_WRITTEN = "".join(
    (
        rf"\A{_BLANKS}({_DIGIT}{{4}}|\+{_DIGIT}{{3}})-{_TWO}-{_TWO}",
        rf"(?: {_SIGNED}:{_SIGNED}:{_SIGNED}",
        rf"(?:\.{_DIGIT}{{1,9}}{_BLANKS}(?:(?<=\.[\s\S]{{9}})[\s\S]*)?)?)?",
        rf"{_BLANKS}\z{_ANYTHING_ELSE}",
    )
)
_SECONDS = " + ".join(f"TRY_CAST(x[{it}] AS integer) * bigint '{of}'" for it, of in ((4, 3600), (5, 60), (6, 1)))
_DAYS = f"IF(x[4] IS NULL, 0, CAST(floor(({_SECONDS}) / 86400e0) AS bigint))"
_IS_DAY = "CAST(x[2] AS bigint) BETWEEN 1 AND 12 AND CAST(x[3] AS bigint) BETWEEN 1 AND 31"


def date_of_2(value: Typed) -> Typed:
    """A string as the date that CAST makes of it, as java.sql.Date and java.sql.Timestamp read it.

    It is a year of four digits, a month up to 12 and a day up to 31 of one or two, with hyphens between them; a plus
    may stand for the first digit. A time may follow a blank: hours, minutes and seconds of any sign and size, of which
    each 86,400 seconds are a day more, and a fraction, in which anything may stand behind nine digits.
    """
    return _date(value, _WRITTEN, f"IF({_IS_DAY}, date_add('day', {_DAYS}, {_DAY}))")


_NUMBER = rf"[ \t]*(-?(?:{_DIGIT}+(?:E-?{_DIGIT}+)?|\u221e)|NaN)"
_PARSED = rf"\A{_NUMBER}-{_NUMBER}-{_NUMBER}[\s\S]*{_ANYTHING_ELSE}"


def parsed_date_of_2(value: Typed) -> Typed:
    """A string as the date that functions of dates make of it, as java.text.SimpleDateFormat reads it.

    Any three numbers with hyphens between them, at its beginning, are one; an exponent and infinity are errors here.
    """
    return _date(value, _PARSED)


# --- Hive 3.1 and 4

_MONTH_OR_DAY = r"((?!-0{1,2}(?![0-9]))-?[0-9]{1,2})"
_LENIENT = rf"\A{_BLANKS}(-?[0-9]{{1,6}})-{_MONTH_OR_DAY}-{_MONTH_OR_DAY}(?: [\s\S]*)?{_BLANKS}\z{_ANYTHING_ELSE}"


def parsed_date_of_3(value: Typed) -> Typed:
    """A string as the date that some functions of Hive 3.1 make of it.

    A year of up to six digits, a month and a day of up to two, each with a minus if it is not zero; then nothing, or a
    blank and anything.
    """
    return _date(value, _LENIENT)


_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.(?:[0-9]{0,8}|[0-9]{9}[\s\S]*))?)?"
_ZONE = r"(?:Z|UTC|[+-][0-9]{1,2}:[0-9]{2}|[A-Z][A-Za-z]+/[A-Za-z_/]+)"
_ISO = rf"\A{_BLANKS}([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})(?:[Tt]{_CLOCK}|{_ZONE}){_BLANKS}\z"


def date_of_3(value: Typed) -> Typed:
    """A string as the date that CAST of Hive 3.1 makes of it: such a one, or one of ISO with a time or a zone."""
    iso = f"TRY_CAST(regexp_extract({repeated(as_string(value), 2).sql}, '{_ISO}', 1) AS date)"
    return Typed(f"COALESCE({parsed_date_of_3(value).sql}, {iso})", DATE)


_STRICT = rf"\A{_BLANKS}(-?[0-9]{{1,4}}-[0-9]{{1,2}}-[0-9]{{1,2}})(?![0-9])"


def date_of_4(value: Typed) -> Typed:
    """A string as a date of Hive 4: a day that there is, at its beginning."""
    return Typed(f"TRY_CAST(regexp_extract({as_string(value).sql}, '{_STRICT}', 1) AS date)", DATE)
