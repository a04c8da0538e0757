"""What receivers are sent, as CloudEvents 1.0 in JSON (docs/monitoring.md). Pure."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from pysync.base.health import Problem
from pysync.journal import Record

CloudEvent = Mapping[str, Any]

_US = 1_000_000
_APPLIED, _UNCHANGED = "applied", "unchanged"
_FIELDS = (
    *("target", "operation", "outcome", "object", "source_object", "former", "source_former"),
    *("partitions", "partition_count", "first_position", "last_position", "committed_at", "captured_at"),
)


def is_visible(record: Record) -> bool:
    """Whether a record says that a target now has a change.

    After a crash an event is applied again, and then changes nothing: that counts. A comparison that finds nothing to
    do does not, as no change of the source is behind it.
    """
    return record.outcome == _APPLIED or (record.outcome == _UNCHANGED and record.committed_at is not None)


def change_event(source: str, record: Record) -> CloudEvent:
    """A change that a target has. Its id is the same whenever it is sent, and no other record has it."""
    known = record.as_json()
    data = {"record": record.id, **{name: known[name] for name in _FIELDS}}
    # With the time: a journal that is begun again uses its numbers again.
    number = f"{record.id}-{round(record.at * _US)}"
    return {**_event(source, "change.applied", record.at, data), "id": number, "subject": record.object}


def problem_event(source: str, change: str, problem: Problem, at: float) -> CloudEvent:
    """A problem that has `begun` or `ended` at that time, in seconds since 1970."""
    return {**_event(source, f"problem.{change}", at, problem.as_json()), "subject": problem.code}


def gap_event(source: str, reason: str, since: float | None, until: float) -> CloudEvent:
    """Between these times, in seconds since 1970, changes or problems may be missing; None: since the beginning."""
    return _event(source, "gap", until, {"reason": reason, "since": since, "until": until})


def _event(source: str, kind: str, at: float, data: Mapping[str, Any]) -> CloudEvent:
    return {
        "specversion": "1.0",
        "id": str(uuid.uuid4()),
        "source": source,
        "type": f"pysync.{kind}",
        "time": datetime.fromtimestamp(at, timezone.utc).isoformat(),
        "datacontenttype": "application/json",
        "data": data,
    }
