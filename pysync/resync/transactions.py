"""Transactions: transactional tables that a target reads again, as something was committed to them.

The event of a write comes before its commit, and is the same if the write is aborted later. So the source is asked from
time to time which writes of these tables are committed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

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
_MS = 1000


class CommittedWrites(Trigger):
    """The tables with writes that were committed since the last time, each `every` seconds.

    `taken` gives the snapshots that tables were read at, for events, too: so a new table is known. What was seen is in
    memory: after a start all transactional tables are read once. `timer` returns seconds that only grow.
    """

    name = "transactions"
    is_frequent = True

    def __init__(
        self,
        scope: RefreshScope,
        every: float,
        *,
        taken: Callable[[], Mapping[TableName, Snapshot]],
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scope = scope
        self._every = every
        self._taken = taken
        self._timer = timer
        self._listed_at = -math.inf
        self._seen = dict[TableName, Snapshot | None]()
        self._reading = dict[TableName, Snapshot | None]()

    def due(self, last: Resync | None, now: float) -> ResyncRequest | None:
        """The next one begins when all of the last one is queued: one table that waits must not hold up the others."""
        is_due = last is None or (not last.is_queueing and now >= last.began_at_ms / _MS + self._every)
        return ResyncRequest("writes to transactional tables may have been committed") if is_due else None

    def wanted(self, source: Reads, resync: Resync) -> Wanted:  # noqa: ARG002 - it always begins anew
        """The tables with newer writes than were seen, and those that were not seen yet."""
        self._reading = {}
        if self._timer() - self._listed_at < _LIST_SECONDS:
            return Wanted(self._newer(source, sorted({*self._seen, *list(self._taken())})))
        return Wanted(self._newer_of_all(source))

    def all_queued(self, resync: Resync) -> bool:  # noqa: ARG002
        """What was read counts as seen now."""
        self._seen = self._reading
        return True

    def _newer_of_all(self, source: Reads) -> Iterator[Names]:
        listed_at = self._timer()
        names = [place(it) for it in chosen(source, self._scope, lambda it: bool(transactional_kind(it)))]
        yield from self._newer(source, names)
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


def _snapshots(source: Reads, names: Sequence[TableName]) -> dict[TableName, Snapshot]:
    """Nothing before Hive 3, which does not know the call: a refresh says so of each table."""
    try:
        return source.snapshots(names)
    except MetastoreUnsupported:
        return {}
