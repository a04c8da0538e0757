"""A table: its history as in `pysync why`: what the source did and what each target did, the newest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.web.views.actions import ActionRow, action_row
from pysync.web.views.tones import BAD, GOOD, IDLE, WARN, worst_tone

_REASONS = {
    **dict.fromkeys(("applied", "at_both_ends"), GOOD),
    **dict.fromkeys(("waiting", "in_spool", "paused", "brake", "target_away", "gap_open", "only_at_source"), WARN),
    "disabled": IDLE,
    **dict.fromkeys(("parked", "foreign"), BAD),
}
_COMPARED = {True: "it had drifted", False: "no drift", None: "not known whether it had drifted"}


@dataclass(frozen=True, slots=True)
class ReasonView:
    """Why a target has the table as it has it, and what to type about it."""

    tone: str
    code: str
    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class TargetHistory:
    """What one target has done with it."""

    target: str
    tone: str
    object: str
    verdict: str
    reasons: tuple[ReasonView, ...]
    parked: tuple[Mapping[str, Any], ...]
    compared: str  # what the last comparison found; empty if there was none
    compared_at: float | None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A point of the timeline: an event of the source, or (`row`) a record of a target."""

    at: float
    where: str
    text: str
    tone: str
    row: ActionRow | None = None


@dataclass(frozen=True, slots=True)
class TableView:
    """The page's content; `names` are the former ones."""

    name: str
    names: tuple[str, ...]
    targets: tuple[TargetHistory, ...]
    timeline: tuple[TimelineEntry, ...]


def table_view(why: Mapping[str, Any]) -> TableView:
    """What the page of a table shows of an answer of `why`."""
    name = str(why["object"])
    targets = why.get("targets") or ()
    moments = [*_of_source(why.get("source") or {}), *(it for target in targets for it in _of_target(target))]
    return TableView(
        name=name,
        names=tuple(str(it) for it in why.get("names") or () if it != name),
        targets=tuple(_at_target(it) for it in targets),
        timeline=tuple(sorted(moments, key=lambda it: it.at, reverse=True)),
    )


def _at_target(target: Mapping[str, Any]) -> TargetHistory:
    verify = target.get("verify") or {}
    reasons = tuple(_reason(it) for it in target.get("reasons") or ())
    return TargetHistory(
        target=target["target"],
        tone=worst_tone(it.tone for it in reasons) if reasons else IDLE,
        object=str(target.get("object") or ""),
        verdict=str(target.get("verdict") or ""),
        reasons=reasons,
        parked=tuple(target.get("parked") or ()),
        compared=_COMPARED[verify.get("drifted")] if verify else "",
        compared_at=verify.get("at"),
    )


def _reason(reason: Mapping[str, Any]) -> ReasonView:
    code = str(reason.get("code") or "unknown")
    return ReasonView(
        _REASONS.get(code, IDLE), code.replace("_", " "), str(reason.get("text") or ""), reason.get("hint") or ""
    )


def _of_source(source: Mapping[str, Any]) -> list[TimelineEntry]:
    events: Sequence[Mapping[str, Any]] = source.get("events") or ()
    return [
        TimelineEntry(it["at"], "source", f"{it.get('kind') or 'event'} (event {it.get('position')})", IDLE)
        for it in events
        if it.get("at") is not None
    ]


def _of_target(target: Mapping[str, Any]) -> list[TimelineEntry]:
    rows = [action_row(it) for it in target.get("records") or ()]
    return [TimelineEntry(it.at, target["target"], it.operation, it.tone, it) for it in rows if it.at is not None]
