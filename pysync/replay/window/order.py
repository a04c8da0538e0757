"""Order: which works must follow which. Pure.

A key is a table (`db.table`), a function (`db.function()`), a database (`db`), or a database with everything in it
(`db.*`: its drop). Works of one key keep their order. What is in a database follows the works of the database; of those
only the drop follows what is in it: an alter waits for no table, so no table waits for another behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Generic, TypeVar

from pysync.model.names import table_of

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
    return frozenset(it if "." in it else it + EVERYTHING for it in map(table_of, objects))


def is_database(key: str) -> bool:
    """Whether the key is a database, not a table or function."""
    return "." not in key or key.endswith(EVERYTHING)


def database_of(key: str) -> str:
    """The database of a key; Hive's names have no dots."""
    return key.partition(".")[0]
