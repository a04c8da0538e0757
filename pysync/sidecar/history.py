"""History: curves of lag and rate for the page, and what the events of the queue were."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.latency import Worst
from pysync.base.text import meant, quoted, shortened, shown
from pysync.journal import DAY_HOURS, MONTH_HOURS, Journal, Reader, Sample, step_of
from pysync.model.named import objects_of
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.drain import Drain

# --- Curves: lag and throughput of each target over time, in the journal

SAMPLE_SECONDS = 60


class Curves:
    """Samples the targets of `drains` once a minute, and answers with what was sampled.

    `status` answers as `pysync status --json` does.
    """

    def __init__(
        self,
        drains: Mapping[str, Drain],
        status: Callable[[], Mapping[str, Any]],
        journal: Journal,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._drains, self._status, self._clock = drains, status, clock
        self._journal, self._reader = journal, Reader(journal.file)
        self._applied = dict.fromkeys(drains, 0)  # since the start, at the last sample
        self._last: float | None = None

    def sample(self, now: float) -> None:
        """Add a point to each curve if a minute has passed; `now` is seconds since 1970. For one thread."""
        if self._last is None:
            self._last = now
            self._recall()
        # A clock that was set back must not stop the curves.
        if 0 <= now - self._last < SAMPLE_SECONDS:
            return
        self._last = now
        # What goes wrong costs a point; the status shows why.
        with suppress(Exception):
            self._journal.sample([self._sampled(it, now) for it in self._status()["targets"]])

    def history(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The `points` of `target` in the last `hours`, the oldest first: `at`, `lag_seconds`, `applied`, `parked`.

        A point is for the `step_seconds` from `at` on: the greatest lag, and how many operations have changed the
        target. Raises PysyncError for another target or number, and where the journal cannot be read.
        """
        name, hours = str(request.get("target")), _hours(request)
        if name not in self._drains:
            raise PysyncError(f"the sidecar has no target {quoted(name)}", meant(name, self._drains, "its targets"))
        step = step_of(hours)
        points = self._reader.points(name, step, self._clock() - hours * 3600 - step)
        return {"step_seconds": step, "points": [asdict(it) for it in points]}

    def _recall(self) -> None:
        """Have the latencies know again what was slow before the start."""
        for name, drain in self._drains.items():
            with suppress(PysyncError):
                drain.progress.latency.recall(self._reader.slowest(name))

    def _sampled(self, target: Mapping[str, Any], now: float) -> Sample:
        name, applied = target["name"], target["counts"].get("applied", 0)
        before, self._applied[name] = self._applied[name], applied
        slowest = tuple(Worst(**it) for it in target["latency"]["worst"])
        return Sample(name, now, target["lag_seconds"], applied - before, target["parked"], slowest)


def _hours(request: Mapping[str, Any]) -> int:
    hours = request.get("hours", DAY_HOURS)
    if type(hours) is not int or not 1 <= hours <= MONTH_HOURS:  # not isinstance: true is an int, too
        raise PysyncError(f"hours must be a whole number from 1 to {MONTH_HOURS}, not {shortened(shown(hours), 80)}")
    return hours


# --- History: what is in the queue, event by event: names and numbers, never what an event carries

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
