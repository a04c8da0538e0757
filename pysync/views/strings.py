"""Hive's functions of strings: which of Trino's gives the same result, for which types of arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps

from pysync.hiveql.differences import accept
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.casts import as_integer, as_string
from pysync.views.letters import BLANK, ICU_LAST_SIGMA, LAST_SIGMA, initcap, lower, upper
from pysync.views.patterns import (
    LINE_ENDS,
    has_group_of_some_repetitions,
    has_optional_group,
    may_be_empty,
    number_of_groups,
    translated_pattern,
)
from pysync.views.typed_expressions import Typed, condition, number, repeated, text, written
from pysync.views.types import BOOLEAN, INT, STRING, array


def _of_text(template: str) -> Callable[[Typed], Typed]:
    return lambda value: Typed(template.format(as_string(value).sql), STRING)


def _concat(*values: Typed) -> Typed:
    if not values:
        raise CannotTranslate("the function concat without arguments")
    return Typed(f"({' || '.join(as_string(it).sql for it in values)})", STRING)


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
        halves = f"'[{_PAIRED}](?!{_SECOND})|(?<![{_PAIRED}]){_SECOND}'"
        cut = function(_paired(value), *others).sql
        return Typed(f"replace(regexp_replace({cut}, {halves}, '?'), '{_SECOND}', '')", STRING)

    return of


def _paired(value: Typed) -> Typed:
    return Typed(f"regexp_replace({as_string(value).sql}, '([{_PAIRED}])', '$1{_SECOND}')", STRING, value.literal)


def _length(value: Typed) -> Typed:
    return Typed(f"CAST(length({as_string(value).sql}) AS integer)", INT)


def _instr(value: Typed, part: Typed) -> Typed:
    return Typed(f"CAST(strpos({as_string(value).sql}, {as_string(part).sql}) AS integer)", INT)


def _locate(part: Typed, value: Typed, start: Typed | None = None) -> Typed:
    """Where a part begins, at `start` or behind it, counted from 1; 0 if it is not there."""
    if start is None:
        return _instr(value, part)
    if not written(part, "what locate looks for from a place"):
        raise CannotTranslate("the function locate of nothing")
    first, string = number(start, "a start of locate", 1), as_string(value).sql
    place = f"strpos(substr({string}, {first}), {as_string(part).sql})"
    return Typed(f"CAST(COALESCE(NULLIF({place}, 0) + {first - 1}, {place}) AS integer)", INT)


_MOST_REPEATS = 10_000  # that Trino makes


def _translate(value: Typed, old: Typed, new: Typed) -> Typed:
    """Characters put in the place of others, or left out."""
    strings = (as_string(value).sql, text(written(old, "what translate looks for")))
    return Typed(f"translate({', '.join(strings)}, {text(written(new, 'what translate puts there'))})", STRING)


def _space(count: Typed) -> Typed:
    return _repeat(Typed("' '", STRING, " "), count)


def _find_in_set(value: Typed, listed: Typed) -> Typed:
    """The place of a string among those between commas; 0 for one that has a comma itself."""
    return Typed(f"CAST(array_position(split({as_string(listed).sql}, ','), {as_string(value).sql}) AS integer)", INT)


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
    """No match is an empty string, a group that takes no part in one is NULL."""
    regex = written(pattern, "a pattern")
    extracted = _regexp_extract_or_empty(value, pattern, group)
    if not has_optional_group(regex) or (group is not None and group.literal == 0):
        return extracted
    string, trino = repeated(as_string(value), 3).sql, text(translated_pattern(regex))
    extract = f"regexp_extract({string}, {trino}, {1 if group is None else group.literal})"
    return Typed(f"IF(regexp_like({string}, {trino}), {extract}, IF({string} IS NOT NULL, ''))", STRING)


def _regexp_extract_or_empty(value: Typed, pattern: Typed, group: Typed | None = None) -> Typed:
    """The same with an empty string for a group that takes no part in a match, as in Spark."""
    regex = written(pattern, "a pattern")
    index = 1 if group is None else number(group, "a group of a pattern")
    if index > number_of_groups(regex):
        raise CannotTranslate(f"the group {index} of {regex!r}, which has no such")
    if index:
        _accept_groups(regex)
    string = as_string(value).sql
    extract = f"regexp_extract({string}, {text(translated_pattern(regex))}, {index})"
    return Typed(f"IF({string} IS NULL, NULL, COALESCE({extract}, ''))", STRING)


def _accept_groups(regex: str) -> None:
    """Engines do not agree what a group holds that takes part in one repetition, and in the next one does not."""
    if has_group_of_some_repetitions(regex):
        accept("regexp-group", f"a group of {regex!r} that is repeated, and may take no part in a repetition")


_GROUP = re.compile(r"\$([0-9])(?![0-9])")


def _regexp_replace(value: Typed, pattern: Typed, replacement: Typed) -> Typed:
    regex, new = written(pattern, "a pattern"), written(replacement, "a replacement")
    groups = [int(it) for it in _GROUP.findall(new)]
    is_known = all(it <= number_of_groups(regex) for it in groups)
    if "$" in _GROUP.sub("", new) or "\\" in new or may_be_empty(regex) or not is_known:
        raise CannotTranslate(f"a replacement of {regex!r} by {new!r}")
    if any(groups):
        _accept_groups(regex)
    return Typed(f"regexp_replace({as_string(value).sql}, {text(translated_pattern(regex))}, {text(new)})", STRING)


def like(value: Typed, pattern: Typed, *, of_spark: bool = False, matches_lines: bool = False) -> Typed:
    """LIKE: a backslash before a % or _ means the character itself, one before others is a backslash to Hive alone.

    A pattern with a % in its midst, or a _, matches no text of several lines in Hive before 4.
    """
    wanted = written(pattern, "a pattern of LIKE")
    escaped = _ESCAPED.sub("", wanted)
    if any(it in wanted for it in LINE_ENDS) or ("\\" in escaped and (of_spark or "\\\\" in wanted)):
        raise CannotTranslate("LIKE with a line feed, or a backslash before other characters")
    string = repeated(as_string(value), 2).sql
    match = f"{string} LIKE {pattern.sql}"
    if "\\" in wanted:
        sql = text(_BACKSLASH.sub(r"\\\\", wanted))
        match = f"{string} LIKE {sql} ESCAPE '\\'"
    if matches_lines or _SIMPLE_PATTERN.fullmatch(escaped):
        return condition(match)
    return condition(f"{match} AND NOT regexp_like({string}, '[{LINE_ENDS}]')")


_SIMPLE_PATTERN = re.compile("%?[^%_]*%?", re.DOTALL)
_ESCAPED = re.compile(r"\\[%_]")
_BACKSLASH = re.compile(r"\\(?![%_])")


def _digest(name: str) -> Callable[[Typed], Typed]:
    """The hexadecimal digits of a digest of a string."""
    return lambda value: Typed(f"lower(to_hex({name}(to_utf8({as_string(value).sql}))))", STRING)


_SHA2 = {0: "sha256", 256: "sha256", 512: "sha512"}


def _sha2(value: Typed, bits: Typed) -> Typed:
    name = _SHA2.get(number(bits, "the bits of sha2"))
    if name is None:
        raise CannotTranslate(f"the function sha2 of {bits.literal} bits, which Trino does not have")
    return _digest(name)(value)


# TRIM of Hive takes blanks only, Trino's takes white space of any kind.
STRINGS: Mapping[str, Callable[..., Typed]] = {
    "concat": _concat,
    "find_in_set": _find_in_set,
    "initcap": initcap(BLANK),
    "instr": _instr,
    "lcase": lower(LAST_SIGMA),
    "length": _length,
    "char_length": _length,
    "character_length": _length,
    "locate": _locate,
    "lower": lower(LAST_SIGMA),
    "lpad": _in_units(_padded("lpad")),
    "ltrim": _of_text("trim(LEADING ' ' FROM {})"),
    "md5": _digest("md5"),
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "repeat": _repeat,
    "replace": _replace,
    "reverse": _of_text("reverse({})"),
    "rpad": _in_units(_padded("rpad")),
    "rtrim": _of_text("trim(TRAILING ' ' FROM {})"),
    "sha": _digest("sha1"),
    "sha1": _digest("sha1"),
    "sha2": _sha2,
    "space": _space,
    "split": _split,
    "substr": _in_units(_substr),
    "substring": _in_units(_substr),
    "translate": _translate,
    "trim": _of_text("trim(BOTH ' ' FROM {})"),
    "ucase": upper,
    "upper": upper,
}


def _instr_of_4(value: Typed, part: Typed) -> Typed:
    """`instr`, not `locate`, counts what is beyond the Basic Plane as two, and finds nothing in an empty string."""
    position = _instr(_paired(value), _paired(part))
    if part.literal:
        return position
    are_empty = " AND ".join(f"{repeated(as_string(it), 2).sql} = ''" for it in (value, part))
    return Typed(f"IF({are_empty}, 0, {position.sql})", INT)


OF_HIVE_4: Mapping[str, Callable[..., Typed]] = {"initcap": initcap(r"\t-\r\x1c-\x20"), "instr": _instr_of_4}
"""Words begin behind white space of ASCII only."""
OF_SPARK: Mapping[str, Callable[..., Typed]] = {
    "lpad": _padded("lpad"),
    "regexp_extract": _regexp_extract_or_empty,
    "rpad": _padded("rpad"),
    "substr": _substr,
    "substring": _substr,
}
"""Those that count characters in views of Spark."""
OF_SPARK_4: Mapping[str, Callable[..., Typed]] = {
    **OF_SPARK,
    "lcase": lower(ICU_LAST_SIGMA),
    "lower": lower(ICU_LAST_SIGMA),
}
"""The same since Spark 4, which asks ICU for small letters."""
