"""What the queue keeps of a target: its row, its parked events, its notes, and its own gaps. SQL only."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from pysync.queue import parking

_NOTES = ("window:{}", "load:{}", "load:{}:begun", "scope:{}", "drops:{}", "unfinished:{}", "verify:{}")
"""The keys of notes that belong to one target; a target's name holds no colon."""

_GAPS = ("new:{}:", "scope:{}:")
"""How the keys of gaps begin that belong to one target."""


def register(connection: sqlite3.Connection, target: str, position: int, at_ms: int) -> None:
    """Give `target` a position."""
    connection.execute(
        "INSERT INTO targets (target, position, registered_at_ms) VALUES (?, ?, ?)", (target, position, at_ms)
    )


def pause(connection: sqlite3.Connection, target: str, reason: str | None, at_ms: int | None) -> None:
    """Note why `target` shall apply nothing, and since when; None and None: that it shall go on."""
    row = (reason, at_ms, target)
    connection.execute("UPDATE targets SET paused_reason = ?, paused_at_ms = ? WHERE target = ?", row)


def forget(connection: sqlite3.Connection, target: str) -> None:
    """Remove all that is kept of `target`, its own open gaps included."""
    connection.execute("DELETE FROM targets WHERE target = ?", (target,))
    parking.forget(connection, target)
    connection.executemany("DELETE FROM meta WHERE key = ?", [(f"note:{it.format(target)}",) for it in _NOTES])
    for begin in (it.format(target) for it in _GAPS):
        connection.execute("DELETE FROM gaps WHERE closed_at_ms IS NULL AND substr(key, 1, ?) = ?", (len(begin), begin))


def rename(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Keep under the name `new` all that is kept of `old`. No target may be registered as `new`."""
    connection.execute("UPDATE targets SET target = ? WHERE target = ?", (new, old))
    connection.execute("UPDATE parked SET target = ? WHERE target = ?", (new, old))
    for it in _NOTES:
        names = (f"note:{it.format(new)}", f"note:{it.format(old)}")
        connection.execute("UPDATE OR REPLACE meta SET key = ? WHERE key = ?", names)
    for it in _GAPS:
        begin, now = it.format(old), it.format(new)
        # OR IGNORE: closed gaps of a former target of the new name may be there, and `forget` leaves them.
        query = "UPDATE OR IGNORE gaps SET key = ? || substr(key, ?) WHERE substr(key, 1, ?) = ?"
        connection.execute(query, (now, len(begin) + 1, len(begin), begin))


def amend(connection: sqlite3.Connection, events: str, changed: Mapping[int, bytes]) -> None:
    """Store other bytes for the events at these positions, in the table `events` and where they are parked."""
    rows = [(data, position) for position, data in changed.items()]
    update = f"UPDATE {events} SET data = ?1, crc = event_checksum(_id, ?1, timestamp) WHERE _id = ?2"  # noqa: S608
    connection.executemany(update, rows)
    connection.executemany("UPDATE parked SET data = ? WHERE position = ?", rows)
