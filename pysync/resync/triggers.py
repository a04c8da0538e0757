"""Triggers: the table of what begins a resync of a target, and the job that carries all of them out.

| trigger | begins when | reads |
|---|---|---|
| `views` | the target has redefined a table that views may read | these views |
|  | the source's Hive is found to be another one | all views |
| `history` | `pysync replay` names a range of events | what they touched |
| `bootstrap` | `pysync bootstrap` asks for it | everything in scope |
| `load` | `pysync load` asks for it, in a process of its own | everything in scope that a dump has |
| `new_target` | the queue did not know the target, and no bootstrap fills it | everything in scope |
| `scope` | the target has another scope in pysync.toml | everything in scope, and what has left it |
| `log_schemas` | `log_schemas_every` has passed | Delta and Hudi tables |
| `transactions` | `transactional_poll_seconds` have passed | transactional tables with newly committed writes |
| `partition_filters` | another day has begun, and a filter is relative to today | the tables that it concerns |

The first ones are the most urgent: a job interrupts a later one for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.model.names import TableName
from pysync.model.snapshot import Snapshot
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.window.scope import Extent
from pysync.replay.window.translate import Translator
from pysync.resync.bootstrap import Bootstrap, BootstrapOrigin
from pysync.resync.history import HistoryReplay
from pysync.resync.job import ResyncJob
from pysync.resync.new_target import NewTarget
from pysync.resync.recurring import recurring_of
from pysync.resync.refreshes import Refreshes
from pysync.resync.rescoping import ScopeChange
from pysync.resync.rows import ResyncRows
from pysync.resync.transactions import CommittedWrites
from pysync.resync.trigger import Trigger
from pysync.resync.views import RedefinedTables
from pysync.resync.wanted import RefreshScope
from pysync.targets.settings import TargetSettings

OpenSource = Callable[[], AbstractContextManager[Reads]]


@dataclass(frozen=True, slots=True)
class Resyncs:
    """Of one target: its job, and of the triggers those that others call."""

    job: ResyncJob
    views: RedefinedTables
    history: HistoryReplay
    bootstrap: Bootstrap
    commits: CommittedWrites | None = None

    @classmethod
    def of(
        cls,
        queue: EventQueue,
        refreshes: Refreshes,
        settings: TargetSettings,
        translator: Translator,
        *,
        source: OpenSource | None,
        drain: Callable[[], Drain],
        tables_per_second: float,
        origin: BootstrapOrigin | None = None,
        listens: Callable[[], bool] = lambda: True,
        settled: Callable[[], bool] = lambda: True,
        relays: bool = False,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> Resyncs:
        """Those of a target; each reads so many tables a second, at most. `source` opens the source, if it is known.

        With an `origin` nothing but that is loaded. `drain` gives the target's drain. `listens` says whether later
        changes are captured already, `settled` whether no listener has older ones. `relays`: targets pass on what they
        get. `clock` gives seconds since 1970, `timer` seconds that only grow.
        """

        def opened() -> AbstractContextManager[Reads]:
            return known(source)()

        rows, policy, pace = ResyncRows(queue, settings.name, clock), translator.policy, tables_per_second
        scope = RefreshScope(policy.takes_database, policy.takes_table)
        snapshots = source is not None and settings.transactional == "snapshot" and settings.mode != "shadow"
        translates = settings.translates_views and settings.mode != "shadow"
        views = RedefinedTables(
            rows, scope, translator.mapping, translates=translates, hive=lambda: settings.source_hive, clock=timer
        )
        history = HistoryReplay(queue, rows, policy, opened)
        read = origin or BootstrapOrigin(opened)
        bootstrap = Bootstrap(queue, refreshes, settings, scope, rows, origin=read, drain=drain, listens=listens)
        new = NewTarget(
            queue, refreshes, scope, bootstrap, settled=settled, listens=listens, relays=relays, timer=timer
        )
        changed = ScopeChange(queue, refreshes, scope, settings, Extent(policy, translator.mapping))
        # Without a source views and new targets stay as they are: that is no error of the worker.
        first, compared = ([views] if translates and source else []), ([new] if source else [])

        def taken() -> Mapping[TableName, Snapshot]:
            return drain().reads.snapshots

        every_seconds = settings.transactional_poll_seconds
        commits = CommittedWrites(scope, every_seconds, taken=taken, clock=clock, timer=timer) if snapshots else None
        frequent = [commits] if commits is not None else []
        every = [*first, history, bootstrap, *compared, changed, *frequent, *recurring_of(settings, policy, scope)]
        triggers: list[Trigger] = [bootstrap] if origin else every
        job = ResyncJob(
            queue, refreshes, settings.name, triggers, rows, source=read.opened, tables_per_second=pace, clock=clock
        )
        return cls(job, views, history, bootstrap, commits)
