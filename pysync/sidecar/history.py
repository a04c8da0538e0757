"""History: what is in the queue, event by event: names and numbers, never what an event carries."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import shortened, shown
from pysync.model.event_objects import objects_of
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued

MOST = 1000
"""Events in one answer."""

_SECONDS = 0.2  # of one answer: whoever wants more asks again, and others get their turn
_CHUNK = 200
_CHUNK_BYTES = 8 * 1024 * 1024


def listed(queue: EventQueue, request: Mapping[str, Any]) -> dict[str, Any]:
    """Events of the queue, in order: up to `limit`, from the position `since` on, of `table` alone if one is named.

    `next` is where to go on, null at the end: an answer may hold fewer than `limit` (MOST at most, or none) before
    that. Without `since`: the newest ones, or with `table` from the oldest kept. Reads only. Raises PysyncError for
    arguments that make no sense.
    """
    limit = _number(request, "limit", 100)
    table = None if request.get("table") is None else str(TableName.parse(str(request["table"])))
    first, last = queue.last + 1 - queue.size, queue.last
    newest = first if table else last + 1 - limit
    at = max(first, _number(request, "since", newest))
    most = min(limit, MOST)
    positions, events = queue.positions(), list[dict[str, Any]]()
    until = time.monotonic() + _SECONDS
    while at <= last and len(events) < most and (chunk := queue.events(at - 1, _CHUNK, _CHUNK_BYTES)):
        for queued in chunk:
            at = queued.position + 1
            event = _event(queued, positions)
            if table is None or _concerns(event, table):
                events.append(event)
            if len(events) == most:
                break
        if time.monotonic() > until:
            break
    return {"first": first, "last": last, "events": events, "next": at if at <= last else None}


def _event(queued: Queued, positions: Mapping[str, int]) -> dict[str, Any]:
    return {
        "position": queued.position,
        "at": queued.at_ms / 1000,
        "bytes": len(queued.data),
        "waits_for": [target for target, position in positions.items() if position < queued.position],
        **_content(queued),
    }


def _content(queued: Queued) -> dict[str, Any]:
    """What the event says of itself; all null where it cannot be read."""
    try:
        event = decode_event(queued.data)
    except PysyncError:
        return {"kind": None, "source": None, "id": None, "time": None, "objects": []}
    return {
        "kind": str(event.kind),
        "source": event.source,
        "id": event.id,
        "time": event.time_ms / 1000,
        "objects": objects_of(event, queued.position),
    }


def _concerns(event: Mapping[str, Any], table: str) -> bool:
    database = table.partition(".")[0]
    return table in event["objects"] or f"{database}.*" in event["objects"]


def _number(request: Mapping[str, Any], name: str, default: int) -> int:
    value = request.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PysyncError(
            f"{name} must be a whole number of at least 1, not {shortened(shown(value), 80)}",
            "see: pysync events --help",
        )
    return value
