"""Expressions by machine: each function and operator that has a rule, over columns of each type and constants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, product, zip_longest
from random import Random

from pysync.hiveql.differences import accepting
from pysync.hiveql.refusal import CannotTranslate
from pysync.views.aggregates import AGGREGATES
from pysync.views.functions import FUNCTIONS
from pysync.views.scopes import Scope
from pysync.views.spark import HiveRules
from pysync.views.translation import translated_query, translated_text
from pysync.views.types import HiveType, parse_type
from pysync.views.zones import OF_SECONDS
from tests.views.hard import COLUMNS
from tests.views.zones import ZONES

_TYPED = [(name, parse_type(kind)) for name, kind in (it.split(" ", 1) for it in re.split(r", (?=\w+ )", COLUMNS))]
_TYPES_BY_NAME = dict(_TYPED)
_WORD = re.compile(r"'[^']*'|\w+")
"""A name or a number, or a string, in which there are none."""
_NAMES = [name for name, _ in _TYPED if name != "id"]
_NUMBERS = ("0", "1", "2", "-1", "7", "20", "1.5", "2e0", "null")
_TEXTS = ("''", "' '", "'a'", "'7'", "'1.0'", "'ab'", "'MM'", "'YEAR'", "'yyyy-MM-dd'", "'2020-01-31'", "'2020-02-30'")
_PATTERNS = ("'a$'", "'^a'", "'.'", "'^.$'", "'[0-9]+'", "'\\\\s'", "'\\\\s+$'", "'(.)$'", "'a|b'", "'[^a]$'", "','")
_LIKES = ("'%a'", "'a%'", "'_'", "'%1%'", "'a%b'", "'a_b'", "'__'", "'%'")
_MARKS, _OLD = ("'-'", "' '", "':'", "'.'"), ("'a2'", "'-:'", "'0a'", "'aba'")
_JAVA_PATTERNS = ("'yyyy-MM-dd HH:mm:ss'", "'yyyy-MM-dd'", "'yyyyMMdd'", "'dd/MMM/yyyy:HH:mm:ss'", "'EEEE'", "'MM'")
_SLIDING = (
    "(order by id rows 1 preceding)",
    "(order by id rows between 1 following and 2 following)",
    "(order by id rows between 3 preceding and 2 preceding)",
    "(partition by ok order by id rows between current row and 2 following)",
)
_OPERATORS = ("+", "-", "*", "/", "%", "div", "&", "|", "=", "<>", "<", ">=", "<=>", "||")
_TYPES = ("tinyint", "int", "bigint", "double", "decimal(10,2)", "string", "varchar(3)", "char(3)", "date", "timestamp")
# Where Hive cuts in silence what is an error at the target (docs/aws.md), only small values are of use.
_OVERFLOWING = re.compile(r"\b(i|b|sm|ti)\b")
_MAY_OVERFLOW = re.compile(
    r"^-|^\(\w+ [-+*] |^\(\S+ [-+*] |^\(\S+ div -1|^(abs|pmod|round|date_add|date_sub)\(|^cast\(\w+ as \w*int\)"
)
# An error at texts that Hive may read as a time in some way of its own (docs/aws.md).
_FAILS_AT_TEXTS = re.compile(r"^cast\((s|t|v|c) as timestamp\)$")


Batches = Mapping[str, Sequence[Sequence[str]]]
"""Expressions that make a view together; by the difference without which they fail at some values, or "" for none."""


def batches(seed: int, count: int, rules: HiveRules, at_once: int) -> Batches:
    """So many expressions that are translated by these rules, in an order that the seed says; a quarter are nested.

    Those that are translated whatever the version of Hive are in batches of their own: these are tried so, too. So are
    those over one window: a Hive runs a job for each.
    """
    chosen = list(islice(_translated(_in_turns(seed), rules), count - count // 4))
    chosen += islice(_translated(_nested(Random(seed), chosen), rules), count // 4)
    groups: dict[str, list[Sequence[str]]] = {}
    parts = sorted((it.failing, it.window, _is_of_any_version(it.text), it.text) for it in chosen)
    for (failing, *_), some in groupby(parts, key=lambda part: part[:3]):
        texts = [it for *_, it in some]
        groups.setdefault(failing, []).extend(texts[start : start + at_once] for start in range(0, len(texts), at_once))
    return groups


@dataclass(frozen=True, slots=True)
class _Translated:
    """An expression and its type; `failing` is the id of a difference without which it fails at some values, or ""."""

    text: str
    type: HiveType
    failing: str

    @property
    def window(self) -> str:
        """The last one that it is over; empty if there is none."""
        return self.text.rpartition(" over ")[2] if " over " in self.text else ""


def _translated(expressions: Iterable[str], rules: HiveRules) -> Iterator[_Translated]:
    """Those of them that are translated, and fail without one difference at most."""
    for it in expressions:
        with accepting(()) as (_, failing):
            kind = _type_of(it, rules)
        if kind is not None and len(failing) <= 1:
            yield _Translated(it, kind, next(iter(failing), ""))


def _nested(random: Random, some: Sequence[_Translated]) -> Iterator[str]:
    """Expressions without end: of these, each with another one of them for a column of its type."""
    plain = [it for it in some if not it.failing and not it.window]
    by_type: dict[HiveType, list[str]] = {}
    for it in plain:
        by_type.setdefault(it.type, []).append(it.text)
    outer = [it.text for it in plain if not _MAY_OVERFLOW.match(it.text)]
    while outer:
        text = random.choice(outer)
        columns = [it for it in _WORD.finditer(text) if it[0] in _TYPES_BY_NAME]
        column = random.choice(columns) if columns else None
        if column and (inner := by_type.get(_TYPES_BY_NAME[column[0]])):
            yield f"{text[: column.start()]}({random.choice(inner)}){text[column.end() :]}"


def _is_of_any_version(expression: str) -> bool:
    with accepting(()):
        try:
            translated_text(_view(expression), lambda _: _TYPED, "shop", None)
        except CannotTranslate:
            return False
        return True


def _in_turns(seed: int) -> Iterator[str]:
    """All, in an order that the seed says.

    Of two, one takes constants of its own, or a time zone, or is over a window, while there are any: there are few.
    """
    special, others = ({*_with_constants(), *_of_zones(), *_over_windows()}, {*_of_any_values()})
    orders = [sorted(special), sorted(others - special)]
    for order in orders:
        Random(seed).shuffle(order)
    return (it for pair in zip_longest(*orders) for it in pair if it is not None and not _is_left_out(it))


def _failing(expression: str, rules: HiveRules) -> str | None:
    """The id of the difference without which it fails at some values; empty if there is none.

    None if it is not translated, or has several.
    """
    with accepting(()) as (_, failing):
        if not is_translated(expression, rules) or len(failing) > 1:
            return None
        return next(iter(failing), "")


def _of_any_values() -> Iterator[str]:
    values = (*_NAMES, *_NUMBERS, *_TEXTS)
    for name in FUNCTIONS:
        yield from (f"{name}({one})" for one in _NAMES)
        yield from (f"{name}({one}, {other})" for one, other in product(_NAMES, (*values, *_PATTERNS)))
        yield from (
            f"{name}({one}, {other}, {third})"
            for one, other, third in product(("s", "c", "v"), (*_NUMBERS, *_TEXTS, *_PATTERNS, "k"), ("1", "'x'", "k"))
        )
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


def _of_zones() -> Iterator[str]:
    """Functions that depend on the time zone of the session."""
    for name in sorted(OF_SECONDS):
        yield from (f"{name}({one})" for one in _NAMES)
        yield from (f"{name}({one}, {it})" for one, it in product(_NAMES, _JAVA_PATTERNS))
    for name in ("from_utc_timestamp", "to_utc_timestamp"):
        yield from (f"{name}({one}, '{it}')" for one, it in product(("ts", "dt"), ZONES))
    yield from (
        f"({one} {sign} interval {it})"
        for one, sign, it in product(("ts", "dt"), "+-", ("1 day", "7 month", "90 minute"))
    )


def _over_windows() -> Iterator[str]:
    """Aggregates and ranks. Sums of some values are errors in Trino, and arrays may be others in Hive (docs/aws.md)."""
    one_row, all_before, of_part = "(partition by id)", "(order by id)", "(partition by ok order by id)"
    for name in (it for it in AGGREGATES if " " not in it):
        yield from (f"{name}({one}) over {one_row}" for one in _NAMES)
        yield from (f"{name}({one}, {other}) over {one_row}" for one, other in product(_NAMES, ("k", "f", "0.5")))
    names = [it for it in _NAMES if it not in {"b", "g"}]
    for name, window in product(("count", "max", "min", "sum"), (all_before, of_part)):
        yield from (f"{name}({one}) over {window}" for one in names)
    for name, window in product(("avg", "count", "max", "min", "sum"), _SLIDING):
        yield from (f"{name}({one}) over {window}" for one in names)
    yield from (f"stddev_samp({one}) over {window}" for one, window in product(("d", "e", "k", "sm"), _SLIDING))
    names = [name for name, kind in _TYPED if name != "id" and not kind.within]
    for name, window in product(("first_value", "last_value"), _SLIDING):
        yield from (f"{name}({one}{nulls}) over {window}" for one, nulls in product(names, ("", ", true")))
    for name, window in product(("first_value", "lag", "last_value", "lead"), (all_before, of_part)):
        yield from (f"{name}({one}) over {window}" for one in names)
        yield from (f"{name}({one}, {it}) over {window}" for one, it in product(names, ("2", "true", "2, null")))
    for name, one in product(("rank", "dense_rank", "percent_rank", "cume_dist"), _NAMES):
        yield from (f"{name}() over (order by {one}{way})" for way in ("", " desc nulls last"))


def _is_left_out(expression: str) -> bool:
    may_overflow = _MAY_OVERFLOW.match(expression) and _OVERFLOWING.search(expression)
    return bool(may_overflow or _FAILS_AT_TEXTS.match(expression))


def is_translated(expression: str, rules: HiveRules, condition: str = "true") -> bool:
    """Whether a view is translated that has the expression over the rows that fulfil a condition."""
    return _type_of(expression, rules, condition) is not None


def _type_of(expression: str, rules: HiveRules, condition: str = "true") -> HiveType | None:
    """The type of its column; None if it is not translated."""
    try:
        _, columns = translated_query(_view(expression, condition), Scope(lambda _: _TYPED, "shop", rules))
    except CannotTranslate:
        return None
    return columns[0][1]


def _view(expression: str, condition: str = "true") -> str:
    return f"select {expression} as x from h where {condition}"
