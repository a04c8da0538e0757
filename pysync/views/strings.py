"""Hive's functions of strings: which of Trino's gives the same result, for which types of arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps

from pysync.views.casts import as_integer, as_string
from pysync.views.text import LINE_ENDS, has_optional_group, may_be_empty, number_of_groups, translated_pattern
from pysync.views.types import (
    BOOLEAN,
    INT,
    STRING,
    CannotTranslate,
    Typed,
    array,
    condition,
    number,
    repeated,
    text,
    written,
)


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

OF_SPARK: Mapping[str, Callable[..., Typed]] = {
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "substr": _substr,
    "substring": _substr,
}
"""Those that count characters in views of Spark."""
