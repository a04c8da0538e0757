"""Views of objects: operations of the journal, parked events, and the life of one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pysync.base.text import count, one_line
from pysync.model.difference import number_of
from pysync.web.site import segment, span
from pysync.web.views.charts import BAD, GOOD, IDLE, OUTCOMES, WARN, tone_of_outcome, worst_tone

# --- Actions: the journal's records as rows, and the filter that chooses them

PAGE = 50
"""Records of one page."""

FILTERS = ("target", "outcome", "database", "table")
_SHOWN_PARTITIONS = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """A field, what it was at the target and what it became."""

    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Row:
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
    differences: tuple[Difference, ...]

    @property
    def differed(self) -> int:
        """How many fields differed, also those that are only counted."""
        return number_of(it.field for it in self.differences)


def filter_of(query: Mapping[str, str]) -> dict[str, str]:
    """The filter in a request: what is empty or not a filter's is left out."""
    return {key: query[key].strip() for key in FILTERS if query.get(key, "").strip()}


def request_of(query: Mapping[str, str]) -> dict[str, Any]:
    """What to ask the journal for: the filter, and the id that the page begins before."""
    request: dict[str, Any] = {**filter_of(query), "limit": PAGE}
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


def rows_of(records: Sequence[Mapping[str, Any]]) -> list[Row]:
    """The records as they are shown, in their order."""
    return [action_row(it) for it in records]


def action_row(record: Mapping[str, Any]) -> Row:
    """One record; whatever field an older journal lacks is left empty."""
    name = str(record.get("source_object") or record.get("object") or "")
    outcome = str(record.get("outcome") or "")
    committed, at = record.get("committed_at"), record.get("at")
    milliseconds = record.get("milliseconds")
    return Row(
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
        took="" if milliseconds is None else span(milliseconds / 1000),
        visible=span(max(0.0, at - committed)) if outcome == "applied" and committed and at else "",
        reason=str(record.get("reason") or ""),
        who=str(record.get("who") or ""),
        differences=differences_of(record),
    )


def differences_of(record: Mapping[str, Any]) -> tuple[Difference, ...]:
    """What differed, field by field."""
    differences = record.get("differences") or ()
    return tuple(Difference(_text(it.get("field")), _text(it.get("old")), _text(it.get("new"))) for it in differences)


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


# --- Parked: what a target refused, table by table, a page at a time

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


# --- A table: its history as in `pysync why`: what the source did and what each target did, the newest first

_REASONS = {
    **dict.fromkeys(("applied", "at_both_ends"), GOOD),
    **dict.fromkeys(("waiting", "in_spool", "paused", "brake", "target_away", "gap_open", "only_at_source"), WARN),
    "disabled": IDLE,
    **dict.fromkeys(("parked", "foreign"), BAD),
}
_COMPARED = {True: "it had drifted", False: "no drift", None: "not known whether it had drifted"}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a target has the table as it has it, and what to type about it."""

    tone: str
    code: str
    text: str
    hint: str


@dataclass(frozen=True, slots=True)
class AtTarget:
    """What one target has done with it."""

    target: str
    tone: str
    object: str
    verdict: str
    reasons: tuple[Reason, ...]
    parked: tuple[Mapping[str, Any], ...]
    compared: str  # what the last comparison found; empty if there was none
    compared_at: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of the timeline: an event of the source, or (`row`) a record of a target."""

    at: float
    where: str
    text: str
    tone: str
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class TableView:
    """The page's content; `names` are the former ones."""

    name: str
    names: tuple[str, ...]
    targets: tuple[AtTarget, ...]
    timeline: tuple[Moment, ...]


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


def _at_target(target: Mapping[str, Any]) -> AtTarget:
    verify = target.get("verify") or {}
    reasons = tuple(_reason(it) for it in target.get("reasons") or ())
    return AtTarget(
        target=target["target"],
        tone=worst_tone(it.tone for it in reasons) if reasons else IDLE,
        object=str(target.get("object") or ""),
        verdict=str(target.get("verdict") or ""),
        reasons=reasons,
        parked=tuple(target.get("parked") or ()),
        compared=_COMPARED[verify.get("drifted")] if verify else "",
        compared_at=verify.get("at"),
    )


def _reason(reason: Mapping[str, Any]) -> Reason:
    code = str(reason.get("code") or "unknown")
    return Reason(
        _REASONS.get(code, IDLE), code.replace("_", " "), str(reason.get("text") or ""), reason.get("hint") or ""
    )


def _of_source(source: Mapping[str, Any]) -> list[Moment]:
    events: Sequence[Mapping[str, Any]] = source.get("events") or ()
    return [
        Moment(it["at"], "source", f"{it.get('kind') or 'event'} (event {it.get('position')})", IDLE)
        for it in events
        if it.get("at") is not None
    ]


def _of_target(target: Mapping[str, Any]) -> list[Moment]:
    rows = [action_row(it) for it in target.get("records") or ()]
    return [Moment(it.at, target["target"], it.operation, it.tone, it) for it in rows if it.at is not None]
