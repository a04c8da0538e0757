"""History: a target that has lost or spoiled what came of a part of the kept history, and gets it once more.

The events themselves are not applied again: most of them describe a state that is no longer true. What they touched is
read at the source, as it is now. So the position of the target never moves back, and marks, brakes, parked events and a
kill in between need no second thought.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pysync.base.errors import PysyncError
from pysync.base.text import span
from pysync.metastore.reads import Reads
from pysync.model.names import TableName
from pysync.queue import EventQueue, Resync
from pysync.replay.window.policy import Policy
from pysync.resync.ranges import Range, touched
from pysync.resync.rows import ResyncRows
from pysync.resync.trigger import ResyncRequest, Trigger, Wanted
from pysync.resync.wanted import Names, database, some, table


@dataclass(frozen=True, slots=True)
class HistoryReplay(Trigger):
    """Ranges of the history that people name, one at a time. The history is retained until all of a range is queued."""

    queue: EventQueue
    rows: ResyncRows
    policy: Policy
    source: Callable[[], AbstractContextManager[Reads]]
    name = "history"
    is_asked = True

    def __post_init__(self) -> None:
        last = self.rows.last(self.name)
        if last is not None and last.is_queueing:
            self.queue.retain(self._holder, _range(last).first)

    def begin(self, wanted: Range) -> bool:
        """Replay a range, from any thread; False if that is under way. One of the same table that is, is widened.

        Raises PysyncError if one of another table is under way, the history is gone, or the source cannot be read.
        """
        with self.source() as source:
            source.databases()  # an unreachable source fails here, not in the thread
        with self.rows.lock:
            last = self.rows.last(self.name)
            if last is not None and last.ended_at_ms is None:
                running, wanted = _range(last), self._widened(_range(last), wanted)
                if wanted == running:
                    return False
            if not self.queue.retain(self._holder, wanted.first):
                raise PysyncError("the history was deleted meanwhile", "see: pysync events")
            self.rows.begin(self, _request(wanted))
        return True

    def wanted(self, source: Reads, resync: Resync) -> Wanted:
        """What the events touched, in order: a database before its tables, for it may be gone at the target, too."""
        selected, names = _range(resync), set[TableName]()
        for it in touched(self.queue, self.policy, selected):
            names.update(it.names)
        if selected.table is None:
            names |= {TableName(it.database, "") for it in names if self.policy.takes_database(it.database)}
        return Wanted(self._behind(resync.cursor, source, sorted(names)), len(names))

    def queued(self, resync: Resync) -> None:  # noqa: ARG002
        """The history may go."""
        self.queue.release(self._holder)

    def _behind(self, cursor: tuple[str, str] | None, source: Reads, names: Collection[TableName]) -> Iterator[Names]:
        databases = {it.database for it in names if not it.table}
        # The list of all databases drops those that are gone at the source, and whose drop was among the events.
        if cursor is None and not databases <= set(source.databases()):
            yield from some(source, self._last, (), ())
        for name in (it for it in names if cursor is None or it > TableName(*cursor)):
            yield table(source, name) if name.table else database(source, self._last, name.database)

    def _widened(self, running: Range, wanted: Range) -> Range:
        if running.table != wanted.table:
            of = f" of {running.table}" if running.table else ""
            only = f" --table {running.table}" if running.table else ""
            raise PysyncError(
                f"a replay{of} is not finished: events {running.first} to {running.last}",
                f"finish it: pysync replay {self.policy.target} --from {running.first} --to {running.last}{only}",
            )
        return running.joined(wanted)

    def _last(self) -> int:
        return self.queue.last

    @property
    def _holder(self) -> str:
        return f"{self.policy.target}:{self.name}"


def _request(wanted: Range) -> ResyncRequest:
    of = f" of {wanted.table}" if wanted.table else ""
    scope = {"first": wanted.first, "last": wanted.last, "table": str(wanted.table) if wanted.table else None}
    return ResyncRequest(f"{span('event', wanted.first, wanted.last)}{of}", json.dumps(scope))


def _range(resync: Resync) -> Range:
    scope = json.loads(resync.scope)
    return Range(scope["first"], scope["last"], TableName.parse(scope["table"]) if scope["table"] else None)
