"""The text of `pysync status --object`: where a database or table is at each target. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pysync.base.text import count, duration
from pysync.cli.grid import Line

_WIDTH = 12
_MOST_PARKED = 5
_MOST_NAMED = 5

Json = Mapping[str, Any]


def of_object(answer: Json) -> Iterator[Line]:
    """Yield the lines of the answer."""
    source = answer["source_event_id"]
    source_id = f"{source:,}" if source is not None else f"not known: {answer['no_event_id']}"
    yield Line(f"{answer['object']}; newest event id of the source's notification log: {source_id}")
    for target in answer["targets"]:
        yield Line()
        yield labelled("target", f"{target['target']}, as {target['name']}, {target['state']}")
        yield from _where(target)
        yield from _problems(target)


def has_problem(target: Json) -> bool:
    """Whether something keeps the object from being at the target."""
    is_kept_away = any(target[key] for key in ("hindered", "parked", "gap", "paused"))
    return is_kept_away or _is_missing(target)


def _is_missing(target: Json) -> bool:
    """Whether it, or a part of it, is absent with nothing to apply."""
    return bool(target["missing"]) and not target["hindered"] and not target["waiting"]


def _where(target: Json) -> Iterator[Line]:
    event_id = target["event_id"]
    known = "event id not known" if event_id is None else f"event id {event_id:,}"
    yield labelled("position", f"{target['position']:,} of {target['last']:,}; {known}")
    more = "" if target["waiting_whole"] else " at least"
    waiting = f"{count(target['waiting'], 'event')}{more} to apply"
    yield labelled("lag", f"{duration(target['lag_seconds'])}; {waiting}")
    if target["pinned"]:
        yield labelled("pinned", "its database is pinned at a consistent point")


def _problems(target: Json) -> Iterator[Line]:
    if target["hindered"]:
        yield labelled("problem", target["hindered"], bad=True)
    if target["paused"]:
        yield labelled("paused", target["paused"], bad=True)
    for parked in target["parked"][:_MOST_PARKED]:
        yield labelled("parked", f"event {parked['position']} of {', '.join(parked['tables'])}", bad=True)
    if more := target["parked"][_MOST_PARKED:]:
        yield labelled("", f"and {count(len(more), 'more event')}; see: pysync parked list {target['target']}")
    if _is_missing(target):
        names = target["missing"]
        more = ", …" if len(names) > _MOST_NAMED else ""
        yield labelled("missing", f"the target does not have {', '.join(names[:_MOST_NAMED])}{more}", bad=True)
    if target["not_looked_at"] and not target["hindered"]:
        ends = " and ".join(f"the {it}" for it in target["not_looked_at"])
        yield labelled("not seen", f"whether it is there: {ends} could not be asked")
    if target["gap"]:
        yield labelled("gap", target["gap"], bad=True)


def labelled(label: str, text: str, *, bad: bool = False) -> Line:
    """A line with a label before it."""
    return Line(text, "bad" if bad else "", label.ljust(_WIDTH))
