"""Strings as dates and times: what each version of Hive reads in them, as expressions of Trino.

Each pattern covers a whole string: its groups are the parts of a date, and a last branch, without groups, is for
anything else. `regexp_replace` puts the date in the place of the string, or nothing, which is NULL. A day that a month
does not have is one of the next month, so days are counted from the first of the month, and months from January 2000.
"""

from __future__ import annotations

from pysync.views.casts import as_string
from pysync.views.typed_expressions import Typed, repeated
from pysync.views.types import DATE, TIMESTAMP, HiveType

BLANKS = r"[\x00-\x20]*"
ANYTHING_ELSE = r"|[\s\S]+"
DIGIT = r"[\p{Nd}&&[^\x{10000}-\x{10ffff}]]"
"""As Java has them: of any script, in one unit of UTF-16."""
NUMBER = rf"[ \t]*(-?(?:{DIGIT}+(?:E-?{DIGIT}+)?|\u221e)|NaN)"
"""What java.text.DecimalFormat reads as a number, behind blanks."""


def first_of_month(year: str = "x[1]", month: str = "x[2]") -> str:
    """A date; the month may be any number, from 1 on."""
    months = f"(CAST({year} AS bigint) - 2000) * 12 + CAST({month} AS bigint) - 1"
    return f"date_add('month', {months}, date '2000-01-01')"


def day_of(year: str = "x[1]", month: str = "x[2]", day: str = "x[3]") -> str:
    """A date; a day that the month does not have is one of the next."""
    return f"date_add('day', CAST({day} AS bigint) - 1, {first_of_month(year, month)})"


_DAY = day_of()

_TWO, _SIGNED = rf"({DIGIT}{{1,2}}|\+{DIGIT})", rf"([+-]?{DIGIT}+)"
_WRITTEN = "".join(
    (
        rf"\A{BLANKS}({DIGIT}{{4}}|\+{DIGIT}{{3}})-{_TWO}-{_TWO}",
        rf"(?: {_SIGNED}:{_SIGNED}:{_SIGNED}",
        rf"(?:\.({DIGIT}{{1,3}}){DIGIT}{{0,6}}{BLANKS}(?:(?<=\.[\s\S]{{9}})[\s\S]*)?)?)?",
        rf"{BLANKS}\z{ANYTHING_ELSE}",
    )
)
_SECONDS = " + ".join(f"TRY_CAST(x[{it}] AS integer) * bigint '{of}'" for it, of in ((4, 3600), (5, 60), (6, 1)))
_DAYS = f"IF(x[4] IS NULL, 0, CAST(floor(({_SECONDS}) / 86400e0) AS bigint))"
_MILLISECONDS = f"IF(x[4] IS NULL, 0, ({_SECONDS}) * 1000) + COALESCE(CAST(rpad(x[7], 3, '0') AS bigint), 0)"
_TIME = f"date_add('millisecond', {_MILLISECONDS}, CAST({_DAY} AS timestamp(3)))"
_IS_DAY = "CAST(x[2] AS bigint) BETWEEN 1 AND 12 AND CAST(x[3] AS bigint) BETWEEN 1 AND 31"

_PARSED = rf"\A{NUMBER}-{NUMBER}-{NUMBER}[\s\S]*{ANYTHING_ELSE}"

MONTH_OR_DAY = r"((?!-0{1,2}(?![0-9]))-?[0-9]{1,2})"
_LENIENT = rf"\A{BLANKS}(-?[0-9]{{1,6}})-{MONTH_OR_DAY}-{MONTH_OR_DAY}(?: [\s\S]*)?{BLANKS}\z{ANYTHING_ELSE}"

_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.(?:[0-9]{0,8}|[0-9]{9}[\s\S]*))?)?"
ISO_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
ZONE = r" ?(?:Z|UTC|GMT|[+-](?:0?[0-9]|1[0-7]):[0-5][0-9])"
"""Behind a day or a time a zone that every Java knows."""
MAY_BE_ZONE = rf"(?![AP][Mm]{BLANKS}\z)(?:[+-]|Z|[A-Z][A-Za-z])"
"""The beginning of what Java may know as a zone."""
LAST_DAY_IN_ZONE = rf"[0-9]{{4}}-(?:02-(?:29|3[01])|(?:0[469]|11)-31)(?: [0-9:.]+)? ?{MAY_BE_ZONE}"
"""A day with a zone: Java makes one that the month does not have the last one."""
_ISO = rf"\A{BLANKS}({ISO_DAY})(?:[Tt]{_CLOCK}|{ZONE}){BLANKS}\z"
ODD_3 = rf"\A{BLANKS}(?:{LAST_DAY_IN_ZONE}|{ISO_DAY}(?![Tt][0-9]|{ZONE}{BLANKS}\z){MAY_BE_ZONE})"
ODD_4 = rf"\A{BLANKS}(?:[0-9]{{1,2}}:|{LAST_DAY_IN_ZONE}|{ISO_DAY} 24:00:00[0.]* ?{MAY_BE_ZONE})"

_STRICT = rf"\A{BLANKS}(-?[0-9]{{1,4}}-[0-9]{{1,2}}-[0-9]{{1,2}})(?![0-9])"


def replaced(value: Typed, pattern: str, day: str = _DAY, kind: HiveType = DATE) -> Typed:
    """The date `day` of the groups, or a timestamp.

    A year before Christ, also that of 0000-00-00, is written without saying so.
    """
    matched = f"regexp_replace({as_string(value).sql}, '{pattern}', x -> CAST({day} AS varchar))"
    year_of_era = "lpad(CAST(COALESCE(CAST(x[1] AS bigint), 0) + 1 AS varchar), 4, '0')"
    of_era = f"regexp_replace({matched}, '\\A(?:-([0-9]+)|0000)(?=-)', x -> {year_of_era})"
    return Typed(f"CAST(NULLIF({of_era}, '') AS {kind.trino})", kind)


def date_of_2(value: Typed) -> Typed:
    """A string as the date that CAST makes of it, as java.sql.Date and java.sql.Timestamp read it.

    It is a year of four digits, a month up to 12 and a day up to 31 of one or two, with hyphens between them; a plus
    may stand for the first digit. A time may follow a blank: hours, minutes and seconds of any sign and size, of which
    each 86,400 seconds are a day more, and a fraction, in which anything may stand behind nine digits.
    """
    return replaced(value, _WRITTEN, f"IF({_IS_DAY}, date_add('day', {_DAYS}, {_DAY}))")


def time_of_2(value: Typed) -> Typed:
    """A string as the timestamp that CAST makes of it: the same texts, at midnight without a time."""
    return replaced(value, _WRITTEN, f"IF({_IS_DAY}, {_TIME})", TIMESTAMP)


def parsed_date_of_2(value: Typed) -> Typed:
    """A string as the date that functions of dates make of it, as java.text.SimpleDateFormat reads it.

    Any three numbers with hyphens between them, at its beginning, are one; an exponent and infinity are errors here.
    """
    return replaced(value, _PARSED)


def parsed_date_of_3(value: Typed) -> Typed:
    """A string as the date that some functions of Hive 3.1 make of it.

    A year of up to six digits, a month and a day of up to two, each with a minus if it is not zero; then nothing, or a
    blank and anything.
    """
    return replaced(value, _LENIENT)


def date_of_3(value: Typed) -> Typed:
    """A string as the date that CAST of Hive 3.1 makes of it: such a one, or one of ISO with a time or a zone."""
    iso = f"TRY_CAST(regexp_extract({repeated(as_string(value), 4).sql}, '{_ISO}', 1) AS date)"
    return Typed(f"COALESCE({parsed_date_of_3(value).sql}, {_unless_odd(value, ODD_3, iso)})", DATE)


def parsed_date_of_4(value: Typed) -> Typed:
    """A string as the date that some functions of Hive 4 make of it: a day that there is, at its beginning."""
    return Typed(f"TRY_CAST(regexp_extract({as_string(value).sql}, '{_STRICT}', 1) AS date)", DATE)


def date_of_4(value: Typed) -> Typed:
    """A string as the date that CAST of Hive 4 makes of it, where it reads a timestamp: such a one, in most texts."""
    return Typed(_unless_odd(value, ODD_4, parsed_date_of_4(value).sql), DATE)


def _unless_odd(value: Typed, odd: str, day: str) -> str:
    """A date; an error at a text in which Hive may read another one: that of today, or one in a zone."""
    source = repeated(as_string(value), 2).sql
    error = f"CAST(concat('Hive may have another date for ', {source}) AS bigint)"
    return f"IF(regexp_like({source}, '{odd}'), CAST(from_unixtime({error}) AS date), {day})"
