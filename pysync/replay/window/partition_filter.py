"""Partition filter: the text of `where`, which takes partitions by the values of their keys. Pure.

    day >= '2026-01-01' and country in ('de', 'fr')
    day >= current_date - 90 days

Conditions are those of Hive's own filters on partitions: `=`, `==`, `<>`, `!=`, `<`, `<=`, `>`, `>=`, LIKE, [NOT] IN,
[NOT] BETWEEN, AND, OR and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from fnmatch import translate
from typing import Protocol

from pysync.base.errors import UsageError
from pysync.base.text import quoted
from pysync.model.names import DEFAULT_PARTITION, normalized
from pysync.replay.window.cursor import Cursor

_WORD = re.compile(r"[A-Za-z0-9_]+")
_KEY = re.compile(r"(?!(?:date|current_date)\b)[A-Za-z_][A-Za-z0-9_]*|`[^`]+`", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?![A-Za-z0-9_])")
_NUMERIC = re.compile(r"(?:tinyint|smallint|int|integer|bigint|float|double|decimal)\b", re.IGNORECASE)
_MOST_DAYS = 100 * 366
_HINT = "write a filter on partition keys, such as day >= '2026-01-01', or day >= current_date - 90 days"

_FORMS: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])"), "%Y-%m-%d"),
    (re.compile(r"[0-9]{8}$"), "%Y%m%d"),
    (re.compile(r"[0-9]{4}-[0-9]{2}$"), "%Y-%m"),
    (re.compile(r"[0-9]{6}$"), "%Y%m"),
    (re.compile(r"[0-9]{4}$"), "%Y"),
)
"""How a value may give a day or a longer time, and the form of that for `date.strftime`."""

_Test = Callable[[int], bool]
"""What the sign of a comparison must be."""

_OPERATORS: Mapping[str, _Test] = {
    "<=": lambda sign: sign <= 0,
    ">=": lambda sign: sign >= 0,
    "<>": lambda sign: sign != 0,
    "!=": lambda sign: sign != 0,
    "==": lambda sign: sign == 0,
    "=": lambda sign: sign == 0,
    "<": lambda sign: sign < 0,
    ">": lambda sign: sign > 0,
}


@dataclass(frozen=True, slots=True)
class Day:
    """A day: `base`, or today if that is None, and so many days later."""

    base: date | None
    days: int = 0


Literal = str | Decimal | Day


@dataclass(frozen=True, slots=True)
class Partition:
    """The values of a partition by key, in small letters; `types` are those of the keys."""

    values: Mapping[str, str]
    types: Mapping[str, str]
    today: date

    def sign(self, key: str, literal: Literal) -> int | None:
        """-1, 0 or 1: the value of a key compared with a literal; None if they cannot be compared."""
        value, kind = self.values[key], self.types[key]
        if value in {"", DEFAULT_PARTITION}:  # Hive's NULL
            return None
        if isinstance(literal, Day):
            return _sign_of_day(value, (literal.base or self.today) + timedelta(days=literal.days))
        if isinstance(literal, Decimal) or _NUMERIC.match(kind):
            number, other = _number(value), _number(str(literal))
            return None if number is None or other is None else _sign(number, other)
        return _sign(value, literal)


class PartitionCondition(Protocol):
    """A condition on a partition."""

    def holds(self, of: Partition) -> bool:
        """Whether it holds."""


@dataclass(frozen=True, slots=True)
class KeyComparison:
    """A key compared with a literal. What cannot be compared does not hold."""

    key: str
    test: _Test
    literal: Literal

    def holds(self, of: Partition) -> bool:
        """Whether it holds."""
        sign = of.sign(self.key, self.literal)
        return sign is not None and self.test(sign)


@dataclass(frozen=True, slots=True)
class Like:
    """A key compared with a pattern of SQL."""

    key: str
    pattern: re.Pattern[str]

    def holds(self, of: Partition) -> bool:
        """Whether it holds."""
        value = of.values[self.key]
        return value not in {"", DEFAULT_PARTITION} and self.pattern.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class All:
    """Several conditions, all of which must hold."""

    parts: Sequence[PartitionCondition]

    def holds(self, of: Partition) -> bool:
        """Whether all hold."""
        return all(it.holds(of) for it in self.parts)


@dataclass(frozen=True, slots=True)
class Any:
    """Several conditions, one of which must hold."""

    parts: Sequence[PartitionCondition]

    def holds(self, of: Partition) -> bool:
        """Whether one holds."""
        return any(it.holds(of) for it in self.parts)


@dataclass(frozen=True, slots=True)
class PartitionFilter:
    """A filter: its `text`, the `keys` that it names, and whether it is relative to today."""

    text: str
    condition: PartitionCondition = field(compare=False)
    keys: frozenset[str]
    is_relative: bool

    @classmethod
    def parse(cls, text: str) -> PartitionFilter:
        """Read a filter. Raises UsageError with the place of the fault."""
        reading = _Reading(Cursor(text, f"where {quoted(text)}", _WORD))
        try:
            condition = reading.either()
            reading.cursor.ends()
        except UsageError as error:
            raise UsageError(error.message, _HINT) from None
        return cls(text, condition, frozenset(reading.keys), reading.is_relative)

    def concerns(self, keys: Sequence[tuple[str, str]]) -> bool:
        """Whether a table with these partition keys, names and types, has all keys that the filter names."""
        return self.keys <= {normalized(name) for name, _ in keys}

    def takes(self, keys: Sequence[tuple[str, str]], values: Sequence[str], today: date) -> bool:
        """Whether a partition with these values is taken; all are, of a table that lacks a key of the filter."""
        if not self.concerns(keys):
            return True
        names = [normalized(name) for name, _ in keys]
        types = {name: kind for name, (_, kind) in zip(names, keys, strict=True)}
        # A damaged partition may have fewer values than keys: what is not there counts as NULL.
        by_key = {**dict.fromkeys(names, ""), **dict(zip(names, values, strict=False))}
        return self.condition.holds(Partition(by_key, types, today))


class _Reading:
    """Reads a filter, and notes what it names."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.keys: set[str] = set()
        self.is_relative = False

    def either(self) -> PartitionCondition:
        parts = [self._both()]
        while self.cursor.has_keyword("OR"):
            parts.append(self._both())
        return Any(parts) if len(parts) > 1 else parts[0]

    def _both(self) -> PartitionCondition:
        parts = [self._one()]
        while self.cursor.has_keyword("AND"):
            parts.append(self._one())
        return All(parts) if len(parts) > 1 else parts[0]

    def _one(self) -> PartitionCondition:
        if self.cursor.has_symbol("("):
            condition = self.either()
            self.cursor.symbol(")")
            return condition
        if self.cursor.matches(_KEY):
            return self._of_key(self._key())
        literal = self._literal("the name of a key", "a value")
        sign, test = self._operator()
        turned = sign.translate(str.maketrans("<>", "><")) if sign not in {"<>", "!="} else sign
        return KeyComparison(self._key(), _OPERATORS.get(turned, test), literal)

    def _of_key(self, key: str) -> PartitionCondition:
        cursor = self.cursor
        negated = cursor.has_keyword("NOT")
        if cursor.has_keyword("BETWEEN"):
            low = self._literal()
            cursor.keyword("AND")
            high = self._literal()
            if negated:
                return Any([KeyComparison(key, _OPERATORS["<"], low), KeyComparison(key, _OPERATORS[">"], high)])
            return All([KeyComparison(key, _OPERATORS[">="], low), KeyComparison(key, _OPERATORS["<="], high)])
        if cursor.has_keyword("IN"):
            return self._of_list(key, negated=negated)
        if negated:
            cursor.fails()
        if cursor.has_keyword("LIKE"):
            return Like(key, _like(cursor.string("a pattern in quotes")))
        _, test = self._operator()
        return KeyComparison(key, test, self._literal())

    def _of_list(self, key: str, *, negated: bool) -> PartitionCondition:
        self.cursor.symbol("(")
        literals = [self._literal()]
        while self.cursor.has_symbol(","):
            literals.append(self._literal())
        self.cursor.symbol(")")
        parts = [KeyComparison(key, _OPERATORS["<>" if negated else "="], it) for it in literals]
        return All(parts) if negated else Any(parts)

    def _operator(self) -> tuple[str, _Test]:
        for sign, test in _OPERATORS.items():
            if self.cursor.has_symbol(sign):
                return sign, test
        return self.cursor.fails()

    def _key(self) -> str:
        key = normalized(self.cursor.text_of(_KEY, "the name of a key").strip("`"))
        self.keys.add(key)
        return key

    def _literal(self, *expected: str) -> Literal:
        cursor = self.cursor
        if cursor.next_is("'", '"'):
            return cursor.string("a string")
        if cursor.matches(_NUMBER):
            return Decimal(cursor.text_of(_NUMBER, "a number"))
        if cursor.has_keyword("CURRENT_DATE"):
            self.is_relative = True
            return Day(None, self._days())
        if cursor.has_keyword("DATE"):
            return Day(self._day())
        return cursor.fails(*(expected or ("a string", "a number")))

    def _day(self) -> date:
        at = self.cursor.position()
        text = self.cursor.string("a day in quotes")
        try:
            return date.fromisoformat(text)
        except ValueError:
            return self.cursor.refuse(f"{quoted(text)} is not a day; write '2026-01-31'", at)

    def _days(self) -> int:
        """What may follow CURRENT_DATE: `- 90 days`, `+ interval '1' day`."""
        cursor = self.cursor
        before = cursor.has_symbol("-")
        if not before and not cursor.has_symbol("+"):
            return 0
        cursor.has_keyword("INTERVAL")
        at = cursor.position()
        quote = next((it for it in ("'", '"') if cursor.has_symbol(it)), "")
        number = cursor.number()
        if quote:
            cursor.symbol(quote)
        if number > _MOST_DAYS:
            cursor.refuse(f"too many days; the maximum is {_MOST_DAYS}", at)
        if not cursor.has_keyword("DAYS"):
            cursor.keyword("DAY")
        return -number if before else number


def _sign(one: str | Decimal, other: str | Decimal) -> int:
    return (one > other) - (one < other)  # type: ignore[operator]  # both are of one type


def _sign_of_day(value: str, day: date) -> int | None:
    """A value compared with a day, in the form of the value: a month is compared with the month of the day."""
    for pattern, form in _FORMS:
        if match := pattern.match(value):
            return _sign(match[0], day.strftime(form))
    return None


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _like(pattern: str) -> re.Pattern[str]:
    """As a pattern of file names, which Python matches without trying each `%` again."""
    signs = str.maketrans({"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"})
    return re.compile(translate(pattern.translate(signs)))
