"""Proof: whether a target with the events up to a position shows what the source's database had at one moment. Pure.

What speaks against it: an object was read at the source when that had more than these events; two metastores changed
the database at about the same time, so nobody knows whose change was first; or the events before and after the position
may belong to one call.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.model.event import Kind
from pysync.replay.window.concerns import concerns
from pysync.replay.window.order import is_database

_CALL_SECONDS = 0.1
"""The callbacks of one call follow each other at once."""
_OF_SEVERAL = frozenset(
    {
        Kind.ALTER_PARTITION,
        Kind.DROP_PARTITION,
        Kind.ADD_PRIMARYKEY,
        Kind.ADD_FOREIGNKEY,
        Kind.ADD_UNIQUECONSTRAINT,
        Kind.ADD_NOTNULLCONSTRAINT,
        Kind.ADD_DEFAULTCONSTRAINT,
        Kind.ADD_CHECKCONSTRAINT,
    }
)
"""The kinds of events of which one call of a metastore may bring several."""


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """An event of the database: who reported it, when by our clock (s), and what it is about, by the target's names.

    `keys` are empty if that is not known. `refresh`: it is the sidecar's own.
    """

    position: int
    instance: str
    thread: str | None
    at: float
    kind: Kind | None
    keys: frozenset[str]
    refresh: bool = False


def doubt(before: Sequence[ReportedChange], after: Sequence[ReportedChange], read: Set[str] | None) -> str | None:
    """Why the state between `before` and `after` may never have been at the source; None if it has.

    `before` are the last events of the database up to the position, as many as are close to the first of `after`;
    `after` all that have come since; `read` the objects that were read at the source meanwhile (None: too many).
    """
    if read is None:
        return "too many objects were read at the source meanwhile"
    return _read_later(after, read) or _two_metastores(before, after) or _one_call(before, after)


def _read_later(after: Sequence[ReportedChange], read: Set[str]) -> str | None:
    for event in after:
        if not event.refresh and any(_may_show(key, event.keys) for key in sorted(read)):
            return f"{_name(event)} changed again after it was read at the source"
    return None


def _may_show(key: str, keys: Set[str]) -> bool:
    """Whether what was read of an object shows a change of these keys; without a name it is the list of databases."""
    return not keys or (concerns({key})(keys) if key else any(map(is_database, keys)))


def _two_metastores(before: Sequence[ReportedChange], after: Sequence[ReportedChange]) -> str | None:
    for event in after:
        for other in before:
            of_two = not (event.refresh or other.refresh) and event.instance != other.instance
            if of_two and event.at - other.at < CLOSE_SECONDS:
                return f"two metastores changed {_name(other)} and {_name(event)} at about the same time"
    return None


def _one_call(before: Sequence[ReportedChange], after: Sequence[ReportedChange]) -> str | None:
    """Only the next event of a thread can be of the same call as its last one."""
    last = {(it.instance, it.thread): it for it in before}
    seen: set[tuple[str, str | None]] = set()
    for event in after:
        who = (event.instance, event.thread)
        other = last.get(who)
        follows = who not in seen and other is not None and event.at - other.at < _CALL_SECONDS
        if follows and other is not None and event.kind in _OF_SEVERAL and event.keys & other.keys:
            return f"two changes of {_name(event)} may be of one call"
        seen.add(who)
    return None


def _name(event: ReportedChange) -> str:
    return min(event.keys, default="an object")
