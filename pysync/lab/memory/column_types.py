"""Types of columns, as far as HMS looks at them: which there are, and which can be read as which. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double")
_TEXTS = frozenset({"string", "varchar", "char"})
_PRIMITIVE = frozenset({*_NUMBERS, *_TEXTS, "boolean", "date", "timestamp", "binary", "decimal", "void"})
_NAME = re.compile(r"(\w+)\s*(?:\(\s*\d+(?:\s*,\s*\d+)?\s*\))?")
_NESTED = re.compile(r"(array|map|struct|uniontype)\s*<.*>", re.DOTALL)


def is_type(text: str) -> bool:
    """Whether there is such a type."""
    return _primitive(text) is not None or _NESTED.fullmatch(text.strip().lower()) is not None


def incompatible(old: Sequence[Any], new: Sequence[Any]) -> list[str]:
    """The names of the new columns as which the old columns of the same places cannot be read."""
    pairs = zip(old, new)  # noqa: B905, as far as both reach
    return [after.name for before, after in pairs if not _can_be_read_as(before.type, after.type)]


def _primitive(text: str) -> str | None:
    match = _NAME.fullmatch(text.strip().lower())
    return match[1] if match and match[1] in _PRIMITIVE else None


def _can_be_read_as(old: str, new: str) -> bool:
    before, after = _primitive(old), _primitive(new)
    if old == new or before is None or after is None:
        return old == new
    if before == "void" or (before in _TEXTS and after in {*_TEXTS, "double", "decimal"}):
        return True
    if before in _NUMBERS and after in _NUMBERS:
        return _NUMBERS.index(before) <= _NUMBERS.index(after)
    return after in _TEXTS and before != "binary"
