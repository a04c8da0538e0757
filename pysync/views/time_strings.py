"""Strings as timestamps: what each version of Hive reads in them, as expressions of Trino.

Since Hive 3.1 a date and a time may have a blank or a T between them; behind a time with a blank may be a zone, which
says whether the text is read at all, and does not change the time. What is no such text is the date at its beginning,
if there is one, at midnight. Where it is not known whether Java knows a zone, Athena fails (`odd-time`).
"""

from __future__ import annotations

from collections.abc import Callable

from pysync.hiveql.differences import accepts, fails_without
from pysync.views.casts import as_string, cast
from pysync.views.date_strings import (
    BLANKS,
    ISO_DAY,
    LAST_DAY_IN_ZONE,
    MAY_BE_ZONE,
    MONTH_OR_DAY,
    ZONE,
    day_of,
    parsed_date_of_3,
    parsed_date_of_4,
    replaced,
)
from pysync.views.typed_expressions import Typed, repeated
from pysync.views.types import TIMESTAMP

_HOUR, _MINUTE = "(?:[01][0-9]|2[0-3])", "[0-5][0-9]"
_OF_DAY = f"{_HOUR}:{_MINUTE}:{_MINUTE}"
_FRACTION = r"(?:\.([0-9]{1,3})[0-9]*)?"
# Hive cuts what is behind the point to nine characters, up to the next blank.
_IN_NINE = r"(?=\.[^\x00-\x20]{1,9}(?:[\x00-\x20]|\z))"
_FULL = (
    rf"\A{BLANKS}({ISO_DAY})(?:[Tt]({_HOUR}:{_MINUTE})(?:(:{_MINUTE})(?:(\.[0-9]{{1,3}})[0-9]*)?)?"
    rf"|(?: ({_OF_DAY})(?:{_IN_NINE}(\.[0-9]{{1,3}})[0-9]*)?)?{ZONE}){BLANKS}\z|[\s\S]+"
)
_FULL_TIME = (
    "x[1] || ' ' || COALESCE(x[2] || COALESCE(x[3], '') || COALESCE(x[4], ''), x[5] || COALESCE(x[6], ''), '00:00')"
)

_LENIENT = (
    rf"\A{BLANKS}(-?[0-9]{{1,6}})-{MONTH_OR_DAY}-{MONTH_OR_DAY}"
    rf"(?: {MONTH_OR_DAY}:{MONTH_OR_DAY}:{MONTH_OR_DAY}{_FRACTION})?{BLANKS}\z|[\s\S]+"
)

_STRICT = (
    rf"\A{BLANKS}(-?[0-9]{{1,4}}-[0-9]{{1,2}}-[0-9]{{1,2}}) (2[0-3]|[01]?[0-9]):([0-5]?[0-9]):([0-5]?[0-9])"
    rf"{_FRACTION}{BLANKS}\z|[\s\S]+"
)

_MAYBE_IN_ZONE = rf"\A{BLANKS}{ISO_DAY} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]+)? ?{MAY_BE_ZONE}"
_MAYBE_CUT = rf"\A{BLANKS}-?[0-9]{{1,6}}-[^.]*\.[0-9]{{9,}}(?:[^0-9\x00-\x20]|[\x00-\x20]+[^\x00-\x20])"
_MAYBE_LAST_DAY = rf"\A{BLANKS}{LAST_DAY_IN_ZONE}"
_MAYBE_DAY_IN_ZONE = rf"\A{BLANKS}{ISO_DAY}(?![Tt][0-9]){MAY_BE_ZONE}"
_NO_DAY = rf"\A{BLANKS}[0-9]{{1,2}}:"
_MAYBE = f"{_MAYBE_IN_ZONE}|{_MAYBE_CUT}|{_MAYBE_LAST_DAY}"
MAYBE_3 = f"{_MAYBE}|{_MAYBE_DAY_IN_ZONE}"
MAYBE_4 = f"{_MAYBE}|{_NO_DAY}"
"""By version what may have a zone that Java knows, or, in Hive 4, has no date."""


def _milliseconds(first: int) -> str:
    """Those of hours, minutes, seconds and a fraction, which are groups of a pattern from the `first` one on."""
    hour, minute, second, part = (f"x[{first + it}]" for it in range(4))
    seconds = f"CAST({hour} AS bigint) * 3600 + CAST({minute} AS bigint) * 60 + CAST({second} AS bigint)"
    return f"COALESCE(({seconds}) * 1000, 0) + COALESCE(CAST(rpad({part}, 3, '0') AS bigint), 0)"


def _later(day: str, first: int) -> str:
    return f"date_add('millisecond', {_milliseconds(first)}, CAST({day} AS timestamp(3)))"


def time_of_3(value: Typed) -> Typed:
    """A string as the timestamp that CAST of Hive 3.1 makes of it: months, days and so on may be too large."""
    plain = replaced(value, _LENIENT, _later(day_of(), 4), TIMESTAMP)
    return _time(value, plain, parsed_date_of_3, MAYBE_3)


def time_of_4(value: Typed) -> Typed:
    """The same of Hive 4, which takes only days and times that there are. It gives a time of day the date of today."""
    plain = replaced(value, _STRICT, _later("TRY_CAST(x[1] AS date)", 2), TIMESTAMP)
    return _time(value, plain, parsed_date_of_4, MAYBE_4)


def _time(value: Typed, plain: Typed, date_of: Callable[[Typed], Typed], maybe: str) -> Typed:
    source = repeated(as_string(value), 5).sql
    full = f"TRY_CAST(NULLIF(regexp_replace({source}, '{_FULL}', x -> {_FULL_TIME}), '') AS timestamp(3))"
    day = cast(date_of(value), TIMESTAMP).sql
    if not accepts("odd-time"):
        error = fails_without("odd-time", "Hive may have another time", source)
        day = f"IF(regexp_like({source}, '{maybe}'), CAST(from_unixtime({error}) AS timestamp(3)), {day})"
    return Typed(f"COALESCE({plain.sql}, {full}, {day})", TIMESTAMP)
