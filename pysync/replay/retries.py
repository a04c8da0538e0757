"""Retries: which parked events of a target are tried again, and when: at the start, then at growing intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from pysync.queue import Parked, ParkedEvents, Queued
from pysync.replay.batch import Batch
from pysync.replay.window.blocks import Blocks, Refusal
from pysync.replay.window.draft import Draft
from pysync.replay.window.run import refreshes_all
from pysync.targets.settings import TargetSettings

MakeDraft = Callable[[Sequence[Queued], Blocks], Draft]
"""Makes the draft of some events, behind what is blocked."""

_FIRST_SECONDS = 2.0
_WINDOW_EVENTS = 500


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


class Retry:
    """Parked events that are tried again, some hundred at a time, in order; each batch is done before the next.

    `parked` are the target's. `blocks` are the keys that are not tried; what is refused again blocks, too. `draft`
    makes the draft of some events, `attempts` is how often an unclassified error is tried, and `store` gets the rows of
    a batch that is done, with what of it was refused again. Used by one thread.
    """

    def __init__(
        self,
        parked: ParkedEvents,
        blocks: Blocks,
        draft: MakeDraft,
        attempts: int,
        store: Callable[[Sequence[Parked], Sequence[Refusal]], object],
    ) -> None:
        self._parked, self._blocks, self._draft, self._attempts = parked, blocks, draft, attempts
        self._store = store
        self._batches = self._all_batches()
        self._begun: Batch | None = None
        self._next: Batch | None = None
        self.is_over = False
        """Whether all of them have been tried."""

    @property
    def is_busy(self) -> bool:
        """Whether works of a batch are left, so that no other may begin."""
        return self._begun is not None and bool(self._begun.left)

    @property
    def is_alone(self) -> bool:
        """Whether there is a batch, begun or next, beside which nothing else may be under way."""
        begun = self._begun if self.is_busy else None
        return any(batch is not None and batch.alone for batch in (begun, self._next))

    def next(self) -> Batch | None:
        """The next batch, the same until it is begun; None if there is none.

        Before it is made, events of the one before it that are done are parked no longer.
        """
        self._next = self._next or next(self._batches, None)
        self.is_over = self._next is None
        return self._next

    def begin(self, batch: Batch) -> None:
        """The batch that came next is under way."""
        self._begun, self._next = batch, None

    def _all_batches(self) -> Iterator[Batch]:
        for parked in self._windows():
            rows = parked
            while rows:
                events = {row.position: Queued(row.position, row.data, row.first_at_ms) for row in rows}
                window = self._draft(list(events.values()), self._blocks)
                self._blocks.take(window.refused, window.heals)
                alone = refreshes_all(window.events[0])
                batch = Batch(window, self._blocks, self._attempts, alone=alone, parked=True)
                last = batch.last  # a draft may end before the last of its events
                yield batch
                self._store([row for row in rows if row.position <= last], batch.refused)
                rows = [row for row in rows if row.position > last]

    def _windows(self) -> Iterator[list[Parked]]:
        """The parked rows in event order, some hundred at a time; a rename has a row for each of its names.

        Rows whose table is blocked when their turn comes are left out: they go on waiting.
        """
        last: Parked | None = None
        while batch := self._parked.events(after=last, limit=_WINDOW_EVENTS):
            last = batch[-1]
            if rows := [row for row in batch if row.table not in self._blocks.keys]:
                yield rows
