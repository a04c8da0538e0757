"""Bootstrap: reads everything in scope of some targets from a living source, and writes it while events flow.

It consists of refreshes in the queue (pysync.resync.refreshes), for these targets only and without a pace. Its progress
is noted in the queue's file, so that it continues there after a stop or a kill of any process.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog

from pysync.base.errors import PysyncError
from pysync.copy.copier import Copier
from pysync.copy.files import Copying
from pysync.metastore.access import MetastoreRef
from pysync.metastore.reads import Reads
from pysync.metastore.source import known, reading
from pysync.model.names import TableName
from pysync.queue import EventQueue, Gap
from pysync.queue.gaps import new_gaps
from pysync.replay.drain import Drain, Released
from pysync.replay.window.policy import Policy
from pysync.resync.checkpoint import BOOTSTRAP, Checkpoint, Checkpoints, Reached
from pysync.resync.feed import Feed
from pysync.resync.refreshes import Names, Refreshes, RefreshScope, everything, place
from pysync.resync.rescoping import scopes_of, stored_scope
from pysync.targets.settings import assert_enabled
from pysync.worker import Worker, WorkerState

_EVERY_SECONDS = 0.2
_NOTE_SECONDS = 2.0
_RETRY_SECONDS = 5.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class BootstrapOrigin:
    """What a bootstrap reads: `opened` gives a living source, or a dump, whose `id` identifies it.

    An origin that is not `whole` has the names of all objects, but not all objects. Its progress is noted under `note`.
    `replaced` (pysync.replay.window.scope): its scope takes the place of another one, and what has left it is dropped.
    `files` changes a copier so that it takes the data files from this origin: there they are not where the objects say.
    """

    opened: Callable[[], AbstractContextManager[Reads]]
    id: str | None = None
    whole: bool = True
    note: str = BOOTSTRAP
    files: Callable[[Copier], Copying] | None = None
    replaced: str = ""


class Bootstrapper:
    """The thread that runs one bootstrap at a time, and continues one that was not finished.

    `policies` are those of the drains, by name; the drains count into the tallies of `checkpoints`. `source` is where
    the metastore is, or another origin; None: not known. `listens` says whether later changes are captured already.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        drains: Sequence[Drain],
        policies: Mapping[str, Policy],
        checkpoints: Checkpoints,
        *,
        source: MetastoreRef | BootstrapOrigin | None,
        listens: Callable[[], bool] = lambda: True,
    ) -> None:
        self._queue = queue
        self._refreshes = refreshes
        self._drains = {drain.name: drain for drain in drains}
        self._policies = policies
        self._source = None if source is None else _origin(source)
        self._listens = listens
        self._checkpoints = checkpoints
        self._waits: str | None = None
        self._ticked = time.monotonic()
        self._retries: dict[str, Future[Released]] = {}
        self.worker = Worker("bootstrap", self._turn, every=_EVERY_SECONDS, retry=_RETRY_SECONDS, failed=self._failed)
        self._feed = Feed(refreshes, self.worker.stopping, self._done, meanwhile=self._note_pace)

    # --- from any thread

    def start(self) -> None:
        """Begin to look for work; does not wait."""
        self.worker.start()

    def begin(self, targets: Sequence[str]) -> bool:
        """Begin a bootstrap of these targets; False if one of the same targets is unfinished: that goes on.

        An unfinished one from another dump is abandoned.

        Raises PysyncError for a target that cannot be bootstrapped now, if another bootstrap runs, and if the source
        cannot be read.
        """
        source = self._readable()
        wanted = tuple(sorted(targets))
        for name in wanted:
            assert_ready(self._drains[name])
        with source.opened() as metastore:
            # `opened` may connect only at the first call: an unreachable source fails here, not in the thread.
            metastore.databases()
        with self._checkpoints.lock:
            checkpoint = self._checkpoints.current
            if checkpoint is not None and not checkpoint.finished and checkpoint.of == source.id:
                if checkpoint.targets == wanted:
                    return False
                names = ", ".join(checkpoint.targets)
                raise PysyncError(f"a bootstrap of {names} is running", "wait until it has finished: pysync status")
            self._retries.clear()
            reached = {name: Reached() for name in wanted}
            self._checkpoints.keep(Checkpoint(of=source.id, targets=wanted, started_at=time.time(), reached=reached))
        log.info("bootstrap_started", targets=list(wanted))
        return True

    def heals(self, gap: Gap) -> bool:
        """Whether the gap is that of a new target whose bootstrap is not finished."""
        checkpoint = self._checkpoints.current
        busy = checkpoint.targets if checkpoint is not None and not checkpoint.finished else ()
        return any(gap.key.startswith(new_gaps(name)) for name in busy)

    def status(self) -> dict[str, Any] | None:
        """The bootstrap that runs or ran last, as JSON values (docs/status.md); None if there never was one."""
        with self._checkpoints.lock:
            checkpoint, waits = self._checkpoints.current, self._waits
            if checkpoint is None:
                return None
            return {
                "state": "finished" if checkpoint.finished else "waiting" if waits else "running",
                "reason": waits,
                "started_at": checkpoint.started_at,
                "seconds": round(checkpoint.seconds, 1),
                "tables": checkpoint.tables,
                "targets": [self._target(checkpoint, name) for name in checkpoint.targets],
            }

    def _target(self, checkpoint: Checkpoint, name: str) -> dict[str, Any]:
        reached, seconds = checkpoint.reached[name], checkpoint.seconds
        ahead = self._checkpoints.tally(name).not_taken()
        # Tables that were created after the count must not show more than 100 %.
        tables = min(reached.tables + ahead.tables, checkpoint.tables or 0)
        partitions = reached.partitions + ahead.partitions
        left = (checkpoint.tables or 0) - tables
        return {
            "name": name,
            "tables": tables,
            "partitions": partitions,
            "left_out": reached.left_out + ahead.left_out,
            "tables_per_second": round(tables / seconds, 2) if seconds else 0.0,
            "partitions_per_second": round(partitions / seconds, 1) if seconds else 0.0,
            "seconds_left": 0.0 if reached.finished_at else round(left * seconds / tables, 1) if tables else None,
            "finished_at": reached.finished_at,
        }

    def _readable(self) -> BootstrapOrigin:
        return known(self._source)

    # --- in its own thread

    def _turn(self) -> None:
        checkpoint = self._checkpoints.current
        if checkpoint is None or checkpoint.finished:
            # So that idle time does not count into the next bootstrap.
            self._ticked = time.monotonic()
        else:
            if checkpoint.upto is None:
                self._ask(self._readable(), checkpoint)
            self._note_progress()
        self._waits = None
        self.worker.succeeded()

    def _failed(self, _: WorkerState, reason: str) -> None:
        self._waits = reason

    def _ask(self, origin: BootstrapOrigin, checkpoint: Checkpoint) -> None:
        """Queue what is not queued yet, as fast as the targets take it."""
        # A table would be read, and its changes before the log's first reading would never come.
        if not self._listens():
            raise PysyncError("pysync has not read the notification log yet, and would miss later changes")
        scope = self._scope(checkpoint.targets)
        marks = {"targets": "\n".join(checkpoint.targets), "bootstrap": "true"}
        after = TableName(*checkpoint.queued_upto) if checkpoint.queued_upto is not None else None
        with origin.opened() as source:
            if checkpoint.tables is None:
                self._checkpoints.update(tables=_count(source, scope, whole=origin.whole))
            wanted = everything(source, lambda: self._queue.last, scope=scope, after=after, whole=origin.whole)
            marked = ({**names, **marks} for names in wanted)
            if not self._feed.queue(marked, live_source=origin.id is None, queued=self._note_queued).whole:
                return
        if origin.replaced:
            # After everything else: a table that was renamed is there under its new name first.
            self._refreshes.ask(
                [self._leaving(name, origin.replaced) for name in checkpoint.targets], live_source=False
            )
        # Noted before the gaps are healed: after a kill in between, the bootstrap still knows that all of it is queued.
        self._checkpoints.update(upto=self._queue.last)
        gaps = [gap.key for gap in self._queue.gaps.unclosed() if origin.whole and gap.upto is None and self.heals(gap)]
        self._queue.gaps.healed_by(gaps, self._queue.last)

    def _leaving(self, target: str, replaced: str) -> Names:
        """The refresh that drops what a target holds, by any scope it has had, and what was replaced."""
        scopes = scopes_of(self._drains[target].settings, stored_scope(self._queue, target))
        # A refresh makes good what is parked up to `upto`. This one only drops, so it makes nothing good.
        return {"former": json.dumps(scopes), "replaced": replaced, "upto": "0", "targets": target}

    def _note_queued(self, chunk: Sequence[Names]) -> None:
        last = place(chunk[-1])
        self._checkpoints.update(queued_upto=(last.database, last.table))

    def _done(self) -> int:
        checkpoint, positions = self._checkpoints.current, self._queue.positions()
        return min((positions[name] for name in checkpoint.targets), default=0) if checkpoint is not None else 0

    def _note_pace(self) -> None:
        self._note_progress()
        self._waits = None

    def _note_progress(self) -> None:
        """Note which targets are done: durably at the end, else now and then."""
        with self._checkpoints.lock:
            checkpoint, now = self._checkpoints.current, time.monotonic()
            if checkpoint is None:
                return
            reached = {name: self._ended(name, it, checkpoint) for name, it in checkpoint.reached.items()}
            checkpoint = checkpoint.model_copy(
                update={"reached": reached, "seconds": checkpoint.seconds + now - self._ticked}
            )
            self._ticked = now
            self._checkpoints.keep(checkpoint, durably=checkpoint.finished or self._checkpoints.age >= _NOTE_SECONDS)
        if checkpoint.finished:
            log.info(
                "bootstrap_finished",
                targets=list(checkpoint.targets),
                tables=checkpoint.tables,
                seconds=round(checkpoint.seconds, 1),
            )

    def _ended(self, name: str, reached: Reached, checkpoint: Checkpoint) -> Reached:
        passed = checkpoint.upto is not None and self._queue.target(name).position() >= checkpoint.upto
        if reached.finished_at is not None or not passed or not self._retried(name):
            return reached
        # Some tables may have vanished since they were counted. Only if something is parked is the lower number true.
        tables = reached.tables if self._queue.target(name).parked.count() else checkpoint.tables
        return reached.model_copy(update={"tables": tables, "finished_at": time.time()})

    def _retried(self, name: str) -> bool:
        """Whether parked events were tried once more: a foreign key, say, may have come before its other table."""
        if name not in self._retries:
            if not self._queue.target(name).parked.count():
                return True
            self._retries[name] = self._drains[name].retry()
        return self._retries[name].done()

    def _scope(self, targets: Iterable[str]) -> RefreshScope:
        policies = [self._policies[name] for name in targets]
        return RefreshScope(
            database=lambda name: any(policy.takes_database(name) for policy in policies),
            table=lambda name: any(policy.takes_table(name) for policy in policies),
        )


def assert_ready(drain: Drain) -> None:
    """Raises PysyncError for a target that applies nothing now: it is disabled, paused, or a shadow."""
    assert_enabled(drain.settings)
    pause = drain.paused()
    if drain.settings.mode == "shadow":
        raise PysyncError(f"target {drain.name} runs in shadow mode and is not written", 'set mode = "apply"')
    if pause is not None:
        raise PysyncError(f"target {drain.name} is paused: {pause.reason}", f"first run: pysync resume {drain.name}")


def _origin(source: MetastoreRef | BootstrapOrigin) -> BootstrapOrigin:
    return source if isinstance(source, BootstrapOrigin) else BootstrapOrigin(partial(reading, source))


def _count(source: Reads, scope: RefreshScope, *, whole: bool) -> int:
    databases = filter(scope.database, source.databases())
    names = (TableName(database, table) for database in databases for table in source.tables(database))
    return sum(scope.table(it) and (whole or source.table(it.database, it.table) is not None) for it in names)
