"""The inventory: every table of the source with its state at each target, and how many there are of each state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pysync.web.views.tones import BAD, GOOD, IDLE, WARN
from pysync.web.words import segment

PAGE = 100
"""Tables of one page."""

FILTERS = ("state", "target", "database", "name", "sort")
SORTS: Mapping[str, str] = {"urgency": "trouble first", "name": "name", "last_done": "last done"}
"""The orders, the first where none is chosen, and what the page calls them."""

TONES: Mapping[str, str] = {
    "held": WARN,
    "parked": BAD,
    "drifted": BAD,
    "foreign": BAD,
    "behind": WARN,
    "pinned": WARN,
    "kept": WARN,
    "unknown": IDLE,
    "dropped": IDLE,
    "in_sync": GOOD,
    "out_of_scope": IDLE,
}
"""The states, and how urgent each is."""

_MOST_DATABASES = 12


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
class Facet:
    """How many tables a choice leaves, and the address of these; of none there is no address."""

    text: str
    number: int
    link: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class StateCounts:
    """A state with a facet for each target."""

    state: str
    tone: str
    targets: tuple[Facet, ...]


@dataclass(frozen=True, slots=True)
class TablesPage:
    """A page of the list; `later` leads to the next one, which begins with `next`, if that is known.

    `fitting` is how many tables are on all pages, if that is known. `decisions` are the pages where people decide about
    what is held and parked. `counted_to` is the table before which counting ended, `uncounted` the address of those
    from there on; both are empty where all are counted.
    """

    rows: tuple[TableRow, ...]
    targets: tuple[str, ...]
    next: str
    later: str
    first: str
    as_of: float | None
    counted_targets: tuple[str, ...] = ()
    states: tuple[StateCounts, ...] = ()
    databases: tuple[Facet, ...] = ()
    decisions: tuple[Facet, ...] = ()
    fitting: int | None = None
    counted_to: str = ""
    uncounted: str = ""


def tables_request(query: Mapping[str, str]) -> dict[str, Any]:
    """What to ask `tables` for: the filter of a request, and where the page begins."""
    chosen = {**filter_of(query), "begin": query.get("from", "").strip() or None}
    part = chosen.pop("name", None)
    if chosen.get("state") not in TONES:
        chosen.pop("state", None)
    if chosen.get("sort") not in SORTS:
        chosen["sort"] = next(iter(SORTS))
    return {**chosen, "part": part, "limit": PAGE}


def filter_of(query: Mapping[str, str]) -> dict[str, Any]:
    """The filter in a request, without what is empty."""
    return {key: query[key].strip() for key in FILTERS if query.get(key, "").strip()}


def tables_page(answer: Mapping[str, Any], query: Mapping[str, str]) -> TablesPage:
    """The page of an answer of `tables`."""
    rows = tuple(_row(it) for it in answer["objects"])
    begin, counts = answer.get("next") or "", answer.get("counts") or {}
    counted_to = answer.get("counted_to") or ""
    return TablesPage(
        rows=rows,
        targets=tuple(it.target for it in rows[0].targets) if rows else (),
        next=begin if query.get("sort") == "name" else "",
        later=_link({**query, "from": begin}) if begin else "",
        first=_link(query, drop="from") if query.get("from") else "",
        as_of=answer.get("as_of"),
        counted_targets=tuple(counts),
        states=tuple(_state_counts(it, counts, query) for it in TONES if any(it in known for known in counts.values())),
        databases=_databases(answer.get("databases") or {}, query),
        fitting=sum(answer["databases"].values()) if "databases" in answer else None,
        decisions=tuple(_decisions(counts)),
        counted_to=counted_to,
        uncounted=_link({**query, "sort": "name", "from": counted_to}) if counted_to else "",
    )


def _state_counts(state: str, counts: Mapping[str, Mapping[str, int]], query: Mapping[str, str]) -> StateCounts:
    chosen = query.get("state") == state

    def facet(target: str) -> Facet:
        number = counts[target].get(state, 0)
        link = _link({**query, "state": state, "target": target}, drop="from") if number else ""
        return Facet(target, number, link, chosen and query.get("target", "") in {"", target})

    return StateCounts(state.replace("_", " "), TONES[state], tuple(map(facet, counts)))


def _decisions(counts: Mapping[str, Mapping[str, int]]) -> Iterator[Facet]:
    """Where to decide about what is held and parked at each target."""
    for target, numbers in counts.items():
        link = f"/targets/{segment(target)}"
        for state, place in (("held", link), ("parked", f"{link}/parked")):
            if numbers.get(state):
                yield Facet(f"{state} at {target}", numbers[state], place, is_chosen=False)


def _databases(databases: Mapping[str, int], query: Mapping[str, str]) -> tuple[Facet, ...]:
    """Those with the most tables that fit."""
    most = sorted(databases, key=lambda it: (-databases[it], it))[:_MOST_DATABASES]
    return tuple(
        Facet(it, databases[it], _link({**query, "database": it}, drop="from"), query.get("database") == it)
        for it in most
    )


def _link(query: Mapping[str, str], drop: str = "") -> str:
    values = {**filter_of(query), **({"from": query["from"]} if query.get("from") and drop != "from" else {})}
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
