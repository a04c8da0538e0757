"""How the parts of a sidecar are put together: its targets, its poller, and the resyncs of each target."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pysync.base.counts import Counts
from pysync.base.throttle import Throttle
from pysync.capture.gaps import GapWatch
from pysync.capture.notifications import Poller
from pysync.capture.switch import NOTIFICATION_LOG, SWITCHED
from pysync.config import Config
from pysync.metastore.access import MetastoreAccess
from pysync.metastore.source import reading
from pysync.queue import EventQueue, Gap
from pysync.replay.window.translate import Translator
from pysync.resync.recurring import Recurring, log_schemas, partition_filters
from pysync.resync.refreshes import Refreshes
from pysync.resync.replays import Replays
from pysync.resync.rescoping import Rescoper
from pysync.resync.view_refreshes import ViewRefreshes
from pysync.targets.apply.door import Redefining
from pysync.targets.base import Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget
from pysync.worker import Worker


def open_watched(settings: TargetSettings, calls: Counts, throttle: Throttle, redefining: Redefining) -> Target:
    """The target of these settings. Raises what opening does.

    If it is one on a store, its calls are counted, and `redefining` is around what it writes of tables.
    """
    target = open_counted(settings, calls, throttle)
    if isinstance(target, StoreTarget):
        target.redefining(redefining)
    return target


def open_counted(settings: TargetSettings, calls: Counts, throttle: Throttle) -> Target:
    """The target of these settings; if it is one on a store, `calls` and `throttle` have its calls. Raises as above."""
    target = target_kind(settings.kind).open(settings)
    if isinstance(target, StoreTarget):
        target.store.observe_calls(partial(_count_call, calls, throttle))
    return target


def _count_call(calls: Counts, throttle: Throttle, name: str) -> None:
    calls.add(name)
    throttle.spend()


def poller_of(queue: EventQueue, config: Config) -> Poller | None:
    """The poller of the source's notification log; None if the source has a listener."""
    source, access = config.source, config.source_access()
    if source.capture != NOTIFICATION_LOG or access is None:
        return None

    def on_gap(reason: str) -> None:
        queue.gaps.open(f"notification-log:{reason}", reason)

    return Poller(queue, source.name, access, on_gap, poll_seconds=source.poll_seconds, catalogs=config.catalogs)


def listens(poller: Poller | None) -> bool:
    """Whether the log has been read, so that what changes from now on comes as events."""
    return poller is None or poller.status()["position"] is not None


def is_early(gap: Gap, poller: Poller | None, watch: GapWatch) -> bool:
    """Whether changes may not be captured yet: what changes after the comparison would be in no event."""
    if poller is not None:
        return not listens(poller)
    return gap.key.startswith(SWITCHED) and not watch.has_reports()


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
