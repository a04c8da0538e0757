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

_KINDS = {"rejected": ("refused", BAD), "bug": ("a fault of pysync", BAD), "waits": ("waits behind another", WARN)}


@dataclass(frozen=True, slots=True)
class ParkedRow:
    """What is parked of one table; the rest is of the first of its events."""

    table: str
    link: str
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
    link: str


@dataclass(frozen=True, slots=True)
class ParkedPage:
    """A page of the list: `tables` and `events` count all that fits the search, `groups` are all reasons.

    `reason` is the one that the list is narrowed to, or empty.
    """

    groups: tuple[ParkedGroup, ...]
    reason: str
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
    return ParkedGroup(kind=kind, tone=tone, reason=group["reason"], is_adoptable=is_adoptable, link=link, **numbers)


def parked_row(target: str, table: Mapping[str, Any]) -> ParkedRow:
    """What is parked of one table."""
    kind, tone = _KINDS.get(table["kind"], (str(table["kind"]), IDLE))
    whole = str(table["reason"] or "").strip()
    lines = whole.splitlines()
    return ParkedRow(
        table=table["table"],
        link=f"/targets/{segment(target)}/parked/{segment(table['table'])}",
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
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
