"""Replays: have a target apply a part of the kept history once more, because it has lost or spoiled what came of it.

The events themselves are not applied again: most of them describe a state that is no longer true. What they touched is
read at the source, as it is now, and written if the target differs: refreshes in the queue. So the position of the
target never moves back, and marks, brakes, parked events and a kill in between need no second thought.

What is to be done is noted in the queue's file. The history that it needs is held until everything is queued.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import structlog
from pydantic import BaseModel

from pysync.base.errors import PysyncError
from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.model.names import TableName
from pysync.queue import EventQueue, note_of
from pysync.replay.window.policy import Policy
from pysync.resync.feed import Feed
from pysync.resync.ranges import HistoryGone, Range, touched
from pysync.resync.refreshes import Names, Refreshes, database, place, some, table
from pysync.worker import Finished, Worker, WorkerState

_EVERY_SECONDS = 0.2
_RETRY_SECONDS = 10.0

log = structlog.get_logger(__name__)


class Replay(BaseModel):
    """A replay as it is kept in the queue's file: events `first` to `last`, of `table` alone if one is named.

    `objects` is how many they touched (None: not counted yet), and how many of these are `queued`: up to
    `queued_upto`, a database and a table. Once all are, `upto` is the last position. Times are seconds since 1970.
    `failed` says why it came to an end without them.
    """

    first: int
    last: int
    table: str | None = None
    started_at: float
    objects: int | None = None
    queued: int = 0
    queued_upto: tuple[str, str] | None = None
    upto: int | None = None
    finished_at: float | None = None
    failed: str | None = None

    @property
    def range(self) -> Range:
        """What is replayed."""
        return Range(self.first, self.last, TableName.parse(self.table) if self.table else None)


class Replays:
    """The worker that replays history for one target, one range at a time, and goes on after a stop or a kill.

    `source` opens the source, if it is known. `tables_per_second` is the pace.
    """

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        policy: Policy,
        target: str,
        *,
        source: Callable[[], AbstractContextManager[Reads]] | None,
        tables_per_second: float,
    ) -> None:
        self._queue = queue
        self._policy = policy
        self._target = target
        self._source = source
        self._lock = threading.RLock()
        self._note = note_of(self._target, "replay")
        text = queue.notes.get(self._note)
        self._replay = Replay.model_validate_json(text) if text else None
        self._chunks: deque[tuple[int, int]] = deque()  # of each: its last position, and how many are queued with it
        self._reached = 0
        self._waits: str | None = None
        if self._replay is not None and self._replay.upto is None:
            queue.retain(self._note, self._replay.first)
        name = f"replay-{self._target}"
        self.worker = Worker(name, self.turn, every=_EVERY_SECONDS, retry=_RETRY_SECONDS, failed=self._failed)
        self._feed = Feed(refreshes, self.worker.stopping, self._done, tables_per_second, meanwhile=self._progress)

    # --- from any thread

    def start(self) -> None:
        """Begin to look for work; does not wait."""
        self.worker.start()

    def begin(self, wanted: Range) -> bool:
        """Replay a range; False if that is under way. One of the same table that is under way is widened.

        Raises PysyncError if one of another table is under way, the history is gone, or the source cannot be read.
        """
        with known(self._source)() as source:
            source.databases()  # an unreachable source fails here, not in the thread
        with self._lock:
            running = self._replay if self._replay is not None and self._replay.finished_at is None else None
            if running is not None:
                wanted = self._widened(running, wanted)
                if wanted == running.range:
                    return False
            if not self._queue.retain(self._note, wanted.first):
                raise PysyncError("the history was deleted meanwhile", "see: pysync events")
            of = str(wanted.table) if wanted.table else None
            self._keep(Replay(first=wanted.first, last=wanted.last, table=of, started_at=time.time()))
        log.info("replay_started", target=self._target, first=wanted.first, last=wanted.last, table=of)
        return True

    def status(self) -> dict[str, Any] | None:
        """The replay that runs or ran last, as JSON values (docs/status.md); None if there never was one."""
        with self._lock:
            replay, waits, reached = self._replay, self._waits, self._reached
        if replay is None:
            return None
        done = replay.finished_at is not None
        return {
            "state": "failed" if replay.failed else "finished" if done else "waiting" if waits else "running",
            "reason": replay.failed or waits,
            "first": replay.first,
            "last": replay.last,
            "table": replay.table,
            "started_at": replay.started_at,
            "objects": replay.objects,
            "refreshed": replay.objects if done and not replay.failed else reached,
            "finished_at": replay.finished_at,
        }

    def _widened(self, running: Replay, wanted: Range) -> Range:
        if running.range.table != wanted.table:
            of = f" of {running.table}" if running.table else ""
            only = f" --table {running.table}" if running.table else ""
            raise PysyncError(
                f"a replay{of} is not finished: events {running.first} to {running.last}",
                f"finish it: pysync replay {self._target} --from {running.first} --to {running.last}{only}",
            )
        return running.range.joined(wanted)

    # --- in its own thread

    def turn(self) -> None:
        """Queue what is not queued yet, as fast as the target takes it, and note when it is done."""
        replay = self._replay
        if replay is not None and replay.finished_at is None:
            try:
                if replay.upto is None:
                    self._ask(replay)
            except HistoryGone as error:
                self._fail(replay, str(error))
            self._progress()
        self._waits = None
        self.worker.succeeded()

    def _fail(self, replay: Replay, reason: str) -> None:
        """End it: no later try would find what was deleted."""
        if self._update(replay, finished_at=time.time(), failed=reason):
            self._queue.release(self._note)
            log.error("replay_failed", target=self._target, reason=reason)

    def _failed(self, _: WorkerState, reason: str) -> None:
        self._waits = reason

    def _ask(self, replay: Replay) -> None:
        names = self._touched(replay)
        self._update(replay, objects=len(names), queued=sum(not _is_after(replay, it) for it in names))
        with known(self._source)() as source:
            wanted = self._wanted(source, names, replay)
            fed = self._feed.queue(
                wanted, queued=partial(self._note_queued, replay), goes_on=lambda: self._is_same(replay)
            )
        if fed.whole and self._update(replay, upto=self._queue.last):
            self._queue.release(self._note)

    def _touched(self, replay: Replay) -> list[TableName]:
        """The objects to refresh, in order; a database before its tables, for it may be gone at the target, too."""
        names = set[TableName]()
        for it in touched(self._queue, self._policy, replay.range):
            names.update(it.names)
            if self.worker.stopping.is_set():
                raise Finished
        if replay.table is None:
            names |= {TableName(it.database, "") for it in names if self._policy.takes_database(it.database)}
        return sorted(names)

    def _wanted(self, source: Reads, names: Collection[TableName], replay: Replay) -> Iterator[Names]:
        mine = {"targets": self._target}
        databases = {it.database for it in names if not it.table}
        # The list of all databases drops those that are gone at the source, and whose drop was among the events.
        if replay.queued_upto is None and not databases <= set(source.databases()):
            yield from ({**it, **mine} for it in some(source, self._last, (), ()))
        for name in (it for it in names if _is_after(replay, it)):
            at_source = table(source, name) if name.table else database(source, self._last, name.database)
            yield {**at_source, **mine}

    def _note_queued(self, replay: Replay, chunk: Sequence[Names]) -> None:
        last, count = place(chunk[-1]), sum("database" in it for it in chunk)
        with self._lock:
            queued = count + (self._replay.queued if self._replay is not None else 0)
            if self._update(replay, queued_upto=(last.database, last.table), queued=queued):
                self._chunks.append((self._queue.last, queued))

    def _progress(self) -> None:
        """See how far the target is; note, durably, when it has everything."""
        with self._lock:
            replay, position = self._replay, self._done()
            while self._chunks and self._chunks[0][0] <= position:
                self._reached = self._chunks.popleft()[1]
            if replay is None or replay.upto is None or replay.finished_at is not None or position < replay.upto:
                return
            self._update(replay, finished_at=time.time())
        log.info("replay_finished", target=self._target, objects=replay.objects)

    def _is_same(self, replay: Replay) -> bool:
        """Whether this replay was not widened meanwhile."""
        return self._replay is not None and self._replay.started_at == replay.started_at

    def _update(self, replay: Replay, **values: Any) -> bool:
        """Change values of the kept replay, durably; False if it is another one by now."""
        with self._lock:
            if self._replay is None or not self._is_same(replay):
                return False
            self._write(self._replay.model_copy(update=values))
            return True

    def _keep(self, replay: Replay) -> None:
        self._write(replay)
        self._chunks.clear()
        self._reached = 0

    def _write(self, replay: Replay) -> None:
        self._queue.notes.put(self._note, replay.model_dump_json())
        self._replay = replay

    def _done(self) -> int:
        return self._queue.target(self._target).position()

    def _last(self) -> int:
        return self._queue.last


def _is_after(replay: Replay, name: TableName) -> bool:
    """Whether the object is not queued yet."""
    return replay.queued_upto is None or name > TableName(*replay.queued_upto)
