"""Targets: the rows that the queue keeps of them, in memory and on disk, and the threads that wait for events."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass

from pysync.queue import data_versions, removals, resyncs
from pysync.queue.queue_file import QueueFile
from pysync.queue.values import OF_ONE_TARGET, Pause

_READ = "SELECT target, position, paused_reason, paused_at_ms FROM targets"


@dataclass(slots=True)
class TargetRow:
    """A row of the table `targets`: the position of one target, and why it is paused, if it is."""

    position: int
    pause: Pause | None = None


class Targets:
    """The table `targets` in memory, which all users of one file share, and what wakes those who wait.

    `rows` may be changed by whoever has the lock of the file, after the change was committed.
    """

    def __init__(self, file: QueueFile) -> None:
        with file.reading() as connection:
            rows = connection.execute(_READ).fetchall()
        self.rows = {name: TargetRow(at, None if ms is None else Pause(reason, ms)) for name, at, reason, ms in rows}
        self._file = file
        self._changed = threading.Condition()
        self._woken: set[str] = set()

    def row(self, name: str) -> TargetRow:
        """The row of a target. Raises ValueError for one that is not registered."""
        try:
            return self.rows[name]
        except KeyError:
            raise ValueError(f"{self._file} has no target {name!r}") from None

    def slowest(self, default: int) -> int:
        """The position of the slowest target; `default` where none is registered."""
        return min((row.position for row in self.rows.values()), default=default)

    def wait(self, name: str, over: Callable[[], bool], timeout: float) -> None:
        """Wait up to `timeout` seconds until it is `over`, or `name` is woken; returns at once if it was before."""
        with self._changed:
            self._changed.wait_for(lambda: name in self._woken or over(), timeout)
            self._woken.discard(name)

    def wake(self, name: str) -> None:
        """End the `wait` of `name`, the present one or else the next."""
        with self._changed:
            self._woken.add(name)
            self._changed.notify_all()

    def signal_work(self) -> None:
        """Have all who wait see whether it is over: events have come, or the queue is closed."""
        with self._changed:
            self._changed.notify_all()


def note_of(target: str, what: str) -> str:
    """The key of a note about one target, with which it is renamed and forgotten; a target's name holds no colon."""
    return f"target:{target}:{what}"


def own_gaps(target: str) -> list[str]:
    """How the keys of gaps begin that concern this target alone."""
    return [f"{begin}{target}:" for begin in OF_ONE_TARGET]


def forget_target(connection: sqlite3.Connection, target: str) -> None:
    """Remove all that is kept of `target`, its own open gaps included, within the caller's transaction."""
    connection.execute("DELETE FROM targets WHERE target = ?", (target,))
    connection.execute("DELETE FROM parked WHERE target = ?", (target,))
    connection.execute("DELETE FROM finished WHERE target = ?", (target,))
    removals.forget(connection, target)
    resyncs.forget(connection, target)
    data_versions.forget(connection, target)
    notes = f"note:{note_of(target, '')}"
    connection.execute("DELETE FROM meta WHERE substr(key, 1, ?) = ?", (len(notes), notes))
    for begin in own_gaps(target):
        connection.execute("DELETE FROM gaps WHERE closed_at_ms IS NULL AND substr(key, 1, ?) = ?", (len(begin), begin))


def rename_target(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Keep under the name `new` all that is kept of `old`, within the caller's transaction. `new` must be unknown."""
    connection.execute("UPDATE targets SET target = ? WHERE target = ?", (new, old))
    connection.execute("UPDATE parked SET target = ? WHERE target = ?", (new, old))
    connection.execute("UPDATE finished SET target = ? WHERE target = ?", (new, old))
    removals.rename(connection, old, new)
    resyncs.rename(connection, old, new)
    data_versions.rename(connection, old, new)
    notes, renamed = (f"note:{note_of(it, '')}" for it in (old, new))
    query = "UPDATE OR REPLACE meta SET key = ? || substr(key, ?) WHERE substr(key, 1, ?) = ?"
    connection.execute(query, (renamed, len(notes) + 1, len(notes), notes))
    for begin, now in zip(own_gaps(old), own_gaps(new), strict=True):
        # OR IGNORE: closed gaps of a former target of the new name may be there, and `forget_target` leaves them.
        query = "UPDATE OR IGNORE gaps SET key = ? || substr(key, ?) WHERE substr(key, 1, ?) = ?"
        connection.execute(query, (now, len(begin) + 1, len(begin), begin))
