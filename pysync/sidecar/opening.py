"""Opening: targets of the sidecar, with a count of the calls that they make and a look at what they redefine."""

from __future__ import annotations

from functools import partial

from pysync.measures.calls import Counts, Throttle
from pysync.targets.base import Target
from pysync.targets.kinds import target_kind
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget
from pysync.targets.watched import Redefining


def open_watched(settings: TargetSettings, calls: Counts, throttle: Throttle, redefining: Redefining) -> Target:
    """The target of these settings. Raises what opening does.

    If it is one on a store, `calls` counts its calls, `throttle` is told of them, and `redefining` is around what it
    writes of tables.
    """
    target = target_kind(settings.kind).open(settings)
    if isinstance(target, StoreTarget):
        target.store.tell_calls(partial(_tell, calls, throttle))
        target.redefining(redefining)
    return target


def _tell(calls: Counts, throttle: Throttle, name: str) -> None:
    calls.add(name)
    throttle.spend()
