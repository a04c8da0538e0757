"""Words: what only the page writes of times and names; the rest is in `base.text`."""

from __future__ import annotations

import pwd
import re
from datetime import datetime, timezone
from functools import lru_cache
from urllib.parse import quote

from pysync.base.text import UNKNOWN

_UID = re.compile(r"^uid (\d{1,10})(?= )")


def moment(at: float | None) -> str:
    """`2026-11-23 11:40:02 UTC`, the same for readers in all zones."""
    return UNKNOWN if at is None else datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def machine(at: float) -> str:
    """The time as HTML's `datetime` wants it."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="seconds")


def segment(name: str) -> str:
    """A name as one segment of a path, whatever is in it."""
    return quote(name, safe="")


def person(who: str) -> str:
    """`hive (command line)` for `uid 999 (command line)`, where this host has a name for that user."""
    return _UID.sub(lambda it: _user(int(it[1])) or it[0], who)


@lru_cache(maxsize=1000)
def _user(uid: int) -> str:
    """The name, or empty. Kept, as a directory service may be slow."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OverflowError):
        return ""
