"""Checkpoint: the progress of a bootstrap, as the queue's file keeps it over restarts."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import Any

from pydantic import BaseModel

from pysync.queue import Notes
from pysync.replay.tally import Tally

BOOTSTRAP = "bootstrap"
"""The queue's note for a bootstrap from the living source."""


class Reached(BaseModel):
    """What one target durably has of it, from events up to `position`; and when it had everything.

    `left_out` of the tables are not written, because they came from the target's own cluster.
    """

    position: int = 0
    tables: int = 0
    partitions: int = 0
    left_out: int = 0
    finished_at: float | None = None


class Checkpoint(BaseModel):
    """A bootstrap as it is kept in the queue's file; times are seconds since 1970.

    `tables` is how many there were when it began (None: not counted yet). Objects up to `queued_upto`, a database and a
    table, are queued; once all are, `upto` is the last position. `seconds` is how long it has run, without stops. `of`
    is the id of its origin.
    """

    of: str | None = None

    targets: tuple[str, ...]
    started_at: float
    tables: int | None = None
    queued_upto: tuple[str, str] | None = None
    upto: int | None = None
    seconds: float = 0.0
    reached: dict[str, Reached] = {}

    @property
    def finished(self) -> bool:
        """Whether every target has everything."""
        return all(it.finished_at is not None for it in self.reached.values())


class Checkpoints:
    """The checkpoint that is kept, if any; read and written from any thread. `targets` are those that still exist."""

    def __init__(self, notes: Notes, targets: Collection[str], note: str = BOOTSTRAP) -> None:
        # Reentrant: `_settle`, `update` and `keep` call each other with it held.
        self.lock = threading.RLock()
        """Held to read, decide and write."""
        self._notes = notes
        self._note = note
        self._checkpoint = self._read(targets)
        self._written_at = time.monotonic()
        self._tallies: dict[str, Tally] = {}

    @property
    def current(self) -> Checkpoint | None:
        """The bootstrap that runs or ran last."""
        return self._checkpoint

    @property
    def age(self) -> float:
        """The seconds since it was written last."""
        return time.monotonic() - self._written_at

    def keep(self, checkpoint: Checkpoint, *, durably: bool = True) -> None:
        """Make this the current one. Raises as `Notes.put` if it is to be on disk (`durably`)."""
        with self.lock:
            if durably:
                self._notes.put(self._note, checkpoint.model_dump_json())
                self._written_at = time.monotonic()
            self._checkpoint = checkpoint

    def update(self, **values: Any) -> None:
        """Change values of the current one, durably."""
        with self.lock:
            if self._checkpoint is not None:
                self.keep(self._checkpoint.model_copy(update=values))

    def tally(self, target: str) -> Tally:
        """The tally of a target, the same at every call. It settles here."""
        if target not in self._tallies:
            self._tallies[target] = Tally(lambda upto: self._settle(target, upto))
        return self._tallies[target]

    def _settle(self, target: str, upto: int) -> None:
        """Keep what came of the events up to `upto`, before the target's own position moves there.

        After a kill in between, these events are delivered again; they are already counted then.
        """
        with self.lock:
            before = self._checkpoint.reached.get(target) if self._checkpoint is not None else None
            count = self._tallies[target].take(upto, after=before.position if before else 0)
            if self._checkpoint is None or before is None:
                return
            sums = {key: getattr(before, key) + getattr(count, key) for key in ("tables", "partitions", "left_out")}
            reached = before.model_copy(update={"position": upto, **sums})
            self.update(reached={**self._checkpoint.reached, target: reached})

    def _read(self, targets: Collection[str]) -> Checkpoint | None:
        text = self._notes.get(self._note)
        checkpoint = Checkpoint.model_validate_json(text) if text else None
        if checkpoint is None:
            return None
        # A target that was removed from pysync.toml would keep the bootstrap from ever finishing.
        left = tuple(name for name in checkpoint.targets if name in targets)
        reached = {name: checkpoint.reached[name] for name in left}
        return checkpoint.model_copy(update={"targets": left, "reached": reached}) if left else None
