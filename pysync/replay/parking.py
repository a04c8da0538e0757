"""Parking: the events that a target refused, what waits behind them, and their retries; the tables that are read
whole.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import structlog

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.operation import DropDatabase, DropTable, LeaveTable, Operation, RenameTable, TableOperation
from pysync.queue import Notes, Park, Parked, ParkedEvents, Queued, note_of
from pysync.replay.progress import Progress
from pysync.replay.scheduler import Batch, Job
from pysync.replay.window.draft import Blocks, Draft, Refusal, is_covered, refreshes_all
from pysync.replay.window.order import holds_back
from pysync.targets.settings import TargetSettings

# Parking: the events that a target refused, what waits behind them, and their retries.


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


# Retries: which parked events of a target are tried again, and when: at the start, then at growing intervals.


_FIRST_SECONDS = 2.0


class Retries:
    """The time of the next retry, in seconds of a clock. With `parked_retry_seconds = 0` only the first takes place."""

    def __init__(self, settings: TargetSettings, clock: Callable[[], float]) -> None:
        self._longest = settings.parked_retry_seconds
        self._clock = clock
        self._at = -math.inf
        self._wait = 0.0
        self._is_requested = False
        self.begun = False

    @property
    def first(self) -> bool:
        """Whether no retry has ended since the start."""
        return not self._wait

    @property
    def due(self) -> bool:
        """Whether the next retry is due."""
        return self._is_requested or self._clock() >= self._at

    def at_once(self) -> None:
        """A person has decided: the next retry is due, after the one that is under way. From any thread."""
        self._is_requested = True

    def begin(self) -> None:
        """A retry begins."""
        self.begun, self._is_requested = True, False

    def ended(self) -> None:
        """A retry has ended: the next interval is longer."""
        self.begun = False
        self._wait = min(2 * self._wait or _FIRST_SECONDS, self._longest or math.inf)
        self._at = self._clock() + (self._wait if self._longest else math.inf)

    def interrupted(self) -> None:
        """A retry that was under way restarts."""
        self.begun = False

    def soon(self) -> None:
        """Something was parked. What it lacks may be on its way, such as a database whose event comes later."""
        if self._longest:
            self._wait = min(_FIRST_SECONDS, self._longest)
            self._at = min(self._at, self._clock() + self._wait)


def batches_of(
    parking: Parking,
    attempts: int,
    draft: Callable[[Sequence[Queued], Blocks], Draft],
    report_parked: Callable[[Sequence[Refusal]], object],
) -> Iterator[Batch]:
    """The parked events, some hundred at a time; each batch must be done before the next is taken.

    Then the events that are done are removed; `report_parked` gets those that were refused again.
    """
    for parked in parking.windows():
        rows = parked
        while rows:
            events = {row.position: Queued(row.position, row.data, row.first_at_ms) for row in rows}
            window = draft(list(events.values()), parking.blocks)
            parking.take(window)
            alone = refreshes_all(window.events[0])
            batch = Batch(window, parking.blocks, attempts, alone=alone, parked=True)
            last = batch.last  # a draft may end before the last of its events
            yield batch
            parking.retried([row for row in rows if row.position <= last], batch.refused)
            report_parked(batch.refused)
            rows = [row for row in rows if row.position > last]


# Unfinished: the tables that are being read whole for a target; kept in the queue's file.
#
# If an operation describes a part of a table that is missing, all of the table is read at the source. If that reading
# is cut short, the table exists with only some of its contents. When the operation runs again, the table must not be
# taken for complete.


class Unfinished:
    """For several threads; no two have the same table. `save` stores the tables, `saved` is what it stored last."""

    def __init__(self, save: Callable[[str], object] = lambda _: None, saved: str | None = None) -> None:
        self._save = save
        self._lock = threading.Lock()
        self._keys: set[str] = set(json.loads(saved)) if saved else set()

    @classmethod
    def of(cls, notes: Notes, target: str) -> Unfinished:
        """Those of a target, in the queue's file."""
        note = note_of(target, "unfinished")
        return cls(partial(notes.put, note), notes.get(note))

    def holds(self, operation: Operation) -> bool:
        """Whether the operation describes a part of a table that is there only in part."""
        needs_table = isinstance(operation, TableOperation) and not isinstance(operation, (DropTable, LeaveTable))
        return needs_table and _key(operation) in self._keys

    @contextmanager
    def reading(self, operation: Operation) -> Iterator[None]:
        """The operation's table counts as unfinished until the block ends without an error; durable when it begins."""
        self._change(set.add, _key(operation))
        yield  # no `finally`: after an error the table is still there only in part
        self._change(set.discard, _key(operation))

    def forget(self, operation: Operation) -> None:
        """The operation is done; if it has dropped an unfinished table, that is forgotten."""
        if isinstance(operation, DropTable) and operation.key in self._keys:
            self._change(set.discard, operation.key)

    def _change(self, how: Callable[[set[str], str], None], key: str) -> None:
        with self._lock:
            how(self._keys, key)
            self._save(json.dumps(sorted(self._keys)))


def _key(operation: Operation) -> str:
    """The table that the operation ends with."""
    return str(operation.new_name) if isinstance(operation, RenameTable) else operation.key
