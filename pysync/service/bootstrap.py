"""Bootstrap: everything in scope of some targets is read from a living source and written, while events flow.

It is refreshes in the queue (pysync.capture.refreshes), for these targets alone and without a pace. How far it has come
is noted in the queue's file, so that it goes on there after a stop or a kill, whoever was killed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import structlog

from pysync.capture.healing import reading
from pysync.capture.refreshes import Names, Refreshes, Scope, everything, place
from pysync.copy.copier import Copier
from pysync.copy.files import Copying
from pysync.errors import PysyncError
from pysync.metastore.access import Where
from pysync.metastore.reads import Reads
from pysync.model.names import TableName
from pysync.queue import EventQueue, Gap
from pysync.replay.drain import Drain, Released
from pysync.replay.policy import Policy
from pysync.service.noted import Noted, Reached, read
from pysync.worker import Worker, WorkerState

_NOTE = "bootstrap"
_CHUNK = 50
_AHEAD = 400
"""Refreshes that may wait in the queue: changes that come meanwhile wait behind them, and a kill repeats them."""

_LOOK_SECONDS = 0.2
_NOTE_SECONDS = 2.0
_RETRY_SECONDS = 5.0

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a bootstrap reads: `opened` is a source that lives, or a dump of one, whose `id` says which.

    One that is not `whole` has the names of all objects, but not all objects. How far it is, is noted under `note`.
    `files` makes of a copier one that takes the data files from where this origin has them, which is not where its
    objects say.
    """

    opened: Callable[[], AbstractContextManager[Reads]]
    id: str | None = None
    whole: bool = True
    note: str = _NOTE
    files: Callable[[Copier], Copying] | None = None


class Bootstrapper:
    """The thread that runs one bootstrap at a time, and takes up one that was not finished.

    `policies` are those of the drains, by their names. `source` is where the metastore is, or another origin; None: it
    is not known. `listens` tells whether later changes come in already.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        drains: Sequence[Drain],
        policies: Mapping[str, Policy],
        *,
        source: Where | Origin | None,
        listens: Callable[[], bool] = lambda: True,
    ) -> None:
        self._queue = queue
        self._refreshes = refreshes
        self._drains = {drain.name: drain for drain in drains}
        self._policies = policies
        self._source = None if source is None else _origin(source)
        self._listens = listens
        self._lock = threading.Lock()
        self._note = self._source.note if self._source is not None else _NOTE
        self._noted = read(queue, self._note, self._drains)
        self._waits: str | None = None
        self._waiting: deque[tuple[int, int]] = deque()  # of each chunk that is not done: its last position, its length
        self._ticked = self._noted_at = time.monotonic()
        self._retries: dict[str, Future[Released]] = {}
        self.worker = Worker("bootstrap", self._turn, every=_LOOK_SECONDS, retry=_RETRY_SECONDS, failed=self._failed)
        for drain in drains:
            drain.tally.settles = partial(self._settle, drain)

    # --- from any thread

    def start(self) -> None:
        """Begin to look; waits for nothing."""
        self.worker.start()

    def stop(self) -> None:
        """End, within a second or so; the next start goes on where it was."""
        self.worker.stop()
        self.worker.join(_RETRY_SECONDS)

    def begin(self, targets: Sequence[str]) -> bool:
        """Begin a bootstrap of these targets; False if one of the same targets is not finished, and goes on.

        One from another dump that was not finished is given up.

        Raises PysyncError for a target that cannot get one now, another bootstrap, and a source that cannot be read.
        """
        source = self._readable()
        wanted = tuple(sorted(targets))
        for name in wanted:
            self._check(self._drains[name])
        with source.opened() as metastore:
            metastore.databases()
        with self._lock:
            if self._noted is not None and not self._noted.finished and self._noted.of == source.id:
                if self._noted.targets == wanted:
                    return False
                names = ", ".join(self._noted.targets)
                raise PysyncError(f"a bootstrap of {names} is running", "wait for its end: pysync status")
            self._retries.clear()
            reached = {name: Reached() for name in wanted}
            self._write(Noted(of=source.id, targets=wanted, started_at=time.time(), reached=reached))
        return True

    def heals(self, gap: Gap) -> bool:
        """Whether the gap is that of a new target whose bootstrap is not finished."""
        noted = self._noted
        busy = noted.targets if noted is not None and not noted.finished else ()
        return any(gap.key.startswith(f"new:{name}:") for name in busy)

    def status(self) -> dict[str, Any] | None:
        """The bootstrap that runs or ran last, as JSON values (docs/status.md); None if there never was one."""
        with self._lock:
            noted, waits = self._noted, self._waits
            if noted is None:
                return None
            seconds = noted.seconds
            return {
                "state": "finished" if noted.finished else "waiting" if waits else "running",
                "reason": waits,
                "started_at": noted.started_at,
                "seconds": round(seconds, 1),
                "tables": noted.tables,
                "targets": [self._target(noted, name, seconds) for name in noted.targets],
            }

    def _target(self, noted: Noted, name: str, seconds: float) -> dict[str, Any]:
        reached = noted.reached[name]
        ahead = self._drains[name].tally.ahead()
        tables = min(reached.tables + ahead.tables, noted.tables or 0)
        partitions = reached.partitions + ahead.partitions
        left = (noted.tables or 0) - tables
        return {
            "name": name,
            "tables": tables,
            "partitions": partitions,
            "tables_per_second": round(tables / seconds, 2) if seconds else 0.0,
            "partitions_per_second": round(partitions / seconds, 1) if seconds else 0.0,
            "seconds_left": 0.0 if reached.finished_at else round(left * seconds / tables, 1) if tables else None,
            "finished_at": reached.finished_at,
        }

    def _check(self, drain: Drain) -> None:
        pause = drain.paused()
        if drain.settings.mode == "shadow":
            raise PysyncError(f"target {drain.name} runs as a shadow, and is not written", 'set mode = "apply"')
        if pause is not None:
            raise PysyncError(f"target {drain.name} is paused: {pause.reason}", f"first: pysync resume {drain.name}")

    def _readable(self) -> Origin:
        if self._source is None:
            raise PysyncError("the source's address is not known", "set [source] metastore, and restart the sidecar")
        return self._source

    # --- in its own thread

    def _turn(self) -> None:
        if self._noted is None or self._noted.finished:
            self._ticked = time.monotonic()
        else:
            if self._noted.upto is None:
                self._ask(self._readable(), self._noted)
            self._look()
        self._waits = None
        self.worker.well()

    def _failed(self, _: WorkerState, reason: str) -> None:
        self._waits = reason

    def _ask(self, origin: Origin, noted: Noted) -> None:
        """Queue what is not yet, as fast as the targets take it."""
        if not self._listens():
            raise PysyncError("the notification log was not read yet, so that later changes would be missed")
        scope = self._scope(noted.targets)
        marks = {"targets": "\n".join(noted.targets), "bootstrap": "true"}
        with origin.opened() as source:
            if noted.tables is None:
                self._update(tables=_count(source, scope, whole=origin.whole))
            after = TableName(*noted.asked) if noted.asked is not None else None
            wanted = everything(source, lambda: self._queue.last, scope=scope, after=after, whole=origin.whole)
            for chunk in _chunks(wanted):
                upto = self._refreshes.ask([{**names, **marks} for names in chunk], lives=origin.id is None)
                self._waiting.append((upto, len(chunk)))
                last = place(chunk[-1])
                self._update(asked=(last.database, last.table))
                if not self._may_go_on(noted.targets):
                    return
        self._update(upto=self._queue.last)
        gaps = [gap.key for gap in self._queue.open_gaps() if origin.whole and gap.upto is None and self.heals(gap)]
        self._queue.healed_by(gaps, self._queue.last)

    def _may_go_on(self, targets: Iterable[str]) -> bool:
        self._look()
        self._waits = None
        while not self.worker.stopping.is_set() and self._ahead(targets) > _AHEAD:
            self.worker.stopping.wait(_LOOK_SECONDS)
            self._look()
        return not self.worker.stopping.is_set()

    def _ahead(self, targets: Iterable[str]) -> int:
        """How many refreshes wait for the slowest target; other events, which may be many, do not count."""
        positions = self._queue.positions()
        done = min(positions[name] for name in targets)
        while self._waiting and self._waiting[0][0] <= done:
            self._waiting.popleft()
        return sum(count for _, count in self._waiting)

    def _look(self) -> None:
        """Whether the targets are done with it; noted at the end, and the time now and then."""
        now = time.monotonic()
        with self._lock:
            if self._noted is None:
                return
            reached = {name: self._ended(name, it, self._noted) for name, it in self._noted.reached.items()}
            seconds = self._noted.seconds + now - self._ticked
            self._ticked = now
            self._noted = self._noted.model_copy(update={"reached": reached, "seconds": seconds})
            if self._noted.finished or now - self._noted_at >= _NOTE_SECONDS:
                self._write(self._noted)
            noted = self._noted
        if noted.finished:
            log.info("bootstrap_finished", targets=list(noted.targets), tables=noted.tables, seconds=round(seconds, 1))

    def _ended(self, name: str, reached: Reached, noted: Noted) -> Reached:
        passed = noted.upto is not None and self._queue.positions()[name] >= noted.upto
        if reached.finished_at is not None or not passed or not self._retried(name):
            return reached
        tables = reached.tables if self._queue.parked_count(name) else noted.tables
        return reached.model_copy(update={"tables": tables, "finished_at": time.time()})

    def _retried(self, name: str) -> bool:
        """What was parked is tried once more before it is over: a foreign key, say, whose other table came later."""
        if name not in self._retries:
            if not self._queue.parked_count(name):
                return True
            self._retries[name] = self._drains[name].retry()
        return self._retries[name].done()

    def _settle(self, drain: Drain, position: int) -> None:
        """Note what came of the events up to `position`, before the target's own position moves there.

        A kill in between has them done again; they are counted already then.
        """
        with self._lock:
            before = self._noted.reached.get(drain.name) if self._noted is not None else None
            count = drain.tally.take(position, after=before.position if before else 0)
            if self._noted is None or before is None:
                return
            tables, partitions = before.tables + count.tables, before.partitions + count.partitions
            update = {"position": position, "tables": tables, "partitions": partitions}
            reached = {**self._noted.reached, drain.name: before.model_copy(update=update)}
            self._write(self._noted.model_copy(update={"reached": reached}))

    def _update(self, **values: Any) -> None:
        with self._lock:
            if self._noted is not None:
                self._write(self._noted.model_copy(update=values))

    def _write(self, noted: Noted) -> None:
        self._queue.note(self._note, noted.model_dump_json())
        self._noted, self._noted_at = noted, time.monotonic()

    def _scope(self, targets: Iterable[str]) -> Scope:
        policies = [self._policies[name] for name in targets]
        return Scope(
            database=lambda name: any(policy.takes_database(name) for policy in policies),
            table=lambda name: any(policy.takes_table(name) for policy in policies),
        )


def _origin(source: Where | Origin) -> Origin:
    return source if isinstance(source, Origin) else Origin(partial(reading, source))


def _count(source: Reads, scope: Scope, *, whole: bool) -> int:
    databases = filter(scope.database, source.databases())
    names = (TableName(database, table) for database in databases for table in source.tables(database))
    return sum(scope.table(it) and (whole or source.table(it.database, it.table) is not None) for it in names)


def _chunks(wanted: Iterable[Names]) -> Iterator[list[Names]]:
    found = iter(wanted)
    while chunk := list(islice(found, _CHUNK)):
        yield chunk
