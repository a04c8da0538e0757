"""A resync in words: what it is of, how far it is, how fast and until when. For the terminal and the page. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.base.text import count, duration


def resync_so_far(resync: Mapping[str, Any]) -> str:
    """One line, from a row of the status (docs/status.md)."""
    done, total, left = resync["done"], resync["total"], resync["seconds_left"]
    is_over = resync["state"] == "finished" or total is None
    so_far = count(done, "object") if is_over else f"{done:,} of {count(total, 'object')}"
    parts = [
        f"{resync['reason']}: {so_far} refreshed",
        "" if left is None else f"{resync['per_second']:,.0f} objects/s, {duration(left)} left",
        f"{resync['state']}: {resync['obstacle']}" if resync["obstacle"] else "",
    ]
    return "; ".join(part for part in parts if part)
