"""Parked: what a target refused, table by table, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pysync.base.text import one_line
from pysync.web.views.tones import BAD, IDLE, WARN
from pysync.web.words import segment

PAGE = 50
"""Tables of one page."""

MOST_TRIES = 3
"""After so many attempts with the same end another one is not what is offered first."""

_KINDS = {
    "rejected": ("refused", BAD),
    "bug": ("a fault of pysync", BAD),
    "waits": ("waits behind another", WARN),
    "held": ("held", WARN),
}
_NO_TRY = {
    "waits": "They are tried as soon as those before them are applied or skipped.",
    "held": "They go on as soon as somebody has decided about the drops.",
}
"""The kinds that a retry does nothing for, and what does."""


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """What is parked of one table; the rest is of the first of its events."""

    table: str
    link: str
    decision: str  # where to decide about it
    events: int
    position: int
    kind: str
    tone: str
    reason: str  # one line: the last one, of a traceback
    whole: str  # all of it, where it has more lines
    attempts: int
    first_at: float
    last_at: float
    is_adoptable: bool
    is_held: bool

    @property
    def may_be_retried(self) -> bool:
        """Whether a retry is worth a try: what waits behind another is tried with that, and a conflict stays one."""
        return self.tone == BAD and self.attempts < MOST_TRIES and not self.is_adoptable


@dataclass(frozen=True, slots=True)
class ParkedGroup:
    """What is parked for one reason, with the names of tables left out."""

    kind: str
    tone: str
    reason: str
    tables: int
    events: int
    attempts: int
    first_at: float
    last_at: float
    is_adoptable: bool
    is_held: bool
    no_try: str  # why a retry does nothing for it, or empty
    link: str


@dataclass(frozen=True, slots=True)
class ParkedPage:
    """A page of the list: `tables` and `events` count all that fits the search, `groups` are all reasons.

    `reason` is the one that the list is narrowed to, or empty; `has_reasons`: the rows differ in theirs.
    """

    groups: tuple[ParkedGroup, ...]
    reason: str
    has_reasons: bool
    rows: tuple[ParkedRow, ...]
    tables: int
    events: int
    page: int
    pages: int
    earlier: str
    later: str


def parked_page(target: str, answer: Mapping[str, Any], query: Mapping[str, str]) -> ParkedPage:
    """One page of an answer of `parked list`.

    In the query `q` searches names and reasons, `reason` is that of a group, and `page` counts from 1.
    """
    wanted, reason = query.get("q", "").strip().lower(), query.get("reason", "").strip()
    matching = [
        it
        for it in answer["tables"]
        if wanted in f"{it['table']} {it['reason']}".lower() and reason in {"", it.get("group")}
    ]
    pages = max(1, -(-len(matching) // PAGE))
    page = min(pages, max(1, _number(query.get("page", ""))))

    def link(number: int) -> str:
        values = {**({"q": wanted} if wanted else {}), **({"reason": reason} if reason else {}), "page": number}
        return f"/targets/{segment(target)}/parked?{urlencode(values)}" if 1 <= number <= pages else ""

    return ParkedPage(
        groups=tuple(_parked_group(target, it) for it in answer.get("groups") or ()),
        reason=reason,
        has_reasons=not reason and len(answer.get("groups") or ()) > 1,
        rows=tuple(parked_row(target, it) for it in matching[(page - 1) * PAGE : page * PAGE]),
        tables=len(matching),
        events=sum(it["events"] for it in matching),
        page=page,
        pages=pages,
        earlier=link(page - 1),
        later=link(page + 1),
    )


def _parked_group(target: str, group: Mapping[str, Any]) -> ParkedGroup:
    kind, tone = _KINDS.get(group["kind"], (str(group["kind"]), IDLE))
    numbers = {key: group[key] for key in ("tables", "events", "attempts", "first_at", "last_at")}
    link = f"/targets/{segment(target)}/parked?{urlencode({'reason': group['reason']})}"
    is_adoptable = bool(group.get("adoptable"))
    return ParkedGroup(
        kind=kind,
        tone=tone,
        reason=group["reason"],
        is_adoptable=is_adoptable,
        is_held=group["kind"] == "held",
        no_try=_NO_TRY.get(group["kind"], ""),
        link=link,
        **numbers,
    )


def parked_row(target: str, table: Mapping[str, Any]) -> ParkedRow:
    """What is parked of one table."""
    kind, tone = _KINDS.get(table["kind"], (str(table["kind"]), IDLE))
    whole, is_held = str(table["reason"] or "").strip(), table["kind"] == "held"
    lines, at_target = whole.splitlines(), f"/targets/{segment(target)}"
    link = f"{at_target}/parked/{segment(table['table'])}"
    return ParkedRow(
        table=table["table"],
        link=link,
        decision=at_target if is_held else link,
        events=table["events"],
        position=table["position"],
        kind=kind,
        tone=tone,
        reason=one_line(lines[-1]) if lines else "",
        whole=whole if len(lines) > 1 else "",
        attempts=table["attempts"],
        first_at=table["first_at"],
        last_at=table["last_at"],
        is_adoptable=bool(table.get("adoptable")),
        is_held=is_held,
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
