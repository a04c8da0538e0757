"""Hive's functions of arrays, maps and structs, as Trino's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import common, compared, unified, widened
from pysync.views.typed_expressions import Typed, quoted, written
from pysync.views.types import BIGINT, BOOLEAN, INT, VOID, HiveType, array, struct


def _size(value: Typed) -> Typed:
    if value.type.name not in {"array", "map"}:
        raise CannotTranslate(f"the function size of {value.type}")
    return Typed(f"CAST(COALESCE(cardinality({value.sql}), -1) AS integer)", INT)


def _array(*values: Typed) -> Typed:
    if not values:
        raise CannotTranslate("an array without items")
    kind, items = unified(values)
    return Typed(f"ARRAY[{', '.join(it.sql for it in items)}]", _known(array(kind)))


def _map(*values: Typed) -> Typed:
    keys, items = values[::2], values[1::2]
    constants = {str(it.literal) for it in keys if it.literal is not None}  # 1 and "1" are one key of a map of strings
    if len(keys) != len(items) or not keys or len(constants) < len(keys):
        raise CannotTranslate("a map whose keys are not all different constants")
    kind = HiveType("map", within=(common(it.type for it in keys), common(it.type for it in items)))
    columns = (f"ARRAY[{', '.join(it.sql for it in unified(some)[1])}]" for some in (keys, items))
    return Typed(f"map({', '.join(columns)})", _known(kind))


def row(names: Sequence[str], values: Sequence[Typed]) -> Typed:
    """A struct with fields of these names. Raises CannotTranslate for a NULL without a type."""
    kind = _known(struct([name.lower() for name in names], [it.type for it in values]))
    return Typed(f"CAST(ROW({', '.join(it.sql for it in values)}) AS {kind.trino})", kind)


def _named_struct(*values: Typed) -> Typed:
    if len(values) % 2 or not values:
        raise CannotTranslate("a struct with a field without value")
    return row([written(it, "a name of a field") for it in values[::2]], values[1::2])


def _struct(*values: Typed) -> Typed:
    return row([f"col{number}" for number in range(1, len(values) + 1)], values)


def _known(kind: HiveType) -> HiveType:
    if VOID in kind.within:
        raise CannotTranslate(f"NULL in {kind.name} of nothing else")
    return kind


def _array_contains(values: Typed, item: Typed) -> Typed:
    kind = values.type.within[0] if values.type.name == "array" else VOID
    # Trino fails at arrays and structs within, if there is a NULL in one.
    if kind == VOID or kind.within or common((kind, item.type)) != kind:
        raise CannotTranslate(f"the function array_contains of {values.type} and {item.type}")
    contains = f"contains({values.sql}, {widened(item, kind).sql})"
    return Typed(f"COALESCE({contains}, false)", BOOLEAN)


def item_of(value: Typed, index: Typed) -> Typed:
    """`array[index]`, counted from 0, and `map[key]`; NULL where there is none."""
    if value.type.name == "array" and index.type.is_integer and index.type != BIGINT:
        place = f"{index.literal + 1}" if isinstance(index.literal, int) and index.literal >= 0 else None
        place = place or f"IF({index.sql} >= 0, CAST({index.sql} AS bigint) + 1)"
        return Typed(f"element_at({value.sql}, {place})", value.type.within[0])
    if value.type.name == "map":
        key, item = value.type.within
        compared(Typed("", key), "=", Typed("", index.type, index.literal))
        if common((key, index.type)) == key:
            return Typed(f"element_at({value.sql}, {widened(index, key).sql})", item)
    raise CannotTranslate(f"an item of {value.type} by {index.type}")


def field_of(value: Typed, name: str) -> Typed:
    """`struct.field`."""
    names = [it.lower() for it in value.type.names]
    if name.lower() not in names:
        raise CannotTranslate(f"the field {name} of {value.type}")
    return Typed(f"{value.sql}.{quoted(name.lower())}", value.type.within[names.index(name.lower())])


def _sort_array(value: Typed) -> Typed:
    """NULLs come first in Hive, last in Trino."""
    item = value.type.within[0] if value.type.name == "array" else None
    if item is None or not (item.is_exact or item.name in {"string", "date", "timestamp"}):
        raise CannotTranslate(f"the function sort_array of {value.type}")
    order = "WHEN x < y THEN -1 WHEN x > y THEN 1 WHEN x IS NULL AND y IS NOT NULL THEN -1"
    order += " WHEN y IS NULL AND x IS NOT NULL THEN 1 ELSE 0"
    return Typed(f"array_sort({value.sql}, (x, y) -> CASE {order} END)", value.type)


COLLECTIONS: Mapping[str, Callable[..., Typed]] = {
    "array": _array,
    "array_contains": _array_contains,
    "map": _map,
    "named_struct": _named_struct,
    "size": _size,
    "sort_array": _sort_array,
    "struct": _struct,
}
