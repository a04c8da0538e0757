"""Connections to simulated metastores: each call may meet a fault, and others may do something before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pysync.lab.memory import MemoryMetastore, MemoryStore
from pysync.metastore.errors import MetastoreCallFailed, MetastoreUnavailable
from pysync.targets.hms import HmsStore
from pysync.targets.hms.connections import Connections
from pysync.targets.settings import TargetSettings
from pysync.targets.target import StoreTarget

T = TypeVar("T")


@dataclass(slots=True)
class Link:
    """The way from one sidecar to one metastore: how many calls are yet to fail, and how.

    Works of the keys `hanging` do not end, or (`failing`) find the target away, again and again, whichever sidecar
    makes them.
    """

    before_call: Callable[[], None]
    away: int = 0
    undone: int = 0
    unanswered: int = 0
    hanging: frozenset[str] = frozenset()
    failing: bool = False

    def meet(self) -> None:
        """Before a call. Raises what it meets."""
        self.before_call()
        if self.away:
            self.away -= 1
            raise MetastoreUnavailable("simulated: nobody there")
        if self.undone:
            self.undone -= 1
            raise MetastoreCallFailed("simulated: the request got lost")

    def answer(self) -> None:
        """After a call. Raises where its answer gets lost."""
        if self.unanswered:
            self.unanswered -= 1
            raise MetastoreCallFailed("simulated: the answer got lost")

    def calm(self) -> None:
        """No fault any more, but for what hangs."""
        self.away = self.undone = self.unanswered = 0


class Connection(MemoryMetastore):
    """One connection over a link."""

    def __init__(self, store: MemoryStore, link: Link, user: str | None = None) -> None:
        super().__init__(store, user)
        self._link = link

    def call(self, request: Callable[[Any], T]) -> T:
        self._link.meet()
        found = super().call(request)
        self._link.answer()
        return found


class LinkedTarget(StoreTarget):
    """What kind hms does, over a link."""

    def __init__(self, settings: TargetSettings, store: MemoryStore, link: Link) -> None:
        connections = Connections(settings, partial(Connection, store, link))
        super().__init__(HmsStore(settings, connections, f"target {settings.name!r} in memory"))
