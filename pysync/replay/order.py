"""Order: which works must follow which. Pure.

A key is a table (`db.table`), a database (`db`: itself and its functions), or a database with all in it (`db.*`: its
drop). Works of one key keep their order, and so do those of a database and those of the tables in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

EVERYTHING = ".*"


def dependencies(works: Sequence[Iterable[str]]) -> list[set[int]]:
    """For each work, given by its keys, the indexes of those right before it that must be done first.

    What comes before those follows from their own.
    """
    last: dict[str, int] = {}  # the last work of a table, or of a database
    within: dict[str, set[int]] = {}  # the works of a database's tables since the last one of the database itself
    result = []
    for index, keys in enumerate(works):
        found: set[int] = set()
        for key in keys:
            database = database_of(key)
            found |= {last[name] for name in (key, database) if name in last}
            if is_database(key):
                found |= within.get(database, set())
        result.append(found)
        _note(index, keys, last, within)
    return result


def _note(index: int, keys: Iterable[str], last: dict[str, int], within: dict[str, set[int]]) -> None:
    for key in keys:
        if is_database(key):
            last[database_of(key)] = index
            within[database_of(key)] = set()
        else:
            last[key] = index
            within.setdefault(database_of(key), set()).add(index)


def holds_back(blocked: Iterable[str], keys: Iterable[str]) -> bool:
    """Whether a work of `keys` must wait behind one of `blocked` keys that could not be done.

    A table waits behind itself and behind its database's drop; that drop waits behind every table in it.
    A database that could not be altered holds back nothing but itself: its tables may well be writable.
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


def is_database(key: str) -> bool:
    """Whether the key is of a database rather than of a table."""
    return "." not in key or key.endswith(EVERYTHING)


def database_of(key: str) -> str:
    """The database of a key; Hive's names hold no dots."""
    return key.partition(".")[0]
