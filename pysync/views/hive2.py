"""What Hive 2.3 makes of strings where it wants numbers and dates, which other versions read in other ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps

from pysync.views.arithmetic import LongProducts
from pysync.views.casts import as_string, is_day
from pysync.views.moments import MOMENTS
from pysync.views.spark import HiveRules
from pysync.views.types import BOOLEAN, DATE, STRING, HiveType, Typed, repeated

# --- Integers: digits, with digits behind a point that do not count, and no blanks

_WHOLE, _NONE_BEFORE_POINT = r"\A([+-]?[0-9]+)(?:\.[0-9]*)?\z", r"\A[+-]?\.[0-9]+\z"


def integer_of(value: Typed, to: HiveType) -> Typed:
    """A string as an integer; NULL for what is none, or too large."""
    sql = repeated(as_string(value), 2).sql
    digits = f"IF(regexp_like({sql}, '{_NONE_BEFORE_POINT}'), '0', regexp_extract({sql}, '{_WHOLE}', 1))"
    return Typed(f"TRY_CAST({digits} AS {to.trino})", to)


# --- Dates. What is not matched becomes '', which is no date; a day behind the last of its month is one of the next

_DIGIT = r"[\p{Nd}&&[^\x{10000}-\x{10ffff}]]"  # as Java has them: of any script, in one unit of UTF-16
# A year before Christ is written without saying so: that of 0000-00-00 is 2.
_BEFORE_CHRIST = r"\A(?:-([0-9]+)|0000)(?=-)"
_YEAR_OF_ERA = "lpad(CAST(COALESCE(CAST(x[1] AS bigint), 0) + 1 AS varchar), 4, '0')"
_FIRST_OF_MONTH = "date_add('month', (CAST(x[1] AS bigint) - 2000) * 12 + CAST(x[2] AS bigint) - 1, date '2000-01-01')"
# java.sql.Date and java.sql.Timestamp
_TWO = rf"({_DIGIT}{{1,2}}|\+{_DIGIT})"
_SIGNED = rf"([+-]?{_DIGIT}+)"
_FRACTION = rf"(?:\.{_DIGIT}{{1,9}}[\x00-\x20]*(?:(?<=\.[\s\S]{{9}})[\s\S]*)?)?"
_TIME = rf"(?: {_SIGNED}:{_SIGNED}:{_SIGNED}{_FRACTION})?"
_WRITTEN = rf"\A[\x00-\x20]*({_DIGIT}{{4}}|\+{_DIGIT}{{3}})-{_TWO}-{_TWO}{_TIME}[\x00-\x20]*\z|[\s\S]+"
_SECONDS = (
    "TRY_CAST(x[4] AS integer) * bigint '3600' + TRY_CAST(x[5] AS integer) * bigint '60' + TRY_CAST(x[6] AS integer)"
)
_DAYS = f"IF(x[4] IS NULL, 0, CAST(floor(({_SECONDS}) / 86400e0) AS bigint))"
_IS_DAY = "CAST(x[2] AS bigint) BETWEEN 1 AND 12 AND CAST(x[3] AS bigint) BETWEEN 1 AND 31"
# java.text.SimpleDateFormat; an exponent and infinity are errors here
_NUMBER = rf"[ \t]*(-?(?:{_DIGIT}+(?:E-?{_DIGIT}+)?|\u221e)|NaN)"
_PARSED = rf"\A{_NUMBER}-{_NUMBER}-{_NUMBER}[\s\S]*|[\s\S]+"


def date_of(value: Typed) -> Typed:
    """A string as the date that CAST makes of it: one that has a month's and a day's number, with or without a time."""
    day = f"date_add('day', CAST(x[3] AS bigint) - 1 + {_DAYS}, {_FIRST_OF_MONTH})"
    return _date(value, _WRITTEN, f"IF({_IS_DAY}, {day})")


def parsed_date_of(value: Typed) -> Typed:
    """A string as the date that functions of dates make of it: any three numbers at its beginning are one."""
    return _date(value, _PARSED, f"date_add('day', CAST(x[3] AS bigint) - 1, {_FIRST_OF_MONTH})")


def _date(value: Typed, pattern: str, day: str) -> Typed:
    matched = f"regexp_replace({as_string(value).sql}, '{pattern}', x -> CAST({day} AS varchar))"
    of_era = f"regexp_replace({matched}, '{_BEFORE_CHRIST}', x -> {_YEAR_OF_ERA})"
    return Typed(f"CAST(NULLIF({of_era}, '') AS date)", DATE)


# --- The rules

_OF_DATES = frozenset({"date_add", "date_sub", "datediff", "day", "dayofmonth", "dayofweek", "last_day", "month"})
_OF_DATES |= {"quarter", "to_date", "trunc", "weekofyear", "year"}
_OF_TWO_DATES = "datediff"


def _of_strings(name: str) -> Callable[..., Typed]:
    """A function of dates that takes strings, too."""
    function = MOMENTS[name]

    @wraps(function)
    def of(value: Typed, *others: Typed) -> Typed:
        others = tuple(map(_parsed, others)) if name == _OF_TWO_DATES else others
        return function(_parsed(value), *others)

    return of


class Hive2Rules(HiveRules):
    """A view of Hive 2.3."""

    aggregates: Mapping[str, str] = {
        **HiveRules.aggregates,
        "stddev_samp": "stddev_samp or 0",
        "var_samp": "var_samp or 0",
    }
    functions: Mapping[str, Callable[..., Typed]] = {name: _of_strings(name) for name in _OF_DATES}
    long_products: LongProducts = "null"

    def cast(self, value: Typed, to: HiveType) -> Typed:
        """Strings become integers and dates; booleans are written in capitals."""
        if value.type.is_text and to.is_integer:
            return integer_of(value, to)
        if value.type == BOOLEAN and to == STRING:
            return Typed(f"upper(CAST({value.sql} AS varchar))", STRING)
        if to == DATE and _is_unread(value):
            return date_of(value)
        return HiveRules.cast(self, value, to)


def _parsed(value: Typed) -> Typed:
    return parsed_date_of(value) if _is_unread(value) else value


def _is_unread(value: Typed) -> bool:
    """Whether it is a string that versions of Hive may read as different dates."""
    return value.type.is_text and not (isinstance(value.literal, str) and is_day(value.literal))


HIVE_2 = Hive2Rules()
