"""Standing: up to which event an object is at the target, while works of several windows are under way.

The drain's thread writes it, and others read. A refused event counts as under way until it is stored as parked, so that
nobody takes it for applied in between.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Set
from dataclasses import dataclass, field

from pysync.replay.window.order import database_of, is_database

Concerns = Callable[[Set[str]], bool]
"""Whether a work of these keys concerns the objects that are asked about."""


def concerns(objects: Collection[str]) -> Concerns:
    """For the names of tables (`db.table`) and databases at the target, a database with everything in it.

    A work of a table's database concerns the table, too. A work without keys concerns everything.
    """
    databases = {name for name in objects if "." not in name}
    tables = {name for name in objects if "." in name}
    around = {database_of(name) for name in tables}

    def any_of(keys: Set[str]) -> bool:
        return not keys or any(
            key in tables or database_of(key) in databases or (is_database(key) and database_of(key) in around)
            for key in keys
        )

    return any_of


@dataclass(slots=True)
class Standing:
    """What is not done of the windows that were taken; `taken` is the position of the last event in them."""

    taken: int = 0
    _left: dict[Hashable, tuple[int, Set[str]]] = field(default_factory=dict)
    _refused: dict[int, Set[str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(
        self, last: int, works: Iterable[tuple[Hashable, int, Set[str]]], refused: Iterable[tuple[int, Set[str]]]
    ) -> None:
        """A window up to `last` is taken: its works, each with its first event and its keys, and what is refused."""
        with self._lock:
            self._left.update((work, (first, keys)) for work, first, keys in works)
            self._refused.update(refused)
            self.taken = last

    def end(self, work: Hashable) -> None:
        """A work is done, or its events are refused."""
        with self._lock:
            self._left.pop(work, None)

    def refuse(self, position: int, keys: Set[str]) -> None:
        """An event is to be parked; call it before the `end` of its work."""
        with self._lock:
            self._refused[position] = keys

    def stored(self, done: int) -> None:
        """The target's position is `done`: what was refused up to there is parked now."""
        with self._lock:
            self._refused = {at: keys for at, keys in self._refused.items() if at > done}
            self.taken = max(self.taken, done)

    def forget(self, position: int) -> None:
        """Everything after the position is replayed again."""
        with self._lock:
            self._left.clear()
            self._refused.clear()
            self.taken = position

    def upto(self, concerned: Concerns) -> int:
        """The position up to which all events that are concerned are applied or parked."""
        with self._lock:
            positions = [at for at, keys in (*self._left.values(), *self._refused.items()) if concerned(keys)]
            return min(positions) - 1 if positions else self.taken
