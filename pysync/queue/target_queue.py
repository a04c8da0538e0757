"""The queue as one target has it: what is before it, how far it is, and what it has set aside."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pysync.base.crashpoints import crash_point
from pysync.queue import events
from pysync.queue.data_versions import DataVersions
from pysync.queue.notes import record
from pysync.queue.parked import ParkedEvents, park, supersede
from pysync.queue.queue_file import QueueFile
from pysync.queue.removals import Removals
from pysync.queue.resyncs import StoredResyncs
from pysync.queue.targets import TargetRow, Targets, forget_target, rename_target
from pysync.queue.values import Depth, Park, Pause, Queued

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
        self.resyncs, self.data_versions = StoredResyncs(file, name), DataVersions(file, name)

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

    def advance(
        self,
        position: int,
        parks: Sequence[Park] = (),
        finished: Collection[int] = (),
        superseded: Collection[int] = (),
    ) -> None:
        """Record, in one transaction, that the target is done up to `position`, but for what `parks` sets aside, and
        with the `finished` events behind it.

        Parked events at the positions `superseded` are removed, never to be applied: refreshes have read their objects
        instead. Raises ValueError for a position behind the present one, or any beyond the last event.
        """
        with self._file.lock:
            self._file.assert_open()
            row = self._targets.row(self.name)
            self._assert_ahead(row.position, position, parks, finished)
            behind = sorted(it for it in finished if it > position)
            if position == row.position and not parks and not behind and not superseded:
                return
            with self._file.transaction() as connection:
                connection.execute("UPDATE targets SET position = ? WHERE target = ?", (position, self.name))
                connection.execute(_PASSED, (self.name, position))
                if behind:
                    connection.execute(_FINISH, (self.name, behind[-1], json.dumps(behind)))
                supersede(connection, self.name, superseded)
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
                self._targets.rows[self.name] = TargetRow(position)
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
