"""Time zones: the names that the tz database of this machine has."""

from __future__ import annotations

from functools import cache
from zoneinfo import available_timezones


@cache
def time_zones() -> frozenset[str]:
    """All names, such as Europe/Oslo. They are read once: that takes a while."""
    return frozenset(available_timezones())
