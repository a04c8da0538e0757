"""`add_months` and `next_day`: days that Hive gives as strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_date, as_integer
from pysync.views.typed_expressions import Typed, named, written
from pysync.views.types import DATE, STRING

_WEEK = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
_DAYS = {name[:size]: place for place, name in enumerate(_WEEK, 1) for size in (2, 3, len(name))}


def _add_months(value: Typed, months: Typed) -> Typed:
    """The same day, or the last one; of the last day of a month always the last one. Hive gives a string."""
    day = as_date(value).sql
    moved = f"date_add('month', {as_integer(months).sql}, x)"
    month = f"IF(x = last_day_of_month(x), last_day_of_month({moved}), {moved})"
    return Typed(f"CAST({named(day, 'x', month)} AS varchar)", STRING)


def _add_months_of_spark(value: Typed, months: Typed) -> Typed:
    """The same day, or the last one of a month that does not have it, as a date."""
    return Typed(f"date_add('month', {as_integer(months).sql}, {as_date(value).sql})", DATE)


def _next_day(value: Typed, name: Typed) -> Typed:
    """The first day behind it that has that name; Hive gives a string."""
    day = _DAYS.get(written(name, "a day of next_day").upper())
    if day is None:
        raise CannotTranslate(f"the function next_day to {name.literal!r}")
    later = f"date_add('day', ({day} + 6 - day_of_week(x)) % 7 + 1, x)"
    return Typed(f"CAST({named(as_date(value).sql, 'x', later)} AS varchar)", STRING)


MONTHS: Mapping[str, Callable[..., Typed]] = {"add_months": _add_months, "next_day": _next_day}
MONTHS_OF_SPARK: Mapping[str, Callable[..., Typed]] = {"add_months": _add_months_of_spark}
"""The same since Spark 3."""
