"""Latest objects: what the source must have by its latest events, unless something was changed since.

A metastore whose database was restored from a backup is older than the events that came from it. Nothing else shows
that: its listener goes on as after any restart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.capture.overlaps import CLOSE_SECONDS
from pysync.model.change import Change
from pysync.model.definition import definition
from pysync.model.event import Kind
from pysync.model.names import TableName
from pysync.model.removal import name_of_values

_MOST = 20
_MOST_FORMERS = 10
_CLOSE_MS = CLOSE_SECONDS * 1000
"""Events of two threads that are no further apart may come in another order than their commits."""

_PUTS = frozenset({Kind.CREATE_DATABASE, Kind.CREATE_TABLE, Kind.ALTER_TABLE, Kind.ADD_PARTITION, Kind.ALTER_PARTITION})
_OF_SEVERAL = frozenset({Kind.ADD_PARTITION, Kind.DROP_PARTITION})
_DROPS = frozenset({Kind.DROP_DATABASE, Kind.DROP_TABLE, Kind.DROP_PARTITION})


@dataclass(frozen=True, slots=True, eq=False)
class LatestState:
    """A database, a table of it or a partition (`key=value`) of the table, as its latest event left it.

    `created` is its createTime (s; 0: not known), of one that was dropped the one that it had. `digest` is one of its
    definition, `formers` are those of what its last alters replaced. `origin` are the listener and the thread of the
    event. It is not `certain` if an event of another thread came shortly before: nobody knows which was the latest.
    """

    database: str
    table: str
    partition: str
    exists: bool
    created: int
    digest: str
    formers: Sequence[str]
    origin: str
    time_ms: int
    certain: bool = True

    def __str__(self) -> str:
        table = f"{self.database}.{self.table}" if self.table else self.database
        return f"{table}/{self.partition}" if self.partition else table

    def contradiction(self, found: Any | None) -> str:
        """What is older of the object `found` at the source (None: it is not there) than this; "" if nothing is."""
        if found is None:
            return "is not there, though no event says that it was dropped" if self.exists else ""
        created = _created(found)
        if not self.exists:
            return "is there, though an event says that it was dropped" if created <= self.created else ""
        is_former = created < self.created or _digest(found) in self.formers
        return "is as it was before its latest event" if is_former else ""

    def is_in(self, other: LatestState) -> bool:
        """Whether it is the same object, or a part of it."""
        parts = zip(self._names(), other._names(), strict=True)
        return all(theirs in {"", ours} for ours, theirs in parts)

    def is_same(self, other: LatestState) -> bool:
        """Whether it is the same object."""
        return self._names() == other._names()

    def is_close_to(self, other: LatestState) -> bool:
        """Whether nobody knows which of the two events came first."""
        return self.origin != other.origin and abs(self.time_ms - other.time_ms) < _CLOSE_MS

    def _names(self) -> tuple[str, str, str]:
        return self.database, self.table, self.partition


class LatestObjects:
    """The objects of the latest events, the newest last. For one thread."""

    def __init__(self, states: Iterable[LatestState] = ()) -> None:
        self.states = list(states)

    def note(self, change: Change) -> None:
        """Note a change that came after all that were noted."""
        if change.kind in _OF_SEVERAL:  # of which only the last becomes a state
            self.states = [it for it in self.states if not it.partition or not _is_of(it, change.own_table)]
        for state in _states_of(change):
            self._note(state)

    def doubt(self, table: TableName) -> None:
        """Note that it is not known what has become of a table, until its next event."""
        self.states = [replace(it, certain=False) if _is_of(it, table) else it for it in self.states]

    def forget_oldest(self, but: Collection[LatestState]) -> None:
        """Forget all but the latest 20, and those of `but`."""
        latest = self.latest()
        self.states = [it for it in self.states if it in latest or it in but]

    def latest(self) -> list[LatestState]:
        """The latest 20."""
        return self.states[-_MOST:]

    def _note(self, state: LatestState) -> None:
        is_close = any(state.is_in(it) and state.is_close_to(it) for it in self.states)
        before = next((it for it in self.states if it.is_same(state)), None)
        self.states = [it for it in self.states if it is not before]
        if not state.exists:  # nor is anything in it
            self.states = [
                replace(it, exists=False, certain=not it.is_close_to(state)) if it.is_in(state) else it
                for it in self.states
            ]
        formers = [*(before.formers if before else ()), *state.formers]
        formers = [it for it in formers if it != state.digest][-_MOST_FORMERS:]
        self.states.append(replace(state, formers=formers, certain=not is_close))


def _is_of(state: LatestState, table: TableName) -> bool:
    return (state.database, state.table) == (table.database, table.table)


def _states_of(change: Change) -> Iterator[LatestState]:
    """What a change says of an object: of a rename of both names, of several partitions of the last."""
    before, after = change.before[-1:], change.after[-1:]
    if change.kind in _DROPS or (change.kind in _PUTS and before and _names(before[0]) != _names(after[0])):
        yield from (_state(change, it, exists=False, created=_created(it)) for it in before)
    if change.kind in _PUTS:
        # A client may send any createTime with an alter.
        created = min(map(_created, (*before, *after)))
        formers = [_digest(it) for it in before]
        yield from (_state(change, it, exists=True, created=created, formers=formers) for it in after)


def _state(change: Change, item: Any, *, exists: bool, created: int, formers: Sequence[str] = ()) -> LatestState:
    event, (database, table, values) = change.event, _names(item)
    keys = [it.name for it in change.table.partitionKeys or ()] if values is not None else []
    return LatestState(
        database=database,
        table=table,
        partition=name_of_values(keys, values) if values is not None else "",
        exists=exists,
        created=created,
        digest=_digest(item),
        formers=formers,
        origin=f"{event.instance} {event.attributes.get('thread', '')}",
        time_ms=event.time_ms,
    )


def _names(item: Any) -> tuple[str, str, Sequence[str] | None]:
    """The names of a database, of a table, or of a partition's table and its values."""
    database = item.name if isinstance(item, hive.Database) else item.dbName
    values = item.values or () if isinstance(item, hive.Partition) else None
    return database, getattr(item, "tableName", ""), values


def _created(item: Any) -> int:
    return getattr(item, "createTime", None) or 0


def _digest(item: Any) -> str:
    """The same for equal definitions."""
    return blake2b(repr(definition(item)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
