"""Dates and intervals."""

from __future__ import annotations

from sqlglot import exp

from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed
from pysync.views.types import DATE

_UNITS = frozenset({"day", "month", "year"})


def moved(value: Typed, interval: exp.Expression, sign: int) -> Typed:
    """A date, that many days, months or years later; earlier if `sign` is -1. Raises CannotTranslate."""
    count, unit = str(interval.name), str(interval.args.get("unit") or "").lower().removesuffix("s")
    if value.type != DATE or unit not in _UNITS or not count.isdigit():
        raise CannotTranslate(f"an interval beside {value.type}")
    return Typed(f"date_add('{unit}', {sign * int(count)}, {value.sql})", DATE)
