"""Opening: targets of the sidecar, with a count of the calls that they make and a look at what they redefine."""

from __future__ import annotations

from pysync.measures.counts import Counts
from pysync.targets.base import Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget
from pysync.targets.watched import Redefining


def open_watched(settings: TargetSettings, calls: Counts, redefining: Redefining) -> Target:
    """The target of these settings. Raises what opening does.

    If it is one on a store, `calls` counts its calls, and `redefining` is around what it writes of tables.
    """
    target = target_kind(settings.kind).open(settings)
    if isinstance(target, StoreTarget):
        target.store.tell_calls(calls.add)
        target.redefining(redefining)
    return target
