"""Parking: the events that a target refused, and what waits behind them."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

import structlog

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.operation import DropDatabase
from pysync.queue import Park, Parked, ParkedEvents
from pysync.replay.batch import Job
from pysync.replay.progress import Progress
from pysync.replay.window.blocks import Blocks, Refusal, is_covered
from pysync.replay.window.draft import Draft
from pysync.replay.window.order import holds_back

_WINDOW_EVENTS = 500
_OF_NO_ERROR = frozenset({"waits", "held"})
"""Kinds of refusals that say nothing of the event; the brake logs what it holds."""

log = structlog.get_logger(__name__)


class Parking:
    """The parked events of one target, and the keys that they block. Each instance is used by one thread.

    A refusal is stored only when the position moves past its event, together with that (`store`). Until then it is
    known only here.
    """

    def __init__(self, parked: ParkedEvents, *, heals: bool = False) -> None:
        """`parked` are the target's, in the queue. `heals` is whether refreshes can read the source, and so make them
        good.
        """
        self._parked = parked
        self.blocks = Blocks(self._names, heals)

    def heals(self, upto: int) -> bool:
        """Whether a refresh under way, at `upto` or before it, will make good anything that is parked."""
        return bool(self._covered(upto))

    def recall(self) -> None:
        """Block exactly the keys of parked and refused events, except those that a refresh under way makes good."""
        self.blocks.recall(self._parked.blocked())

    def begin(self, keys: Container[str] | None = None) -> None:
        """Block none of `keys` (None: nothing at all) while they are retried; what is refused again blocks again."""
        blocked = self._parked.blocked()
        self.forget()
        self.blocks.recall({key for key in blocked if keys is not None and key not in keys})

    def forget(self) -> None:
        """Forget everything that is not stored: it runs again."""
        self.blocks = Blocks(self._names, self.blocks.heals)

    def take(self, draft: Draft) -> None:
        """The draft is under way: events that it refused block, and its refreshes make good what they cover."""
        for refusal in draft.refused:
            self.blocks.refuse(refusal.event.position, refusal.keys)
        for position, covers in draft.heals.items():
            self.blocks.heal(position, covers)

    def store(self, done: int, refused: Iterable[Refusal]) -> list[Refusal]:
        """The refusals to store when the target is done up to that position.

        What refreshes up to there have made good is left out, and removed if it was stored before.
        """
        healed = {upto: covers for upto, covers in self.blocks.healing.items() if upto <= done}
        if covered := self._covered(done):
            self._parked.supersede(covered)
        self.blocks.settle(done)
        return [it for it in refused if not is_covered(it.event.position, it.keys, healed)]

    def park(self, refused: Iterable[Refusal]) -> list[Park]:
        """The rows to park: an event has one for each of its keys."""
        now = int(time.time() * 1000)
        return [
            Park(self._parked.target, it.event.position, key, it.event.data, it.reason, it.kind, 1, now, now)
            for it in refused
            # An event whose table is unknown needs a row, too, or it would be lost. It blocks nothing.
            for key in sorted(it.keys or {""})
        ]

    def windows(self) -> Iterator[list[Parked]]:
        """The parked rows in event order, some hundred at a time; a rename has a row for each of its names.

        Rows whose table is blocked when their turn comes are left out: they go on waiting.
        """
        last: Parked | None = None
        while batch := self._parked.events(after=last, limit=_WINDOW_EVENTS):
            last = batch[-1]
            if rows := [row for row in batch if row.table not in self.blocks.keys]:
                yield rows

    def retried(self, rows: Sequence[Parked], refused: Iterable[Refusal]) -> None:
        """Remove the rows of events that were not refused again, and update the reasons of the others.

        Of a comparison that the brake holds in part, the objects may be others than before.
        """
        again = {refusal.event.position: refusal for refusal in refused}
        now = int(time.time() * 1000)
        held = [it for it in again.values() if it.kind == "held"]
        self._parked.replace([row for row in rows if not _is_refused(row, again)], self.park(held))
        self._parked.update(
            [
                replace(row, reason=why.reason, kind=why.kind, attempts=row.attempts + 1, last_at_ms=now)
                for row in rows
                if _is_refused(row, again) and (why := again[row.position]).kind != "waits"
            ]
        )

    def _covered(self, upto: int) -> list[int]:
        """The positions of parked events that refreshes up to there make good."""
        healing = {at: covers for at, covers in self.blocks.healing.items() if at <= upto}
        names = self._names() if healing else {}
        return [at for at, keys in names.items() if is_covered(at, keys, healing)]

    def _names(self) -> Mapping[int, Set[str]]:
        return self._parked.names()


def _is_refused(row: Parked, again: Mapping[int, Refusal]) -> bool:
    """Whether the event was refused again because of this row's object."""
    refusal = again.get(row.position)
    return refusal is not None and (refusal.kind != "held" or row.table in refusal.keys)


def report_parked(target: str, progress: Progress, refused: Sequence[Refusal]) -> None:
    """Count parked events, and log those that do not only wait. Called once for each, not when it is refused again."""
    progress.count("parked", len(refused))
    note(progress, refused)
    for refusal in refused:
        if refusal.kind not in _OF_NO_ERROR:
            keys, position = sorted(refusal.keys), refusal.event.position
            log.error("event_parked", target=target, position=position, keys=keys, reason=refusal.reason)


def note(progress: Progress, refused: Iterable[Refusal]) -> None:
    """Let the progress remember the reasons of events that do not only wait."""
    for refusal in refused:
        if refusal.kind not in _OF_NO_ERROR:
            progress.refused(refusal.reason)


def keys_left(job: Job, change: Change, held: frozenset[str]) -> frozenset[str]:
    """The keys of what is left to do of a change, where the brake holds these of its work.

    Of a comparison, or the drop of a database, all is done but what is held.
    """
    if change.kind is Kind.REFRESH:
        return held
    if not any(isinstance(it, DropDatabase) and it.may_come_late for it in job.work.operations):
        return change.keys
    return held if change.kind is Kind.DROP_DATABASE else change.keys & held


def related(keys: Iterable[str], groups: Iterable[Iterable[str]]) -> frozenset[str]:
    """All keys that must be retried together with `keys`; `groups` are the keys of every parked event. Pure."""
    together = frozenset(keys)
    left = {frozenset(group) for group in groups}
    while near := {group for group in left if holds_back(together, group)}:
        together = together.union(*near)
        left -= near
    return together
