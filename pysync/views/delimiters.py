"""Hive's functions that cut strings at delimiters, or put them together with one, as Trino's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_string
from pysync.views.typed_expressions import Typed, named, text, written
from pysync.views.types import STRING, HiveType, array

_MAP = HiveType("map", within=(STRING, STRING))
_IN_PATTERNS = frozenset(r"\^$.|?*+()[]{}")
"""What is no character of its own in a pattern of Java, which is what str_to_map takes."""


def _concat_ws(separator: Typed, *values: Typed) -> Typed:
    if not values or not separator.type.is_text:
        raise CannotTranslate("the function concat_ws without strings")
    between = as_string(separator).sql
    return Typed(f"concat_ws({', '.join([between, *(_joined(it, between) for it in values)])})", STRING)


def _joined(value: Typed, separator: str) -> str:
    """A string; one of an array, in which Hive writes NULLs as a word, and which is empty if it has no items."""
    if value.type == array(STRING):
        return f"array_join({value.sql}, {separator}, 'null')"
    if not value.type.is_text:
        raise CannotTranslate(f"the function concat_ws of {value.type}")
    return as_string(value).sql


def _substring_index(value: Typed, delimiter: Typed, count: Typed) -> Typed:
    """What is before the delimiter that is met `count` times, from the end if that is negative."""
    between, times = text(_character(delimiter, "substring_index")), count.literal
    if not isinstance(times, int):
        raise CannotTranslate("a count of substring_index that is not a constant")
    head = f"array_join(slice(x, 1, {times}), {between})"
    tail = f"array_join(IF(cardinality(x) > {-times}, slice(x, {times}, {-times}), x), {between})"
    parts = f"split({as_string(value).sql}, {between})"
    return Typed(named(parts, "x", head if times >= 0 else tail), STRING)


def _str_to_map(value: Typed, of_pairs: Typed | None = None, of_values: Typed | None = None) -> Typed:
    """A map of pairs, of which the last one of a key counts; empty ones at the end are none. Of NULL it is empty."""
    outer = "," if of_pairs is None else _character(of_pairs, "str_to_map")
    inner = ":" if of_values is None else _character(of_values, "str_to_map")
    cut = f"split(regexp_replace(s, '[{outer}]+\\z', ''), {text(outer)})"
    pairs = f"IF(regexp_like(s, '\\A[{outer}]+\\z'), CAST(ARRAY[] AS array(varchar)), {cut})"
    pair = f"split(p, {text(inner)}, 2)"
    rows = f"transform({pairs}, p -> ROW(element_at({pair}, 1), element_at({pair}, 2)))"
    last = f"transform_values(multimap_from_entries({rows}), (k, v) -> element_at(v, -1))"
    whole = named(as_string(value).sql, "s", last)
    return Typed(f"COALESCE({whole}, CAST(map() AS {_MAP.trino}))", _MAP)


def _character(value: Typed, name: str) -> str:
    """A delimiter of one character that is written there."""
    delimiter = written(value, f"a delimiter of {name}")
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter.isalnum():
        raise CannotTranslate(f"the function {name} with the delimiter {delimiter!r}")
    if name == "str_to_map" and delimiter in _IN_PATTERNS | {"'"}:
        raise CannotTranslate(f"the function {name} with the delimiter {delimiter!r}, which is a pattern")
    return delimiter


DELIMITED: Mapping[str, Callable[..., Typed]] = {
    "concat_ws": _concat_ws,
    "str_to_map": _str_to_map,
    "substring_index": _substring_index,
}
