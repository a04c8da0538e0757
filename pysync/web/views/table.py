"""A table: its history as in `pysync why`: what the source did and what each target did, the newest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.text import count
from pysync.web.views.actions import ActionRow, action_row
from pysync.web.views.tones import BAD, GOOD, IDLE, WARN, urgency, worst_tone
from pysync.web.words import segment

_REASONS = {
    **dict.fromkeys(("applied", "at_both_ends"), GOOD),
    **dict.fromkeys(("waiting", "in_spool", "paused", "brake", "target_away", "gap_open", "only_at_source"), WARN),
    "disabled": IDLE,
    **dict.fromkeys(("parked", "foreign"), BAD),
}
_SHOWN_AT_TARGET = {
    "brake": "Decide about its drop",
    "paused": "Look at the pause",
    "target_away": "Look at the target",
    "disabled": "Look at the target",
}
"""What to do about a state at the target's own page."""

_MAY_DIFFER = frozenset({"at_both_ends", "only_at_source", "only_at_target", "foreign", "unknown"})
"""The states about which a refresh may do something."""

_COMMAND = re.compile(r"\bpysync [^;]+")
_COMPARED = {True: "it had drifted", False: "no drift", None: "not known whether it had drifted"}


@dataclass(frozen=True, slots=True)
class ReasonView:
    """Why a target has the table as it has it, and what to type about it."""

    tone: str
    code: str
    text: str
    hint: str

    @property
    def words(self) -> str:
        """The code in words."""
        return "held" if self.code == "brake" else self.code.replace("_", " ")


@dataclass(frozen=True, slots=True)
class TargetHistory:
    """What one target has done with it: `first` is the verdict, `reasons` are those beside it.

    `act` says what to do about it, and `link` where.
    """

    target: str
    tone: str
    object: str
    first: ReasonView
    reasons: tuple[ReasonView, ...]
    commands: tuple[str, ...]
    act: str
    link: str
    compared: str  # what the last comparison found; empty if there was none
    compared_at: float | None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """A point of the timeline: an event of the source, or a record (`row`) of a target with its `details`."""

    at: float
    where: str
    text: str
    tone: str
    row: ActionRow | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableView:
    """The page's content; `names` are the former ones. `may_differ`: a refresh is what helps first.

    `shared` are the reasons that are the same at all targets.
    """

    name: str
    names: tuple[str, ...]
    targets: tuple[TargetHistory, ...]
    shared: tuple[ReasonView, ...]
    timeline: tuple[TimelineEntry, ...]
    may_differ: bool


def table_view(why: Mapping[str, Any]) -> TableView:
    """What the page of a table shows of an answer of `why`."""
    name = str(why["object"])
    targets = why.get("targets") or ()
    moments = [*_of_source(why.get("source") or {}), *(it for target in targets for it in _of_target(target))]
    shared = _shared([_reasons(it)[1:] for it in targets])
    found = [_at_target(it, shared) for it in targets]
    return TableView(
        name=name,
        names=tuple(str(it) for it in why.get("names") or () if it != name),
        targets=tuple(sorted(found, key=lambda it: urgency(it.tone))),
        timeline=tuple(sorted(moments, key=lambda it: it.at, reverse=True)),
        shared=shared,
        may_differ=any(it.first.code in _MAY_DIFFER or it.compared == _COMPARED[True] for it in found),
    )


def _shared(of_targets: Sequence[Sequence[ReasonView]]) -> tuple[ReasonView, ...]:
    """What several targets say, and all of them."""
    if len(of_targets) < 2:
        return ()
    return tuple(it for it in of_targets[0] if all(it in others for others in of_targets))


def _at_target(target: Mapping[str, Any], shared: Collection[ReasonView]) -> TargetHistory:
    name, verify, parked = target["target"], target.get("verify") or {}, target.get("parked") or ()
    first, *others = _reasons(target)
    others = [it for it in others if it not in shared and it.code != first.code]
    act, link = _SHOWN_AT_TARGET.get(first.code, ""), f"/targets/{segment(name)}"
    if parked and not act:
        act = f"Look at its {count(sum(it['events'] for it in parked), 'parked event')}"
        link += f"/parked/{segment(parked[0]['table'])}"
    return TargetHistory(
        target=name,
        tone=worst_tone(it.tone for it in (first, *others)),
        object=str(target.get("object") or ""),
        first=first,
        reasons=tuple(others),
        commands=tuple(dict.fromkeys(command for it in (first, *others) for command in _commands(it.hint))),
        act=act,
        link=link if act else "",
        compared=_COMPARED[verify.get("drifted")] if verify else "",
        compared_at=verify.get("at"),
    )


def _commands(hint: str) -> list[str]:
    """The commands in a hint, which may have words between them."""
    return [it.strip() for it in _COMMAND.findall(hint)]


def _reasons(target: Mapping[str, Any]) -> list[ReasonView]:
    """The verdict, and what is to say beside it."""
    return [_reason(it) for it in target.get("reasons") or ()] or [_reason({})]


def _reason(reason: Mapping[str, Any]) -> ReasonView:
    code = str(reason.get("code") or "unknown")
    return ReasonView(_REASONS.get(code, IDLE), code, str(reason.get("text") or ""), reason.get("hint") or "")


def _of_source(source: Mapping[str, Any]) -> list[TimelineEntry]:
    events: Sequence[Mapping[str, Any]] = source.get("events") or ()
    return [
        TimelineEntry(it["at"], "source", f"{it.get('kind') or 'event'} (event {it.get('position')})", IDLE)
        for it in events
        if it.get("at") is not None
    ]


def _of_target(target: Mapping[str, Any]) -> list[TimelineEntry]:
    rows, known = [action_row(it) for it in target.get("records") or ()], str(target.get("object") or "")
    return [
        TimelineEntry(it.at, target["target"], it.operation, it.tone, it, _details(it, known))
        for it in rows
        if it.at is not None
    ]


def _details(row: ActionRow, known: str) -> tuple[str, ...]:
    """What a record says beside its outcome; a name only where it is not the one that the target has now."""
    name = row.object if row.object != known else ""
    positions = row.positions and f"{'positions' if ' to ' in row.positions else 'position'} {row.positions}"
    visible = row.visible and f"visible after {row.visible}"
    return tuple(filter(None, (name, row.partitions, positions, row.folded, visible)))
