"""How a replay of history is told of: on its own line, and in `pysync status TARGET`. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pysync.text import count, span


def so_far(found: Mapping[str, Any]) -> str:
    """How far a replay is, from its status (docs/status.md)."""
    events = span("event", found["first"], found["last"]) + (f" of {found['table']}" if found["table"] else "")
    if found["state"] == "failed":
        return f"{events} failed: {found['reason']}"
    if found["objects"] is None:
        told = f"reading {events}"
    elif found["state"] == "finished":
        told = f"{events}: {count(found['objects'], 'object')} refreshed"
    else:
        told = f"{events}: {found['refreshed']:,} of {count(found['objects'], 'object')} refreshed"
    return f"{told}; waiting: {found['reason']}" if found["reason"] else told
