"""Hive's functions that write numbers for people, as Trino's: both write them as java.util.Formatter does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_string
from pysync.views.typed_expressions import Typed, number, repeated, text, written
from pysync.views.types import STRING

_PLACE = re.compile(r"%(?:%|-?[0-9]{0,3}s|0?[0-9]{0,3}d)")
_MOST_DIGITS = 30


def _format_number(value: Typed, digits: Typed) -> Typed:
    """A number with commas, and so many digits behind the point, of which none has to be rounded away."""
    places = number(digits, "the digits of format_number")
    if not value.type.is_exact or places < value.type.scale or places > _MOST_DIGITS:
        raise CannotTranslate(f"the function format_number of {value.type} with {places} digits")
    sql = repeated(value, 2).sql
    exact = f"CAST({sql} AS decimal(19,0))" if value.type.is_integer else sql
    return Typed(f"IF({sql} IS NOT NULL, format('%,.{places}f', {exact}))", STRING)


def _printf(pattern: Typed, *values: Typed) -> Typed:
    """Strings and integers by a pattern; NULL is written as a word."""
    form = written(pattern, "a pattern of printf")
    kinds = [it[-1] for it in _PLACE.findall(form) if it != "%%"]
    are_known = len(kinds) == len(values) and all(map(_can_be_written, values, kinds))
    if not values or "%" in _PLACE.sub("", form) or not are_known:
        raise CannotTranslate(f"the function printf with {form!r} and {', '.join(str(it.type) for it in values)}")
    items = (it.sql if it.type.is_integer else as_string(it).sql for it in values)
    return Typed(f"format({text(form)}, {', '.join(items)})", STRING)


def _can_be_written(value: Typed, kind: str) -> bool:
    return value.type.is_integer or (kind == "s" and value.type.is_text)


WRITTEN_NUMBERS: Mapping[str, Callable[..., Typed]] = {"format_number": _format_number, "printf": _printf}
