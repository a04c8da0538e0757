"""Load guard: whether a target is newer than a dump, and what a load of the dump would undo there.

The queue says what came in, or was read at the living source, since the dump was begun. The marks at the target say
what the queue cannot: that another queue (of a sidecar elsewhere, or one that was lost) has written there since. A load
that does not fit is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.text import count, local_time, whole_number
from pysync.capture.notifications import Position, instance_of
from pysync.dump.index import Dump
from pysync.dump.manifest import Manifest
from pysync.dump.read import DumpReader
from pysync.dump.taken import Taken, followed, last_begun, last_taken
from pysync.metastore.reads import Reads
from pysync.model.describe import describe
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.mark import Mark, Writer
from pysync.model.names import TableName
from pysync.model.operation import DropPartitions, Operation, Refresh
from pysync.model.wire import encode_event
from pysync.queue import EventQueue
from pysync.replay.rereading import Rereading
from pysync.replay.window.fold import fold
from pysync.replay.window.plan import plan
from pysync.replay.window.translate import Translator
from pysync.resync.refreshes import LIVING
from pysync.resync.wanted import RefreshScope, everything
from pysync.targets.base import Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings

_MOST = 5
_MS = 1000

FORCE = "use --force to load it anyway"


def since_by_queue(queue: EventQueue, manifest: Manifest, target: str) -> str | None:
    """What has reached a target since the dump was begun, as far as the queue knows; None if nothing.

    Changes from the notification log do not count here: they are compared by their ids.
    """
    if target not in queue.positions():
        return None
    polled = instance_of(manifest.source)
    reports = [
        it for it in queue.intake.instances() if it.instance not in {SIDECAR, polled} and it.source == manifest.source
    ]
    began = f"the dump began at {local_time(manifest.began_at)}"
    began_ms = int(manifest.began_at * _MS)  # what came in the same millisecond may have come after it
    latest = max((it.last_at_ms for it in reports), default=0)
    if latest >= began_ms:
        return f"the last change of the source arrived at {local_time(latest / _MS)}, but {began}"
    read = int(queue.notes.get(LIVING) or 0)
    if read >= began_ms:
        return f"the target was compared with the source at {local_time(read / _MS)}, but {began}"
    return None


@dataclass(frozen=True, slots=True)
class Survey:
    """Reads a target and a dump, for a plan; both are only read. `writer` is the queue's target that would load it."""

    dumped: Reads
    target: Target
    translator: Translator
    manifest: Manifest
    writer: Writer
    whole: bool

    def since_by_marks(self) -> str | None:
        """What the marks at the target report of changes since the dump was begun; None if nothing."""
        others: set[str] = set()
        for name, table, mark in self._ours():
            if mark.created > self.manifest.began_at and not self._is_dumped(name, mark.created):
                return f"table {name} at the target was created at the source after the dump began"
            if not self.writer.wrote(mark):
                # An epoch is the time at which a queue was begun.
                if mark.epoch > self.manifest.began_at * _MS or self._is_changed(table):
                    return f"another queue has written table {name} at the target since the dump began"
                others.add(str(name))
        newer = next((it for it in self.drops(others) if it.key in others), None)
        return f"the load would {describe(newer)}, which another queue has written" if newer else None

    def losses(self) -> str:
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
        at = whole_number((table.parameters or {}).get("transient_lastDdlTime", ""))
        return (at or 0) > self.manifest.began_at

    def _is_dumped(self, name: TableName, created: int | None = None) -> bool:
        """Whether the dump has the table; with `created` (s) the very one, which may be made while the dump was."""
        sources = self.translator.mapping.sources_of(name)
        dumped = [it for source in sources if (it := self.dumped.table(source.database, source.table)) is not None]
        return any(created in {None, it.createTime} for it in dumped)

    def drops(self, only: Collection[str] | None = None) -> Iterator[Operation]:
        """The drops that the load would come to; with `only`, those of partitions are looked for in these alone."""
        for refresh in self._refreshes():
            if refresh.table is None or only is None or str(refresh.table) in only:
                operations = Rereading(self.dumped, self.target, self.translator, refresh).operations()
                yield from (it for it in operations if it.drops)

    def _refreshes(self) -> Iterator[Refresh]:
        """The refreshes that the load would ask for, at a position beyond all others: no event counts as later."""
        policy, end = self.translator.policy, 2**62
        scope = RefreshScope(policy.takes_database, policy.takes_table)
        for names in everything(self.dumped, lambda: end, scope=scope, whole=self.whole):
            event = Event(Kind.REFRESH, self.manifest.source, SIDECAR, 1, 0, attributes=dict(names))
            change = self.translator.translate(encode_event(event), end)
            for work in plan(fold([change] if change else []), self.writer):
                yield from (it for it in work.operations if isinstance(it, Refresh))


def _some(names: list[str]) -> str:
    """` (a, b, …)`: the first few."""
    more = ", …" if len(names) > _MOST else ""
    return f" ({', '.join(names[:_MOST])}{more})" if names else ""


def refuse_older(queue: EventQueue, dump: Dump, settings: TargetSettings, *, whole: bool) -> None:
    """Raises PysyncError, which says what would be undone, for a dump that would take the target back."""
    manifest, name = dump.manifest, settings.name
    with closing(target_kind(settings.kind).open(settings)) as target, DumpReader(dump) as reader:
        survey = Survey(reader, target, Translator.of(settings), manifest, queue.writer(name), whole)
        reason = older(queue, manifest, name, survey)
        if reason is not None:
            raise PysyncError(f"the dump is older than the state of target {name}: {reason}; {survey.losses()}", FORCE)


def older(queue: EventQueue, manifest: Manifest, target: str, survey: Survey) -> str | None:
    """How a dump is older than what the target has, as far as anybody knows; None if it is not."""
    by_queue = _since_by_notes(queue, manifest, target) or since_by_queue(queue, manifest, target)
    return by_queue or survey.since_by_marks()


def _since_by_notes(queue: EventQueue, manifest: Manifest, target: str) -> str | None:
    """Which later dump the target took or began to take, or which later notification came in; None if none."""
    taken, begun = last_taken(queue.notes, target), last_begun(queue.notes, target)
    return _older_than_polled(queue, manifest) or _older(manifest, taken) or _older(manifest, begun)


def refuse_unfit(queue: EventQueue, manifest: Manifest, target: str) -> None:
    """Raises PysyncError for a dump that does not follow what the target took of its scope, or of the replaced one."""
    if manifest.since is None:
        return
    same = followed(queue.notes, target, manifest)
    taken = same or last_taken(queue.notes, target)
    if taken is None or taken.upto is None or taken.upto < manifest.since:
        reached = "has loaded no dump" if taken is None or taken.upto is None else f"has dumps up to {taken.upto}"
        raise PysyncError(
            f"the dump begins after notification {manifest.since}, but target {target} {reached}",
            f"first load the dumps in between, or a full dump; or {FORCE}",
        )
    if same is None:
        raise PysyncError(
            f"the dump has another scope than the dump that target {target} loaded before, or a load has begun to "
            "replace that scope",
            f"load a full dump of the new scope; or {FORCE}",
        )


def _older_than_polled(queue: EventQueue, manifest: Manifest) -> str | None:
    polled = _polled(queue, manifest.source)
    if manifest.upto is None or polled is None or manifest.upto >= polled:
        return None
    return f"it ends at notification {manifest.upto}, but pysync has read up to notification {polled}"


def _older(manifest: Manifest, taken: Taken | None) -> str | None:
    """How the dump is older than one that was taken before; None if it is not."""
    if taken is None:
        return None
    if manifest.upto is not None and taken.upto is not None and manifest.upto != taken.upto:
        older = manifest.upto < taken.upto
        return f"it ends at notification {manifest.upto}, not {taken.upto}" if older else None
    return "it began before the dump that was loaded last" if manifest.began_at < taken.began_at else None


def _polled(queue: EventQueue, source: str) -> int | None:
    """The notification up to which a sidecar on this queue has read the source's log; None if none has."""
    noted = queue.notes.get(instance_of(source))
    try:
        return None if noted is None else Position.from_json(noted).last
    except ValueError:
        return None
