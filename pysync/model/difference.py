"""Difference: a field in which two objects differ, or that an operation has changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pysync.base.masking import HIDDEN, is_secret_field, masked
from pysync.base.text import shown


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
