"""Resyncs: what has a single target read from the source again, beside the healing of gaps that all have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pysync.metastore.access import MetastoreAccess
from pysync.queue import EventQueue
from pysync.replay.translate import Translator
from pysync.resync.healing import reading
from pysync.resync.recurring import Recurring, log_schemas, partition_filters
from pysync.resync.refreshes import Refreshes
from pysync.resync.replays import Replays
from pysync.resync.rescoping import Rescoper
from pysync.resync.view_refreshes import ViewRefreshes
from pysync.targets.settings import TargetSettings
from pysync.worker import Worker


@dataclass(frozen=True, slots=True)
class Resyncs:
    """Of one target: a change of its scope, tables that are read from time to time, its views, replays of history."""

    rescoper: Rescoper
    recurring: tuple[Recurring, ...]
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
            tuple(
                Recurring(queue, refreshes, policy, it, source=opened, tables_per_second=pace)
                for it in (log_schemas(settings), partition_filters(settings, policy))
            ),
            ViewRefreshes(queue, refreshes, settings, translator, source=opened, tables_per_second=pace),
            Replays(queue, refreshes, policy, settings.name, source=opened, tables_per_second=pace),
        )

    @property
    def workers(self) -> list[Worker]:
        """Their threads, started or not."""
        return [self.rescoper.worker, *(it.worker for it in self.recurring), self.views.worker, self.replays.worker]

    def start(self) -> None:
        """Begin those that keep a target in order by themselves; waits for nothing."""
        self.rescoper.start()
        for it in self.recurring:
            it.start()
        self.views.start()
