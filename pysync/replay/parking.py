"""Parking: the events that a target refused, what waits behind them, and trying them again."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from pysync.queue import EventQueue, Park, Parked, Queued
from pysync.replay.order import holds_back

Covers = Callable[[int, Set[str]], bool]
"""Whether a refresh makes good a parked event at that position, of these keys."""

_WINDOW_EVENTS = 500
_LONGEST_REASON = 2000


@dataclass(frozen=True, slots=True)
class Refusal:
    """An event that cannot be applied now; `kind` is "rejected", "bug", or "waits" behind another."""

    event: Queued
    keys: frozenset[str]
    kind: str
    reason: str


class Parking:
    """The parked events of one target and the keys that they block; each is used by one thread alone."""

    def __init__(self, queue: EventQueue, target: str, *, heals: bool = False) -> None:
        """`heals` is whether a refresh can read the source, and so make good what is parked."""
        self._heals = heals
        self._queue = queue
        self._target = target
        self.blocked: set[str] = set()
        self._refused: list[tuple[int, frozenset[str]]] = []  # since `recall`
        self._made_good: list[tuple[int, Covers]] = []

    def recall(self) -> None:
        """Block what the queue says is parked, and nothing else."""
        self.blocked = self._queue.blocked_tables(self._target)
        self._refused, self._made_good = [], []

    def begin(self, keys: Container[str] | None = None) -> None:
        """Block none of `keys` (not given: nothing at all): what is still refused blocks again."""
        self.recall()
        self.blocked = {key for key in self.blocked if keys is not None and key not in keys}

    def refuse(self, event: Queued, keys: frozenset[str], kind: str, reason: str) -> Refusal:
        """A refusal of the event; what shares its keys waits from now on."""
        self.blocked |= keys
        self._refused.append((event.position, keys))
        return Refusal(event, keys, kind, _shortened(reason))

    def park(self, refused: Iterable[Refusal]) -> list[Park]:
        """The rows to park: an event under each of its keys."""
        now = int(time.time() * 1000)
        return [
            Park(self._target, it.event.position, key, it.event.data, it.reason, it.kind, 1, now, now)
            for it in refused
            for key in sorted(it.keys or {""})
        ]

    def make_good(self, position: int, covers: Covers) -> None:
        """The refresh at `position` will make good the parked events that it covers: they block no more."""
        if not self._heals or not self.blocked:
            return
        parked = [*self._queue.parked_names(self._target).items(), *self._refused]
        covered = frozenset().union(*(keys for at, keys in parked if covers(at, keys)))
        self.blocked -= covered.difference(*(keys for at, keys in parked if not covers(at, keys)))
        self._made_good.append((position, covers))

    def void(self, done: int, refused: Container[int]) -> None:
        """Forget what the refreshes up to position `done` have made good, but for those that were `refused`."""
        names = self._queue.parked_names(self._target) if self._made_good else {}
        for upto, covers in self._made_good:
            if upto <= done and upto not in refused:
                covered = [position for position, keys in names.items() if position < upto and covers(position, keys)]
                self._queue.unpark_positions(self._target, covered)

    def windows(self) -> Iterator[list[Parked]]:
        """The parked rows in event order, some hundred at a time; a rename has one under each of its names.

        Those whose table is blocked by the time that they come to are left out: they go on waiting.
        """
        last: Parked | None = None
        while batch := self._queue.parked(self._target, after=last, limit=_WINDOW_EVENTS):
            last = batch[-1]
            if rows := [row for row in batch if row.table not in self.blocked]:
                yield rows

    def retried(self, rows: Sequence[Parked], refused: Iterable[Refusal]) -> None:
        """Forget the rows of events that were not refused again, and note why the others were."""
        again = {refusal.event.position: refusal for refusal in refused}
        now = int(time.time() * 1000)
        self._queue.unpark(self._target, [row.id for row in rows if row.position not in again])
        self._queue.update_parked(
            [
                replace(row, reason=why.reason, kind=why.kind, attempts=row.attempts + 1, last_at_ms=now)
                for row in rows
                if (why := again.get(row.position)) is not None and why.kind != "waits"
            ]
        )


def _shortened(reason: str) -> str:
    """The start and the end of a reason that is too long: of a traceback it is the end that tells."""
    half = _LONGEST_REASON // 2
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: half - 1]}…{reason[-half:]}"


def related(keys: Iterable[str], groups: Iterable[Iterable[str]]) -> frozenset[str]:
    """All keys that must be tried together with `keys`; `groups` are the keys of every parked event. Pure."""
    found = frozenset(keys)
    left = {frozenset(group) for group in groups}
    while near := {group for group in left if holds_back(found, group)}:
        found = found.union(*near)
        left -= near
    return found
