"""Load guard: whether a target is newer than a dump, and what a load of the dump would undo there.

The queue tells what came in, or was read at the living source, since the dump was begun. The marks at the target tell
what the queue cannot: that another queue (of a sidecar elsewhere, or one that was lost) has written there since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pysync.capture.notifications import instance_of
from pysync.dump.manifest import Manifest
from pysync.metastore.client import Reads
from pysync.model.describe import describe
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import DropPartitions, Operation, Refresh
from pysync.model.wire import encode_event
from pysync.queue import EventQueue
from pysync.replay.fold import fold
from pysync.replay.plan import plan
from pysync.replay.rereading import Rereading
from pysync.replay.translate import Translator
from pysync.resync.refreshes import LIVING, Scope, everything
from pysync.targets.base import Target
from pysync.text import count

_MOST = 5
_MS = 1000


def since_by_queue(queue: EventQueue, manifest: Manifest, target: str) -> str | None:
    """What has reached a target since the dump was begun, as far as the queue knows; None if nothing.

    Changes from the notification log do not count here: they are compared by their ids.
    """
    if target not in queue.positions():
        return None
    polled = instance_of(manifest.source)
    heard = [
        it for it in queue.intake.instances() if it.instance not in {SIDECAR, polled} and it.source == manifest.source
    ]
    began = f"the dump began at {_moment(manifest.began_at)}"
    began_ms = int(manifest.began_at * _MS)  # what came in the same millisecond may have come after it
    latest = max((it.last_at_ms for it in heard), default=0)
    if latest >= began_ms:
        return f"the last change of the source arrived at {_moment(latest / _MS)}, but {began}"
    read = int(queue.notes.get(LIVING) or 0)
    if read >= began_ms:
        return f"the target was compared with the source at {_moment(read / _MS)}, but {began}"
    return None


@dataclass(frozen=True, slots=True)
class Survey:
    """A look at a target with a dump in hand; both are only read. `writer` is the queue's target that would load it."""

    dumped: Reads
    target: Target
    translator: Translator
    manifest: Manifest
    writer: Writer
    whole: bool

    def since_by_marks(self) -> str | None:
        """What the marks at the target tell of changes since the dump was begun; None if nothing."""
        others: set[str] = set()
        for name, table, mark in self._ours():
            if mark.created > self.manifest.began_at and not self._is_dumped(name, mark.created):
                return f"table {name} at the target was created at the source after the dump began"
            if not self.writer.wrote(mark):
                # An epoch is the time at which a queue was begun.
                if mark.epoch > self.manifest.began_at * _MS or self._is_changed(table):
                    return f"another queue has written table {name} at the target since the dump began"
                others.add(str(name))
        found = next((it for it in self.drops(others) if it.key in others), None)
        return f"the load would {describe(found)}, which another queue has written" if found else None

    def told(self) -> str:
        """What a load would drop, and which tables it would set back, in words."""
        drops = list(self.drops())
        total = count(sum(it.drops for it in drops), "object")
        back = [str(name) for name, table, _ in self._ours() if self._is_dumped(name) and self._is_changed(table)]
        names = [describe(it) if isinstance(it, DropPartitions) else it.key for it in drops]
        dropped = f"the load would drop {total}{_some(names)}"
        return f"{dropped} and set back {count(len(back), 'table')}{_some(back)}" if back else dropped

    def _ours(self) -> Iterator[tuple[TableName, Any, Mark]]:
        """The tables in scope at the target that are this source's, with their marks."""
        mapping, policy = self.translator.mapping, self.translator.policy
        for database in self.target.databases():
            for name in (TableName(database, it) for it in self.target.tables(database)):
                if any(map(policy.takes_table, mapping.sources_of(name))):
                    table = self.target.table(name)
                    mark = Mark.read(table.parameters) if table is not None else None
                    if mark is not None and mark.source == self.manifest.source:
                        yield name, table, mark

    def _is_changed(self, table: Any) -> bool:
        """Whether its definition was written after the dump was begun."""
        at = (table.parameters or {}).get("transient_lastDdlTime", "0")
        return at.isdigit() and int(at) > self.manifest.began_at

    def _is_dumped(self, name: TableName, created: int | None = None) -> bool:
        """Whether the dump has the table; with `created` (s) the very one, which may be made while the dump was."""
        sources = self.translator.mapping.sources_of(name)
        found = [it for source in sources if (it := self.dumped.table(source.database, source.table)) is not None]
        return any(created in {None, it.createTime} for it in found)

    def drops(self, only: Collection[str] | None = None) -> Iterator[Operation]:
        """The drops that the load would come to; with `only`, those of partitions are looked for in these alone."""
        for refresh in self._refreshes():
            if refresh.table is None or only is None or str(refresh.table) in only:
                found = Rereading(self.dumped, self.target, self.translator, refresh).operations()
                yield from (it for it in found if it.drops)

    def _refreshes(self) -> Iterator[Refresh]:
        """The refreshes that the load would ask for, at a position beyond all others: no event counts as later."""
        policy, end = self.translator.policy, 2**62
        scope = Scope(policy.takes_database, policy.takes_table)
        for names in everything(self.dumped, lambda: end, scope=scope, whole=self.whole):
            event = Event(Kind.REFRESH, self.manifest.source, SIDECAR, 1, 0, attributes=dict(names))
            change = self.translator.translate(encode_event(event), end)
            for work in plan(fold([change] if change else []), self.writer):
                yield from (it for it in work.operations if isinstance(it, Refresh))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")


def _some(names: list[str]) -> str:
    """` (a, b, …)`: the first few."""
    more = ", …" if len(names) > _MOST else ""
    return f" ({', '.join(names[:_MOST])}{more})" if names else ""
