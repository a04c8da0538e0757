"""How far a bootstrap has come, as the queue's file keeps it over restarts."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel

from pysync.queue import EventQueue


class Reached(BaseModel):
    """What one target has of it for good, of the events up to `position`; and when it had all."""

    position: int = 0
    tables: int = 0
    partitions: int = 0
    finished_at: float | None = None


class Noted(BaseModel):
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


def read(queue: EventQueue, note: str, drains: Iterable[str]) -> Noted | None:
    """The bootstrap that was noted under `note`, without targets that `drains` does not name; None if none was."""
    text = queue.noted(note)
    noted = Noted.model_validate_json(text) if text else None
    if noted is None:
        return None
    left = tuple(name for name in noted.targets if name in drains)
    reached = {name: noted.reached[name] for name in left}
    return noted.model_copy(update={"targets": left, "reached": reached}) if left else None
