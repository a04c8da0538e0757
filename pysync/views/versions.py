"""What versions of Hive do differently: strings as numbers and dates, the place of NULLs, patterns, characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps

from pysync.hiveql.differences import accept
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.arithmetic import LongProducts, is_zero
from pysync.views.casts import as_string, is_day, is_plain_integer, is_plain_number, is_second
from pysync.views.date_strings import (
    date_of_2,
    date_of_3,
    date_of_4,
    parsed_date_of_2,
    parsed_date_of_3,
    parsed_date_of_4,
    time_of_2,
)
from pysync.views.moments import MOMENTS, date_format, date_format_of_java_util, moved
from pysync.views.months import MONTHS
from pysync.views.numbers import ANGLES_OR_NULL
from pysync.views.spark import HiveRules
from pysync.views.strings import OF_HIVE_4
from pysync.views.time_patterns import Reader, lenient, strict
from pysync.views.time_strings import time_of_3, time_of_4
from pysync.views.typed_expressions import Typed, repeated
from pysync.views.types import DATE, STRING, TIMESTAMP, UTC_TIMESTAMP, HiveType
from pysync.views.zones import DEPENDENT, DEPENDS_ON_ZONE, OF_SECONDS, SessionTimes, ZonedFunctions, in_both

_OF_SQUARES = {
    **{name: f"{name} of squares" for name in ("stddev_pop", "stddev_samp", "var_pop", "var_samp")},
    **dict.fromkeys(("std", "stddev"), "stddev_pop of squares"),
    "variance": "var_pop of squares",
}
"""How Hive calculates variances of groups since 3.1."""
_BLANKS = r"[\t-\r\x1c-\x20]*"  # round numbers since Hive 3

_WHOLE_PART, _EXPONENT = r"[0-9]+\.?[0-9]*", r"[eE][+-]?0*[0-9]{1,2}"
_DECIMAL = rf"\A *([+-]?(?:{_WHOLE_PART}(?:{_EXPONENT})?(?=(?:[eE][+-]?(?= ))? *\z)|\.[0-9]+(?=\z)))"
_BLANK_4 = r"[\t\x0b\x0c ]"
_NUMBER_4 = rf"[+-]?(?:{_WHOLE_PART}|\.[0-9]+)(?:{_EXPONENT})?"
_DECIMAL_4 = rf"\A{_BLANK_4}*({_NUMBER_4})(?=(?:[eE][+-]?(?={_BLANK_4}))?{_BLANK_4}*\z)"
_MOST_WRITTEN = 30  # digits of a decimal that Hive 2.3 is known to write

DateOf = Callable[[Typed], Typed]
_OF_TWO_DATES = "datediff"
_OF_DAYS = frozenset({"add_months", "date_add", "date_sub", "dayofweek", "last_day"}) | {"next_day", "to_date", "trunc"}
_NEVER_OF_TIMES = frozenset({"date_add", "date_sub", "dayofweek", "trunc"})  # Hive 4 reads a date in their strings
_OF_MOMENTS = frozenset({"datediff", "day", "dayofmonth", "month", "quarter", "weekofyear", "year"})


def integer_of(value: Typed, to: HiveType, blanks: str = "") -> Typed:
    """A string as an integer; NULL for what is none, or too large. `blanks` matches what does not count round it."""
    sql = repeated(as_string(value), 2).sql
    fraction, whole = rf"\A{blanks}[+-]?\.[0-9]+{blanks}\z", rf"\A{blanks}([+-]?[0-9]+)(?:\.[0-9]*)?{blanks}\z"
    digits = f"IF(regexp_like({sql}, '{fraction}'), '0', regexp_extract({sql}, '{whole}', 1))"
    return Typed(f"TRY_CAST({digits} AS {to.trino})", to)


def _decimal_of(value: Typed, to: HiveType, pattern: str) -> Typed:
    """A string as a decimal; what the pattern does not match is NULL. Trino takes hours for long exponents."""
    return Typed(f"TRY_CAST(regexp_extract({as_string(value).sql}, '{pattern}', 1) AS {to.trino})", to)


def _of_strings(date_of: DateOf, names: frozenset[str]) -> Mapping[str, Callable[..., Typed]]:
    """Functions of dates that take strings, too."""

    def read(value: Typed) -> Typed:
        return date_of(value) if _is_unread(value) else value

    def of(name: str) -> Callable[..., Typed]:
        function = MOMENTS.get(name) or MONTHS[name]

        @wraps(function)
        def called(value: Typed, *others: Typed) -> Typed:
            return function(read(value), *(map(read, others) if name == _OF_TWO_DATES else others))

        return called

    return {name: of(name) for name in names}


def _is_unread(value: Typed) -> bool:
    """Whether it is a string that versions of Hive may read as different dates."""
    return value.type.is_text and not (isinstance(value.literal, str) and is_day(value.literal))


class Hive2Rules(HiveRules):
    """A view of Hive 2.3. `zone` is the time zone of its sessions, if it is known."""

    aggregates: Mapping[str, str] = {
        **HiveRules.aggregates,
        "stddev_samp": "stddev_samp or 0",
        "sum": "sum of strings",
        "var_samp": "var_samp or 0",
    }
    aggregates_over = aggregates
    functions: Mapping[str, Callable[..., Typed]] = {
        **_of_strings(parsed_date_of_2, _OF_DAYS | _OF_MOMENTS),
        "date_format": date_format_of_java_util,
    }
    long_products: LongProducts = "null"
    blanks = ""
    """What does not count round an integer."""
    decimals = _DECIMAL
    """The strings that are decimals."""
    date_of: DateOf = staticmethod(date_of_2)
    """What a cast of a string to a date gives."""
    time_of: DateOf = staticmethod(time_of_2)
    """What a cast of a string to a timestamp gives, in UTC."""
    read_time: Reader = staticmethod(lenient)
    """What `unix_timestamp` reads in a string by a pattern of Java."""
    is_java_util = True
    """Whether times are those of java.util, not of java.time."""

    def __init__(self, zone: str | None = None) -> None:
        self._zone = zone
        if zone is not None:
            self.functions = {**self.functions, **ZonedFunctions(zone, self.is_java_util, self.read_time).by_name()}

    def read(self, kind: HiveType) -> None:
        """Some timestamps are others in Trino."""
        if kind == UTC_TIMESTAMP:
            raise CannotTranslate(f"a timestamp in files that have it in UTC, in the time zone {self._zone}")

    def call(self, name: str, arguments: Sequence[Typed]) -> None:  # noqa: ARG002 - of no other rules
        """Some functions need the time zone."""
        if name in DEPENDENT and self._zone is None:
            raise CannotTranslate(
                f"the function {name}: {DEPENDS_ON_ZONE} (source.hive_time_zone is not set)", needs="hive_time_zone"
            )

    def cast(self, value: Typed, to: HiveType) -> Typed:
        """Strings become integers and dates."""
        if value.type.is_text and to.is_integer and not is_plain_integer(value):
            return integer_of(value, to, self.blanks)
        if value.type.is_text and to.name == "decimal" and not is_plain_number(value):
            return _decimal_of(value, to, self.decimals)
        if to == DATE and _is_unread(value):
            return self.date_of(value)
        if to == TIMESTAMP and value.type.is_text and not is_second(str(value.literal)):
            return SessionTimes(self._zone, self.is_java_util).on_clock(self.time_of(value))
        return HiveRules.cast(self, self.decimal_as_text(value) if to == STRING else value, to)

    def move(self, value: Typed, count: int, unit: str) -> Typed:
        """A date plus a part of a month is a timestamp."""
        if value.type == DATE and unit in {"month", "year"}:
            return moved(value, count, unit)
        return SessionTimes(self._zone, self.is_java_util).moved(value, count, unit)

    def decimal_as_text(self, value: Typed) -> Typed:
        """Without zeros at its end."""
        if value.type.name != "decimal" or value.type.precision > _MOST_WRITTEN:
            return value
        written = f"CAST({value.sql} AS varchar)"
        return Typed(f"regexp_replace({written}, '\\.?0+$', '')" if value.type.scale else written, STRING)


def _refused_date(value: Typed) -> Typed:
    raise CannotTranslate(f"the function add_months of {value.type}, which Hive 3.1 reads in a way of its own")


class Hive3Rules(Hive2Rules):
    """A view of Hive 3.1."""

    functions: Mapping[str, Callable[..., Typed]] = {
        **ANGLES_OR_NULL,
        **_of_strings(parsed_date_of_3, _OF_DAYS),
        **_of_strings(_refused_date, frozenset({"add_months"})),
        **_of_strings(date_of_3, _OF_MOMENTS),
        "date_format": date_format_of_java_util,
    }
    is_java_util = False
    aggregates: Mapping[str, str] = {
        **HiveRules.aggregates,
        **_OF_SQUARES,
        "avg": "avg of strings",
        "sum": "sum of strings",
    }
    aggregates_over: Mapping[str, str] = {**HiveRules.aggregates, "sum": "sum of strings"}
    blanks = _BLANKS
    date_of: DateOf = staticmethod(date_of_3)
    time_of: DateOf = staticmethod(time_of_3)

    def call(self, name: str, arguments: Sequence[Typed]) -> None:
        """Apache's Hive 3.1 counts seconds in UTC, and vendors' Hives of that number may not."""
        Hive2Rules.call(self, name, arguments)
        if name in OF_SECONDS and self._zone != "UTC":
            raise CannotTranslate(f"the function {name}, for which Hive 3.1 takes UTC or the session's time zone")

    def aggregate(self, name: str, arguments: Sequence[Typed], *, over: bool) -> None:
        """An average of decimals is NULL, or has more digits than its type, once a reducer has made it."""
        if name in _OF_SQUARES and not over and any(it.type.is_text for it in arguments):
            raise CannotTranslate(f"the function {name} of strings, of which Hive 3.1 counts those that are no numbers")
        if name == "avg" and not over and any(it.type.name == "decimal" for it in arguments):
            accept("decimal-average", "an average of decimals, which Hive 3.1 makes NULL where it needs more digits")

    def read_and_written(self, read: Sequence[Typed], written: Sequence[Typed]) -> Typed | None:
        """What is the same in UTC and in the session's time zone; an error where it is not."""
        if self._zone in {None, "UTC"}:
            return None
        return in_both(read, written, str(self._zone))


class Hive4Rules(Hive2Rules):
    """A view of Hive 4."""

    aggregates: Mapping[str, str] = {**HiveRules.aggregates, **_OF_SQUARES}
    aggregates_over = HiveRules.aggregates
    blanks = _BLANKS
    decimals = _DECIMAL_4
    puts_nulls_last = True
    sums_nothing_to_null = True
    frames_by_values = "which has all rows in Hive 4 where it begins or ends at a NULL"
    matches_lines = True
    functions: Mapping[str, Callable[..., Typed]] = {
        **OF_HIVE_4,
        **ANGLES_OR_NULL,
        **_of_strings(parsed_date_of_4, _OF_DAYS & _NEVER_OF_TIMES),
        **_of_strings(date_of_4, (_OF_DAYS | _OF_MOMENTS) - _NEVER_OF_TIMES),
        "date_format": date_format,
    }
    is_java_util = False
    date_of: DateOf = staticmethod(date_of_4)
    time_of: DateOf = staticmethod(time_of_4)
    read_time = staticmethod(strict)

    def decimal_as_text(self, value: Typed) -> Typed:
        """With all digits that its type has."""
        return Typed(f"CAST({value.sql} AS varchar)", STRING) if value.type.name == "decimal" else value

    def compare(self, one: Typed, other: Typed) -> None:
        """Blanks that fill up a char in Parquet files of other engines count once the filter reaches the files."""
        for value, kind in ((one, other.type), (other, one.type)):
            if kind.name == "char" and isinstance(value.literal, str) and len(value.literal) < kind.numbers[0]:
                accept("char-blanks", f"a comparison of {kind} with a shorter string, where Hive 4 counts blanks")

    def calculate(self, one: Typed, operator: str, other: Typed) -> None:
        """-0.0 remains itself if a 0 is added that is written there."""
        is_double = any(it.type.is_text or it.type.name in {"double", "float"} for it in (one, other))
        if operator in {"+", "-"} and is_double and (is_zero(one) or is_zero(other)):
            accept("negative-zero", "a double plus 0, which Hive 4 leaves -0.0")


VERSIONS: Mapping[str, Hive2Rules] = {"2.3": Hive2Rules(), "3.1": Hive3Rules(), "4": Hive4Rules()}
"""The rules for a view of Hive, by its version, without a time zone."""


def rules_in(version: str, zone: str | None) -> HiveRules:
    """The rules for a view of that version, whose sessions have that time zone."""
    return type(VERSIONS[version])(zone)
