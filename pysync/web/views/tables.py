"""The inventory: every table of the source with its state at each target, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pysync.web.views.tones import BAD, GOOD, IDLE, WARN
from pysync.web.words import segment

PAGE = 100
"""Tables of one page."""

FILTERS = ("state", "target", "database", "name", "sort")
SORTS = ("name", "last_done")

TONES: Mapping[str, str] = {
    "in_sync": GOOD,
    "behind": WARN,
    "parked": BAD,
    "held": WARN,
    "kept": WARN,
    "pinned": WARN,
    "foreign": BAD,
    "out_of_scope": IDLE,
    "drifted": BAD,
    "dropped": IDLE,
    "unknown": IDLE,
}
"""The states, and how urgent each is."""


@dataclass(frozen=True, slots=True)
class TargetState:
    """A table's state at one target; `as_of` is a time in seconds since 1970, or None."""

    target: str
    tone: str
    state: str
    text: str
    as_of: float | None


@dataclass(frozen=True, slots=True)
class TableRow:
    """A table; `is_gone`: the source does not have it."""

    name: str
    link: str
    is_gone: bool
    targets: tuple[TargetState, ...]
    done_at: float | None


@dataclass(frozen=True, slots=True)
class TablesPage:
    """A page of the list; `later` leads to the next one, which begins with `next`, if that is known."""

    rows: tuple[TableRow, ...]
    targets: tuple[str, ...]
    next: str
    later: str
    first: str
    as_of: float | None


def tables_request(query: Mapping[str, str]) -> dict[str, Any]:
    """What to ask `tables` for: the filter of a request, and where the page begins."""
    chosen = {**filter_of(query), "begin": query.get("from", "").strip() or None}
    part = chosen.pop("name", None)
    for key, known in (("state", TONES), ("sort", SORTS)):
        if chosen.get(key) not in known:
            chosen.pop(key, None)
    return {**chosen, "part": part, "limit": PAGE}


def filter_of(query: Mapping[str, str]) -> dict[str, Any]:
    """The filter in a request, without what is empty."""
    return {key: query[key].strip() for key in FILTERS if query.get(key, "").strip()}


def tables_page(answer: Mapping[str, Any], query: Mapping[str, str]) -> TablesPage:
    """The page of an answer of `tables`."""
    rows = tuple(_row(it) for it in answer["objects"])
    begin = answer.get("next") or ""
    return TablesPage(
        rows=rows,
        targets=tuple(it.target for it in rows[0].targets) if rows else (),
        next="" if query.get("sort") == "last_done" else begin,
        later=_link(query, begin) if begin else "",
        first=_link(query) if query.get("from") else "",
        as_of=answer.get("as_of"),
    )


def _link(query: Mapping[str, str], begin: str = "") -> str:
    values = {**filter_of(query), **({"from": begin} if begin else {})}
    return "/tables" + (f"?{urlencode(values)}" if values else "")


def _row(row: Mapping[str, Any]) -> TableRow:
    done = [it["done_at"] for it in row["targets"] if it.get("done_at") is not None]
    return TableRow(
        name=row["object"],
        link=f"/tables/{segment(row['object'])}",
        is_gone=row.get("at_source") is False,
        targets=tuple(_at_target(it) for it in row["targets"]),
        done_at=max(done, default=None),
    )


def _at_target(target: Mapping[str, Any]) -> TargetState:
    state = str(target["state"])
    # Of one that is in sync every row would say the same: now.
    as_of = None if state == "in_sync" else target.get("as_of")
    return TargetState(target["target"], TONES.get(state, IDLE), state.replace("_", " "), target["text"], as_of)
