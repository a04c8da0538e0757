"""Held: what the brake of a target holds and what a person has kept, and the decisions of people about these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, cast

from pysync.base.errors import PysyncError
from pysync.base.health import decide
from pysync.base.text import count, nearest, quoted
from pysync.queue import EventQueue, Removal
from pysync.replay.brake import BothEnds, Brake
from pysync.replay.limits import Limits

MOST_OBJECTS = 20
"""How many objects the status names."""

_MOST_DATABASES = 3

Request = Mapping[str, Any]


class Deciding(Protocol):
    """A target of which something is held or kept: a Drain, or one whose sidecar does not run."""

    name: str

    @property
    def brake(self) -> Brake:
        """Who knows what is held and kept."""

    def decide(self, names: Collection[str], *, keep: bool) -> list[Removal]:
        """See Brake.decide."""


def _no_ends() -> AbstractContextManager[BothEnds]:
    return nullcontext(cast("BothEnds", None))


@dataclass(slots=True)
class Resting:
    """A target without a sidecar. What is decided is carried out by whatever opens the queue next."""

    name: str
    brake: Brake

    @classmethod
    def of(cls, queue: EventQueue, target: str) -> Resting:
        """The target of that name in a queue on which nothing runs."""
        # Without limits nothing is judged, and neither end is asked.
        return cls(target, Brake(target, Limits(), queue.target(target).removals, _no_ends))

    def decide(self, names: Collection[str], *, keep: bool) -> list[Removal]:
        """See Brake.decide."""
        return self.brake.decide(names, keep=keep)


def summary(rows: Sequence[Removal]) -> str:
    """`database hr with 40 tables`, `3 tables of db and 12 partitions of db`; of the first few databases."""
    names = sorted({it.database for it in rows})
    more = f", and drops in {count(len(names) - _MOST_DATABASES, 'more database')}"
    named = ", ".join(_of_database(name, rows) for name in names[:_MOST_DATABASES])
    return named + (more if len(names) > _MOST_DATABASES else "")


def brake_status(target: Deciding) -> dict[str, Any] | None:
    """What is held, as in docs/status.md; None if nothing is."""
    rows = target.brake.held()
    if not rows:
        return None
    return {
        "at": min(it.at_ms for it in rows) / 1000,
        "drops": sum(it.count for it in rows),
        "summary": summary(rows),
        "reason": rows[0].reason,
        "databases": [_database(name, rows) for name in sorted({it.database for it in rows})],
        "objects": [in_words(it) for it in rows[:MOST_OBJECTS]],
        "more": max(0, len(rows) - MOST_OBJECTS),
    }


def in_words(it: Removal) -> str:
    """`table db.t`, `partition db.t/k=1`, `12 partitions of db.t`."""
    if it.object.endswith("/*"):
        return f"{count(it.count, 'partition')} of {it.table}"
    return f"{it.kind} {it.object}"


def listed(target: Deciding) -> dict[str, Any]:
    """`objects`: all that is held."""
    return {"target": target.name, "objects": [_as_json(it) for it in target.brake.held()]}


def kept(target: Deciding) -> dict[str, Any]:
    """`objects`: all that a person has kept."""
    return {"target": target.name, "objects": [_as_json(it) for it in target.brake.kept()]}


def decided(target: Deciding, request: Request) -> dict[str, Any]:
    """Keep or drop objects that are held: those of the `names`, which may be databases, or all.

    To have them dropped, `seen` says how many they were: whoever drops them must have seen them. Raises PysyncError if
    there are others by now, or none.
    """
    names, keep = [str(it) for it in request.get("names") or ()], request.get("keep") is True
    meant = _meant(target.brake.held(), names, target.name, "held")
    if not keep and request.get("seen") != len(meant):
        raise PysyncError(
            f"{target.name} holds {count(len(meant), 'object')} of these now: {summary(meant)}", decide(target.name)
        )
    # By their own names: what has come since is not meant.
    rows = target.decide([it.object for it in meant], keep=keep)
    return {"target": target.name, "kept": keep, "objects": [_as_json(it) for it in rows]}


def released(target: Deciding, request: Request) -> dict[str, Any]:
    """Take back that objects are kept: those of the `names`, or all. The next comparison judges them again."""
    names = [str(it) for it in request.get("names") or ()]
    meant = _meant(target.brake.kept(), names, target.name, "kept")
    rows = target.brake.release([it.object for it in meant])
    return {"target": target.name, "objects": [_as_json(it) for it in rows]}


COMMANDS: Mapping[str, Callable[[Deciding, Request], dict[str, Any]]] = {
    "held list": lambda target, _: listed(target),
    "held decide": decided,
    "kept list": lambda target, _: kept(target),
    "kept release": released,
}
"""By their names in requests."""


def _meant(rows: Sequence[Removal], names: Sequence[str], target: str, state: str) -> list[Removal]:
    known = {name for it in rows for name in (it.object, it.table, it.database)}
    for name in names:
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean {near}?" if near else f"see: pysync {state} list {target}"
            raise PysyncError(f"{quoted(name)} is not {state} at {target}", hint)
    wanted = set(names)
    meant = [it for it in rows if not wanted or not wanted.isdisjoint({it.object, it.table, it.database})]
    if not meant:
        raise PysyncError(f"nothing is {state} at {target}")
    return meant


def _as_json(it: Removal) -> dict[str, Any]:
    return {
        "object": it.object,
        "kind": it.kind,
        "count": it.count,
        "reason": it.reason,
        "at": it.at_ms / 1000,
        "position": it.position,
    }


def _database(name: str, rows: Sequence[Removal]) -> dict[str, Any]:
    own = [it for it in rows if it.database == name]
    return {"database": name, "objects": len(own), "summary": summary(own), "reason": own[0].reason}


def _of_database(database: str, rows: Sequence[Removal]) -> str:
    numbers = Counter[str]()
    for it in rows:
        if it.database == database:
            numbers[it.kind] += it.count
    parts = [count(numbers[kind], kind) for kind in ("table", "function", "partition") if numbers[kind]]
    if numbers["database"]:
        return f"database {database}" + (f" with {' and '.join(parts)}" if parts else "")
    return f"{' and '.join(parts)} of {database}"
