"""Transactions: transactional tables that a target reads again, as something was committed to them.

The event of a write comes before its commit, and is the same if the write is aborted later. So the source is asked from
time to time which writes of these tables are committed, and soon after a write was found open.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.metastore.errors import MetastoreUnsupported
from pysync.metastore.reads import Reads
from pysync.model.names import TableName
from pysync.model.reencoding import transactional_kind
from pysync.model.snapshot import Snapshot
from pysync.queue import Resync
from pysync.resync.trigger import ResyncRequest, Trigger, Wanted
from pysync.resync.wanted import Names, RefreshScope, chosen, place, table

_LIST_SECONDS = 600.0
"""How often all tables in scope are listed, for some may have become transactional."""
_TABLES_PER_CALL = 500
_SOON_SECONDS = 1.0
"""The shortest time between two looks at writes that are open. The longer these are, the longer it is."""
_MOST_WAITING = 100  # snapshots of a table that are remembered while the target lacks them
_MS = 1000


@dataclass(frozen=True, slots=True)
class _Seen:
    """A snapshot that the source had at a time, in seconds since 1970."""

    seen_at: float
    snapshot: Snapshot


class CommittedWrites(Trigger):
    """The tables with newly committed writes, looked at each `every` seconds; those with open ones sooner.

    `taken` gives the snapshots whose rows the target has, by events, too: so a new table is known. What was seen is in
    memory: after a start all transactional tables are read once. `clock` returns seconds since 1970, `timer` seconds
    that only grow.
    """

    name = "transactions"
    is_frequent = True

    def __init__(
        self,
        scope: RefreshScope,
        every: float,
        *,
        taken: Callable[[], Mapping[TableName, Snapshot]],
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scope = scope
        self._every = every
        self._taken = taken
        self._clock = clock
        self._timer = timer
        self._listed_at = -math.inf
        self._seen = dict[TableName, Snapshot | None]()
        self._reading = dict[TableName, Snapshot | None]()
        self._gone = dict[TableName, Snapshot]()  # what was read of tables that are no longer there
        self._looked_at: float | None = None
        self._all_looked_at = -math.inf
        self._opened = dict[TableName, tuple[tuple[int, ...], float]]()  # the open writes, and since when these are
        self._waiting = dict[TableName, list[_Seen]]()

    def status(self) -> dict[str, Any]:
        """How far the target is behind, as in `pysync status --json`; for any thread."""
        taken = dict(self._taken())
        waiting = [self._still_waiting(it, taken.get(it)) for it in list(self._waiting)]
        since = [of_table[0].seen_at for of_table in waiting if of_table]
        return {
            "tables": len(self._seen),
            "behind": len(since),
            "behind_since": min(since, default=None),
            "looked_at": self._looked_at,
        }

    def due(self, last: Resync | None, now: float) -> ResyncRequest | None:
        """The next one begins when all of the last one is queued: one table that waits must not hold up the others."""
        self._note_open(now)
        is_due = last is None or (not last.is_queueing and (self._is_all_due(now) or bool(self._open_due(now))))
        return ResyncRequest("writes to transactional tables may have been committed") if is_due else None

    def wanted(self, source: Reads, resync: Resync) -> Wanted:  # noqa: ARG002 - it always begins anew
        """The tables with newer writes than were seen, and those that were not seen yet."""
        if not self._is_all_due(self._clock()):
            self._reading = dict(self._seen)
            return Wanted(self._newer(source, self._open_due(self._clock())))
        self._reading = {}
        if self._timer() - self._listed_at < _LIST_SECONDS:
            read = [it for it, snapshot in dict(self._taken()).items() if self._gone.get(it) is not snapshot]
            return Wanted(self._newer(source, sorted({*self._seen, *read})))
        return Wanted(self._newer_of_all(source))

    def all_queued(self, resync: Resync) -> bool:  # noqa: ARG002
        """What was read counts as seen now."""
        now, taken, waiting = self._clock(), dict(self._taken()), dict[TableName, list[_Seen]]()
        for name, snapshot in self._reading.items():
            before = self._still_waiting(name, taken.get(name))
            if snapshot is not None and _lacks(before[-1].snapshot if before else taken.get(name), snapshot):
                before = [*before[:_MOST_WAITING], _Seen(now, snapshot)]
            waiting[name] = before
        self._waiting = waiting
        if self._is_all_due(now):
            self._all_looked_at = now
        self._seen, self._looked_at = self._reading, now
        return True

    def _is_all_due(self, now: float) -> bool:
        return now >= self._all_looked_at + self._every

    def _note_open(self, now: float) -> None:
        """Keep since when the writes are open that the last look, or a later event, has found so."""
        opened = dict[TableName, tuple[tuple[int, ...], float]]()
        for name, snapshot in {**dict(self._taken()), **self._seen}.items():
            taken = self._taken().get(name)
            latest = taken if snapshot is None or (taken is not None and taken.highest > snapshot.highest) else snapshot
            if latest is not None and latest.open:
                before = self._opened.get(name)
                opened[name] = before if before is not None and before[0] == latest.open else (latest.open, now)
        self._opened = opened

    def _open_due(self, now: float) -> list[TableName]:
        """The tables whose open writes are to be looked at: after 1 s, 2 s, 4 s, …, so a long one costs little."""
        looked_at = self._looked_at or -math.inf
        due = {it: looked_at + max(_SOON_SECONDS, looked_at - since) for it, (_, since) in self._opened.items()}
        return sorted(it for it, at in due.items() if now >= at)

    def _still_waiting(self, name: TableName, taken: Snapshot | None) -> list[_Seen]:
        return [it for it in self._waiting.get(name, ()) if _lacks(taken, it.snapshot)]

    def _newer_of_all(self, source: Reads) -> Iterator[Names]:
        listed_at, taken = self._timer(), dict(self._taken())
        names = [place(it) for it in chosen(source, self._scope, lambda it: bool(transactional_kind(it)))]
        yield from self._newer(source, names)
        self._gone = {it: snapshot for it, snapshot in taken.items() if it not in self._reading}
        self._listed_at = listed_at

    def _newer(self, source: Reads, names: Sequence[TableName]) -> Iterator[Names]:
        for start in range(0, len(names), _TABLES_PER_CALL):
            some = names[start : start + _TABLES_PER_CALL]
            snapshots = _snapshots(source, some)
            for name in some:
                self._reading[name] = now = snapshots.get(name)
                if self._is_wanted(name, now):
                    yield table(source, name)

    def _is_wanted(self, name: TableName, now: Snapshot | None) -> bool:
        """Whether it is a table that was neither seen nor read, or has a write that both did not have."""
        known = [it for it in (self._seen.get(name), self._taken().get(name)) if it is not None]
        if now is None or not known:
            return name not in self._seen
        return all(map(now.is_newer_than, known))


def _lacks(taken: Snapshot | None, snapshot: Snapshot) -> bool:
    return taken is None or snapshot.is_newer_than(taken)


def _snapshots(source: Reads, names: Sequence[TableName]) -> dict[TableName, Snapshot]:
    """Nothing before Hive 3, which does not know the call: a refresh says so of each table."""
    try:
        return source.snapshots(names)
    except MetastoreUnsupported:
        return {}
