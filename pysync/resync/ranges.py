"""Ranges: a part of the kept history, and which objects of the source its events touched. Only reads the queue."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import local_time, shortened, shown
from pysync.model.event import Event, Kind
from pysync.model.event_objects import objects_of
from pysync.model.names import TableName
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.window.policy import Policy
from pysync.resync.trigger import ResyncFailed

_CHUNK = 200
_CHUNK_BYTES = 8 * 1024 * 1024
_SECONDS = 0.2  # of one answer: whoever wants more asks again, and others get their turn
_MS = 1000


class HistoryGone(ResyncFailed):
    """Events that are to be replayed are no longer kept."""


@dataclass(frozen=True, slots=True)
class Range:
    """The events at the positions `first` to `last`; with `table`, only what they say of that table of the source."""

    first: int
    last: int
    table: TableName | None = None

    def joined(self, other: Range) -> Range:
        """The range from the beginning of the earlier to the end of the later one; both are of the same table."""
        return Range(min(self.first, other.first), max(self.last, other.last), self.table)


@dataclass(frozen=True, slots=True)
class TouchedObjects:
    """The objects in scope that one event touched: tables, and databases as tables without a name.

    `readable` is False for an event that cannot be read: what it was about is not known.
    """

    position: int
    names: tuple[TableName, ...]
    readable: bool = True


def range_of(queue: EventQueue, request: Mapping[str, Any]) -> Range:
    """The range from `from` to `to`, of `source_table`. Each end is a position, or, with `_time`, a time (s).

    Without an end the range ends with the newest event. Raises PysyncError for one that is not in the history as a
    whole, and for arguments that make no sense.
    """
    table = None if request.get("source_table") is None else TableName.parse(str(request["source_table"]))
    last = _end(queue, request)
    first = _begin(queue, request)
    if first > last:
        raise PysyncError(f"no event came between the two: from position {first} to {last}", "see: pysync events")
    return Range(first, last, table)


def touched(queue: EventQueue, policy: Policy, selected: Range) -> Iterator[TouchedObjects]:
    """What each event of the range touched, in order.

    Raises HistoryGone if events of the range are no longer kept.
    """
    at = selected.first
    while at <= selected.last:
        chunk = queue.events(at - 1, min(_CHUNK, selected.last + 1 - at), _CHUNK_BYTES)
        if not chunk or chunk[0].position != at:
            raise HistoryGone(
                f"the history was deleted meanwhile, from position {at} on", "bring everything: pysync bootstrap"
            )
        yield from (_touched(it, policy, selected.table) for it in chunk)
        at = chunk[-1].position + 1


def counted(queue: EventQueue, policy: Policy, request: Mapping[str, Any]) -> dict[str, Any]:
    """What a replay of a range would refresh, as JSON values: `objects`, and how many events touched each.

    One answer covers a part of the range: `next` is where to go on, as `from`, null at the end. Changes nothing.
    """
    selected = range_of(queue, request)
    until, objects, unreadable, at = time.monotonic() + _SECONDS, Counter[str](), 0, selected.first
    for it in touched(queue, policy, selected):
        objects.update(map(shown_name, it.names))
        unreadable, at = unreadable + (not it.readable), it.position + 1
        if time.monotonic() > until:
            break
    return {
        "first": selected.first,
        "last": selected.last,
        "events": at - selected.first,
        "objects": dict(objects),
        "unreadable": unreadable,
        "next": at if at <= selected.last else None,
    }


def shown_name(name: TableName) -> str:
    """`db.table`, or `db` for a database."""
    return str(name) if name.table else name.database


def _touched(queued: Queued, policy: Policy, only: TableName | None) -> TouchedObjects:
    try:
        event = decode_event(queued.data)
    except PysyncError:
        return TouchedObjects(queued.position, (), readable=False)
    if not _is_for(policy, event):
        return TouchedObjects(queued.position, ())
    names = dict.fromkeys(map(_name, objects_of(event, queued.position)))
    if only is not None:
        return TouchedObjects(queued.position, (only,) if only in names else ())
    return TouchedObjects(queued.position, tuple(it for it in names if _takes(policy, it)))


def _is_for(policy: Policy, event: Event) -> bool:
    """Whether the event is one for this target: a refresh may be for others, or only say what left a scope."""
    targets = event.attributes.get("targets")
    is_ours = targets is None or policy.target in targets.split("\n")
    return event.kind is not Kind.REFRESH or (is_ours and "former" not in event.attributes)


def _name(text: str) -> TableName:
    """The object of a key: a table, or the database of everything else (`db`, `db.*`, `db.function()`)."""
    database, _, rest = text.partition(".")
    return TableName(database, "" if rest == "*" or rest.endswith("()") else rest)


def _takes(policy: Policy, name: TableName) -> bool:
    return policy.takes_table(name) if name.table else policy.takes_database(name.database)


def _begin(queue: EventQueue, request: Mapping[str, Any]) -> int:
    first, at = _position(request, "from"), _time(request, "from_time")
    if first is None and at is None:
        raise PysyncError("cannot tell what to replay", "give the position or the time to begin with: --from 2h")
    begin = first if first is not None else queue.since(round((at or 0) * _MS))
    if begin > queue.last:
        raise PysyncError("no event has come since", f"the last one in the queue is {queue.last}")
    # Nothing is missing in front of the first event that ever was.
    if begin < queue.first or (first is None and begin == queue.first > 1 and _came(queue, begin) > (at or 0)):
        raise _deleted(queue)
    return begin


def _end(queue: EventQueue, request: Mapping[str, Any]) -> int:
    last, at = _position(request, "to"), _time(request, "to_time")
    if last is None:
        last = queue.last if at is None else queue.since(round(at * _MS) + 1) - 1
    return min(last, queue.last)


def _deleted(queue: EventQueue) -> PysyncError:
    if not queue.size:
        return PysyncError("the queue holds no event", "[queue] retain sets how long events are kept")
    came = local_time(_came(queue, queue.first))
    return PysyncError(
        f"the history does not reach back so far: it begins with event {queue.first}, of {came}",
        f"replay that: --from {queue.first}; or bring everything: pysync bootstrap",
    )


def _came(queue: EventQueue, position: int) -> float:
    """When the event at that position came (s); in the future if it is gone."""
    events = queue.events(position - 1, 1, 1)
    return events[0].at_ms / _MS if events else time.time()


def _position(request: Mapping[str, Any], name: str) -> int | None:
    position = request.get(name)
    if position is not None and (not isinstance(position, int) or isinstance(position, bool) or position < 1):
        raise _invalid(name, position, "a position, a whole number of at least 1")
    return position


def _time(request: Mapping[str, Any], name: str) -> float | None:
    value = request.get(name)
    if value is None:
        return None
    # Written so that NaN is refused, too.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 10**11:
        raise _invalid(name, value, "a time in seconds since 1970")
    return float(value)


def _invalid(name: str, value: Any, wanted: str) -> PysyncError:
    return PysyncError(f"{name} must be {wanted}, not {shortened(shown(value), 80)}", "see: pysync replay --help")
