"""Order: which works must follow which, and up to which event an object is at the target meanwhile."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

# Order: which works must follow which. Pure.
#
# A key is a table (`db.table`), a function (`db.function()`), a database (`db`), or a database with everything in it
# (`db.*`: its drop). Works of one key keep their order. What is in a database follows the works of the database; of
# those only the drop follows what is in it: an alter waits for no table, so no table waits for another behind it.


EVERYTHING = ".*"

Item = TypeVar("Item", bound=Hashable)


class Order(Generic[Item]):
    """Which of the works under way must be done before which, in the order in which they were added.

    Each waits only for its direct predecessors; those wait for theirs.
    """

    def __init__(self) -> None:
        self._last: dict[str, Item] = {}  # by key: the last work of a table, function or database
        self._within: dict[str, dict[Item, None]] = {}  # works in a database since its last drop
        self._before: dict[Item, set[Item]] = {}
        self._after: dict[Item, list[Item]] = {}

    def add(self, item: Item, keys: Collection[str], reads: Collection[str] = ()) -> set[Item]:
        """Add a work behind all others; returns the works that it waits for.

        It also waits for the last works of the tables that it `reads`; theirs do not wait for it.
        """
        before = self._items_of(keys) | {self._last[name] for name in reads if name in self._last}
        self._before[item], self._after[item] = before, []
        for other in before:
            self._after[other].append(item)
        for key in keys:
            database = database_of(key)
            if is_database(key):
                self._last[database] = item
                if key.endswith(EVERYTHING):
                    self._within[database] = {}
            else:
                self._last[key] = item
                self._within.setdefault(database, {})[item] = None
        return set(before)

    def end(self, item: Item, keys: Collection[str]) -> list[Item]:
        """Remove a work that waits for nothing; returns the works that wait for nothing now."""
        for key in keys:
            database = database_of(key)
            for name in (key, database):
                # A later work of the key may have taken its place.
                if self._last.get(name) is item:
                    del self._last[name]
            within = self._within.get(database, {})
            within.pop(item, None)
            if not within:
                self._within.pop(database, None)
        del self._before[item]
        later = self._after.pop(item)
        for other in later:
            self._before[other].discard(item)
        return [other for other in later if not self._before[other]]

    def _items_of(self, keys: Iterable[str]) -> set[Item]:
        items: set[Item] = set()
        for key in keys:
            database = database_of(key)
            items.update(self._last[name] for name in (key, database) if name in self._last)
            if key.endswith(EVERYTHING):
                items.update(self._within.get(database, ()))
        return items


def holds_back(blocked: Iterable[str], keys: Iterable[str]) -> bool:
    """Whether a work of `keys` must wait behind a work of `blocked` keys that could not be done.

    A table or function waits behind itself and behind its database's drop; that drop waits behind everything in it. A
    database that could not be altered blocks only itself: what is in it may well be writable.
    """
    names, drops = set(blocked), {database_of(key) for key in blocked if key.endswith(EVERYTHING)}
    if not names:
        return False
    return any(
        key in names
        or database_of(key) in drops
        or (key.endswith(EVERYTHING) and any(database_of(name) == database_of(key) for name in names))
        for key in keys
    )


def keys_of(objects: Iterable[str]) -> frozenset[str]:
    """The keys of the drops of objects: of a database with everything in it, and of a partition its table's."""
    names = (it.partition("/")[0] for it in objects)
    return frozenset(it if "." in it else it + EVERYTHING for it in names)


def is_database(key: str) -> bool:
    """Whether the key is a database, not a table or function."""
    return "." not in key or key.endswith(EVERYTHING)


def database_of(key: str) -> str:
    """The database of a key; Hive's names have no dots."""
    return key.partition(".")[0]


# Standing: up to which event an object is at the target, while works of several windows are under way.
#
# The drain's thread writes it, and others read. A refused event counts as under way until it is stored as parked, so
# that nobody takes it for applied in between.


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


# Holds: databases that are kept at an event for a while, so that the target shows them as they were at one moment.
#
# No window has events from both sides of a hold, or the two would be folded. Works of events behind it that touch its
# databases do not begin. They keep their places in the order, and all other works go on.


class _Positioned(Protocol):
    @property
    def position(self) -> int: ...


Event = TypeVar("Event", bound=_Positioned)


@dataclass(frozen=True, slots=True)
class Hold:
    """These databases, by their names at the target, stay as they are after the event at `upto`.

    It is over at `until`, if nobody ends it before.
    """

    number: int
    databases: frozenset[str]
    upto: int
    until: float

    def covers(self, keys: Set[str], positions: Iterable[int]) -> bool:
        """Whether a work of these keys and events has to wait. One without keys may touch any database."""
        touches = not keys or any(database_of(key) in self.databases for key in keys)
        return touches and max(positions, default=0) > self.upto


@dataclass(slots=True)
class Holds:
    """The holds of one target. The drain's thread asks; others begin and end them, and wake it by `wake`.

    `clock` returns seconds that only grow. When a hold's time is over, the drain goes on within a second.
    """

    wake: Callable[[], object]
    clock: Callable[[], float] = time.monotonic
    _holds: dict[int, Hold] = field(default_factory=dict)
    _taken: int = 0
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, databases: Set[str], least: int, seconds: float) -> Hold:
        """Hold these databases at the event `least`, or at a later one if later events are already on their way.

        For so many seconds at most.
        """
        with self._lock:
            until = self.clock() + seconds
            hold = Hold(next(self._numbers), frozenset(databases), max(least, self._taken), until)
            self._holds[hold.number] = hold
        self.wake()
        return hold

    def end(self, hold: Hold) -> bool:
        """Let go of a hold; False if it was over before: its time is over, or the drain has begun again."""
        with self._lock:
            self._expire()
            ended = self._holds.pop(hold.number, None)
        self.wake()
        return ended is not None

    def lasts(self, hold: Hold) -> bool:
        """Whether the hold is not over."""
        with self._lock:
            self._expire()
            return hold.number in self._holds

    def databases(self) -> list[str]:
        """The databases that are held now."""
        with self._lock:
            self._expire()
            return sorted(frozenset().union(*(it.databases for it in self._holds.values())))

    def take(self, events: Sequence[Event]) -> Sequence[Event]:
        """The events that may be one window: up to the first hold that is among them."""
        with self._lock:
            self._expire()
            if not events:
                return events
            ends = [it.upto for it in self._holds.values() if events[0].position <= it.upto < events[-1].position]
            if ends:
                events = [it for it in events if it.position <= min(ends)]
            self._taken = events[-1].position
            return events

    def covers(self, keys: Set[str], positions: Iterable[int]) -> bool:
        """Whether a work of these keys and events has to wait for the end of a hold."""
        if not self._holds:
            return False
        with self._lock:
            self._expire()
            return any(it.covers(keys, positions) for it in self._holds.values())

    def forget(self, position: int) -> None:
        """Everything after the position is replayed again, and may show older states for a moment: no hold is kept."""
        with self._lock:
            self._holds.clear()
            self._taken = position

    def _expire(self) -> None:
        now = self.clock()
        for number in [number for number, it in self._holds.items() if it.until <= now]:
            del self._holds[number]
