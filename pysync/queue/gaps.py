"""Gaps: where events may be missing, until every target has been brought past them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import structlog

from pysync.queue import losses
from pysync.queue.queue_file import QueueFile
from pysync.queue.targets import Targets, own_gaps
from pysync.queue.values import NEW, SCOPES, Gap

log = structlog.get_logger(__name__)

_MS = 1000
_READ = "SELECT key, reason, found_at_ms, upto, closed_at_ms FROM gaps"


class Gaps:
    """The gaps of one queue. What a method records is on disk when it returns; each may be called from any thread."""

    def __init__(self, file: QueueFile, targets: Targets) -> None:
        self._file, self._targets = file, targets

    def open(self, key: str, reason: str, upto: int | None = None) -> bool:
        """Record that events may be missing; False if the gap of this key is known already, closed or not.

        `upto` is for one that events up to that position make good, as in `healed_by`, but in the same transaction.
        """
        with self._file.lock:
            with self._file.transaction() as connection:
                is_new = losses.add_gap(connection, key, reason, self._file.now_ms())
                if upto is not None:
                    _heal(connection, [key], upto)
            self._file.remember_gaps()
        if is_new:
            log.warning("gap_opened", reason=reason)
        return is_new

    def latest(self, limit: int = 100) -> list[Gap]:
        """The newest gaps, newest first, closed ones among them."""
        with self._file.reading() as connection:
            rows = connection.execute(f"{_READ} ORDER BY id DESC LIMIT ?", (limit,))
            return [Gap(*row) for row in rows.fetchall()]

    def unclosed(self) -> list[Gap]:
        """The gaps that are not closed, oldest first."""
        with self._file.reading() as connection:
            rows = connection.execute(f"{_READ} WHERE closed_at_ms IS NULL ORDER BY id")
            return [Gap(*row) for row in rows.fetchall()]

    def is_known(self, key: str) -> bool:
        """Whether the gap of this key was ever recorded, closed or not."""
        with self._file.reading() as connection:
            return connection.execute("SELECT 1 FROM gaps WHERE key = ?", (key,)).fetchone() is not None

    def healed_by(self, keys: Iterable[str], upto: int) -> None:
        """Record that the events up to position `upto` make the gaps of these keys good."""
        with self._file.transaction() as connection:
            _heal(connection, keys, upto)

    def close_passed(self) -> int:
        """Close the gaps that every target is past, and those of one target that it is past; returns how many."""
        with self._file.lock:
            # Asked at every look of the healer: without an open gap it must not cost an fsync.
            if not (before := self.unclosed()):
                return 0
            done, now = self._targets.slowest(default=0), self._file.now_ms()
            with self._file.transaction() as connection:
                for target, it in self._targets.rows.items():
                    for begin in own_gaps(target):
                        _close(connection, it.position, now, target, begin)
                _close(connection, done, now)
            left = {gap.key for gap in self.unclosed()}
        closed = [gap for gap in before if gap.key not in left]
        for gap in closed:
            log.info("gap_closed", reason=gap.reason, seconds=round((now - gap.found_at_ms) / _MS, 1))
        return len(closed)


def new_gaps(target: str) -> str:
    """How the keys of the gaps begin that were opened because the target is new."""
    return f"{NEW}{target}:"


def scope_gaps(target: str) -> str:
    """How the keys of the gaps begin that a change of the target's scope has opened."""
    return f"{SCOPES}{target}:"


def _heal(connection: sqlite3.Connection, keys: Iterable[str], upto: int) -> None:
    connection.executemany("UPDATE gaps SET upto = ? WHERE key = ?", [(upto, key) for key in keys])


def _close(connection: sqlite3.Connection, done: int, at_ms: int, target: str | None = None, begin: str = "") -> None:
    """Close the gaps whose events every target has passed, all being done up to `done`.

    With `target`: of the gaps that concern it alone, those whose keys `begin` so; and `done` is its own position.

    A gap waits while an event before its end is parked. Once that is applied or skipped, the gap is open again, as when
    it was found (`waited`): applied later, it may undo what was put right. An event that a refresh supersedes undoes
    nothing.
    """
    passed = "closed_at_ms IS NULL AND upto <= :done"
    held = "SELECT 1 FROM parked WHERE parked.position <= gaps.upto"
    if target is not None:
        passed += " AND substr(key, 1, length(:begin)) = :begin"
        held += " AND parked.target = :target"
    values = {"done": done, "at": at_ms, "target": target, "begin": begin}
    passed += f" AND NOT EXISTS ({held})"
    connection.execute(f"UPDATE gaps SET closed_at_ms = :at WHERE {passed} AND waited = 0", values)  # noqa: S608
    connection.execute(f"UPDATE gaps SET waited = 0, upto = NULL WHERE {passed} AND waited = 1", values)  # noqa: S608
