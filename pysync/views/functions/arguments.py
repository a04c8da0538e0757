"""What functions ask of their arguments."""

from __future__ import annotations

from pysync.views.refusal import CannotTranslate
from pysync.views.typed import Typed


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
