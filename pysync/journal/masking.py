"""Masking: what a record shows of values. None is longer than a bound, and no secret is among them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from pysync.model.difference import Difference
from pysync.text import shortened, shown

MOST_FIELDS = 20
"""Differences of one record."""
LONGEST_VALUE = 200
LONGEST_REASON = 1000
HIDDEN = "***"

_SECRET_KEY = re.compile(
    r"pass(word|wd|phrase)|pwd|secret|token|credential|(access|account|api|private|shared|signing)[._-]?key|\bsas\b",
    re.IGNORECASE,
)
# `scheme://user:secret@host`, and `password=secret` as the address of a database or an object store may have it.
# Bounded, so that no text of a client makes them slow.
_IN_ADDRESS = re.compile(r"(?<=://)[^/@:\s'\"]*:[^/@\s'\"]*(?=@)")
_ASSIGNED = re.compile(
    r"((?:pass(?:word|wd|phrase)|pwd|secret|token|credential|signature|\bsig|(?:access|account|api)[._-]?key)[\w.-]{0,40}"
    r"['\"]?\s*[=:]\s*)(['\"]?)[^\s&;,'\"]+",
    re.IGNORECASE,
)


def is_secret(field: str) -> bool:
    """Whether a field of this name may hold a secret. It errs on the safe side."""
    return _SECRET_KEY.search(field) is not None


def masked(text: str) -> str:
    """The text without the secrets that addresses and assignments in it show."""
    return _ASSIGNED.sub(rf"\1\2{HIDDEN}", _IN_ADDRESS.sub(HIDDEN, text))


def reason_of(text: str | None) -> str | None:
    """A reason as a record keeps it; the end of a long one, a traceback say, tells the most."""
    if not text:
        return None
    if len(text) > LONGEST_REASON:
        half = LONGEST_REASON // 2
        text = f"{text[: half - 1]}…{text[-half:]}"
    return masked(text)


def told(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """The differences as a record keeps them: texts or None, bounded in number and length, without secrets."""
    return tuple(
        Difference(shortened(it.field, LONGEST_VALUE), _value(it.field, it.old), _value(it.field, it.new))
        for it in islice(differences, MOST_FIELDS)
    )


def _value(field: str, value: Any) -> str | None:
    if value is None:
        return None
    if is_secret(field):
        return HIDDEN
    text = value if isinstance(value, str) else shown(value)
    # Masked before it is cut: half a secret is not recognized.
    return shortened(masked(text[: 10 * LONGEST_VALUE]), LONGEST_VALUE)
