"""Actions: the journal's records as rows, and the filter that chooses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pysync.base.text import count, duration
from pysync.model.difference import number_of
from pysync.web.views.tones import OUTCOMES, tone_of_outcome
from pysync.web.words import segment

FILTERS = ("target", "outcome", "database", "table")
_SHOWN_PARTITIONS = 3


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field, what it was at the target and what it became."""

    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class ActionRow:
    """One record. Times are seconds since 1970, or None."""

    id: int | None
    at: float | None
    tone: str
    outcome: str
    target: str
    operation: str
    object: str
    link: str
    partitions: str
    positions: str
    folded: str
    took: str
    visible: str  # from the commit until it was done
    reason: str
    who: str
    differences: tuple[FieldDifference, ...]

    @property
    def differed(self) -> int:
        """How many fields differed, also those that are only counted."""
        return number_of(it.field for it in self.differences)


def filter_of(query: Mapping[str, str]) -> dict[str, str]:
    """The filter in a request: what is empty or not a filter's is left out."""
    return {key: query[key].strip() for key in FILTERS if query.get(key, "").strip()}


def request_of(query: Mapping[str, str], limit: int) -> dict[str, Any]:
    """What to ask the journal for: the filter, and the id that the page begins before."""
    request: dict[str, Any] = {**filter_of(query), "limit": limit}
    outcome = request.get("outcome")
    if outcome is not None and outcome not in OUTCOMES:
        del request["outcome"]
    before = query.get("before", "")
    if before.isascii() and before.isdecimal() and len(before) < 19 and int(before):
        request["before"] = int(before)
    return request


def page_link(query: Mapping[str, str], before: Any = None) -> str:
    """The address of the records older than `before`; unset: of the newest."""
    values = {**filter_of(query), **({} if before is None else {"before": str(before)})}
    return "/actions" + (f"?{urlencode(values)}" if values else "")


def action_row(record: Mapping[str, Any]) -> ActionRow:
    """One record; whatever field an older journal lacks is left empty."""
    name = str(record.get("source_object") or record.get("object") or "")
    outcome = str(record.get("outcome") or "")
    committed, at = record.get("committed_at"), record.get("at")
    milliseconds = record.get("milliseconds")
    return ActionRow(
        id=record.get("id"),
        at=at,
        tone=tone_of_outcome(outcome),
        outcome=outcome,
        target=str(record.get("target") or ""),
        operation=str(record.get("operation") or ""),
        object=str(record.get("object") or name),
        link=f"/tables/{segment(name)}" if "." in name else "",
        partitions=_partitions(record),
        positions=_positions(record),
        folded=_folded(record),
        took="" if milliseconds is None else duration(milliseconds / 1000),
        visible=duration(at - committed) if outcome == "applied" and committed and at else "",
        reason=str(record.get("reason") or ""),
        who=str(record.get("who") or ""),
        differences=differences_of(record),
    )


def differences_of(record: Mapping[str, Any]) -> tuple[FieldDifference, ...]:
    """What differed, field by field."""
    differences = record.get("differences") or ()
    return tuple(
        FieldDifference(_text(it.get("field")), _text(it.get("old")), _text(it.get("new"))) for it in differences
    )


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _partitions(record: Mapping[str, Any]) -> str:
    """`day=1, day=2 and 128 more`."""
    total = record.get("partition_count") or 0
    named = [str(it) for it in record.get("partitions") or ()][:_SHOWN_PARTITIONS]
    if not total or not named:
        return count(total, "partition") if total else ""
    more = f" and {total - len(named):,} more" if total > len(named) else ""
    return ", ".join(named) + more


def _positions(record: Mapping[str, Any]) -> str:
    """`5`, `5 to 9`."""
    first, last = record.get("first_position"), record.get("last_position")
    if first is None:
        return ""
    return f"{first:,}" if last in {None, first} else f"{first:,} to {last:,}"


def _folded(record: Mapping[str, Any]) -> str:
    """How many events became one operation, where it is more than one."""
    number = record.get("events") or 0
    return f"{number:,} events folded" if number > 1 else ""
