"""`add_months`: which day of a month is so many months before or after a day."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pysync.views.casts import as_date, as_integer
from pysync.views.typed_expressions import Typed
from pysync.views.types import DATE, STRING


def _add_months(value: Typed, months: Typed) -> Typed:
    """The same day, or the last one; of the last day of a month always the last one. Hive gives a string."""
    day = as_date(value).sql
    moved = f"date_add('month', {as_integer(months).sql}, x)"
    month = f"IF(x = last_day_of_month(x), last_day_of_month({moved}), {moved})"
    return Typed(f"CAST(element_at(transform(ARRAY[{day}], x -> {month}), 1) AS varchar)", STRING)


def _add_months_of_spark(value: Typed, months: Typed) -> Typed:
    """The same day, or the last one of a month that does not have it, as a date."""
    return Typed(f"date_add('month', {as_integer(months).sql}, {as_date(value).sql})", DATE)


MONTHS: Mapping[str, Callable[..., Typed]] = {"add_months": _add_months}
MONTHS_OF_SPARK: Mapping[str, Callable[..., Typed]] = {"add_months": _add_months_of_spark}
"""The same since Spark 3."""
