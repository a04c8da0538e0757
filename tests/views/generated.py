"""Expressions by machine: each function and operator that has a rule, over columns of each type and constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.functions import FUNCTIONS
from pysync.views.scopes import Scope
from pysync.views.spark import HiveRules
from pysync.views.translation import translated_query
from pysync.views.types import parse_type
from tests.views.hard import COLUMNS

_TYPED = [(name, parse_type(kind)) for name, kind in (it.split(" ", 1) for it in re.split(r", (?=\w+ )", COLUMNS))]
_NAMES = [name for name, _ in _TYPED if name != "id"]
_NUMBERS = ("0", "1", "2", "-1", "7", "20", "1.5", "2e0", "null")
_TEXTS = ("''", "' '", "'a'", "'7'", "'1.0'", "'ab'", "'MM'", "'YEAR'", "'yyyy-MM-dd'", "'2020-01-31'", "'2020-02-30'")
_PATTERNS = ("'a$'", "'^a'", "'.'", "'^.$'", "'[0-9]+'", "'\\\\s'", "'\\\\s+$'", "'(.)$'", "'a|b'", "'[^a]$'", "','")
_LIKES = ("'%a'", "'a%'", "'_'", "'%1%'", "'a%b'", "'a_b'", "'__'", "'%'")
_MARKS, _OLD = ("'-'", "' '", "':'", "'.'"), ("'a2'", "'-:'", "'0a'", "'aba'")
_OPERATORS = ("+", "-", "*", "/", "%", "div", "&", "|", "=", "<>", "<", ">=", "<=>", "||")
_TYPES = ("tinyint", "int", "bigint", "double", "decimal(10,2)", "string", "varchar(3)", "char(3)", "date", "timestamp")
# Where Hive cuts in silence what is an error at the target (docs/aws.md), only small values are of use.
_OVERFLOWING = re.compile(r"\b(i|b|sm|ti)\b")
_MAY_OVERFLOW = re.compile(
    r"^-|^\(\w+ [-+*] |^\(\S+ [-+*] |^\(\S+ div -1|^(abs|pmod|round|date_add|date_sub)\(|^cast\(\w+ as \w*int\)"
)
# An error at texts that Hive may read as a time in some way of its own (docs/aws.md).
_FAILS_AT_TEXTS = re.compile(r"^cast\((s|t|v|c) as timestamp\)$")


def expressions(seed: int, count: int, rules: HiveRules) -> Sequence[str]:
    """So many of them that are translated by these rules, in an order that the seed says."""
    candidates = list(dict.fromkeys(_all()))
    Random(seed).shuffle(candidates)
    chosen = (it for it in candidates if not _is_left_out(it) and is_translated(it, rules))
    return [it for it, _ in zip(chosen, range(count), strict=False)]


def _all() -> Iterator[str]:
    values = (*_NAMES, *_NUMBERS, *_TEXTS)
    for name in FUNCTIONS:
        yield from (f"{name}({one})" for one in _NAMES)
        yield from (f"{name}({one}, {other})" for one, other in product(_NAMES, (*values, *_PATTERNS)))
        yield from (
            f"{name}({one}, {other}, {third})"
            for one, other, third in product(("s", "c", "v"), (*_NUMBERS, *_TEXTS, *_PATTERNS, "k"), ("1", "'x'", "k"))
        )
    yield from _with_constants()
    yield from (f"({one} {it} {other})" for one, it, other in product(values, _OPERATORS, values))
    yield from (f"({one} like {it})" for one, it in product(_NAMES, _LIKES))
    yield from (f"({one} rlike {it})" for one, it in product(_NAMES, _PATTERNS))
    yield from (f"({one} in ({other}, {third}))" for one, other, third in product(_NAMES, values, ("7", "'a'", "s")))
    yield from (f"({one} between {other} and {third})" for one, other, third in product(_NAMES, values, ("7", "'b'")))
    yield from (f"case {one} when {other} then 1 else 0 end" for one, other in product(_NAMES, values))
    yield from (f"if(ok, {one}, {other})" for one, other in product(_NAMES, values))
    yield from (f"cast({one} as {kind})" for one, kind in product(values, _TYPES))
    yield from (f"{one}[{other}]" for one, other in product(("arr", "tags", "m"), values))
    yield from (f"-{one}" for one in _NAMES)


def _with_constants() -> Iterator[str]:
    """Functions that take constants of their own."""
    texts, integers, doubles = ("s", "t", "v"), ("k", "sm", "ti"), ("f", "d", "k", "b", "e", "i", "1.5", "0", "2e0")
    yield from (f"substring_index({one}, {by}, {it})" for one, by, it in product(texts, _MARKS, (1, 2, 3, -1, -2, 0)))
    yield from (f"str_to_map({one}, {by}, {of})" for one, by, of in product(texts, _MARKS, ("'-'", "':'", "'='")))
    yield from (f"translate({one}, {old}, {new})" for one, old, new in product(texts, _OLD, ("''", "'x'", "'xyz'")))
    yield from (f"concat_ws({by}, {one}, tags)" for one, by in product(texts, ("','", "''", "'ab'", "t")))
    yield from (f"concat_ws({by}, tags, {one}, 'z')" for one, by in product(texts, ("','", "''", "'ab'", "t")))
    yield from (f"printf({it}, {one})" for one, it in product(texts, ("'%s'", "'%5s|'", "'%-12s|'", "'%%%s'")))
    yield from (f"printf({it}, {one})" for one, it in product(integers, ("'%d'", "'%03d'", "'%8d'", "'%s'")))
    yield from (f"next_day({one}, '{it}')" for one, it in product(("dt", "ts", "s"), ("MO", "Wed", "thursday", "SUN")))
    yield from (f"round({one}, {it})" for one, it in product(("d", "e", "g"), (-1, -2, -3)))
    yield from (f"greatest({one}, {it}, f)" for one, it in product(doubles, doubles))
    yield from (f"least(f, {one}, {it})" for one, it in product(doubles, doubles))


def _is_left_out(expression: str) -> bool:
    may_overflow = _MAY_OVERFLOW.match(expression) and _OVERFLOWING.search(expression)
    return bool(may_overflow or _FAILS_AT_TEXTS.match(expression))


def is_translated(expression: str, rules: HiveRules, condition: str = "true") -> bool:
    """Whether a view is translated that has the expression over the rows that fulfil a condition."""
    try:
        translated_query(f"select {expression} as x from h where {condition}", Scope(lambda _: _TYPED, "shop", rules))
    except CannotTranslate:
        return False
    return True
