"""Typed: an expression in Trino's language, with the type that Hive gives it, and what functions ask of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pysync.hiveql.refusal import CannotTranslate
from pysync.views.types import BOOLEAN, HiveType

MOST = 250_000
"""Characters of a query. Some rules repeat an operand: nested, they would make a text without end."""


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression that can be put anywhere: it is in parentheses if it needs them. `literal` is its value, if it is
    written there as a number or a string.
    """

    sql: str
    type: HiveType
    literal: str | int | None = None

    @property
    def is_constant(self) -> bool:
        """Whether it is an integer that is written there."""
        return isinstance(self.literal, int)


def repeated(value: Typed, times: int) -> Typed:
    """The value, which a rule is about to repeat. Raises CannotTranslate if the text gets too long."""
    if len(value.sql) * times > MOST:
        raise CannotTranslate("a query that gets too long")
    return value


def named(value: str, name: str, expression: str) -> str:
    """An expression in which a name stands for a value: it is written, and calculated, once."""
    return f"element_at(transform(ARRAY[{value}], {name} -> {expression}), 1)"


def single(values: Sequence[Typed], name: str) -> Typed:
    """The only argument of a function. Raises CannotTranslate if there are others, or none."""
    if len(values) != 1:
        raise CannotTranslate(f"the function {name} of {len(values)} values")
    return values[0]


Aggregate = Callable[[str], Typed]
"""An aggregate function with its arguments; the string is what follows each call: a FILTER, an OVER, or nothing."""


def quoted(name: str) -> str:
    """An identifier of Trino."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string of Trino."""
    return "'" + value.replace("'", "''") + "'"


def condition(sql: str) -> Typed:
    """A boolean expression."""
    return Typed(f"({sql})", BOOLEAN)


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
