"""How the parts of a sidecar are put together: its targets, and its poller."""

from __future__ import annotations

from functools import partial

from pysync.base.counts import Counts
from pysync.base.throttle import Throttle
from pysync.capture.gaps import GapWatch
from pysync.capture.notifications import Poller
from pysync.capture.switch import NOTIFICATION_LOG, SWITCHED
from pysync.config import Config
from pysync.queue import EventQueue, Gap
from pysync.targets.apply.changes import Redefining
from pysync.targets.base import Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget

_OF_LOG = "notification-log:"
"""How the keys of the gaps begin that the poller has found."""


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
        queue.gaps.open(_OF_LOG + reason, reason)

    return Poller(queue, source.name, access, on_gap, poll_seconds=source.poll_seconds, catalogs=config.catalogs)


def missed_in_log(queue: EventQueue) -> int:
    """When rows of the notification log were last found missing, in milliseconds since 1970; 0: never."""
    return max((gap.found_at_ms for gap in queue.gaps.latest() if gap.key.startswith(_OF_LOG)), default=0)


def listens(poller: Poller | None) -> bool:
    """Whether the log has been read, so that what changes from now on comes as events."""
    return poller is None or poller.status()["position"] is not None


def is_early(gap: Gap, poller: Poller | None, watch: GapWatch) -> bool:
    """Whether changes may not be captured yet: what changes after the comparison would be in no event."""
    if poller is not None:
        return not listens(poller)
    return gap.key.startswith(SWITCHED) and not watch.reporting_listeners()
