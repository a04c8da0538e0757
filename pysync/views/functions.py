"""Hive's functions: which of Trino's gives the same result, for which types of arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence

from pysync.views.arithmetic import arithmetic
from pysync.views.casts import as_double, cast, common, compared, unified, widened
from pysync.views.moments import MOMENTS
from pysync.views.strings import STRINGS
from pysync.views.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    VOID,
    CannotTranslate,
    HiveType,
    Typed,
    array,
    condition,
    decimal,
    number,
    quoted,
    repeated,
    struct,
    written,
)

# --- Functions that choose


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
    if value.type != other.type or value.type.name in {"double", "float"}:
        raise CannotTranslate(f"the function nullif of {value.type} and {other.type}")  # Hive 2.3 takes all for equal
    return Typed(f"IF({compared(value, '=', other).sql}, NULL, {value.sql})", value.type)


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


# --- Functions of arrays, maps and structs


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
    constants = {it.literal for it in keys if it.literal is not None}
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
    if values.type.name != "array" or common((values.type.within[0], item.type)) != values.type.within[0]:
        raise CannotTranslate(f"the function array_contains of {values.type} and {item.type}")
    contains = f"contains({values.sql}, {widened(item, values.type.within[0]).sql})"
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


# --- Functions of numbers


def _double(template: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(template.format(as_double(value).sql), DOUBLE)


def _number(value: Typed) -> Typed:
    if value.type.is_text:
        return as_double(value)
    if not value.type.is_number or value.type.name == "float":
        raise CannotTranslate(f"a function of numbers of {value.type}")
    return value


def _abs(value: Typed) -> Typed:
    it = _number(value)
    kind = INT if it.type.is_integer and it.type != BIGINT else it.type
    return Typed(f"abs({cast(it, kind).sql})", kind)


def _whole(name: str) -> Callable[[Typed], Typed]:
    """`ceil` and `floor`: bigint, or a decimal without digits behind the point."""

    def of(value: Typed) -> Typed:
        it = _number(value)
        if it.type.name == "decimal":
            kind = decimal(it.type.precision - it.type.scale + 1, 0)
            return Typed(f"CAST({name}({it.sql}) AS {kind.trino})", kind)
        if it.type == BIGINT:
            raise CannotTranslate(f"the function {name} of bigint")  # Hive makes a double of it, which may be another
        return cast(Typed(f"{name}({as_double(it).sql})", DOUBLE), BIGINT)

    return of


_MOST_PLACES = 15


def _round(value: Typed, digits: Typed | None = None) -> Typed:
    it, places = _number(value), 0 if digits is None else number(digits, "the digits of round")
    if it.type.is_integer:
        return it
    if it.type.name == "decimal":
        scale = min(places, it.type.scale)
        kind = decimal(it.type.precision - it.type.scale + scale + (scale < it.type.scale), scale)
        return Typed(f"CAST({it.sql} AS {kind.trino})", kind)
    if places > _MOST_PLACES:
        raise CannotTranslate(f"the function round with more than {_MOST_PLACES} digits")
    # Hive rounds the digits that the number is written with: 1.005 is 1.01. Large ones have none behind the point.
    sql = repeated(it, 3).sql
    rounded = f"CAST(CAST(CAST({sql} AS varchar) AS decimal(38,{places})) AS double)"
    return Typed(f"IF(abs({sql}) < 1e17, {rounded}, {sql})", DOUBLE)


def _power(base: Typed, exponent: Typed) -> Typed:
    return Typed(f"power({as_double(base).sql}, {as_double(exponent).sql})", DOUBLE)


def _pmod(one: Typed, other: Typed) -> Typed:
    if not (one.type.is_integer and other.type.is_integer):
        raise CannotTranslate(f"the function pmod of {one.type} and {other.type}")
    rest = arithmetic(one, "%", other)
    return arithmetic(arithmetic(rest, "+", other), "%", other)


def _most(name: str) -> Callable[..., Typed]:
    """`greatest` and `least`."""

    def of(*values: Typed) -> Typed:
        kind: HiveType = common(it.type for it in values)
        is_mixed = any(it.type.is_text != kind.is_text for it in values)
        # Trino never takes NaN for the most.
        is_known = kind.is_exact or kind.is_text or kind.name in {"date", "timestamp"}
        if len(values) < 2 or is_mixed or not is_known:
            raise CannotTranslate(f"the function {name} of such values")
        return Typed(f"{name}({', '.join(it.sql for it in unified(values)[1])})", kind)

    return of


def _unless(template: str) -> Callable[[Typed], Typed]:
    """NULL for a number that fulfils the condition before the colon; NaN never does."""
    excluded, function = template.split(": ")

    def of(value: Typed) -> Typed:
        sql = repeated(as_double(value), 2).sql
        return Typed(f"IF({sql} {excluded}, NULL, {function}({sql}))", DOUBLE)

    return of


NUMBERS: Mapping[str, Callable[..., Typed]] = {
    "abs": _abs,
    "ceil": _whole("ceil"),
    "ceiling": _whole("ceil"),
    "exp": _double("exp({})"),
    "floor": _whole("floor"),
    "greatest": _most("greatest"),
    "least": _most("least"),
    "ln": _unless("<= 0e0: ln"),
    "log10": _unless("<= 0e0: log10"),
    "log2": _unless("<= 0e0: log2"),
    "pmod": _pmod,
    "pow": _power,
    "power": _power,
    "round": _round,
    "sqrt": _unless("< 0e0: sqrt"),
}


# --- Functions of Hive that are known to mean the same in Trino, each with what makes it so. All others are refused

FUNCTIONS: Mapping[str, Callable[..., Typed]] = {**STRINGS, **NUMBERS, **MOMENTS, **COLLECTIONS, **CONDITIONS}
_OF_ZONE = "its result depends on the time zone of the session"
REASONS: Mapping[str, str] = {
    **dict.fromkeys(("unix_timestamp", "from_unixtime", "current_date", "current_timestamp", "now"), _OF_ZONE),
    **dict.fromkeys(("from_utc_timestamp", "to_utc_timestamp", "to_unix_timestamp"), _OF_ZONE),
    **dict.fromkeys(("rand", "random", "uuid", "reflect", "java_method"), "its result is another at each call"),
    **dict.fromkeys(("add_months", "map_keys", "map_values"), "Hive's versions and Spark differ in its result"),
    **dict.fromkeys(("get_json_object", "json_tuple"), "Trino reads paths, numbers and objects in JSON in another way"),
    "percentile": "Trino has only approximate ones",
}
"""Why some that are often used are none of them."""


def call(name: str, arguments: Sequence[Typed], others: Mapping[str, Callable[..., Typed]]) -> Typed:
    """A call of the function `name`, in lower case; `others` come before those that are known here.

    Raises CannotTranslate for functions that are not known well.
    """
    function = others.get(name) or FUNCTIONS.get(name)
    if function is None:
        reason = REASONS.get(name)
        raise CannotTranslate(f"the function {name}: {reason}" if reason else f"the function {name}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        raise CannotTranslate(f"the function {name} with {len(arguments)} arguments") from None
    return function(*arguments)
