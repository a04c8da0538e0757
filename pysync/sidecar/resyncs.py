"""Resyncs: what has a single target read from the source again, beside the healing of gaps that all have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pysync.metastore.access import MetastoreAccess
from pysync.queue import EventQueue
from pysync.replay.translate import Translator
from pysync.resync.healing import reading
from pysync.resync.log_schemas import LogSchemas
from pysync.resync.refreshes import Refreshes
from pysync.resync.replays import Replays
from pysync.resync.rescoping import Rescoper
from pysync.resync.view_refreshes import ViewRefreshes
from pysync.targets.settings import TargetSettings
from pysync.worker import Worker


@dataclass(frozen=True, slots=True)
class Resyncs:
    """Of one target: a change of its scope, the schemas in the logs of its tables, its views, replays of history."""

    rescoper: Rescoper
    log_schemas: LogSchemas
    views: ViewRefreshes
    replays: Replays

    @classmethod
    def of(
        cls,
        queue: EventQueue,
        refreshes: Refreshes,
        settings: TargetSettings,
        translator: Translator,
        *,
        source: MetastoreAccess | None,
        tables_per_second: float,
    ) -> Resyncs:
        """Those of a target; each reads so many tables a second, at most."""
        opened = partial(reading, source) if source else None
        pace, policy = tables_per_second, translator.policy
        return cls(
            Rescoper(queue, refreshes, settings, translator, source=source, tables_per_second=pace),
            LogSchemas(queue, refreshes, settings, policy, source=opened, tables_per_second=pace),
            ViewRefreshes(queue, refreshes, settings, translator, source=opened, tables_per_second=pace),
            Replays(queue, refreshes, policy, settings.name, source=opened, tables_per_second=pace),
        )

    @property
    def workers(self) -> list[Worker]:
        """Their threads, started or not."""
        return [self.rescoper.worker, self.log_schemas.worker, self.views.worker, self.replays.worker]

    def start(self) -> None:
        """Begin those that keep a target in order by themselves; waits for nothing."""
        self.rescoper.start()
        self.log_schemas.start()
        self.views.start()
