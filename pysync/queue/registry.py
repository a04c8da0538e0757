"""The targets that a queue knows: the position of each, whether it is paused, and what is kept under its name."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Mapping
from typing import Any

from pysync.queue import targets
from pysync.queue.store import QueueFile
from pysync.queue.values import Pause

_ACTS = "note:acts"
_ACTS_KEPT = 100


class Registry(QueueFile):
    """The part of the queue that knows its targets (see pysync.queue.event_queue.EventQueue for what is promised)."""

    def _begin(self) -> None:
        super()._begin()
        self._positions: dict[str, int] = dict(self._conn.execute("SELECT target, position FROM targets").fetchall())
        paused = self._conn.execute(
            "SELECT target, paused_reason, paused_at_ms FROM targets WHERE paused_at_ms NOT NULL"
        )
        self._pauses: dict[str, Pause] = {target: Pause(reason, at_ms) for target, reason, at_ms in paused.fetchall()}
        self._arrived = threading.Condition()
        self._woken: set[str] = set()

    def register(self, target: str) -> int:
        """Give `target` a position if it has none, and return it.

        A target that is new to the queue starts where the slowest of the others is, or before the oldest event still
        kept if there are none: what is kept as history only is not replayed.
        """
        with self._lock:
            if target not in self._positions:
                position = min(self._positions.values(), default=self._first - 1)
                with self._transaction() as connection:
                    targets.register(connection, target, position, self._now_ms())
                self._positions[target] = position
            return self._positions[target]

    def forget(self, target: str, act: Mapping[str, Any] | None = None) -> None:
        """Drop all that is kept of `target`; it no longer holds back trimming. `act`, if given, is put on record.

        Idempotent.
        """
        with self._lock:
            with self._transaction() as connection:
                targets.forget(connection, target)
                self._record(connection, act)
            self._positions.pop(target, None)
            self._pauses.pop(target, None)
        self.wake(target)

    def rename(self, old: str, new: str, act: Mapping[str, Any] | None = None) -> None:
        """Keep under the name `new` what is kept of the target `old`: position, parked events, pause, notes, gaps.

        In one transaction, with `act` on record. Raises ValueError where `old` is not known, or `new` is.
        """
        with self._lock:
            position = self._position(old)
            if new in self._positions:
                raise ValueError(f"{self._file} already has a target {new!r}")
            with self._transaction() as connection:
                targets.rename(connection, old, new)
                self._record(connection, act)
            self._positions[new] = position
            del self._positions[old]
            if old in self._pauses:
                self._pauses[new] = self._pauses.pop(old)

    def amend(self, changed: Mapping[int, bytes]) -> None:
        """Keep other bytes for the events at these positions, parked ones, too; in one transaction."""
        with self._transaction() as connection:
            targets.amend(connection, self._table_name, changed)

    def acts(self) -> list[dict[str, Any]]:
        """What was done to targets by hand (the last 100 acts), the newest first; `at_ms` is when."""
        with self._reading() as connection:
            return _acts(connection)

    def _record(self, connection: sqlite3.Connection, act: Mapping[str, Any] | None) -> None:
        if act is not None:
            text = json.dumps([{"at_ms": self._now_ms(), **act}, *_acts(connection)][:_ACTS_KEPT])
            connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (_ACTS, text))

    def positions(self) -> dict[str, int]:
        """The position of every registered target."""
        with self._reading():
            return dict(self._positions)

    def wake(self, *names: str) -> None:
        """End the `wait` of the targets `names` (none named: all), the present one or else the next."""
        ended = names or tuple(self.positions())
        with self._arrived:
            self._woken.update(ended)
            self._arrived.notify_all()

    def pause(self, target: str, reason: str | None) -> None:
        """Note durably that `target` shall apply nothing, and why; None: that it shall go on."""
        with self._lock:
            self._position(target)
            found = Pause(reason, self._now_ms()) if reason is not None else None
            with self._transaction() as connection:
                targets.pause(connection, target, reason, found.at_ms if found else None)
            if found is None:
                self._pauses.pop(target, None)
            else:
                self._pauses[target] = found

    def paused(self, target: str) -> Pause | None:
        """Why `target` shall apply nothing; None when nobody said so."""
        with self._reading():
            return self._pauses.get(target)

    def _position(self, target: str) -> int:
        try:
            return self._positions[target]
        except KeyError:
            raise ValueError(f"{self._file} has no target {target!r}") from None


def _acts(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (_ACTS,)).fetchone()
    found: list[dict[str, Any]] = json.loads(row[0]) if row else []
    return found
