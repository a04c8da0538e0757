"""Words: numbers, times and spans as the page shows them. Pure."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from pysync.base.text import duration

UNKNOWN = "not known"
"""For what an older part of pysync does not say."""

_NOW = 1.5
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def number(value: float | None) -> str:
    """`1,234`; fractions to one place below a hundred."""
    if value is None:
        return UNKNOWN
    return f"{value:,.1f}" if isinstance(value, float) and value < 100 and value % 1 else f"{value:,.0f}"


def span(seconds: float | None) -> str:
    """`3 ms`, `4.2 s`, `5m 3s`: how long something takes or is behind."""
    if seconds is None:
        return UNKNOWN
    if seconds <= 0:
        return "0 s"
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else duration(seconds)


def ago(at: float | None, now: float) -> str:
    """`now`, `12 s ago`, `2h 5m ago`; a time in seconds since 1970, `in 3m` for one to come."""
    if at is None:
        return UNKNOWN
    seconds = now - at
    if abs(seconds) < _NOW:
        return "now"
    text = f"{abs(seconds):.0f} s" if abs(seconds) < 59.5 else duration(abs(seconds))
    return f"{text} ago" if seconds > 0 else f"in {text}"


def moment(at: float | None) -> str:
    """`2026-11-23 11:40:02 UTC`, the same for readers in all zones."""
    return UNKNOWN if at is None else datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def machine(at: float) -> str:
    """The time as HTML's `datetime` wants it."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="seconds")


def size(count: float | None) -> str:
    """`512 B`, `1.4 GiB`."""
    if count is None:
        return UNKNOWN
    at = 0
    while count >= 1024 and at < len(_UNITS) - 1:
        count, at = count / 1024, at + 1
    return f"{count:.0f} {_UNITS[at]}" if at == 0 or count >= 10 else f"{count:.1f} {_UNITS[at]}"


def known(value: Any) -> Any:
    """The value, or that it is not known."""
    return UNKNOWN if value is None else value


def segment(name: str) -> str:
    """A name as one segment of a path, whatever is in it."""
    return quote(name, safe="")
