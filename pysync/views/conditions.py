"""Hive's functions that choose, as Trino's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import compared, unified
from pysync.views.typed_expressions import Typed, condition
from pysync.views.types import BOOLEAN, INTEGERS, VOID, HiveType


def truth(value: Typed) -> Typed:
    """A condition: a boolean, nothing that Hive may take for one."""
    if value.type not in {BOOLEAN, VOID}:
        raise CannotTranslate(f"{value.type} as a condition")
    return value


def chosen(test: Typed, one: Typed, other: Typed) -> Typed:
    """`IF(test, one, other)`."""
    kind, (first, second) = unified((one, other))
    return Typed(f"IF({truth(test).sql}, {first.sql}, {second.sql})", kind)


def _coalesce(*values: Typed) -> Typed:
    if len(values) < 2:
        raise CannotTranslate("the function coalesce with one argument")
    kind, items = unified(values)
    return Typed(f"COALESCE({', '.join(it.sql for it in items)})", kind)


def _nvl(value: Typed, instead: Typed) -> Typed:
    return _coalesce(value, instead)


def _nullif(value: Typed, other: Typed) -> Typed:
    if not _is_held(other, value.type) or value.type.name in {"double", "float"}:
        raise CannotTranslate(f"the function nullif of {value.type} and {other.type}")  # Hive 2.3 takes all for equal
    return Typed(f"IF({compared(value, '=', other).sql}, NULL, {value.sql})", value.type)


def _is_held(value: Typed, kind: HiveType) -> bool:
    """Whether a type holds the value, whose type it has in nullif, without another rounding."""
    if value.type.is_integer and kind.is_integer:
        return value.is_constant or INTEGERS.index(value.type) <= INTEGERS.index(kind)
    return value.type == kind or (value.type.is_exact and kind.name == "decimal" and value.type.scale <= kind.scale)


def is_null(value: Typed) -> Typed:
    """`value IS NULL`. Hive 2.3 takes every array, map and struct for something."""
    if value.type.within:
        raise CannotTranslate(f"IS NULL of {value.type}")
    return condition(f"{value.sql} IS NULL")


CONDITIONS: Mapping[str, Callable[..., Typed]] = {
    "coalesce": _coalesce,
    "if": chosen,
    "isnotnull": lambda value: condition(f"NOT {is_null(value).sql}"),
    "isnull": is_null,
    "nullif": _nullif,
    "nvl": _nvl,
}
