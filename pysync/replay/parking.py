"""Parking: the events that a target refused, what waits behind them, and their retries."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import structlog

from pysync.queue import Park, Parked, ParkedEvents, Queued
from pysync.replay.order import holds_back
from pysync.replay.progress import Progress

Covers = Callable[[int, Set[str]], bool]
"""Whether a refresh makes good a parked event at that position, with these keys."""

_WINDOW_EVENTS = 500
_LONGEST_REASON = 2000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An event that cannot be applied now; `kind` is "rejected", "bug", or "waits" (behind another)."""

    event: Queued
    keys: frozenset[str]
    kind: str
    reason: str


class Parking:
    """The parked events of one target, and the keys that they block. Each instance is used by one thread.

    A refusal is stored only when the position moves past its event, together with that (`store`). Until then it is
    known only here.
    """

    def __init__(self, parked: ParkedEvents, *, heals: bool = False) -> None:
        """`parked` are the target's, in the queue. `heals` is whether refreshes can read the source, and so make them
        good.
        """
        self._heals = heals
        self._parked = parked
        self.blocked: set[str] = set()
        self._stored: set[str] = set()  # the keys of stored events that block
        self._refused: dict[int, frozenset[str]] = {}  # refused, but not stored yet
        self._made_good: dict[int, Covers] = {}  # by refreshes that are under way

    def heals(self, upto: int) -> bool:
        """Whether a refresh under way, at `upto` or before it, will make good anything that is parked."""
        refreshes = {at: covers for at, covers in self._made_good.items() if at <= upto}
        names = self._parked.names() if refreshes else {}
        return any(_is_covered(at, keys, refreshes) for at, keys in names.items())

    def recall(self) -> None:
        """Block exactly the keys of parked and refused events, except those that a refresh under way makes good."""
        self._stored = self._parked.blocked()
        self.blocked = self._stored.union(*self._refused.values())
        self._heal()

    def begin(self, keys: Container[str] | None = None) -> None:
        """Block none of `keys` (None: nothing at all) while they are retried; what is refused again blocks again."""
        self.recall()
        self.blocked = {key for key in self.blocked if keys is not None and key not in keys}
        self._stored = set(self.blocked)

    def holds(self, keys: Collection[str], position: int) -> bool:
        """Whether a work of these keys, whose last event is at `position`, waits behind an earlier event."""
        if not self.blocked:
            return False
        # Windows overlap, so a later event may have been refused before an earlier work of its table ends.
        before = self._stored.union(*(found for at, found in self._refused.items() if at < position))
        return holds_back(before & self.blocked, keys)

    def forget(self) -> None:
        """Forget everything that is not stored: it comes again."""
        self._refused, self._made_good = {}, {}

    def refuse(self, event: Queued, keys: frozenset[str], kind: str, reason: str) -> Refusal:
        """A refusal of the event; events with its keys wait from now on."""
        self._refused[event.position] = keys
        self.blocked |= keys
        if self._made_good.pop(event.position, None):  # a refused refresh makes nothing good
            self.recall()
        return Refusal(event, keys, kind, _shortened(reason))

    def store(self, done: int, refused: Iterable[Refusal]) -> list[Refusal]:
        """The refusals to store when the target is done up to that position.

        What refreshes up to there have made good is left out, and removed if it was stored before.
        """
        healed = {upto: covers for upto, covers in self._made_good.items() if upto <= done}
        names = self._parked.names() if healed else {}
        covered = [at for at, keys in names.items() if _is_covered(at, keys, healed)]
        if covered:
            self._parked.remove_at(covered)
        left = [it for it in refused if not _is_covered(it.event.position, it.keys, healed)]
        self._stored.update(*(keys for at, keys in self._refused.items() if at <= done))
        self._refused = {at: keys for at, keys in self._refused.items() if at > done}
        self._made_good = {upto: covers for upto, covers in self._made_good.items() if upto > done}
        return left

    def park(self, refused: Iterable[Refusal]) -> list[Park]:
        """The rows to park: an event has one for each of its keys."""
        now = int(time.time() * 1000)
        return [
            Park(self._parked.target, it.event.position, key, it.event.data, it.reason, it.kind, 1, now, now)
            for it in refused
            # An event whose table is unknown needs a row, too, or it would be lost. It blocks nothing.
            for key in sorted(it.keys or {""})
        ]

    def make_good(self, position: int, covers: Covers) -> None:
        """The refresh at `position` will make good earlier parked events that it covers: they block no longer."""
        if self._heals:
            self._made_good[position] = covers
            self._heal()

    def _heal(self) -> None:
        if not self.blocked or not self._made_good:
            return
        parked = [*self._parked.names().items(), *self._refused.items()]
        good = [_is_covered(at, keys, self._made_good) for at, keys in parked]
        covered = frozenset[str]().union(*(keys for (_, keys), is_good in zip(parked, good, strict=True) if is_good))
        left = (keys for (_, keys), is_good in zip(parked, good, strict=True) if not is_good)
        # A key stays blocked if any event that is not covered has it.
        self.blocked -= covered.difference(*left)

    def windows(self) -> Iterator[list[Parked]]:
        """The parked rows in event order, some hundred at a time; a rename has a row for each of its names.

        Rows whose table is blocked when their turn comes are left out: they go on waiting.
        """
        last: Parked | None = None
        while batch := self._parked.events(after=last, limit=_WINDOW_EVENTS):
            last = batch[-1]
            if rows := [row for row in batch if row.table not in self.blocked]:
                yield rows

    def retried(self, rows: Sequence[Parked], refused: Iterable[Refusal]) -> None:
        """Remove the rows of events that were not refused again, and update the reasons of the others."""
        again = {refusal.event.position: refusal for refusal in refused}
        now = int(time.time() * 1000)
        self._parked.remove([row.id for row in rows if row.position not in again])
        self._parked.update(
            [
                replace(row, reason=why.reason, kind=why.kind, attempts=row.attempts + 1, last_at_ms=now)
                for row in rows
                if (why := again.get(row.position)) is not None and why.kind != "waits"
            ]
        )


def _is_covered(at: int, keys: Set[str], refreshes: Mapping[int, Covers]) -> bool:
    """Whether a later one of the refreshes, given by position, makes good the parked event at `at`."""
    return any(at < upto and covers(at, keys) for upto, covers in refreshes.items())


def _shortened(reason: str) -> str:
    """The start and the end of a reason that is too long: the end of a traceback says the most."""
    half = _LONGEST_REASON // 2
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: half - 1]}…{reason[-half:]}"


def tell(target: str, progress: Progress, refused: Sequence[Refusal]) -> None:
    """Count parked events, and log those that do not only wait. Called once for each, not when it is refused again."""
    progress.count("parked", len(refused))
    note(progress, refused)
    for refusal in refused:
        if refusal.kind != "waits":
            keys, position = sorted(refusal.keys), refusal.event.position
            log.error("event_parked", target=target, position=position, keys=keys, reason=refusal.reason)


def note(progress: Progress, refused: Iterable[Refusal]) -> None:
    """Let the progress remember the reasons of events that do not only wait."""
    for refusal in refused:
        if refusal.kind != "waits":
            progress.refused(refusal.reason)


def related(keys: Iterable[str], groups: Iterable[Iterable[str]]) -> frozenset[str]:
    """All keys that must be retried together with `keys`; `groups` are the keys of every parked event. Pure."""
    found = frozenset(keys)
    left = {frozenset(group) for group in groups}
    while near := {group for group in left if holds_back(found, group)}:
        found = found.union(*near)
        left -= near
    return found
