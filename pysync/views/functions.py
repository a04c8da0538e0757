"""Hive's functions: which of Trino's gives the same result, for which types of arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps

from pysync.views.casts import (
    arithmetic,
    as_date,
    as_double,
    as_integer,
    as_string,
    cast,
    common,
    compared,
    unified,
    widened,
)
from pysync.views.text import LINE_ENDS, has_optional_group, may_be_empty, number_of_groups, translated_pattern
from pysync.views.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    VOID,
    CannotTranslate,
    HiveType,
    Typed,
    array,
    condition,
    decimal,
    quoted,
    repeated,
    struct,
    text,
)

# --- What functions ask of their arguments


def written(value: Typed, what: str) -> str:
    """The string that is written there."""
    if not isinstance(value.literal, str):
        raise CannotTranslate(f"{what} that is not a constant")
    return value.literal


def number(value: Typed, what: str, least: int = 0) -> int:
    """The integer that is written there."""
    if not isinstance(value.literal, int) or value.literal < least:
        raise CannotTranslate(f"{what} that is not a constant of at least {least}")
    return value.literal


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


# --- Functions of dates and times. None that depends on the time zone of a session

_PATTERN = re.compile(r"yyyy|MM|dd|HH|mm|ss|[^A-Za-z%'\"]")
_TRINO_PATTERN = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%i", "ss": "%s"}
_UNITS = {"YEAR": "year", "YYYY": "year", "YY": "year", "MONTH": "month", "MON": "month", "MM": "month"}


def _part(name: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(f"CAST({name}({as_date(value).sql}) AS integer)", INT)


def _time_part(name: str) -> Callable[[Typed], Typed]:
    def of(value: Typed) -> Typed:
        if value.type != TIMESTAMP:
            raise CannotTranslate(f"the function {name} of {value.type}")
        return Typed(f"CAST({name}({value.sql}) AS integer)", INT)

    return of


def _date_add(value: Typed, days: Typed) -> Typed:
    return Typed(f"date_add('day', {as_integer(days).sql}, {as_date(value).sql})", DATE)


def _date_sub(value: Typed, days: Typed) -> Typed:
    return Typed(f"date_add('day', -{as_integer(days).sql}, {as_date(value).sql})", DATE)


def _datediff(end: Typed, start: Typed) -> Typed:
    return Typed(f"CAST(date_diff('day', {as_date(start).sql}, {as_date(end).sql}) AS integer)", INT)


def _dayofweek(value: Typed) -> Typed:
    """1 is a Sunday."""
    return Typed(f"CAST(day_of_week({as_date(value).sql}) % 7 + 1 AS integer)", INT)


def _trunc(value: Typed, unit: Typed) -> Typed:
    name = _UNITS.get(written(unit, "a unit of trunc"))  # Hive 2.3 knows no small letters
    if name is None:
        raise CannotTranslate(f"the function trunc to {unit.literal!r}")
    return Typed(f"date_trunc('{name}', {as_date(value).sql})", DATE)


def _date_format(value: Typed, pattern: Typed) -> Typed:
    java = written(pattern, "a pattern of date_format")
    if value.type not in {DATE, TIMESTAMP} or "".join(_PATTERN.findall(java)) != java:
        raise CannotTranslate(f"the function date_format of {value.type} with {java!r}")
    trino = _PATTERN.sub(lambda it: _TRINO_PATTERN.get(it[0], it[0]), java)
    return Typed(f"date_format({cast(value, TIMESTAMP).sql}, {text(trino)})", STRING)


MOMENTS: Mapping[str, Callable[..., Typed]] = {
    "date_add": _date_add,
    "date_format": _date_format,
    "date_sub": _date_sub,
    "datediff": _datediff,
    "day": _part("day"),
    "dayofmonth": _part("day"),
    "dayofweek": _dayofweek,
    "hour": _time_part("hour"),
    "last_day": lambda value: Typed(f"last_day_of_month({as_date(value).sql})", DATE),
    "minute": _time_part("minute"),
    "month": _part("month"),
    "quarter": _part("quarter"),
    "second": _time_part("second"),
    "to_date": as_date,
    "trunc": _trunc,
    "weekofyear": _part("week"),
    "year": _part("year"),
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


def _row(names: Sequence[str], values: Sequence[Typed]) -> Typed:
    kind = _known(struct([name.lower() for name in names], [it.type for it in values]))
    return Typed(f"CAST(ROW({', '.join(it.sql for it in values)}) AS {kind.trino})", kind)


def _named_struct(*values: Typed) -> Typed:
    if len(values) % 2 or not values:
        raise CannotTranslate("a struct with a field without value")
    return _row([written(it, "a name of a field") for it in values[::2]], values[1::2])


def _struct(*values: Typed) -> Typed:
    return _row([f"col{number}" for number in range(1, len(values) + 1)], values)


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


COLLECTIONS: Mapping[str, Callable[..., Typed]] = {
    "array": _array,
    "array_contains": _array_contains,
    "map": _map,
    "named_struct": _named_struct,
    "size": _size,
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


# --- Functions of strings


def _of_text(template: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(template.format(as_string(value).sql), STRING)


def _concat(*values: Typed) -> Typed:
    if not values:
        raise CannotTranslate("the function concat without arguments")
    return Typed(f"({' || '.join(as_string(it).sql for it in values)})", STRING)


def _concat_ws(separator: Typed, *values: Typed) -> Typed:
    if not values or any(not it.type.is_text for it in values):
        raise CannotTranslate("the function concat_ws of other things than strings")
    return Typed(f"concat_ws({', '.join(as_string(it).sql for it in (separator, *values))})", STRING)


def _substr(value: Typed, start: Typed, length: Typed | None = None) -> Typed:
    # Position 0 is 1 in Hive, and nothing in Trino.
    first = as_integer(start).sql
    place = str(start.literal or 1) if start.is_constant else f"IF({first} = 0, 1, {first})"
    rest = f", {as_integer(length).sql}" if length is not None else ""
    return Typed(f"substr({as_string(value).sql}, {place}{rest})", STRING)


_PAIRED, _SECOND = "\\x{10000}-\\x{10FFFF}", "\uffff"


def _in_units(function: Callable[..., Typed]) -> Callable[..., Typed]:
    """Hive counts what is beyond the Basic Multilingual Plane as two, and half of it is a question mark.

    A character that no text has stands for the second half.
    """

    @wraps(function)
    def of(value: Typed, *others: Typed) -> Typed:
        paired = f"regexp_replace({as_string(value).sql}, '([{_PAIRED}])', '$1{_SECOND}')"
        halves = f"'[{_PAIRED}](?!{_SECOND})|(?<![{_PAIRED}]){_SECOND}'"
        cut = function(Typed(paired, STRING), *others).sql
        return Typed(f"replace(regexp_replace({cut}, {halves}, '?'), '{_SECOND}', '')", STRING)

    return of


# Characters whose capital is more than one character.
_CAPITALS = {it: it.upper() for it in map(chr, range(0x80, 0xD800)) if len(it.upper()) > 1}
_CAPITALS |= {it: it.upper() for it in map(chr, range(0xE000, 0x10000)) if len(it.upper()) > 1}


def _upper(value: Typed) -> Typed:
    """Java has capitals of several characters, as SS; Trino has none."""
    small, large = (", ".join(map(text, some)) for some in (_CAPITALS.keys(), _CAPITALS.values()))
    capital = f"element_at(map(ARRAY[{small}], ARRAY[{large}]), x[1])"
    written_out = f"regexp_replace({as_string(value).sql}, '([{''.join(_CAPITALS)}])', x -> {capital})"
    return Typed(f"upper({written_out})", STRING)


def _length(value: Typed) -> Typed:
    return Typed(f"CAST(length({as_string(value).sql}) AS integer)", INT)


def _instr(value: Typed, part: Typed) -> Typed:
    return Typed(f"CAST(strpos({as_string(value).sql}, {as_string(part).sql}) AS integer)", INT)


def _locate(part: Typed, value: Typed) -> Typed:
    return _instr(value, part)


def _replace(value: Typed, old: Typed, new: Typed) -> Typed:
    if not written(old, "what replace looks for"):
        raise CannotTranslate("the function replace of nothing")
    return Typed(f"replace({as_string(value).sql}, {old.sql}, {as_string(new).sql})", STRING)


def _padded(name: str) -> Callable[[Typed, Typed, Typed], Typed]:
    def of(value: Typed, length: Typed, filling: Typed) -> Typed:
        size = number(length, f"a length of {name}")
        if not written(filling, f"what {name} fills with"):
            raise CannotTranslate(f"the function {name} with nothing to fill with")
        return Typed(f"{name}({as_string(value).sql}, {size}, {filling.sql})", STRING)

    return of


_MOST_REPEATS = 10_000  # that Trino makes


def _repeat(value: Typed, times: Typed) -> Typed:
    count = number(times, "a count of repeat")
    if count > _MOST_REPEATS:
        raise CannotTranslate(f"the function repeat with more than {_MOST_REPEATS} times")
    string = repeated(as_string(value), 2).sql
    return Typed(f"IF({string} IS NOT NULL, array_join(repeat({string}, {count}), ''))", STRING)


def _split(value: Typed, pattern: Typed) -> Typed:
    regex = written(pattern, "a pattern")
    if may_be_empty(regex):
        raise CannotTranslate(f"a split by {regex!r}, which matches nothing at all")
    return Typed(f"regexp_split({as_string(value).sql}, {text(translated_pattern(regex))})", array(STRING))


def regexp_like(value: Typed, pattern: Typed) -> Typed:
    """RLIKE and REGEXP: whether the pattern is found in the value."""
    regex = translated_pattern(written(pattern, "a pattern"))
    return Typed(f"regexp_like({as_string(value).sql}, {text(regex)})", BOOLEAN)


def _regexp_extract(value: Typed, pattern: Typed, group: Typed | None = None) -> Typed:
    regex = written(pattern, "a pattern")
    index = 1 if group is None else number(group, "a group of a pattern")
    if index > number_of_groups(regex):
        raise CannotTranslate(f"the group {index} of {regex!r}, which has no such")
    if index and has_optional_group(regex):
        raise CannotTranslate(f"a group of {regex!r} that may take no part in a match")
    string = as_string(value).sql
    extract = f"regexp_extract({string}, {text(translated_pattern(regex))}, {index})"
    # No match is an empty string, not NULL.
    return Typed(f"IF({string} IS NULL, NULL, COALESCE({extract}, ''))", STRING)


def _regexp_replace(value: Typed, pattern: Typed, replacement: Typed) -> Typed:
    regex, new = written(pattern, "a pattern"), written(replacement, "a replacement")
    if "$" in new or "\\" in new or may_be_empty(regex):
        raise CannotTranslate(f"a replacement of {regex!r} by {new!r}")
    return Typed(f"regexp_replace({as_string(value).sql}, {text(translated_pattern(regex))}, {text(new)})", STRING)


def like(value: Typed, pattern: Typed, *, of_spark: bool = False) -> Typed:
    """LIKE: a backslash is Hive's way to mean a % itself, so it is refused.

    A pattern with a % in its midst, or a _, matches no text of several lines in Hive.
    """
    wanted = written(pattern, "a pattern of LIKE")
    if "\\" in wanted or any(it in wanted for it in LINE_ENDS):
        raise CannotTranslate("LIKE with a backslash, or a line feed")
    string = repeated(as_string(value), 2).sql
    match = f"{string} LIKE {pattern.sql}"
    if of_spark or _SIMPLE_PATTERN.fullmatch(wanted):
        return condition(match)
    return condition(f"{match} AND NOT regexp_like({string}, '[{LINE_ENDS}]')")


_SIMPLE_PATTERN = re.compile("%?[^%_]*%?", re.DOTALL)


def _md5(value: Typed) -> Typed:
    return Typed(f"lower(to_hex(md5(to_utf8({as_string(value).sql}))))", STRING)


# TRIM of Hive takes blanks only, Trino's takes white space of any kind.
STRINGS: Mapping[str, Callable[..., Typed]] = {
    "concat": _concat,
    "concat_ws": _concat_ws,
    "instr": _instr,
    "length": _length,
    "char_length": _length,
    "character_length": _length,
    "locate": _locate,
    "lpad": _in_units(_padded("lpad")),
    "ltrim": _of_text("trim(LEADING ' ' FROM {})"),
    "md5": _md5,
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "repeat": _repeat,
    "replace": _replace,
    "reverse": _of_text("reverse({})"),
    "rpad": _in_units(_padded("rpad")),
    "rtrim": _of_text("trim(TRAILING ' ' FROM {})"),
    "split": _split,
    "substr": _in_units(_substr),
    "substring": _in_units(_substr),
    "trim": _of_text("trim(BOTH ' ' FROM {})"),
    "ucase": _upper,
    "upper": _upper,
}


# --- Functions of Hive that are known to mean the same in Trino, each with what makes it so. All others are refused

FUNCTIONS: Mapping[str, Callable[..., Typed]] = {**STRINGS, **NUMBERS, **MOMENTS, **COLLECTIONS, **CONDITIONS}
_OF_SPARK: Mapping[str, Callable[..., Typed]] = {
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "substr": _substr,
    "substring": _substr,
}
# Why some that are often used are none of them.
_REASONS: Mapping[str, str] = {
    **dict.fromkeys(
        ("unix_timestamp", "from_unixtime", "current_date", "current_timestamp", "from_utc_timestamp"),
        "its result depends on the time zone of the session",
    ),
    **dict.fromkeys(("to_utc_timestamp", "now"), "its result depends on the time zone of the session"),
    **dict.fromkeys(("lower", "lcase"), "Java has two small letters for a Greek sigma, Trino one"),
    **dict.fromkeys(("rand", "random", "uuid", "reflect", "java_method"), "its result is another at each call"),
    **dict.fromkeys(
        ("stddev", "stddev_samp", "std", "variance", "var_samp", "add_months", "map_keys", "map_values"),
        "Hive's versions and Spark differ in its result",
    ),
}


def call(name: str, arguments: Sequence[Typed], *, of_spark: bool = False) -> Typed:
    """A call of the function `name`, in lower case. Raises CannotTranslate for those that are not known well."""
    function = (of_spark and _OF_SPARK.get(name)) or FUNCTIONS.get(name)
    if function is None:
        reason = _REASONS.get(name)
        raise CannotTranslate(f"the function {name}: {reason}" if reason else f"the function {name}")
    try:
        inspect.signature(function).bind(*arguments)
    except TypeError:
        raise CannotTranslate(f"the function {name} with {len(arguments)} arguments") from None
    return function(*arguments)
