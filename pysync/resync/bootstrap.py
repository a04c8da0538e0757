"""Bootstrap: everything in scope of a target, from a living source or from a dump, while events flow.

It consists of refreshes without a pace. What comes of them is counted in its row.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, replace
from typing import Any

from pysync.base.bounded import Questions
from pysync.base.errors import PysyncError
from pysync.metastore.reads import Reads
from pysync.metastore.source import SOURCE
from pysync.model.names import TableName
from pysync.queue import EventQueue, Resync
from pysync.queue.gaps import new_gaps
from pysync.replay.drain import Drain, Released
from pysync.replay.tally import Tally
from pysync.resync.refreshes import Refreshes
from pysync.resync.rescoping import scopes_of, stored_scope
from pysync.resync.rows import ResyncRows
from pysync.resync.trigger import ResyncRequest, Trigger, Wanted
from pysync.resync.wanted import RefreshScope, everything
from pysync.targets.settings import TargetSettings, assert_enabled

_REQUEST_SECONDS = 6.0  # for the source, while somebody waits for an answer


@dataclass(frozen=True, slots=True)
class BootstrapOrigin:
    """What a bootstrap reads: `opened` gives a living source, or a dump, whose `id` identifies it.

    An origin that is not `whole` has the names of all objects, but not all objects. `replaced`
    (pysync.replay.window.scope): its scope takes the place of another one, and what has left it is dropped.
    """

    opened: Callable[[], AbstractContextManager[Reads]]
    id: str | None = None
    whole: bool = True
    replaced: str = ""


@dataclass(frozen=True, slots=True)
class Reached:
    """What a target durably has, of events up to `position`, and of how many tables `in_scope` (None: not counted yet).

    `left_out` of the tables are not written, because they came from the target's own cluster.
    """

    position: int = 0
    tables: int = 0
    partitions: int = 0
    left_out: int = 0
    in_scope: int | None = None

    @classmethod
    def of(cls, resync: Resync | None) -> Reached:
        """As it is in a row."""
        return cls() if resync is None else cls(**json.loads(resync.result))


class Bootstrap(Trigger):
    """The bootstrap of one target, or the load of a dump; people begin it. The target's drain counts into `tally`.

    `drain` gives that drain. `listens` says whether later changes are captured already.
    """

    is_asked = True
    is_paced = False

    def __init__(
        self,
        queue: EventQueue,
        refreshes: Refreshes,
        settings: TargetSettings,
        scope: RefreshScope,
        rows: ResyncRows,
        *,
        origin: BootstrapOrigin,
        drain: Callable[[], Drain],
        listens: Callable[[], bool],
    ) -> None:
        self.name = "bootstrap" if origin.id is None else "load"
        self.is_living = origin.id is None
        self.target = settings.name
        self.now = rows.now
        self._queue = queue
        self._refreshes = refreshes
        self._settings = settings
        self._scope = scope
        self._rows = rows
        self._origin = origin
        self._drain = drain
        self._listens = listens
        self._retry: Future[Released] | None = None
        self.tally = Tally(self._settle)
        self._measured = self.now(), self.reached  # since when, and what the target had then

    # --- from any thread

    @property
    def last(self) -> Resync | None:
        """The bootstrap that runs or ran last."""
        return self._rows.last(self.name)

    @property
    def reached(self) -> Reached:
        """What the target has of it, as it is on disk."""
        return Reached.of(self.last)

    def assert_ready(self) -> None:
        """Raises PysyncError if the target applies nothing now."""
        assert_ready(self._drain())

    def assert_readable(self) -> None:
        """Raises PysyncError if the source cannot be read."""
        with self._origin.opened() as source:
            # `opened` may connect only at the first call: an unreachable source fails here, not in the thread.
            source.databases()

    def begin(self, batch: int) -> bool:
        """Begin it; False if one is unfinished: that goes on. An unfinished one of another dump is abandoned.

        Those of several targets that begin together have the same `batch`.
        """
        of = {"of": self._origin.id, "batch": batch}
        with self._rows.lock:
            if self.last is not None and self.is_unfinished and json.loads(self.last.scope)["of"] == of["of"]:
                return False
            reason = "somebody has asked for everything in scope" if self.is_living else "a dump is loaded"
            self._rows.begin(self, ResyncRequest(reason, json.dumps(of)))
            self._retry, self._measured = None, (self.now(), Reached())
            return True

    @property
    def is_unfinished(self) -> bool:
        """Whether there is one that has not ended."""
        return self.last is not None and self.last.ended_at_ms is None

    def row(self) -> dict[str, Any] | None:
        """What the status of the target's resyncs says of it."""
        return next(iter(self._rows.status([self.name])), None)

    def status(self) -> dict[str, Any]:
        """How far the target is, as JSON values (docs/status.md)."""
        last, (since, before) = self.last, self._measured
        reached, ahead = Reached.of(last), self.tally.not_taken()
        # Tables that were created after the count must not show more than 100 %.
        tables = min(reached.tables + ahead.tables, reached.in_scope or 0)
        partitions = reached.partitions + ahead.partitions
        ended = None if last is None or last.ended_at_ms is None else last.ended_at_ms / 1000
        seconds = max((ended or self.now()) - since, 0.001)
        rate, left = (tables - before.tables) / seconds, (reached.in_scope or 0) - tables
        return {
            "name": self.target,
            "in_scope": reached.in_scope,
            "tables": tables,
            "partitions": partitions,
            "left_out": reached.left_out + ahead.left_out,
            "tables_per_second": round(rate, 2),
            "partitions_per_second": round((partitions - before.partitions) / seconds, 1),
            "seconds_left": 0.0 if ended else round(left / rate, 1) if rate > 0 else None,
            "finished_at": ended,
        }

    # --- in the thread of the job, and of the drain

    def wanted(self, source: Reads, resync: Resync) -> Wanted:
        """Everything behind the cursor, as fast as the target takes it."""
        # A table would be read, and its changes before the log's first reading would never come.
        if not self._listens():
            raise PysyncError("pysync has not read the notification log yet, and would miss later changes")
        total = resync.total
        if total is None:
            databases, tables = _count(source, self._scope, whole=self._origin.whole)
            total = databases + tables
            with self._rows.lock:
                self._rows.change(resync, result=_text(replace(self.reached, in_scope=tables)))
        after, whole = TableName(*resync.cursor) if resync.cursor else None, self._origin.whole
        names = everything(source, lambda: self._queue.last, scope=self._scope, after=after, whole=whole)
        return Wanted(({**it, "bootstrap": "true"} for it in names), total)

    def all_queued(self, resync: Resync) -> bool:  # noqa: ARG002
        """Have dropped what was replaced; afterwards the gap of a new target waits only for the target."""
        if self._origin.replaced:
            # After everything else: a table that was renamed is there under its new name first.
            self._refreshes.ask([self._leaving()], live_source=False)
        if self._origin.whole:
            own = [it for it in self._queue.gaps.unclosed() if it.key.startswith(new_gaps(self.target))]
            self._queue.gaps.healed_by([gap.key for gap in own if gap.upto is None], self._queue.last)
        return True

    def is_over(self, resync: Resync) -> bool:
        """Whether parked events were tried once more: a foreign key, say, may have come before its other table."""
        parked = self._queue.target(self.target).parked
        if self._retry is None and parked.count():
            self._retry = self._drain().retry()
        if self._retry is not None and not self._retry.done():
            return False
        # Some tables may have vanished since they were counted. Only if something is parked is the lower number true.
        if not parked.count():
            with self._rows.lock:
                reached = self.reached
                self._rows.change(resync, result=_text(replace(reached, tables=reached.in_scope or 0)))
        return True

    def _leaving(self) -> dict[str, str]:
        """The refresh that drops what the target holds, by any scope it has had, and what was replaced."""
        scopes = scopes_of(self._settings, stored_scope(self._queue, self.target))
        # A refresh makes good what is parked up to `upto`. This one only drops, so it makes nothing good.
        which = {"former": json.dumps(scopes), "replaced": self._origin.replaced, "upto": "0"}
        return {**which, "targets": self.target}

    def _settle(self, upto: int) -> None:
        """Keep what came of the events up to `upto`, before the target's own position moves there.

        After a kill in between, these events are delivered again; they are already counted then.
        """
        with self._rows.lock:
            last, before = self.last, self.reached
            count = self.tally.take(upto, after=before.position)
            if last is not None:
                sums = {key: getattr(before, key) + getattr(count, key) for key in ("tables", "partitions", "left_out")}
                self._rows.change(last, result=_text(replace(before, position=upto, **sums)))


def begin_bootstraps(bootstraps: Sequence[Bootstrap]) -> bool:
    """Begin those that are not under way; False if all are.

    Raises PysyncError, and begins none, for a target that cannot be bootstrapped now, or a source that cannot be read.
    """
    for it in bootstraps:
        it.assert_ready()
    for it in bootstraps[:1]:  # all read the same source
        Questions().begin(SOURCE, it.assert_readable, _REQUEST_SECONDS).answer()
    batch = time.time_ns()
    begun = [it.begin(batch) for it in bootstraps]
    return any(begun)


def bootstrap_status(bootstraps: Iterable[Bootstrap]) -> dict[str, Any] | None:
    """Those that run, or that began last together, as JSON values (docs/status.md); None if there never was one."""
    rows = {it: row for it in bootstraps if (row := it.row()) is not None}
    if not rows:
        return None
    newest = max(rows.values(), key=lambda row: row["began_at"])
    batch = newest["scope"]["batch"]
    shown = {it: row for it, row in rows.items() if not row["ended_at"] or row["scope"]["batch"] == batch}
    obstacle = next((row["obstacle"] for row in shown.values() if row["obstacle"]), None)
    is_over = all(row["ended_at"] for row in shown.values())
    began_at = min(row["began_at"] for row in shown.values())
    until = max(row["ended_at"] for row in shown.values()) if is_over else next(iter(shown)).now()
    return {
        "state": "finished" if is_over else "waiting" if obstacle else "running",
        "reason": obstacle,
        "started_at": began_at,
        "seconds": round(until - began_at, 1),
        "targets": [it.status() for it in shown],
    }


def assert_ready(drain: Drain) -> None:
    """Raises PysyncError for a target that applies nothing now: it is disabled, paused, or a shadow."""
    assert_enabled(drain.settings)
    pause = drain.paused()
    if drain.settings.mode == "shadow":
        raise PysyncError(f"target {drain.name} runs in shadow mode and is not written", 'set mode = "apply"')
    if pause is not None:
        raise PysyncError(f"target {drain.name} is paused: {pause.reason}", f"first run: pysync resume {drain.name}")


def _text(reached: Reached) -> str:
    return json.dumps(asdict(reached))


def _count(source: Reads, scope: RefreshScope, *, whole: bool) -> tuple[int, int]:
    """How many databases and tables there are in scope."""
    databases = [it for it in source.databases() if scope.database(it)]
    names = (TableName(database, table) for database in databases for table in source.tables(database))
    tables = sum(scope.table(it) and (whole or source.table(it.database, it.table) is not None) for it in names)
    return len(databases), tables
