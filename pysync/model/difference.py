"""Difference: a field in which two objects differ, or that an operation has changed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pysync.base.masking import HIDDEN, is_secret_field, masked
from pysync.base.text import shown

_MORE = re.compile(r"and ([0-9,]{1,15}) more")


@dataclass(frozen=True, slots=True)
class Difference:
    """`field` is a path such as `sd.location`; `old` is its value at the target, and `new` the one that is wanted.

    None means that the field is not set.
    """

    field: str
    old: Any
    new: Any

    def __str__(self) -> str:
        """The field with both values, without secrets; two secrets that differ look the same."""
        return f"{self.field}: {self._shown(self.old)} instead of {self._shown(self.new)}"

    def _shown(self, value: Any) -> str:
        if value is None:
            return shown(None)
        if is_secret_field(self.field):
            return HIDDEN
        # A text is masked before it is quoted: quotes within quotes hide where a secret ends.
        return shown(masked(value)) if isinstance(value, str) else masked(shown(value))


def left_out(number: int) -> Difference:
    """What stands for so many differences that are not listed."""
    return Difference(f"and {number:,} more", None, None)


def number_of(fields: Iterable[str]) -> int:
    """How many differences a list stands for, by their fields: `left_out` stands for as many as it says."""
    counts = (_MORE.fullmatch(it) for it in fields)
    return sum(1 if it is None else int(it[1].replace(",", "")) for it in counts)
