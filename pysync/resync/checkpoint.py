"""Checkpoint: how far a bootstrap has come, as the queue's file keeps it over restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel

from pysync.queue import EventQueue
from pysync.replay.tally import Tally

BOOTSTRAP = "bootstrap"
"""Under which the queue notes that of a bootstrap from the living source."""


class Reached(BaseModel):
    """What one target has of it for good, of the events up to `position`; and when it had all."""

    position: int = 0
    tables: int = 0
    partitions: int = 0
    finished_at: float | None = None


class Checkpoint(BaseModel):
    """A bootstrap as it is kept in the queue's file; times are seconds since 1970.

    `tables` is how many there were when it began (None: not counted yet). What stands up to `asked`, a database and
    a table, is queued; once all is, `upto` is its last position. `seconds` is how long it has run, stops left out.
    `of` is the id of its origin.
    """

    of: str | None = None

    targets: tuple[str, ...]
    started_at: float
    tables: int | None = None
    asked: tuple[str, str] | None = None
    upto: int | None = None
    seconds: float = 0.0
    reached: dict[str, Reached] = {}

    @property
    def finished(self) -> bool:
        """Whether every target has all of it."""
        return all(it.finished_at is not None for it in self.reached.values())


class Checkpoints:
    """The one that is kept, if any, read and written from any thread. `targets` are the names that still exist."""

    def __init__(self, queue: EventQueue, targets: Collection[str], note: str = BOOTSTRAP) -> None:
        self.lock = threading.RLock()
        """Held by who reads, decides and writes."""
        self._queue = queue
        self._note = note
        self._kept = self._read(targets)
        self._kept_at = time.monotonic()
        self._tallies: dict[str, Tally] = {}

    @property
    def current(self) -> Checkpoint | None:
        """The bootstrap that runs or ran last."""
        return self._kept

    @property
    def age(self) -> float:
        """The seconds since it was written last."""
        return time.monotonic() - self._kept_at

    def keep(self, checkpoint: Checkpoint, *, durably: bool = True) -> None:
        """Take this one from now on. Raises as EventQueue.note, if it is to be on disk."""
        with self.lock:
            if durably:
                self._queue.note(self._note, checkpoint.model_dump_json())
                self._kept_at = time.monotonic()
            self._kept = checkpoint

    def update(self, **values: Any) -> None:
        """Keep the current one with other values, durably."""
        with self.lock:
            if self._kept is not None:
                self.keep(self._kept.model_copy(update=values))

    def tally(self, target: str) -> Tally:
        """What counts for a target, the same at every call: it settles here."""
        if target not in self._tallies:
            self._tallies[target] = Tally(lambda upto: self._settle(target, upto))
        return self._tallies[target]

    def _settle(self, target: str, upto: int) -> None:
        """Keep what came of the events up to `upto`, before the target's own position moves there.

        A kill in between has them done again; they are counted already then.
        """
        with self.lock:
            before = self._kept.reached.get(target) if self._kept is not None else None
            count = self._tallies[target].take(upto, after=before.position if before else 0)
            if self._kept is None or before is None:
                return
            tables, partitions = before.tables + count.tables, before.partitions + count.partitions
            reached = before.model_copy(update={"position": upto, "tables": tables, "partitions": partitions})
            self.update(reached={**self._kept.reached, target: reached})

    def _read(self, targets: Collection[str]) -> Checkpoint | None:
        text = self._queue.noted(self._note)
        kept = Checkpoint.model_validate_json(text) if text else None
        if kept is None:
            return None
        left = tuple(name for name in kept.targets if name in targets)
        reached = {name: kept.reached[name] for name in left}
        return kept.model_copy(update={"targets": left, "reached": reached}) if left else None
