"""Types of Hive, as a metastore writes them, and their names in Trino; the refusal of what is not known to be equal."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pysync.hiveql.refusal import CannotTranslate

_TOKEN = re.compile(r"[a-z_][a-z0-9_$]*|`[^`]*`|[0-9]+|[<>(),:]", re.IGNORECASE)
_SYNONYMS = {"integer": "int", "numeric": "decimal", "dec": "decimal", "double precision": "double", "real": "float"}
_TRINO = {
    "int": "integer",
    "string": "varchar",
    "float": "real",
    "binary": "varbinary",
    "timestamp": "timestamp(3)",
    "void": "unknown",
}
_PLAIN = frozenset({"boolean", "date", "double", "tinyint", "smallint", "bigint"}) | _TRINO.keys()
_NESTED = frozenset({"array", "map", "struct"})
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class HiveType:
    """A type: its name in lower case, its numbers (`decimal`, `char`, `varchar`), or the types and names within."""

    name: str
    numbers: tuple[int, ...] = ()
    within: tuple[HiveType, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def is_integer(self) -> bool:
        """Of which width ever."""
        return self.name in _DIGITS

    @property
    def is_exact(self) -> bool:
        """An integer or a decimal."""
        return self.is_integer or self.name == "decimal"

    @property
    def is_number(self) -> bool:
        """Exact or with a floating point."""
        return self.is_exact or self.name in {"float", "double"}

    @property
    def is_text(self) -> bool:
        """A string of any length."""
        return self.name in {"string", "varchar", "char"}

    @property
    def precision(self) -> int:
        """The digits of an exact number."""
        return self.numbers[0] if self.name == "decimal" else _DIGITS[self.name]

    @property
    def scale(self) -> int:
        """The digits behind the point of an exact number."""
        return self.numbers[1] if self.name == "decimal" else 0

    def __str__(self) -> str:
        if self.name == "struct":
            return f"struct<{','.join(f'{name}:{it}' for name, it in zip(self.names, self.within, strict=True))}>"
        inner = ",".join(map(str, self.numbers or self.within))
        opening, closing = "()" if self.numbers else "<>"
        return f"{self.name}{opening}{inner}{closing}" if inner else self.name

    @property
    def trino(self) -> str:
        """Its name in Trino and Athena."""
        if self.name == "struct":
            parts = (f'"{name}" {it.trino}' for name, it in zip(self.names, self.within, strict=True))
            return f"row({', '.join(parts)})"
        if self.within:
            return f"{self.name}({', '.join(it.trino for it in self.within)})"
        if self.numbers:
            return f"{self.name}({','.join(map(str, self.numbers))})"
        return _TRINO.get(self.name, self.name)


Columns = Sequence[tuple[str, HiveType]]
"""The columns of a table or query: names in lower case, and types."""


BOOLEAN, TINYINT, SMALLINT, INT, BIGINT = map(HiveType, ("boolean", "tinyint", "smallint", "int", "bigint"))


FLOAT, DOUBLE, STRING, DATE, TIMESTAMP, VOID = map(HiveType, ("float", "double", "string", "date", "timestamp", "void"))


UTC_TIMESTAMP = HiveType("timestamp in UTC")
"""A column that has another time in Hive than in Trino, which does not know the time zone of Hive."""

INTEGERS: Sequence[HiveType] = (TINYINT, SMALLINT, INT, BIGINT)


def decimal(precision: int, scale: int) -> HiveType:
    """A decimal type. Raises CannotTranslate where Hive would give up digits: engines do that in different ways."""
    if precision > MAX_PRECISION:
        raise CannotTranslate(f"a decimal with more than {MAX_PRECISION} digits")
    return HiveType("decimal", (precision, scale))


def array(item: HiveType) -> HiveType:
    """An array of such items."""
    return HiveType("array", within=(item,))


def struct(names: Sequence[str], within: Sequence[HiveType]) -> HiveType:
    """A struct with these fields."""
    return HiveType("struct", within=tuple(within), names=tuple(names))


def parse_type(text: str) -> HiveType:
    """The type that a metastore writes so. Raises CannotTranslate for one that Trino does not have."""
    tokens = [it.lower() for it in _TOKEN.findall(text)]
    if "".join(tokens) != "".join(text.lower().split()):
        raise CannotTranslate(f"the type {text}")
    try:
        parsed = _parsed(tokens)
    except (IndexError, ValueError, RecursionError):
        raise CannotTranslate(f"the type {text}") from None
    if tokens:
        raise CannotTranslate(f"the type {text}")
    return parsed


def _parsed(tokens: list[str]) -> HiveType:
    """Takes a type from the head of the tokens. Raises ValueError or IndexError."""
    name = tokens.pop(0)
    name = _SYNONYMS.get(name, name)
    if name in _NESTED:
        return _nested(name, tokens)
    numbers = _numbers(tokens)
    if name == "decimal":
        return HiveType(name, numbers if len(numbers) == 2 else (numbers[0], 0) if numbers else (10, 0))
    if name in {"char", "varchar"} and len(numbers) == 1:
        return HiveType(name, numbers)
    if name in _PLAIN and not numbers:
        return HiveType(name)
    raise ValueError(name)


def _numbers(tokens: list[str]) -> tuple[int, ...]:
    if tokens[:1] != ["("]:
        return ()
    end = tokens.index(")")
    numbers = tuple(int(it) for it in tokens[1:end:2])
    if tokens[2:end:2] != [","] * (len(numbers) - 1):
        raise ValueError("numbers")
    del tokens[: end + 1]
    return numbers


def _nested(name: str, tokens: list[str]) -> HiveType:
    _expect(tokens, "<")
    names, within = [], []
    while True:
        if name == "struct":
            names.append(tokens.pop(0).strip("`"))
            _expect(tokens, ":")
        within.append(_parsed(tokens))
        if tokens[0] == ">":
            break
        _expect(tokens, ",")
    _expect(tokens, ">")
    if name != "struct" and len(within) != (1 if name == "array" else 2):
        raise ValueError(name)
    return HiveType(name, within=tuple(within), names=tuple(names))


def _expect(tokens: list[str], token: str) -> None:
    if tokens.pop(0) != token:
        raise ValueError(token)
