"""Whether two engines gave the same rows, in any order."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pysync.views.types import HiveType, parse_type

_NEAR = 1e-9  # of sums of doubles in another order


def difference(types: Sequence[str], wanted: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]]) -> str:
    """What differs, in a few words; empty if the rows are the same."""
    kinds = [parse_type(it) for it in types]
    ours, its = (sorted(map(tuple, (_row(kinds, row) for row in rows)), key=_key) for rows in (wanted, found))
    if len(ours) != len(its):
        return f"{len(its)} rows instead of {len(ours)}"
    for one, other in zip(ours, its, strict=True):
        if not _same(one, other):
            return f"{other} instead of {one}"
    return ""


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
        return Decimal(str(value))
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


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        is_same_zero = one or other or math.copysign(1, one) == math.copysign(1, other)
        return bool(is_same_zero) and math.isclose(one, other, rel_tol=_NEAR, abs_tol=0 if 0 in {one, other} else _NEAR)
    return bool(one == other)
