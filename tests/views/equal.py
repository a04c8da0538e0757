"""Whether two engines gave the same rows, in any order."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

from pysync.views.types import HiveType, parse_type

_EXACT = Context(prec=80)  # more digits than a decimal has
_NEAR = 1e-9  # of sums of doubles in another order


Alike = Callable[[Any, Any], bool]
"""Whether two values that are not the same differ only as is accepted."""


def difference(
    types: Sequence[str],
    wanted: Sequence[Sequence[Any]],
    found: Sequence[Sequence[Any]],
    alike: Alike = lambda *_: False,
) -> str:
    """What differs, in a few words; empty if the rows are the same."""
    kinds = [parse_type(it) for it in types]
    ours, its = (sorted(map(tuple, (_row(kinds, row) for row in rows)), key=_key) for rows in (wanted, found))
    if len(ours) != len(its):
        return f"{len(its)} rows instead of {len(ours)}"
    for one, other in zip(ours, its, strict=True):
        if not _same(one, other, alike):
            return f"{other} instead of {one}"
    return ""


def differing_columns(
    types: Sequence[str],
    wanted: Sequence[Sequence[Any]],
    found: Sequence[Sequence[Any]],
    alike: Alike = lambda *_: False,
) -> list[int]:
    """The places, from 0 behind the first column, of those that differ beside it: it is a key of the rows."""

    def taken(values: Sequence[Any], place: int) -> list[Any]:
        return [values[0], values[place]]

    def differs(place: int) -> bool:
        ours, its = ([taken(row, place) for row in rows] for rows in (wanted, found))
        return bool(difference(taken(types, place), ours, its, alike))

    return [place - 1 for place in range(1, len(types)) if differs(place)]


def _row(kinds: Sequence[HiveType], row: Sequence[Any]) -> list[Any]:
    return [_plain(kind, value) for kind, value in zip(kinds, row, strict=True)]


def _plain(kind: HiveType, value: Any) -> Any:
    """A value of either in one form."""
    if value is None:
        return None
    if kind.name == "array":
        return tuple(_plain(kind.within[0], it) for it in value)
    if kind.name == "map":
        items = value.items() if isinstance(value, Mapping) else value
        pairs = ((_plain(kind.within[0], key), _plain(kind.within[1], it)) for key, it in items)
        return tuple(sorted(pairs, key=_key))
    if kind.name == "struct":
        return tuple(_plain(it, value[place]) for place, it in enumerate(kind.within))
    if kind.name == "decimal":
        return _EXACT.normalize(Decimal(str(value)))
    if kind.name == "float":
        return struct.unpack("f", struct.pack("f", float(value)))[0]
    if kind.name == "double":
        return float(value)
    if kind.is_integer:
        return int(value)
    if kind.name == "timestamp":
        return str(value).rstrip("0").rstrip(".") if "." in str(value) else str(value)
    return value if isinstance(value, bool) else str(value)


def _key(value: Any) -> Any:
    """An order of all values, in which near numbers are near."""
    if isinstance(value, tuple):
        return ("t", tuple(map(_key, value)))
    if isinstance(value, float):
        return ("f", "nan" if math.isnan(value) else f"{value:.7g}")
    return (type(value).__name__, str(value))


def _same(one: Any, other: Any, alike: Alike) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(_same(*it, alike) for it in zip(one, other, strict=True))
    return _same_value(one, other) or alike(one, other)


def _same_value(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        is_same_zero = one or other or math.copysign(1, one) == math.copysign(1, other)
        return bool(is_same_zero) and math.isclose(one, other, rel_tol=_NEAR, abs_tol=0 if 0 in {one, other} else _NEAR)
    return bool(one == other)


_NUMBER = re.compile(r"-?[0-9]+\.[0-9]+(E-?[0-9]+)?")
_FLOAT_DIGITS, _DOUBLE_DIGITS = 6, 14  # that are the same in all engines


def _have_the_same_numbers(one: Any, other: Any) -> bool:
    """Whether two texts are the same but for the last digits of doubles in them, or of floats, which are short."""
    if not (isinstance(one, str) and isinstance(other, str)) or _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    pairs = zip(_NUMBER.finditer(one), _NUMBER.finditer(other), strict=True)
    return all(_are_near_numbers(ours[0], its[0]) for ours, its in pairs)


def _are_near_numbers(one: str, other: str) -> bool:
    is_float = len(other.strip("-").split("E")[0]) - 1 <= _FLOAT_DIGITS + 1
    digits = _FLOAT_DIGITS if is_float else _DOUBLE_DIGITS
    return f"{float(one):.{digits}g}" == f"{float(other):.{digits}g}"


def _are_alike_but_for_blanks(one: Any, other: Any) -> bool:
    return isinstance(one, str) and isinstance(other, str) and one.rstrip(" ") == other.rstrip(" ")


def _have_the_same_characters(one: Any, other: Any) -> bool:
    """As two objects of JSON have whose keys are in another order."""
    return isinstance(one, str) and isinstance(other, str) and one[:1] in {"{", "["} and sorted(one) == sorted(other)


def _are_near(one: Any, other: Any) -> bool:
    return isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=0.3, abs_tol=1)


def _are_texts(one: Any, other: Any) -> bool:
    return {type(one), type(other)} <= {str, type(None)}


def _is_rounded(one: Any, other: Any) -> bool:
    """Whether Hive has NULL, or more digits of the same number."""
    both = isinstance(one, Decimal) and isinstance(other, Decimal)
    return one is None or (both and abs(one - other) <= Decimal(1).scaleb(other.as_tuple().exponent) / 2)


def _are_zeros(one: Any, other: Any) -> bool:
    return isinstance(one, float) and one == other == 0


_YEAR = re.compile(r"\+?(-?[0-9]+)-[0-9]{2}-[0-9]{2}")
_FIRST, _LAST = -2_208_902_400, 253_402_214_400  # seconds at the beginning of 1900 and at the end of 9999


def _is_odd_time(one: Any, other: Any) -> bool:
    """Whether Hive's time is of a year before 1900 or after 9999, or Trino has none."""
    if isinstance(one, int):
        return other is None or not _FIRST <= one <= _LAST
    year = _YEAR.match(str(one))
    return other is None or (year is not None and not 1900 <= int(year[1]) <= 9999)


ALIKE: Mapping[str, Alike] = {
    "char-blanks": _are_alike_but_for_blanks,
    "decimal-average": _is_rounded,
    "double-text": _have_the_same_numbers,
    "json-text": lambda one, other: _have_the_same_numbers(one, other) or _have_the_same_characters(one, other),
    "negative-zero": _are_zeros,
    "odd-time": _is_odd_time,
    "odd-url": _are_texts,
    "percentile": _are_near,
    "regexp-group": _are_texts,
}
"""By the id of a difference: whether a value of Hive and one of Trino differ in nothing else."""
