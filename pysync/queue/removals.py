"""Removals: what a target was to remove lately, object by object, and what was decided of each; in the queue's file."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from pysync.model.names import table_of
from pysync.queue.queue_file import QueueFile

State = Literal["passed", "held", "open", "keep", "released", "drop"]
"""`passed`: within the limits. `held`: while a limit is exceeded, waits for a person, who decides `keep` or `drop`.
`open`: the same, whatever the limits say, because the person has decided about others that were held with it.
`released`: the person has taken back that it is kept; the object may still say that it is.
"""

_COLUMNS = "object, kind, state, reason, position, at_ms, count, lasting, leaving"
_READ = f"SELECT {_COLUMNS} FROM removals WHERE target = ? ORDER BY object"  # noqa: S608
_WRITE = f"""INSERT INTO removals (target, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (target, object) DO UPDATE SET kind = excluded.kind, state = excluded.state, reason = excluded.reason,
    position = excluded.position, at_ms = excluded.at_ms, count = excluded.count, lasting = excluded.lasting,
    leaving = excluded.leaving"""  # noqa: S608
_FORGET = "DELETE FROM removals WHERE target = ? AND object = ?"


@dataclass(frozen=True, slots=True)
class Removal:
    """An object that a target is to remove, by its name at the target, and what was decided of it.

    `object` is `db`, `db.table`, `db.function()`, a partition `db.table/key=value`, or `db.table/*`: the partitions
    that a table loses when it is replaced. `kind` is `database`, `table`, `function` or `partition`; `count` is how
    many of these it stands for. `position` and `at_ms` are those of the event that removes it. `lasting`: it is a table
    whose loss counts for the share of its database. `leaving`: it leaves the scope of the target, whether the
    source has it or not.
    """

    object: str
    kind: str
    state: State
    reason: str
    position: int
    at_ms: int
    count: int = 1
    lasting: bool = False
    leaving: bool = False

    @property
    def database(self) -> str:
        """The database that it is, or is in."""
        return self.object.partition(".")[0]

    @property
    def table(self) -> str:
        """The table that it is, or is a part of; the object itself if it is no table."""
        return table_of(self.object)


class Removals:
    """The removals of one target. What `change` writes is on disk when it returns. From any thread.

    They are renamed and forgotten with their target (`pysync.queue.target_queue`).
    """

    def __init__(self, file: QueueFile, target: str) -> None:
        self._file, self._target = file, target

    def all(self) -> list[Removal]:
        """All of them, by name. Raises as the methods of `EventQueue` do."""
        with self._file.reading() as connection:
            rows = connection.execute(_READ, (self._target,)).fetchall()
        return [Removal(*row) for row in rows]

    def change(self, written: Iterable[Removal] = (), forgotten: Collection[str] = ()) -> None:
        """Forget the objects `forgotten`, then write some, each in place of what was known of its object.

        In one transaction. Raises as the methods of `EventQueue` do.
        """
        rows = [(self._target, *_values(it)) for it in written]
        if rows or forgotten:
            with self._file.transaction() as connection:
                connection.executemany(_FORGET, [(self._target, it) for it in forgotten])
                connection.executemany(_WRITE, rows)


def _values(it: Removal) -> tuple[object, ...]:
    return it.object, it.kind, it.state, it.reason, it.position, it.at_ms, it.count, int(it.lasting), int(it.leaving)


def forget(connection: sqlite3.Connection, target: str) -> None:
    """Remove what is kept of `target`, within the caller's transaction."""
    connection.execute("DELETE FROM removals WHERE target = ?", (target,))


def rename(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Keep under the name `new` what is kept of `old`, within the caller's transaction."""
    connection.execute("UPDATE removals SET target = ? WHERE target = ?", (new, old))
