"""Words: what only the page writes of times and names; the rest is in `base.text`. Pure."""

from __future__ import annotations

from datetime import datetime, timezone
from urllib.parse import quote

from pysync.base.text import UNKNOWN


def moment(at: float | None) -> str:
    """`2026-11-23 11:40:02 UTC`, the same for readers in all zones."""
    return UNKNOWN if at is None else datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def machine(at: float) -> str:
    """The time as HTML's `datetime` wants it."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="seconds")


def segment(name: str) -> str:
    """A name as one segment of a path, whatever is in it."""
    return quote(name, safe="")
