"""The feed: records of the journal as lines; one line stands for records that are alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.web.views.actions import ActionRow, action_row, page_link

LINES = 50
"""Lines of a page of the journal."""

MOST_RECORDS = 500
"""Records that are read for one page."""

_TOGETHER_SECONDS = 60.0
_MOST_NAMED = 100
_NAME = "…"
_OF_ONE = ("positions", "took", "visible")
"""The columns of what a record alone has."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeedLine:
    """Records that are alike, the newest first: what differs are their objects and times."""

    rows: tuple[ActionRow, ...]
    reason: str

    @property
    def newest(self) -> ActionRow:
        """The one that the line shows."""
        return self.rows[0]

    @property
    def is_many(self) -> bool:
        """Whether there are several."""
        return len(self.rows) > 1

    @property
    def named(self) -> tuple[ActionRow, ...]:
        """Those that a line names when it is opened; a row for each object."""
        return tuple({it.object: it for it in reversed(self.rows)}.values())[::-1][:_MOST_NAMED]

    @property
    def objects(self) -> int:
        """How many objects they are about."""
        return len({it.object for it in self.rows if it.object})


@dataclass(frozen=True, slots=True)
class ActionFeed:
    """Lines, and the names of the columns in which any of them has something; `older` leads to the records before."""

    lines: tuple[FeedLine, ...]
    columns: frozenset[str]
    older: str = ""


def alike_feed(records: Sequence[Mapping[str, Any]], most: int) -> ActionFeed:
    """The newest lines, where one stands for all records that are alike."""
    return _feed(_lines(records, math.inf)[:most])


def journal_feed(answer: Mapping[str, Any], query: Mapping[str, str]) -> ActionFeed:
    """A page of the journal, where one line stands for records that are alike and close to each other."""
    records, before = list(answer["records"]), answer.get("next")
    lines = _lines(records, _TOGETHER_SECONDS)
    if len(lines) > LINES:
        # The page ends before the record that begins another line.
        end = records.index(lines[LINES][0])
        records, before = records[:end], records[end - 1]["id"]
        lines = _lines(records, _TOGETHER_SECONDS)
    return _feed(lines, page_link(query, before) if before is not None else "")


def _lines(records: Iterable[Mapping[str, Any]], within: float) -> list[list[Mapping[str, Any]]]:
    """The records of each line, in the order of the newest of each; those of one are `within` so many seconds."""
    lines, latest = list[list[Mapping[str, Any]]](), dict[Key, list[Mapping[str, Any]]]()
    for it in records:
        key = _key(it)
        line = latest.get(key)
        if line is None or (line[0].get("at") or 0) - (it.get("at") or 0) > within:
            line = latest[key] = []
            lines.append(line)
        line.append(it)
    return lines


def _feed(found: Iterable[Sequence[Mapping[str, Any]]], older: str = "") -> ActionFeed:
    lines = tuple(map(_line, found))
    singles = [line.newest for line in lines if not line.is_many]
    columns = {it for it in _OF_ONE if any(getattr(row, it) for row in singles)}
    if any(line.newest.target for line in lines):
        columns.add("target")
    return ActionFeed(lines, frozenset(columns), older)


def _line(records: Sequence[Mapping[str, Any]]) -> FeedLine:
    rows = tuple(map(action_row, records))
    return FeedLine(rows, rows[0].reason if len(rows) == 1 else _common(records[0]))


def _key(record: Mapping[str, Any]) -> Key:
    """What is the same of records that are alike."""
    database = str(record.get("source_object") or record.get("object") or "").partition(".")[0]
    fields = (str(record.get(it) or "") for it in ("target", "operation", "outcome", "who"))
    return (*fields, database, _common(record))


def _common(record: Mapping[str, Any]) -> str:
    """The reason without the names of the record's object."""
    text = str(record.get("reason") or "")
    names = {str(record.get(it) or "") for it in ("object", "source_object")} - {""}
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, _NAME)
    return text
