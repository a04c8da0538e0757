"""Records of the journal, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pysync.base.text import count, duration, last_line, local_time, shortened
from pysync.model.difference import number_of

_LONGEST = 100
"""Characters of a line about a value or a reason."""
_MOST_FIELDS = 5
_OBJECTS_ARE = frozenset({"created", "dropped", "dropped and created", "altered"})
"""What happens to a whole object, rather than of a field of it."""

Json = Mapping[str, Any]


def lines(record: Json) -> Iterator[str]:
    """A line for the record, then what it changed and why, indented."""
    target = f"{record['target']}  " if record["target"] else ""
    yield f"{local_time(record['at'])}  {target}{record['outcome']:<9}  {what(record)}"
    if record["reason"]:
        yield f"    {last_line(record['reason'], _LONGEST)}"
    for each in record["differences"][:_MOST_FIELDS]:
        yield f"    {_changed(each)}"
    if more := number_of(it["field"] for it in record["differences"][_MOST_FIELDS:]):
        yield f"    and {more:,} more"


def what(record: Json) -> str:
    """`PutTable shop.orders, 4 events, 12 ms`."""
    name = record["object"] or record["source_object"]
    former = f"{record['former']} -> " if record["former"] else ""
    return ", ".join([f"{record['operation']} {former}{name or ''}".strip(), *_numbers(record)])


def _numbers(record: Json) -> Iterator[str]:
    if record["partition_count"]:
        yield count(record["partition_count"], "partition")
    if record["events"] > 1:
        yield count(record["events"], "event")
    if record["attempts"] > 1:
        yield count(record["attempts"], "attempt")
    if record["milliseconds"] is not None:
        yield duration(record["milliseconds"] / 1000)
    if record["committed_at"] is not None and record["outcome"] == "applied":
        yield f"{duration(record['at'] - record['committed_at'])} after the commit"
    if record["who"]:
        yield f"by {record['who']}"


def _changed(difference: Json) -> str:
    field, old, new = difference["field"], difference["old"], difference["new"]
    if old is None and (new in _OBJECTS_ARE or str(new).startswith("moved to the trash")):
        return f"{field} {new}"
    return f"{field}: {_value(old)} -> {_value(new)}"


def _value(value: str | None) -> str:
    return "nothing" if value is None else shortened(repr(value), _LONGEST // 3)
