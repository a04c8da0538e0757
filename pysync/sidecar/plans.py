"""Show: plans and parked events as JSON values; the form is a promise, see docs/status.md."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from pysync.base.errors import PysyncError
from pysync.copy.files import may_remove_files
from pysync.model.operation import describe, partitions
from pysync.model.wire import decode_event
from pysync.queue import Parked, ParkedTable
from pysync.replay.drain import Drain
from pysync.replay.window.plan import Work


def plan_of(drain: Drain, queued: int) -> dict[str, Any]:
    """What the next window of a target comes to."""
    draft, pause, hold, settings = drain.preview(), drain.paused(), drain.hold(), drain.settings
    return {
        "target": drain.name,
        "mode": settings.mode,
        "paused": pause and pause.reason,
        "paused_by_hand": drain.is_paused_by_hand,
        "brake": hold and hold.as_json(),
        "queued": queued,
        "first": draft.events[0].position if draft.events else None,
        "last": draft.events[-1].position if draft.events else None,
        "events": len(draft.events),
        "skipped": draft.skipped,
        "refused": [
            {"position": it.event.position, "tables": sorted(it.keys), "kind": it.kind, "reason": it.reason}
            for it in draft.refused
        ],
        "drops": draft.drops if hold is None else hold.count,
        "max_drops_per_window": settings.max_drops_per_window,
        "max_drops": settings.max_drops,
        "max_drop_share": settings.max_drop_share,
        "removes_files": any(may_remove_files(settings, it) for work in draft.works for it in work.operations),
        "operations": sum(len(work.operations) for work in draft.works),
        "works": [_work(work, settings.cascade) for work in draft.works],
    }


def parked_table(table: ParkedTable) -> dict[str, Any]:
    """What is parked of one table."""
    return {
        "table": table.table,
        "events": table.events,
        "position": table.position,
        "kind": table.kind,
        "reason": table.reason,
        "attempts": table.attempts,
        "first_at": table.first_at_ms / 1000,
        "last_at": table.last_at_ms / 1000,
    }


def parked_event(rows: Sequence[Parked]) -> dict[str, Any]:
    """One parked event, from its rows."""
    first = rows[0]
    return {
        "position": first.position,
        "tables": [row.table for row in rows],
        "kind": first.kind,
        "reason": first.reason,
        "attempts": first.attempts,
        "first_at": first.first_at_ms / 1000,
        "last_at": first.last_at_ms / 1000,
        "event": _event(first.data),
        "data": base64.b64encode(first.data).decode(),
    }


def _work(work: Work, cascade: bool) -> dict[str, Any]:
    return {
        "keys": sorted(work.keys),
        "events": len(work.positions),
        "first": min(work.positions),
        "last": max(work.positions),
        "operations": [
            {
                "operation": type(operation).__name__,
                "object": operation.key,
                "partitions": partitions(operation),
                "text": describe(operation, cascade=cascade),
            }
            for operation in work.operations
        ],
    }


def _event(data: bytes) -> dict[str, Any] | None:
    """What an event tells of itself; None where it cannot be read."""
    try:
        event = decode_event(data)
    except PysyncError:
        return None
    return {
        "kind": str(event.kind),
        "source": event.source,
        "id": event.id,
        "time": event.time_ms / 1000,
        "attributes": dict(event.attributes),
        "visited": list(event.visited),
        "bytes": len(data),
    }
