"""Opening: targets of the sidecar, with a count of the calls that they make."""

from __future__ import annotations

from pysync.measures.counts import Counts
from pysync.targets.base import Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget


def open_counted(settings: TargetSettings, calls: Counts) -> Target:
    """The target of these settings; if it is one on a store, `calls` counts its calls. Raises what opening does."""
    target = target_kind(settings.kind).open(settings)
    if isinstance(target, StoreTarget):
        target.store.tell_calls(calls.add)
    return target
