"""The queue as one target sees it: its position, its pause, its notes, the events after it, and what it has parked."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pysync.base.crashpoints import crash_point
from pysync.queue import events, removals
from pysync.queue.removals import Removals
from pysync.queue.store import QueueFile
from pysync.queue.values import OF_ONE_TARGET, Depth, Park, Parked, ParkedTable, Pause, Queued

# --- Targets: the rows that the queue keeps of them, in memory and on disk, and the threads that wait for events

_READ = "SELECT target, position, paused_reason, paused_at_ms FROM targets"


@dataclass(slots=True)
class Row:
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
        self.rows = {name: Row(at, None if ms is None else Pause(reason, ms)) for name, at, reason, ms in rows}
        self._file = file
        self._changed = threading.Condition()
        self._woken: set[str] = set()

    def row(self, name: str) -> Row:
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
    notes, renamed = (f"note:{note_of(it, '')}" for it in (old, new))
    query = "UPDATE OR REPLACE meta SET key = ? || substr(key, ?) WHERE substr(key, 1, ?) = ?"
    connection.execute(query, (renamed, len(notes) + 1, len(notes), notes))
    for begin, now in zip(own_gaps(old), own_gaps(new), strict=True):
        # OR IGNORE: closed gaps of a former target of the new name may be there, and `forget_target` leaves them.
        query = "UPDATE OR IGNORE gaps SET key = ? || substr(key, ?) WHERE substr(key, 1, ?) = ?"
        connection.execute(query, (now, len(begin) + 1, len(begin), begin))


# --- Parked events: what a target has set aside, each event under every table that it touches

_COLUMNS = "target, position, table_key, data, reason, kind, attempts, first_at_ms, last_at_ms"
# One that is parked again keeps first_at_ms: since when it waits.
_PARK = f"""INSERT INTO parked ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (target, table_key, position) DO UPDATE SET reason = excluded.reason, kind = excluded.kind,
    attempts = excluded.attempts, last_at_ms = excluded.last_at_ms"""  # noqa: S608
_EVENTS = f"""SELECT {_COLUMNS}, id FROM parked
    WHERE target = ? AND (position, id) > (?, ?) ORDER BY position, id LIMIT ?"""  # noqa: S608
_OF_TABLE = f"""SELECT {_COLUMNS}, id FROM parked
    WHERE target = ? AND table_key = ? AND (position, id) > (?, ?) ORDER BY position, id LIMIT ?"""  # noqa: S608
# From one table name to the next through the index: the cost is that of the tables, not of what they hold back.
_BLOCKED = """WITH RECURSIVE blocked(key) AS (
    SELECT min(table_key) FROM parked WHERE target = :target
    UNION ALL
    SELECT (SELECT min(table_key) FROM parked WHERE target = :target AND table_key > key)
    FROM blocked WHERE key IS NOT NULL)
    SELECT key FROM blocked WHERE key IS NOT NULL"""
_TABLES = """SELECT first.table_key, every.events, first.position, first.kind, first.reason, first.attempts,
    every.first_at_ms, every.last_at_ms
    FROM (SELECT table_key, count(*) AS events, min(position) AS position, min(first_at_ms) AS first_at_ms,
          max(last_at_ms) AS last_at_ms FROM parked WHERE target = :target GROUP BY table_key) AS every
    JOIN parked AS first ON first.target = :target AND first.table_key = every.table_key
     AND first.position = every.position ORDER BY first.table_key"""
_AT = f"""SELECT {_COLUMNS}, id FROM parked WHERE target = ? AND position = ? ORDER BY table_key"""  # noqa: S608
_NAMES = "SELECT position, table_key FROM parked WHERE target = ? ORDER BY position, id"
_REMOVE_AT = "DELETE FROM parked WHERE target = ? AND position = ?"
_REMOVE = "DELETE FROM parked WHERE id = ? AND target = ?"
_DOUBT = "UPDATE gaps SET waited = 1 WHERE closed_at_ms IS NULL AND upto >= ?"
_UPDATE = "UPDATE parked SET reason = ?, kind = ?, attempts = ?, last_at_ms = ? WHERE id = ? AND target = ?"


class ParkedEvents:
    """The parked events of one target. `TargetQueue.advance` parks them, as it moves the position past them.

    What a method changes is on disk when it returns. All of them may be called from any thread, and raise as those of
    `EventQueue` do. Of a target that is not registered nothing is parked.
    """

    def __init__(self, file: QueueFile, target: str) -> None:
        self._file, self.target = file, target

    def events(self, table: str | None = None, after: Parked | None = None, limit: int = 1000) -> list[Parked]:
        """Up to `limit` parked events (of one `table`) in event order; `after` the last one for more."""
        start = (after.position, after.id) if after else (-1, -1)
        with self._file.reading() as connection:
            if table is None:
                rows = connection.execute(_EVENTS, (self.target, *start, limit))
            else:
                rows = connection.execute(_OF_TABLE, (self.target, table, *start, limit))
            return [Parked(*row) for row in rows.fetchall()]

    def at(self, position: int) -> list[Parked]:
        """The parked event at `position`, once under each of its tables; empty if it is not parked."""
        with self._file.reading() as connection:
            return [Parked(*row) for row in connection.execute(_AT, (self.target, position)).fetchall()]

    def tables(self) -> list[ParkedTable]:
        """What is parked, table by table."""
        with self._file.reading() as connection:
            return [ParkedTable(*row) for row in connection.execute(_TABLES, {"target": self.target}).fetchall()]

    def names(self) -> dict[int, set[str]]:
        """The tables of every parked event, by its position, in event order."""
        names: dict[int, set[str]] = {}
        with self._file.reading() as connection:
            for position, table in connection.execute(_NAMES, (self.target,)).fetchall():
                names.setdefault(position, set()).add(table)
        return names

    def count(self) -> int:
        """How many events are parked, each counted once for every table that it is parked under."""
        with self._file.reading() as connection:
            row = connection.execute("SELECT count(*) FROM parked WHERE target = ?", (self.target,)).fetchone()
            return int(row[0])

    def blocked(self) -> set[str]:
        """The tables that have a parked event, so that their later events must wait."""
        with self._file.reading() as connection:
            return {key for (key,) in connection.execute(_BLOCKED, {"target": self.target}).fetchall()}

    def remove(self, applied: Collection[Parked]) -> int:
        """Remove parked events, applied now; returns how many of them were this target's."""
        return self.replace(applied, ())

    def replace(self, applied: Collection[Parked], parks: Sequence[Park]) -> int:
        """Remove parked events, applied now, and add others, in one transaction.

        Returns how many of the removed ones were this target's. What is added and there already takes the new reason.
        """
        rows = [(event.id, self.target) for event in applied]
        with self._file.transaction() as connection:
            _doubt(connection, [event.position for event in applied])
            removed = connection.executemany(_REMOVE, rows).rowcount if rows else 0
            park(connection, parks)
            return removed

    def remove_at(self, positions: Collection[int]) -> None:
        """Remove the parked events at `positions`, skipped, under all of their tables."""
        with self._file.transaction() as connection:
            _doubt(connection, positions)
            connection.executemany(_REMOVE_AT, [(self.target, position) for position in positions])

    def supersede(self, positions: Iterable[int]) -> None:
        """Remove the parked events at `positions`, never to be applied: refreshes read their objects instead."""
        with self._file.transaction() as connection:
            connection.executemany(_REMOVE_AT, [(self.target, position) for position in positions])

    def update(self, changed: Sequence[Parked]) -> None:
        """Store the new reason, kind, attempts and last time of parked events, after a retry that failed.

        Those that are gone stay gone.
        """
        rows = [(it.reason, it.kind, it.attempts, it.last_at_ms, it.id, it.target) for it in changed]
        with self._file.transaction() as connection:
            connection.executemany(_UPDATE, rows)


def _doubt(connection: sqlite3.Connection, positions: Collection[int]) -> None:
    """Have the gaps that these events held up healed again: an event applied late may undo what was put right."""
    if positions:
        connection.execute(_DOUBT, (min(positions),))


def park(connection: sqlite3.Connection, parks: Iterable[Park]) -> None:
    """Add `parks`; one that is there already (target, table, position) takes the new reason and counts."""
    connection.executemany(
        _PARK,
        [
            (p.target, p.position, p.table, p.data, p.reason, p.kind, p.attempts, p.first_at_ms, p.last_at_ms)
            for p in sorted(parks, key=lambda p: p.position)
        ],
    )


def amend(connection: sqlite3.Connection, changed: Mapping[int, bytes]) -> None:
    """Store other bytes for the events at these positions where they are parked, for all targets."""
    rows = [(data, position) for position, data in changed.items()]
    connection.executemany("UPDATE parked SET data = ? WHERE position = ?", rows)


# --- Notes: small texts that others keep in the queue's file, each under a key of its own

_ACTS = "acts"
_ACTS_KEPT = 100


class Notes:
    """A durable mapping of texts. A note is on disk when `put` returns; each method may be called from any thread."""

    def __init__(self, file: QueueFile) -> None:
        self._file = file

    def put(self, key: str, value: str) -> None:
        """Keep `value` under `key`, in place of what was there."""
        with self._file.transaction() as connection:
            _write(connection, key, value)

    def get(self, key: str) -> str | None:
        """What is kept under `key`; None if nothing is."""
        with self._file.reading() as connection:
            return _read(connection, key)

    def acts(self) -> list[dict[str, Any]]:
        """What was done to targets by hand (the last 100 acts), the newest first; `at_ms` is when."""
        with self._file.reading() as connection:
            return _acts(connection)


def record(connection: sqlite3.Connection, act: Mapping[str, Any] | None, at_ms: int) -> None:
    """Put `act`, if there is one, on record within the caller's transaction."""
    if act is not None:
        acts = [{"at_ms": at_ms, **act}, *_acts(connection)]
        _write(connection, _ACTS, json.dumps(acts[:_ACTS_KEPT]))


def _acts(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    acts: list[dict[str, Any]] = json.loads(_read(connection, _ACTS) or "[]")
    return acts


def _read(connection: sqlite3.Connection, key: str) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (f"note:{key}",)).fetchone()
    return row[0] if row else None


def _write(connection: sqlite3.Connection, key: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (f"note:{key}", value))


# --- The queue as one target has it: what is before it, how far it is, and what it has set aside

_REGISTER = "INSERT INTO targets (target, position, registered_at_ms) VALUES (?, ?, ?)"
_PAUSE = "UPDATE targets SET paused_reason = ?, paused_at_ms = ? WHERE target = ?"
_OLDEST = f"SELECT timestamp FROM {events.TABLE} WHERE _id > ? ORDER BY _id LIMIT 1"  # noqa: S608
_FINISH = "INSERT INTO finished (target, upto, positions) VALUES (?, ?, ?)"
_PASSED = "DELETE FROM finished WHERE target = ? AND upto <= ?"
_FINISHED = "SELECT positions FROM finished WHERE target = ?"
_MS = 1000


class TargetQueue:
    """The queue of the target `name`: a handle without a state of its own, so there may be any number of them.

    What a method changes is on disk when it returns, or it raises and nothing is changed. The target sees an event in
    `window` until it has advanced past it. All methods may be called from any thread, but `wait` from one at a time.
    They raise as those of `EventQueue` do, and ValueError where the target must be registered and is not.
    """

    def __init__(self, file: QueueFile, targets: Targets, name: str) -> None:
        self._file, self._targets, self.name = file, targets, name
        self.parked, self.removals = ParkedEvents(file, name), Removals(file, name)

    # --- what is before it

    def position(self) -> int:
        """The position of the last event that the target is done with; 0 if there is none yet."""
        with self._file.reading():
            return self._targets.row(self.name).position

    def depth(self) -> Depth:
        """How far the target is behind. Cheap: positions have no gaps, so nothing is counted."""
        with self._file.reading() as connection:
            position = self._targets.row(self.name).position
            oldest = connection.execute(_OLDEST, (position,)).fetchone()
            return Depth(self._file.last - position, round(oldest[0] * _MS) if oldest else None)

    def window(self, limit: int, max_bytes: int) -> list[Queued]:
        """The events after the position, in order: up to `limit`, up to `max_bytes` of data.

        At least one if there is one, however large. Reads only, never waits: the same again until `advance`.
        """
        with self._file.reading():
            return self._file.events(self._targets.row(self.name).position, limit, max_bytes)

    def wait(self, timeout: float, after: float | None = None) -> bool:
        """Wait up to `timeout` seconds for an event behind the position, or behind `after`; True if there is one.

        Returns early after `wake`, at once if that came before. Raises QueueClosed when the queue is closed meanwhile.
        """
        self._targets.wait(self.name, lambda: self._file.closed or self._has_more(after), timeout)
        self._file.assert_open()
        return self._has_more(after)

    def wake(self) -> None:
        """End the `wait` of the target, the present one or else the next. Harmless after `close`."""
        self._targets.wake(self.name)

    def finished(self) -> set[int]:
        """The positions behind the target's own at which it is done with the event, as `advance` has recorded them."""
        with self._file.reading() as connection:
            rows = connection.execute(_FINISHED, (self.name,)).fetchall()
        return set[int]().union(*(json.loads(positions) for (positions,) in rows))

    def advance(self, position: int, parks: Sequence[Park] = (), finished: Collection[int] = ()) -> None:
        """Record, in one transaction, that the target is done up to `position`, but for what `parks` sets aside, and
        with the `finished` events behind it.

        Raises ValueError for a position behind the present one, or any beyond the last event.
        """
        with self._file.lock:
            self._file.assert_open()
            row = self._targets.row(self.name)
            self._assert_ahead(row.position, position, parks, finished)
            behind = sorted(it for it in finished if it > position)
            if position == row.position and not parks and not behind:
                return
            with self._file.transaction() as connection:
                connection.execute("UPDATE targets SET position = ? WHERE target = ?", (position, self.name))
                connection.execute(_PASSED, (self.name, position))
                if behind:
                    connection.execute(_FINISH, (self.name, behind[-1], json.dumps(behind)))
                park(connection, parks)
                crash_point("park.written" if parks else "advance.written")
            crash_point("park.committed" if parks else "advance.committed")
            row.position = position

    def _assert_ahead(self, now: int, position: int, parks: Sequence[Park], finished: Collection[int]) -> None:
        if not now <= position <= self._file.last:
            raise ValueError(f"{self.name} cannot move from position {now} to {position} of {self._file.last}")
        if max(finished, default=0) > self._file.last:
            raise ValueError(f"{self.name} cannot be done with event {max(finished)} of {self._file.last}")
        if any(it.target != self.name or it.position > position for it in parks):
            raise ValueError(f"only events of {self.name} up to position {position} can be parked with it")

    def _has_more(self, after: float | None) -> bool:
        return self._file.last > (self._targets.row(self.name).position if after is None else after)

    # --- whether it is at work

    def pause(self, reason: str | None) -> None:
        """Note that the target shall apply nothing, and why; None: that it shall go on."""
        with self._file.lock:
            row = self._targets.row(self.name)
            pause = Pause(reason, self._file.now_ms()) if reason is not None else None
            with self._file.transaction() as connection:
                connection.execute(_PAUSE, (reason, pause and pause.at_ms, self.name))
            row.pause = pause

    def paused(self) -> Pause | None:
        """Why the target shall apply nothing; None if it is not paused."""
        with self._file.reading():
            row = self._targets.rows.get(self.name)
            return None if row is None else row.pause

    # --- its name

    def register(self) -> int:
        """Give the target a position if it has none, and return it.

        One that is new to the queue starts where the slowest of the others is, or before the oldest event still kept if
        there are none: what is kept as history only is not replayed.
        """
        with self._file.lock:
            if self.name not in self._targets.rows:
                position = self._targets.slowest(default=self._file.first - 1)
                with self._file.transaction() as connection:
                    connection.execute(_REGISTER, (self.name, position, self._file.now_ms()))
                self._targets.rows[self.name] = Row(position)
            return self._targets.rows[self.name].position

    def forget(self, act: Mapping[str, Any] | None = None) -> None:
        """Drop all that is kept of the target; it no longer holds back trimming. `act`, if given, is put on record.

        Idempotent.
        """
        with self._file.lock:
            with self._file.transaction() as connection:
                forget_target(connection, self.name)
                record(connection, act, self._file.now_ms())
            self._targets.rows.pop(self.name, None)
        self.wake()

    def rename(self, new: str, act: Mapping[str, Any] | None = None) -> None:
        """Keep under the name `new` what is kept of the target: position, parked events, pause, notes, gaps.

        In one transaction, which puts `act` on record as well. Raises ValueError where `new` is registered already.
        """
        with self._file.lock:
            row = self._targets.row(self.name)
            if new in self._targets.rows:
                raise ValueError(f"{self._file} already has a target {new!r}")
            with self._file.transaction() as connection:
                rename_target(connection, self.name, new)
                record(connection, act, self._file.now_ms())
            self._targets.rows[new] = row
            del self._targets.rows[self.name]
