r"""Strings as times by a pattern of Java: what `unix_timestamp` reads in them, as the seconds that a clock shows.

Hive 2.3 and 3.1 read as java.text.SimpleDateFormat does: numbers of any size and sign behind blanks, so a month, day,
hour and so on may be too large, and anything may follow the last one. Hive 4 reads as java.time does: a text by the
pattern in full, where a day that the month does not have is its last one, and 24:00:00 is midnight of the next day;
without a pattern it is a day and a time that there are, with a blank or a T between them.

What is no time is NULL, and a number that nobody writes so, such as `2E3`, is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pysync.views.date_strings import ANYTHING_ELSE, BLANKS, DIGIT, ISO_DAY, NUMBER, day_of, first_of_month

_SECOND, _DAY, _DIGITS, _LOG = "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd", "yyyyMMdd", "dd/MMM/yyyy:HH:mm:ss"
"""The patterns that are known; the first one is taken if none is written."""


Reader = Callable[[str, str | None], str | None]
"""For the text of a string and a pattern, or None: an expression of Trino; None if the pattern is not known.

It is a varchar: the seconds since 1970, NULL for what is no time, `?` for what Hive may read in some other way.
"""


_LAST_YEAR = 99_999
_CLOCK_GROUPS = ("x[4]", "x[5]", "x[6]")


def _seconds(day: str, clock: Sequence[str] = ()) -> str:
    """Those of a date and of hours, minutes and seconds, which are texts."""
    parts = (f" + CAST({it} AS bigint) * {of}" for it, of in zip(clock, (3600, 60, 1), strict=False))
    return f"date_diff('day', date '1970-01-01', {day}) * 86400{''.join(parts)}"


_NAMES: Sequence[str] = ("january", "february", "march", "april", "may", "june", "july", "august")
_NAMES = (*_NAMES, "september", "october", "november", "december")
_SHORT = "".join(it[:3] for it in _NAMES)
_MONTH_OF_NAME = f"(strpos('{_SHORT}', lower(substr(x[2], 1, 3))) + 2) / 3"
_OF_LOG = ("x[3]", _MONTH_OF_NAME, "x[1]")
"""The year, month and day of the last pattern."""

_NAME = rf"(?i:({'|'.join([*_NAMES, *(it[:3] for it in _NAMES)])}))"
_CLOCK = f"{NUMBER}:{NUMBER}:{NUMBER}"
# Numbers side by side: of the first two SimpleDateFormat takes so many characters, or less before what is no digit.
# A year of less is none that a bound lets through.
_MONTH_OF_TWO = rf"(?:[ \t]({DIGIT})|(-{DIGIT}|{DIGIT}{{2}}|{DIGIT}(?!{DIGIT})(?=[\s\S])))"


def _lenient_seconds(year: str = "x[1]", month: str = "x[2]", day: str = "x[3]", clock: Sequence[str] = ()) -> str:
    """NULL if they begin in a year in which Java counts other days, or are too large for Trino."""
    date = day_of(year, f"CAST({month} AS smallint)", f"CAST({day} AS integer)")
    return f"IF(CAST({year} AS bigint) BETWEEN 1583 AND {_LAST_YEAR}, {_seconds(date, clock)})"


_LENIENT: Mapping[str, tuple[str, str]] = {
    _SECOND: (f"{NUMBER}-{NUMBER}-{NUMBER} {_CLOCK}", _lenient_seconds(clock=_CLOCK_GROUPS)),
    _DAY: (f"{NUMBER}-{NUMBER}-{NUMBER}", _lenient_seconds()),
    _DIGITS: (f"({DIGIT}{{4}}){_MONTH_OF_TWO}{NUMBER}", _lenient_seconds("x[1]", "COALESCE(x[2], x[3])", "x[4]")),
    _LOG: (f"{NUMBER}/{_NAME}/{NUMBER}:{_CLOCK}", _lenient_seconds(*_OF_LOG, _CLOCK_GROUPS)),
}
_SHORT_YEAR = rf"\A(?=[\s\S]{{4}})(?!{DIGIT}{{4}})[ \t]*-?(?:{DIGIT}{{1,3}}(?:[ \t-]?{DIGIT}|E)|\u221e|NaN)"
"""What SimpleDateFormat may read by `yyyyMMdd`, with a year of less than four digits."""

_YEAR, _MONTH, _DAY_OF_MONTH = r"((?!0000)[0-9]{4}|\+[0-9]{5,9})", "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
_SHORT_NAME = f"(?i:({'|'.join(it[:3] for it in _NAMES)}))"
_OF_DAY = r"([01][0-9]|2[0-3]|24(?=:00:00\z)):([0-5][0-9]):([0-5][0-9])"


def _clamped(year: str = "x[1]", month: str = "x[2]", day: str = "x[3]") -> str:
    """A date, the last one of its month if that does not have the day."""
    first = first_of_month(f"IF(CAST({year} AS bigint) <= {_LAST_YEAR}, {year})", month)
    return f"date_add('day', least(CAST({day} AS bigint), day(last_day_of_month({first}))) - 1, {first})"


_STRICT: Mapping[str, tuple[str, str]] = {
    _SECOND: (f"{_YEAR}-{_MONTH}-{_DAY_OF_MONTH} {_OF_DAY}", _seconds(_clamped(), _CLOCK_GROUPS)),
    _DAY: (f"{_YEAR}-{_MONTH}-{_DAY_OF_MONTH}", _seconds(_clamped())),
    _DIGITS: (f"{_YEAR}{_MONTH}{_DAY_OF_MONTH}", _seconds(_clamped())),
    _LOG: (f"{_DAY_OF_MONTH}/{_SHORT_NAME}/{_YEAR}:{_OF_DAY}", _seconds(_clamped(*_OF_LOG), _CLOCK_GROUPS)),
}
_MINUTE = "[0-5][0-9]"
_WITHOUT_PATTERN = "".join(
    (
        rf"{BLANKS}(?:(-?[0-9]{{1,9}}-[0-9]{{1,2}}-[0-9]{{1,2}}) (2[0-3]|[01]?[0-9]):([0-5]?[0-9]):([0-5]?[0-9])",
        rf"(?:\.[0-9]{{1,9}})?|({ISO_DAY})[Tt]([01][0-9]|2[0-3]):({_MINUTE})(?::({_MINUTE})(?:\.[0-9]{{0,9}})?)?){BLANKS}",
    )
)
_DAY_WITHOUT_PATTERN = "TRY_CAST(COALESCE(x[1], x[5]) AS date)"
_IS_WITHOUT_PATTERN = f"{_DAY_WITHOUT_PATTERN} IS NOT NULL OR regexp_like(x[1], '[0-9]{{5}}')"
"""Whether there is such a day, or its year may be too large for Trino."""
_CLOCK_WITHOUT_PATTERN = ("COALESCE(x[2], x[6])", "COALESCE(x[3], x[7])", "COALESCE(x[4], x[8], '0')")


def lenient(source: str, java: str | None) -> str | None:
    """A `Reader`: what Hive 2.3 and 3.1 read."""
    pattern, seconds = _LENIENT.get(java or _SECOND, ("", ""))
    read = _replaced(source, rf"{pattern}[\s\S]*", seconds) if pattern else None
    return f"IF(regexp_like({source}, '{_SHORT_YEAR}'), '?', {read})" if java == _DIGITS else read


def strict(source: str, java: str | None) -> str | None:
    """A `Reader`: what Hive 4 reads."""
    if java is None:
        seconds = _seconds(_DAY_WITHOUT_PATTERN, _CLOCK_WITHOUT_PATTERN)
        return _replaced(source, rf"{_WITHOUT_PATTERN}\z", seconds, _IS_WITHOUT_PATTERN)
    pattern, seconds = _STRICT.get(java, ("", ""))
    return _replaced(source, rf"{pattern}\z", seconds) if pattern else None


def _replaced(source: str, pattern: str, seconds: str, is_time: str = "x[1] IS NOT NULL") -> str:
    """What is put in the place of a whole string."""
    number = f"IF({is_time}, COALESCE(CAST(TRY({seconds}) AS varchar), '?'))"
    return rf"NULLIF(regexp_replace({source}, '\A{pattern}{ANYTHING_ELSE}', x -> {number}), '')"
