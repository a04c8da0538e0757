"""Blocks: which events wait behind those that a target refused, and which refused events a refresh makes good."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Set
from dataclasses import dataclass, field

from pysync.base.masking import masked
from pysync.model.change import Change
from pysync.queue import Queued
from pysync.replay.window.order import EVERYTHING, holds_back

Covers = Callable[[int, Set[str]], bool]
"""Whether a refresh makes good a refused event at that position, with these keys."""
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Refusal:
    """An event that cannot be applied now.

    `kind` is "rejected", "held" (by the brake), "bug", or "waits" (behind another).
    """

    event: Queued
    keys: frozenset[str]
    kind: str
    reason: str

    @classmethod
    def of(cls, event: Queued, keys: frozenset[str], kind: str, reason: str) -> Refusal:
        """The refusal with a reason of at most 2,000 characters, which shows no secret."""
        reason = masked(reason)
        half = _LONGEST_REASON // 2
        # The end of a traceback says the most.
        short = reason if len(reason) <= _LONGEST_REASON else f"{reason[: half - 1]}…{reason[-half:]}"
        return cls(event, keys, kind, short)

    @classmethod
    def waiting(cls, event: Queued, keys: frozenset[str]) -> Refusal:
        """The refusal of an event that waits behind another one."""
        return cls(event, keys, "waits", "waits behind a parked event")


@dataclass(slots=True)
class Blocks:
    """The keys that refused events block, but for those that a refresh under way makes good.

    `stored` are the keys of the parked events that block, and `parked` reads the keys of every parked event, by
    position. `refused` events are to be parked, and `healing` says what each refresh under way makes good, both by
    position. Without `heals` refreshes make nothing good. In memory only: a draft works on a copy.
    """

    parked: Callable[[], Mapping[int, Set[str]]] = dict
    heals: bool = False
    stored: Set[str] = frozenset()
    refused: dict[int, Set[str]] = field(default_factory=dict)
    healing: dict[int, Covers] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    def copy(self) -> Blocks:
        """Blocks that know the same and change alone."""
        refused, healing = dict(self.refused), dict(self.healing)
        return Blocks(self.parked, self.heals, self.stored, refused, healing, set(self.keys))

    def recall(self, stored: Set[str]) -> Blocks:
        """Block exactly the keys of parked events, `stored`, and of refused ones, except what is made good."""
        self.stored = stored
        self.keys = set(stored).union(*self.refused.values())
        self._heal()
        return self

    def take(self, refused: Iterable[Refusal], heals: Mapping[int, Covers]) -> None:
        """A draft is under way: what is refused in it blocks, and its refreshes make good what they cover."""
        for refusal in refused:
            self.refuse(refusal.event.position, refusal.keys)
        for position, covers in heals.items():
            self.heal(position, covers)

    def refuse(self, position: int, keys: Set[str]) -> None:
        """Block the keys of an event. If it is a refresh, it makes nothing good."""
        self.refused[position] = keys
        if self.healing.pop(position, None) is not None:
            self.recall(self.stored)
        elif not is_covered(position, keys, self.healing):
            self.keys |= keys

    def heal(self, position: int, covers: Covers) -> None:
        """The refresh at `position` will make good earlier events that it covers: they block no longer."""
        if self.heals:
            self.healing[position] = covers
            self._heal()

    def is_blocked(self, change: Change) -> bool:
        """Whether the change, which is newer than all refused events, waits behind one of them."""
        if not self.keys:
            return False
        if change.comes_alone:
            return change.database + EVERYTHING in self.keys
        return holds_back(self.keys, change.keys)

    def is_blocked_at(self, position: int, keys: Collection[str]) -> bool:
        """Whether a work of these keys, whose last event is at `position`, waits behind an earlier event."""
        # Windows overlap: later events may have been refused already, and later refreshes make good what they cover
        # for what comes after them only.
        before = {at: refused_keys for at, refused_keys in self.refused.items() if at < position}
        blocked = set(self.stored).union(*before.values())
        healing = {at: covers for at, covers in self.healing.items() if at <= position}
        if not healing or not holds_back(blocked, keys):
            return holds_back(blocked, keys)
        return holds_back(blocked & self._uncovered(before, healing), keys)

    def settle(self, done: int) -> None:
        """All events up to there are applied or stored. What was refused of them is parked now, but for what a refresh
        up to there has made good.
        """
        refused = {at: keys for at, keys in self.refused.items() if at <= done}
        healing = {at: covers for at, covers in self.healing.items() if at <= done}
        stored = set(self.stored).union(*refused.values())
        self.stored = stored & self._uncovered(refused, healing) if healing and stored else stored
        self.refused = {at: keys for at, keys in self.refused.items() if at > done}
        self.healing = {at: covers for at, covers in self.healing.items() if at > done}

    def _heal(self) -> None:
        if self.keys and self.healing:
            self.keys &= self._uncovered(self.refused, self.healing)

    def _uncovered(self, refused: Mapping[int, Set[str]], healing: Mapping[int, Covers]) -> Set[str]:
        """The keys of parked and refused events that are not made good; a key stays while any such event has it."""
        events = [*self.parked().items(), *refused.items()]
        return set[str]().union(*(keys for at, keys in events if not is_covered(at, keys, healing)))


def is_covered(at: int, keys: Set[str], healing: Mapping[int, Covers]) -> bool:
    """Whether one of the later refreshes in `healing` makes good the event at `at`."""
    return any(at < upto and covers(at, keys) for upto, covers in healing.items())
