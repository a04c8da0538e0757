"""Reaching: whether some objects are at a target up to a position, and what keeps them from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from dataclasses import dataclass

from pysync.base.health import decide
from pysync.base.text import count
from pysync.model.names import TableName
from pysync.queue import EventQueue, Removal
from pysync.replay.drain import Drain
from pysync.replay.progress import DrainState
from pysync.replay.window.concerns import Concerns, concerns
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.order import EVERYTHING, database_of, is_database
from pysync.replay.window.policy import Policy
from pysync.sidecar.held import summary
from pysync.sidecar.waiting.verdict import WaitVerdict, cannot, waits

_PATIENCE_SECONDS = 5.0
"""What is parked is tried again by itself after two seconds."""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Objects:
    """A table, or a database with everything in it.

    `source` is its name there, and `concerned` knows its names at the target. `databases` are those of the target that
    have any of it.
    """

    source: str
    concerned: Concerns
    databases: frozenset[str]

    @classmethod
    def of(cls, source: str, mapping: NameMapping) -> Objects:
        """Those of a target."""
        if "." in source:
            names = {mapping.key(source), mapping.order_key(TableName.parse(source))}
            return cls(source, concerns(names), frozenset(map(database_of, names)))
        places = frozenset(mapping.databases_of([source]))
        return cls(source, _concerns_database(source, mapping, places), places)


def _concerns_database(source: str, mapping: NameMapping, places: Set[str]) -> Concerns:
    """For a database of the source. Another one may have tables in the same `places`, the databases of the target."""

    def is_of(key: str) -> bool:
        if database_of(key) not in places:
            return False
        return is_database(key) or key.endswith("()") or mapping.source_of(key).database == source

    return lambda keys: not keys or any(map(is_of, keys))


def out_of_scope(policy: Policy, source: str) -> str | None:
    """The rule by which a target has no such table or database."""
    database, dot, table = source.partition(".")
    return policy.rule_against(TableName(database, table) if dot else database)


class Reaching:
    """Looks whether the objects are at the target of a drain. For one thread at a time."""

    def __init__(
        self, drain: Drain, queue: EventQueue, objects: Objects, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.drain = drain
        self.objects = objects
        self._queue = queue.target(drain.name)
        self._clock = clock
        self._parked_since: float | None = None
        self._began_at = time.monotonic()

    def hindered(self) -> WaitVerdict | None:
        """Why the target will not have these objects, whatever comes; None if it will."""
        rule = out_of_scope(self.drain.translator.policy, self.objects.source)
        if rule is not None:
            text = f"{self.objects.source} is out of scope of {self.drain.name}: {rule}"
            return cannot("out_of_scope", text, "pysync plan --scope")
        if self.drain.settings.mode == "shadow":
            return cannot("shadow", f'{self.drain.name} has mode = "shadow": nothing is written there')
        if not self.drain.settings.enabled:
            return cannot("disabled", f"{self.drain.name} is disabled", f"pysync target enable {self.drain.name}")
        return None

    def position(self) -> int:
        """The position up to which the objects are at the target, but for what is parked."""
        return self.drain.pending.upto(self.objects.concerned)

    def parked(self, position: int | None = None) -> dict[int, set[str]]:
        """The parked events that concern the objects, by position, up to this one."""
        names = self._queue.parked.names()
        return {
            at: keys
            for at, keys in names.items()
            if (position is None or at <= position) and self.objects.concerned(keys)
        }

    def verdict(self, position: int) -> WaitVerdict | None:
        """What keeps the objects from being at the target up to there; None if nothing does, and the target answers."""
        if self.position() < position:
            self._parked_since = None
            return self._under_way(position)
        parked = self.parked(position)
        if not parked:
            return self._silent(position)
        now = self._clock()
        self._parked_since = now if self._parked_since is None else self._parked_since
        if held := self._held({key.removesuffix(EVERYTHING) for keys in parked.values() for key in keys}):
            what = f"{self.drain.name} holds the drop of {summary(held)}: {held[0].reason}"
            return cannot("brake", what, decide(self.drain.name), position)
        verdict = _parked(self.drain.name, parked)
        if now - self._parked_since < _PATIENCE_SECONDS:
            return waits("parked", verdict, position=position)
        return cannot("parked", verdict, f"pysync parked list {self.drain.name}", position)

    def _held(self, parked: Set[str]) -> list[Removal]:
        """What the brake holds of these databases and tables."""
        return [it for it in self.drain.brake.held() if it.table in parked]

    def _silent(self, position: int) -> WaitVerdict | None:
        """A target that has everything has to have answered since this was made: one that is gone has nothing."""
        if self.drain.has_answered_since(self._began_at):
            return None
        return waits("target_away", f"{self.drain.name} has not answered yet", "pysync status", position)

    def _under_way(self, position: int) -> WaitVerdict:
        name, pause = self.drain.name, self.drain.paused()
        if pause is not None:
            return cannot("paused", f"{name} is paused: {pause.reason}", f"pysync resume {name}", position)
        if self.drain.progress.state in {DrainState.WAITING, DrainState.FAILING, DrainState.STOPPED}:
            return waits("target_away", f"{name} is {self.drain.progress.state}", "pysync status", position)
        left = max(0, position - self.position())
        return waits("replay", f"{name} has {count(left, 'event')} to replay first", position=position)


def _parked(target: str, parked: dict[int, set[str]]) -> str:
    names = sorted(set[str]().union(*parked.values()))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{target} has parked {count(len(parked), 'event')} of {', '.join(names[:_MOST_NAMED])}{more}"
