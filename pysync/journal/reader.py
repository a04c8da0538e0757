"""Reader: finds records, newest first, from any process, while the sidecar writes or when none runs."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from pysync.base.errors import PysyncError
from pysync.base.latency import Worst
from pysync.base.text import plain
from pysync.journal import curves
from pysync.journal import file as journal_file
from pysync.journal.record import Record
from pysync.model.difference import Difference

_LOCK_SECONDS = 2.0
_MOST_RENAMES = 100
_FIELDS = tuple(name.strip() for name in journal_file.COLUMNS.split(","))

_LATEST = f"""SELECT {journal_file.COLUMNS} FROM names CROSS JOIN records ON records.id = names.record
    WHERE names.name = ? AND source_object = ? AND target = ?
    AND (milliseconds IS NOT NULL OR outcome IN ('shadowed', 'kept')) ORDER BY names.record DESC LIMIT 1"""  # noqa: S608

_OLDEST = f"SELECT {journal_file.COLUMNS} FROM records ORDER BY id LIMIT 1"  # noqa: S608

Bounds = tuple[int, int | None]
"""The first and the last id that may be found; None: any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which records: all that are given must hold. `names` are those of databases, tables and functions (any of them).

    `since` and `until` are seconds since 1970, `before` and `after` are ids, which are excluded. `notable`: only what
    somebody did, and what did not go as it should.
    """

    target: str | None = None
    outcome: str | None = None
    notable: bool = False
    operation: str | None = None
    names: Sequence[str] = ()
    since: float | None = None
    until: float | None = None
    before: int | None = None
    after: int | None = None


class Reader:
    """Reads the journal in `file`. Each call opens it again, so it may be called from any thread, and outlives it.

    All methods raise PysyncError where the file cannot be read; one that is not there has no records.
    """

    def __init__(self, file: Path) -> None:
        self.file = file

    def records(self, query: Query, limit: int) -> list[Record]:
        """The records that the query asks for, newest first, at most `limit`. Costs what these cost."""
        with self._reading() as connection:
            if connection is None:
                return []
            bounds = _bounds(connection, query)
            if not query.names:
                return list(islice(_records(connection, query, None, bounds), limit))
            # Each name has its records in order; a record with several of the names comes once.
            every = [_records(connection, query, name, bounds) for name in dict.fromkeys(map(plain, query.names))]
            merged = {it.id: it for it in islice(heapq.merge(*every, key=lambda it: -it.id), limit * len(every))}
            return list(merged.values())[:limit]

    def oldest(self) -> Record | None:
        """The oldest record that is kept; None if there is none."""
        with self._reading() as connection:
            row = connection.execute(_OLDEST).fetchone() if connection is not None else None
            return None if row is None else _record(row)

    def latest(self, target: str, names: Sequence[str]) -> dict[str, Record]:
        """The last record at a target of an operation on each of these objects, by their names at the source.

        Acts and refusals are none. An object of which there is no record is left out. Costs a look-up for each name.
        """
        with self._reading() as connection:
            if connection is None:
                return {}
            rows = (
                (name, connection.execute(_LATEST, (plain(name), plain(name), target)).fetchone()) for name in names
            )
            return {name: _record(row) for name, row in rows if row is not None}

    def renames(self, name: str) -> list[Record]:
        """The last renames that gave or took this name, newest first."""
        return self.records(Query(names=(name,), operation="RenameTable"), _MOST_RENAMES)

    def points(self, target: str, step: int, since: float) -> list[curves.Point]:
        """The curve of a target after a time, in points of so many seconds each, the oldest first."""
        with self._reading() as connection:
            return [] if connection is None else curves.points(connection, target, step, since)

    def slowest(self, target: str) -> list[Worst]:
        """The tables whose changes took longest at a target in the day before its last sample."""
        with self._reading() as connection:
            return [] if connection is None else curves.slowest(connection, target)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        try:
            there = self.file.exists()
            connection = journal_file.open_for_reading(self.file, _LOCK_SECONDS) if there else None
            with closing(connection) if connection is not None else nullcontext():
                yield connection
        except (sqlite3.Error, OSError, ValueError, TypeError) as error:  # the last two of values that are damaged
            raise PysyncError(
                f"cannot read the journal {self.file}: {error}",
                "run the command as the user of the sidecar, or as root",
            ) from error


def _records(connection: sqlite3.Connection, query: Query, name: str | None, bounds: Bounds) -> Iterator[Record]:
    """The records of one name (None: of any), newest first, within these bounds."""
    lowest, highest = bounds
    source, conditions, values = _source(query, name)
    number = "names.record" if source.startswith("names") else "id"
    conditions.append(f"{number} >= ?")
    values.append(lowest)
    if highest is not None:
        conditions.append(f"{number} <= ?")
        values.append(highest)
    for column in ("target", "outcome", "operation"):
        if (value := getattr(query, column)) is not None:
            conditions.append(f"{column} = ?")
            values.append(value)
    where = " AND ".join(conditions)
    statement = f"SELECT {journal_file.COLUMNS} FROM {source} WHERE {where} ORDER BY {number} DESC"  # noqa: S608
    yield from map(_record, connection.execute(statement, values))


def _source(query: Query, name: str | None) -> tuple[str, list[str], list[Any]]:
    """Where to begin: SQLite knows nothing of how rare a value is, so the choice of an index is made here."""
    rare = None
    if query.operation in journal_file.RARE:
        rare = "by_rare_operation", f"operation IN {journal_file.RARE}"
    elif query.notable or (
        query.outcome is not None and query.outcome not in journal_file.COMMON and "." not in (name or "")
    ):
        rare = "by_rare_outcome", f"outcome NOT IN {journal_file.COMMON}"
    if rare is not None:
        index, condition = rare
        known = "EXISTS (SELECT 1 FROM names WHERE name = ? AND record = id)"
        return f"records INDEXED BY {index}", [condition, known] if name else [condition], [name] if name else []
    if name is not None:
        return "names CROSS JOIN records ON records.id = names.record", ["names.name = ?"], [name]
    if query.target is not None:
        return "records INDEXED BY by_target", [], []
    return "records", [], []


def _bounds(connection: sqlite3.Connection, query: Query) -> Bounds:
    """The bounds of what is asked for."""
    lowest = 0 if query.after is None else query.after + 1
    highest = None if query.before is None else query.before - 1
    if query.since is not None:
        lowest = max(lowest, _first_at(connection, query.since))
    if query.until is not None:
        upto = _first_at(connection, query.until) - 1
        highest = upto if highest is None else min(highest, upto)
    return lowest, highest


def _first_at(connection: sqlite3.Connection, at: float) -> int:
    """The id of the first record that is not older than `at`, or the id after the last one.

    Records are in the order of their times, unless a clock was set back: then it is near that place.
    """
    low, high = connection.execute("SELECT min(id), max(id) FROM records").fetchone()
    if low is None:
        return 0
    high += 1
    while low < high:
        middle = (low + high) // 2
        row = connection.execute("SELECT at FROM records WHERE id >= ? ORDER BY id LIMIT 1", (middle,)).fetchone()
        low, high = (middle + 1, high) if row[0] < at else (low, middle)
    return int(low)


def _record(row: Sequence[Any]) -> Record:
    values = dict(zip(_FIELDS, row, strict=True))
    values["partitions"] = tuple(json.loads(values["partitions"] or "[]"))
    values["differences"] = tuple(Difference(*it) for it in json.loads(values["differences"] or "[]"))
    return Record(**values)
