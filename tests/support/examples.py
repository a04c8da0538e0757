"""How much is tried: a share of it in `make test`, all of it and more in `make test SUITE=chaos`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")

EXAMPLES = float(os.environ.get("PYSYNC_EXAMPLES", "1"))
"""How many times as many examples as in `make test`."""


def some(values: Sequence[T], what: str, one_of: int = 3) -> Sequence[T]:
    """Every third value, which third depends on what is tried with them; all values in `make test SUITE=chaos`."""
    return values if EXAMPLES > 1 else values[crc32(what.encode()) % one_of :: one_of]
