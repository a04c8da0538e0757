"""Trigger: why a target reads objects at the source again, which ones, and what follows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pysync.base.errors import PysyncError
from pysync.metastore.reads import Reads
from pysync.queue import Resync
from pysync.resync.wanted import Names


@dataclass(frozen=True, slots=True)
class ResyncRequest:
    """Why a resync begins, for people; and of what, as JSON that its trigger understands."""

    reason: str
    scope: str = "{}"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The refreshes that are not in the queue yet, read lazily; `total` is how many objects there are, if known."""

    names: Iterator[Names]
    total: int | None = None


class ResyncFailed(PysyncError):
    """A resync can never be done: no later try would find what it needs."""


class Trigger:
    """What begins a resync of one target, called by its job. Subclass it, set `name`, and say what is `wanted`.

    `is_asked`: only people begin it. `is_frequent`: it begins by itself again and again, so its begin and end are not
    logged. `is_paced`: it reads no more tables a second than its job may. `is_living`: it reads the living source.
    """

    name: str
    is_asked = False
    is_frequent = False
    is_paced = True
    is_living = True

    def due(self, last: Resync | None, now: float) -> ResyncRequest | None:  # noqa: ARG002
        """The resync that shall begin at `now` (seconds since 1970), if any; `last` is this trigger's last one."""
        return None

    def is_ready(self) -> bool:
        """Whether a resync that has begun may be queued now."""
        return True

    def wanted(self, source: Reads, resync: Resync) -> Wanted:
        """What of a resync is not queued yet. Raises what reading does, and ResyncFailed."""
        raise NotImplementedError

    def all_queued(self, resync: Resync) -> bool:  # noqa: ARG002
        """All that was wanted is in the queue; False if more is wanted by now. May be called again after a kill."""
        return True

    def queued(self, resync: Resync) -> None:
        """It is on disk that all is queued, or that the resync has failed."""

    def is_over(self, resync: Resync) -> bool:  # noqa: ARG002
        """Whether the resync ends, as the target is past everything that was queued."""
        return True
