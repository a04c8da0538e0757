"""Triggers: the table of what begins a resync of a target, and the job that carries all of them out.

| trigger | begins when | reads |
|---|---|---|
| `views` | the target has redefined a table that views may read | these views |
| `history` | `pysync replay` names a range of events | what they touched |
| `bootstrap` | `pysync bootstrap`, until the target of a new one has everything | everything in scope |
| `load` | `pysync load`, in the place of `bootstrap` | everything in scope that a dump has |
| `scope` | the target has another scope in pysync.toml | everything in scope, and what has left it |
| `log_schemas` | `log_schemas_every` has passed | Delta and Hudi tables |
| `partition_filters` | another day has begun, and a filter is relative to today | the tables that it concerns |

The first ones are the most urgent: a job interrupts a later one for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from pysync.metastore.reads import Reads
from pysync.metastore.source import known
from pysync.queue import EventQueue
from pysync.replay.drain import Drain
from pysync.replay.window.translate import Translator
from pysync.resync.bootstrap import Bootstrap, BootstrapOrigin
from pysync.resync.history import History
from pysync.resync.job import ResyncJob
from pysync.resync.recurring import recurring_of
from pysync.resync.refreshes import Refreshes
from pysync.resync.rescoping import ScopeChange
from pysync.resync.rows import ResyncRows
from pysync.resync.views import RedefinedTables
from pysync.targets.settings import TargetSettings

OpenSource = Callable[[], AbstractContextManager[Reads]]


@dataclass(frozen=True, slots=True)
class Resyncs:
    """Of one target: its job, and of the triggers those that others call."""

    job: ResyncJob
    views: RedefinedTables
    history: History
    bootstrap: Bootstrap
    scope: ScopeChange

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
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> Resyncs:
        """Those of a target; each reads so many tables a second, at most. `source` opens the source, if it is known.

        With an `origin` nothing but that is loaded. `drain` gives the target's drain, and `listens` says whether later
        changes are captured already. `clock` gives seconds since 1970, `timer` seconds that only grow.
        """

        def opened() -> AbstractContextManager[Reads]:
            return known(source)()

        rows, policy, pace = ResyncRows(queue, settings.name, clock), translator.policy, tables_per_second
        translates = settings.translates_views and settings.mode != "shadow"
        views = RedefinedTables(rows, translator, translates=translates, clock=timer)
        history = History(queue, rows, policy, opened)
        read = origin or BootstrapOrigin(opened)
        bootstrap = Bootstrap(queue, refreshes, settings, policy, rows, origin=read, drain=drain, listens=listens)
        scope = ScopeChange(queue, refreshes, settings, translator)
        # Without a source views stay as they came: that is no error of the worker.
        urgent = [views] if translates and source else []
        every = [*urgent, history, bootstrap, scope, *recurring_of(settings, policy)]
        triggers = [bootstrap] if origin else every
        job = ResyncJob(
            queue, refreshes, settings.name, triggers, rows, source=read.opened, tables_per_second=pace, clock=clock
        )
        return cls(job, views, history, bootstrap, scope)
