"""What a record shows of values. None is longer than a bound, and no secret is among them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any

from pysync.masking import HIDDEN, is_secret_field, masked
from pysync.model.difference import Difference
from pysync.text import shortened, shown

MOST_FIELDS = 20
"""Differences of one record."""
LONGEST_VALUE = 200
LONGEST_REASON = 1000


def reason_of(text: str | None) -> str | None:
    """A reason as a record keeps it; the end of a long one, a traceback say, tells the most."""
    if not text:
        return None
    text = masked(text)  # before it is cut: half a secret is not recognized
    if len(text) > LONGEST_REASON:
        half = LONGEST_REASON // 2
        text = f"{text[: half - 1]}…{text[-half:]}"
    return text


def told(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """The differences as a record keeps them: texts or None, bounded in number and length, without secrets."""
    return tuple(
        Difference(shortened(it.field, LONGEST_VALUE), _value(it.field, it.old), _value(it.field, it.new))
        for it in islice(differences, MOST_FIELDS)
    )


def _value(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if is_secret_field(field):
        return HIDDEN
    text = value if isinstance(value, str) else shown(value)
    # Masked before it is cut: half a secret is not recognized.
    return shortened(masked(text[: 10 * LONGEST_VALUE]), LONGEST_VALUE)
