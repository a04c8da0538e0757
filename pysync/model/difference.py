"""Difference: a field in which two objects differ, or that an operation has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pysync.text import shown


@dataclass(frozen=True, slots=True)
class Difference:
    """`field` is a path such as `sd.location`; `old` is its value at the target, and `new` the one that is wanted.

    None means that the field is not set.
    """

    field: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.field}: {shown(self.old)} instead of {shown(self.new)}"
