"""Parked: what a target refused, by table and by reason; retries and skips of a part of it."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import one_line
from pysync.model.wire import decode_event
from pysync.queue import Parked, ParkedTable
from pysync.replay.drain import Drain, Released

RELEASE_SECONDS = 7.0
"""How long a retry may take until it is answered as unfinished; less than a client waits for any answer."""

NAME = "…"
"""What stands in the reason of a group for the names and numbers in which the reasons of its tables differ."""

HELD = "the brake holds drops until somebody decides about them"
"""The reason of the group of all tables whose drops a target holds: what it holds has a list and words of its own."""

_ADVICE = 'on_conflict = "adopt"'
"""A part of the advice in the reason of such a refusal (targets/apply/judge_one_way)."""

_NUMBERS = re.compile(r"\b(?:[0-9a-f]{8}-[0-9a-f-]{27}|\d+(?:\.\d+)?)\b")


def common_reason(reason: str, table: str) -> str:
    """The last line of a reason, which says the most, with NAME for the names of its table and for numbers."""
    line = one_line((reason.strip().splitlines() or [""])[-1])
    last = re.split(r"[./]", table)[-1]
    names = [re.escape(table), rf"[\w$-]+\.{re.escape(last)}", *map(_in_quotes, re.split(r"[./@]", table))]
    if table:
        line = re.sub(rf"(?<![\w.])(?:{'|'.join(names)})(?![\w])", NAME, line, flags=re.IGNORECASE)
    return _NUMBERS.sub(NAME, line)


def _in_quotes(name: str) -> str:
    """A part of a name alone may be any word of a sentence, unless it is quoted."""
    return rf"(?<=['\"`]){re.escape(name)}(?=['\"`])" if name else r"(?!)"


def group_reason(table: ParkedTable) -> str:
    """The reason that a table has in common with the others of its group."""
    return HELD if table.kind == "held" else common_reason(table.reason, table.table)


def grouped(tables: Sequence[ParkedTable]) -> list[dict[str, Any]]:
    """The tables by the reason of their first event; those that only wait behind others come last, else by number."""
    groups: dict[tuple[str, str], list[ParkedTable]] = {}
    for it in tables:
        groups.setdefault((it.kind, group_reason(it)), []).append(it)
    rows = [_group(kind, reason, members) for (kind, reason), members in groups.items()]
    return sorted(rows, key=lambda it: (it["kind"] == "waits", -it["tables"], it["reason"]))


def is_adoptable(table: ParkedTable) -> bool:
    """Whether its first event is parked because the target's table is not the source's, and may become so."""
    return table.kind == "rejected" and "." in table.table and _ADVICE in table.reason


def _group(kind: str, reason: str, tables: Sequence[ParkedTable]) -> dict[str, Any]:
    return {
        "reason": reason,
        "kind": kind,
        "adoptable": all(map(is_adoptable, tables)),
        "tables": len(tables),
        "events": sum(it.events for it in tables),
        "attempts": max(it.attempts for it in tables),
        "first_at": min(it.first_at_ms for it in tables) / 1000,
        "last_at": max(it.last_at_ms for it in tables) / 1000,
    }


@dataclass(frozen=True, slots=True)
class ParkedSelection:
    """A part of what is parked: of a table (a name, or a pattern with `*`), for a reason, of some tables; None: of any.

    The reason is that of a group, or a part of one or of a whole reason.
    """

    table: str | None = None
    reason: str | None = None
    some: frozenset[str] | None = None

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> ParkedSelection:
        """The one that a request names."""
        table, reason, some = request.get("table"), request.get("reason"), request.get("tables")
        return cls(
            None if table is None else str(table).strip().lower(),
            str(reason).strip() if reason else None,
            None if some is None else frozenset(str(it).strip().lower() for it in some),
        )

    @property
    def is_pattern(self) -> bool:
        """Whether it is for several tables, which have to be looked for."""
        return (self.reason, self.some) != (None, None) or not set("*?[").isdisjoint(self.table or "")

    def tables(self, parked: Iterable[ParkedTable]) -> list[ParkedTable]:
        """Those that are selected."""
        named = [it for it in parked if self._names(it.table)]
        if self.reason is None:
            return named
        groups = {it.table: group_reason(it) for it in named}
        if self.reason in groups.values():
            return [it for it in named if groups[it.table] == self.reason]
        wanted = self.reason.lower()
        return [it for it in named if wanted in groups[it.table].lower() or wanted in it.reason.lower()]

    def _names(self, table: str) -> bool:
        is_one = self.some is None or table in self.some
        return is_one and (self.table is None or fnmatchcase(table, self.table))


def parked_table(table: ParkedTable) -> dict[str, Any]:
    """What is parked of one table."""
    return {
        "table": table.table,
        "events": table.events,
        "position": table.position,
        "kind": table.kind,
        "reason": table.reason,
        "attempts": table.attempts,
        "first_at": table.first_at_ms / 1000,
        "last_at": table.last_at_ms / 1000,
    }


def parked_event(rows: Sequence[Parked]) -> dict[str, Any]:
    """One parked event, from its rows."""
    first = rows[0]
    return {
        "position": first.position,
        "tables": [row.table for row in rows],
        "kind": first.kind,
        "reason": first.reason,
        "attempts": first.attempts,
        "first_at": first.first_at_ms / 1000,
        "last_at": first.last_at_ms / 1000,
        "event": _event(first.data),
        "data": base64.b64encode(first.data).decode(),
    }


def _event(data: bytes) -> dict[str, Any] | None:
    """What an event says of itself; None where it cannot be read."""
    try:
        event = decode_event(data)
    except PysyncError:
        return None
    return {
        "kind": str(event.kind),
        "source": event.source,
        "id": event.id,
        "time": event.time_ms / 1000,
        "attributes": dict(event.attributes),
        "visited": list(event.visited),
        "bytes": len(data),
    }


def listed(drain: Drain, parked: Sequence[ParkedTable], request: Mapping[str, Any]) -> dict[str, Any]:
    """`tables`: what is parked, or the part of it that the request selects, table by table; `groups`: by reason."""
    selected = ParkedSelection.of(request).tables(parked)
    rows = [{**parked_table(it), "group": group_reason(it), "adoptable": is_adoptable(it)} for it in selected]
    return {"target": drain.name, "tables": rows, "groups": grouped(selected)}


def retried(drain: Drain, parked: Sequence[ParkedTable], request: Mapping[str, Any]) -> dict[str, Any]:
    """Try the events again that the request selects, or all."""
    selection = ParkedSelection.of(request)
    if not selection.is_pattern:
        return _released([drain.retry(selection.table)])
    return _released([drain.retry_tables(_chosen(drain, selection, parked))])


def skipped(
    drain: Drain, parked: Sequence[ParkedTable], request: Mapping[str, Any], position: int | None
) -> dict[str, Any]:
    """Give the events up that the request selects: one by its position, or those of tables."""
    selection = ParkedSelection.of(request)
    if (position is None) == (selection == ParkedSelection()):
        raise PysyncError("cannot tell what to skip", "give either a position, or a table or a reason")
    if not selection.is_pattern:
        return _released([drain.skip(position=position, table=selection.table)])
    return _released([drain.skip(table=it) for it in _chosen(drain, selection, parked)])


def retried_tables(drain: Drain, tables: Sequence[str]) -> dict[str, Any]:
    """Try the events of these tables again."""
    return _released([drain.retry_tables(tables)] if tables else [])


def _chosen(drain: Drain, selection: ParkedSelection, parked: Sequence[ParkedTable]) -> list[str]:
    """The selected tables. Raises PysyncError if there is none: a pattern that is misspelt must not pass for done."""
    names = [it.table for it in selection.tables(parked) if it.table]
    if not names:
        raise PysyncError("nothing that is parked fits", f"see: pysync parked list {drain.name}")
    return names


def _released(futures: Sequence[Future[Released]]) -> dict[str, Any]:
    """The sum of the results, or that some are still to come."""
    until, results = time.monotonic() + RELEASE_SECONDS, list[Released]()
    for future in futures:
        try:
            results.append(future.result(max(0.0, until - time.monotonic())))
        except NotYet:
            # It is not cancelled: the drain does it as soon as it can.
            results.append(Released(finished=False, reason="the target is busy or does not answer"))
        except PysyncError:
            # What belongs together is released together, so a later one of several tables may have nothing left.
            if len(futures) == 1 or not results:
                raise
    return asdict(
        Released(
            skipped=sum(it.skipped for it in results),
            tried=sum(it.tried for it in results),
            left=sum(it.left for it in results),
            reason=next((it.reason for it in results if it.reason), None),
            finished=all(it.finished for it in results),
        )
    )
