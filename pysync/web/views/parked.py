"""Parked: what a target refused, table by table, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pysync.text import one_line
from pysync.web.views.tones import BAD, IDLE, WARN
from pysync.web.words import segment

PAGE = 50
"""Tables of one page."""

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
    reason: str  # one line: the telling one of a traceback
    whole: str  # all of it, where it has more lines
    attempts: int
    first_at: float
    last_at: float


@dataclass(frozen=True, slots=True)
class ParkedPage:
    """A page of the list: `tables` and `events` count all that fits the search."""

    rows: tuple[ParkedRow, ...]
    tables: int
    events: int
    page: int
    pages: int
    earlier: str
    later: str


def parked_page(target: str, tables: Sequence[Mapping[str, Any]], query: Mapping[str, str]) -> ParkedPage:
    """One page of an answer of `parked list`: `q` in the query searches names and reasons, `page` counts from 1."""
    wanted = query.get("q", "").strip().lower()
    found = [it for it in tables if wanted in f"{it['table']} {it['reason']}".lower()]
    pages = max(1, -(-len(found) // PAGE))
    page = min(pages, max(1, _number(query.get("page", ""))))

    def link(number: int) -> str:
        values = {**({"q": wanted} if wanted else {}), "page": number}
        return f"/targets/{segment(target)}/parked?{urlencode(values)}" if 1 <= number <= pages else ""

    return ParkedPage(
        rows=tuple(row_of(target, it) for it in found[(page - 1) * PAGE : page * PAGE]),
        tables=len(found),
        events=sum(it["events"] for it in found),
        page=page,
        pages=pages,
        earlier=link(page - 1),
        later=link(page + 1),
    )


def row_of(target: str, table: Mapping[str, Any]) -> ParkedRow:
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
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 9 else 1
