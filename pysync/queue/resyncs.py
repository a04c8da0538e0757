"""Resyncs: what each target reads again at the source, why, and how far that is; in the queue's file."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any

from pysync.queue.queue_file import QueueFile

_COLUMNS = "trigger, reason, scope, began_at_ms, total, queued, cursor, upto, ended_at_ms, failure, result"
_READ = f"SELECT {_COLUMNS} FROM resyncs WHERE target = ? ORDER BY id"  # noqa: S608
_CHANGED = ", ".join(f"{it} = excluded.{it}" for it in _COLUMNS.split(", ")[1:])
_WRITE = f"""INSERT INTO resyncs (target, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (target, trigger) DO UPDATE SET {_CHANGED}"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Resync:
    """The last resync of a target that a `trigger` began; there is one of each trigger.

    `reason` is for people; `scope` is JSON that the trigger understands. `total` is how many objects it concerns (None:
    not known), `queued` how many of them have their refresh in the queue: those up to `cursor`, a database and a table
    (which may be empty). Once all have, `upto` is a position that none of them is behind. It has ended when the target
    is there, or with a `failure`. `result` is what came of it, JSON as `scope` is.
    """

    trigger: str
    reason: str
    scope: str
    began_at_ms: int
    total: int | None = None
    queued: int = 0
    cursor: tuple[str, str] | None = None
    upto: int | None = None
    ended_at_ms: int | None = None
    failure: str | None = None
    result: str = "{}"

    @property
    def is_queueing(self) -> bool:
        """Whether some of it may not be in the queue yet."""
        return self.upto is None and self.ended_at_ms is None


class StoredResyncs:
    """The resyncs of one target. What `put` writes is on disk when it returns. From any thread.

    They are renamed and forgotten with their target (`pysync.queue.targets`).
    """

    def __init__(self, file: QueueFile, target: str) -> None:
        self._file, self._target = file, target

    def all(self) -> list[Resync]:
        """All of them. Raises as the methods of `EventQueue` do."""
        with self._file.reading() as connection:
            return [_resync(row) for row in connection.execute(_READ, (self._target,))]

    def put(self, it: Resync) -> None:
        """Keep this in the place of the trigger's last one. Raises as the methods of `EventQueue` do."""
        cursor = json.dumps(it.cursor)
        row = it.trigger, it.reason, it.scope, it.began_at_ms, it.total, it.queued, cursor
        with self._file.transaction() as connection:
            connection.execute(_WRITE, (self._target, *row, it.upto, it.ended_at_ms, it.failure, it.result))


def _resync(row: tuple[Any, ...]) -> Resync:
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    cursor = json.loads(values.pop("cursor"))
    return Resync(**values, cursor=cursor and tuple(cursor))


def forget(connection: sqlite3.Connection, target: str) -> None:
    """Remove what is kept of `target`, within the caller's transaction."""
    connection.execute("DELETE FROM resyncs WHERE target = ?", (target,))


def rename(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Keep under the name `new` what is kept of `old`, within the caller's transaction."""
    connection.execute("UPDATE OR REPLACE resyncs SET target = ? WHERE target = ?", (new, old))
