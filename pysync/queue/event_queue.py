"""The durable queue itself: append, a position per target, trimming, and what is set aside."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterable, Sequence

import structlog

from pysync.crashpoints import crash_point
from pysync.queue import digests, events, gaps, history, parking, repair
from pysync.queue.committer import GroupCommit
from pysync.queue.errors import damaged
from pysync.queue.instances import Additions, Instances
from pysync.queue.parked import ParkedEvents
from pysync.queue.values import (
    Depth,
    Entry,
    Gap,
    History,
    Instance,
    Park,
    Queued,
    Unreadable,
)

_TRIM_ROWS = 2000  # of one transaction, for which appends wait
_VACUUM_PAGES = 1000
_SPARE_PAGES = 4096  # unused, 16 MiB: less is left in the file, which needs it again soon
_MS = 1000

log = structlog.get_logger(__name__)


class EventQueue(ParkedEvents):
    """One ordered log of events on disk, with a position for every target, in one file with one owner.

    Durable: what `append`, `advance` and the other writers return is on disk (fsync), or they raise and nothing
    of it is. Ordered: positions are 1, 2, 3, … in the order of appending, without a gap. Once: an event (instance
    and sequence) is taken in once for ever, even if it was trimmed since; but a target sees it again in `window` until
    it has advanced past it. Checked: damage is noticed when it is read and set aside, and becomes a gap; `window` has
    an event without data in its place. Answered events that are missing from the file become a gap, too.

    All methods may be called from any thread. Every one raises QueueClosed after `close`, QueueFull where the disk
    has no room, QueueFailed for any other fault of disk or database, and ValueError for an unknown target.
    """

    def _begin(self) -> None:
        super()._begin()
        self._seen = Instances(self._conn)
        self._differing = 0
        self._closing = threading.Lock()
        self._committer: GroupCommit[Entry, bool] = GroupCommit(self._commit)

    # --- events in

    def append(self, instance: str, sequence: int, source: str, data: bytes) -> bool:
        """Wait until the event is on disk; False if it was there already, which is a success too.

        Raises ValueError for an impossible event, QueueFull below the floor (send it again later).
        """
        return self.append_all([Entry(instance, sequence, source, data)])[0]

    def append_all(self, entries: Sequence[Entry]) -> Sequence[bool]:
        """Append `entries` in their order, all or none, in one transaction; answers as `append` does for each."""
        return self._committer.submit(entries) if entries else []

    def _commit(self, entries: Sequence[Entry]) -> list[bool]:
        with self._lock:
            self._live()
            at_ms = self._now_ms()
            additions = self._seen.additions(at_ms)
            answers = [additions.add(entry) for entry in entries]
            new = [entry for entry, is_new in zip(entries, answers, strict=True) if is_new]
            if new:
                self._write(new, additions, at_ms)
            if len(new) < len(entries):
                self._compare([entry for entry, is_new in zip(entries, answers, strict=True) if not is_new])
        if new:
            # After the lock of the queue, which whoever wakes up takes at once.
            with self._arrived:
                self._arrived.notify_all()
        return answers

    def _write(self, new: Sequence[Entry], additions: Additions, at_ms: int) -> None:
        self._need_room(sum(len(entry.data) for entry in new))
        with self._transaction() as connection:
            events.insert(connection, self._last + 1, (entry.data for entry in new), at_ms)
            additions.write(connection)
            digests.keep(connection, new)
            crash_point("append.written")
        crash_point("append.committed")
        additions.accept()
        self._last += len(new)
        self._remember()

    def _compare(self, again: Sequence[Entry]) -> None:
        """Open a gap for an event that came again with other bytes, or whose bytes nobody remembers any more."""
        with self._reading() as connection:
            differing = digests.differing(connection, again)
        for instance, entry in differing.items():
            came = f"event {entry.sequence} of metastore {instance}"
            if self.open_gap(f"differs:{instance}:{entry.sequence}", f"{came} came again, not as it came before"):
                self._differing += 1
                log.error("event_differs", instance=instance, sequence=entry.sequence)

    def keep_unreadable(self, data: bytes, reason: str) -> None:
        """Keep bytes that are no event, durably: the newest 1000 and 64 MiB of them. QueueFull as `append`."""
        with self._lock:
            self._need_room(len(data))
            with self._transaction() as connection:
                parking.keep_unreadable(connection, data, reason, self._now_ms())

    def unreadable(self, limit: int = 100) -> list[Unreadable]:
        """The newest of what `keep_unreadable` kept, newest first."""
        with self._reading() as connection:
            return parking.unreadable(connection, limit)

    def instances(self) -> list[Instance]:
        """What came from every listener JVM so far, with the sequences that are missing."""
        with self._reading():
            return list(self._seen)

    def note(self, key: str, value: str) -> None:
        """Keep a small text under `key`, durably, in place of what was there."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (f"note:{key}", value))

    def noted(self, key: str) -> str | None:
        """What `note` kept under `key`; None if nothing was."""
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (f"note:{key}",)).fetchone()
        return row[0] if row else None

    # --- gaps

    def open_gap(self, key: str, reason: str) -> bool:
        """Record that events may be missing; False if that gap is known already, closed or not."""
        with self._lock:
            with self._transaction() as connection:
                found = gaps.add(connection, key, reason, self._now_ms())
            self._remember_gaps()
        if found:
            log.warning("gap_opened", reason=reason)
        return found

    def gaps(self, limit: int = 100) -> list[Gap]:
        """The newest gaps, newest first, closed ones among them."""
        with self._reading() as connection:
            return gaps.latest(connection, limit)

    def open_gaps(self) -> list[Gap]:
        """The gaps that are not closed, oldest first."""
        with self._reading() as connection:
            return gaps.unclosed(connection)

    def healed_by(self, keys: Iterable[str], upto: int) -> None:
        """Record that the events up to position `upto` make these gaps good."""
        with self._transaction() as connection:
            gaps.healed_by(connection, keys, upto)

    def close_gaps(self) -> int:
        """Close the gaps that every target is past, and gaps of a target's scope that it is past; returns how many."""
        with self._lock:
            # Asked at every look of the healer: without an open gap it must not cost an fsync.
            if not self.open_gaps():
                return 0
            done, now = min(self._positions.values(), default=0), self._now_ms()
            with self._transaction() as connection:
                own = sum(gaps.close(connection, at, now, of) for of, at in self._positions.items())
                return own + gaps.close(connection, done, now)

    @property
    def differing(self) -> int:
        """How many events came again with other bytes since the opening; of each batch the first is counted."""
        return self._differing

    # --- events out

    @property
    def last(self) -> int:
        """The position of the newest event, 0 if there never was one."""
        return self._last

    def window(self, target: str, limit: int, max_bytes: int) -> list[Queued]:
        """The events after the target's position, in order: up to `limit`, up to `max_bytes` of data.

        At least one if there is one, however large. Reads only, never waits: the same again until `advance`.
        """
        with self._reading():
            return self.events(self._position(target), limit, max_bytes)

    def events(self, after: int, limit: int, max_bytes: int) -> list[Queued]:
        """The events kept after the position `after`, whoever is done with them; otherwise as `window`."""
        with self._reading() as connection:
            after = max(after, self._first - 1)
            kept = events.Kept(self._last, self._unsummed)
            found, is_well = events.read(connection, kept, after, limit, max_bytes)
            if not is_well:
                self._set_aside(after + 1)
                found, is_well = events.read(connection, kept, after, limit, max_bytes)
            if not is_well:
                raise damaged(self._file, f"event {after + 1} cannot be replaced")
        return found

    def _set_aside(self, position: int) -> None:
        """Put an event without data in the place of one that is damaged, which is a gap."""
        with self._transaction() as connection:
            repair.set_event_aside(connection, self._epoch, position, self._now_ms())
        self._remember_gaps()

    def wait(self, target: str, timeout: float, after: float | None = None) -> bool:
        """Wait up to `timeout` seconds for an event after the target's position, or `after` one; True if there is one.

        False as well after `wake`, at once if that came before. For one thread per target. QueueClosed at `close`.
        """

        def arrived() -> bool:
            return self._last > (self._position(target) if after is None else after)

        with self._arrived:
            self._arrived.wait_for(lambda: self._closed or target in self._woken or arrived(), timeout)
            self._woken.discard(target)
            self._live()
            return arrived()

    def advance(self, target: str, position: int, parked: Sequence[Park] = ()) -> None:
        """Record, in one transaction, that `target` is done up to `position`, but for what is `parked`.

        Raises ValueError for a position behind the present one or beyond the last event.
        """
        with self._lock:
            self._live()
            now = self._position(target)
            if not now <= position <= self._last:
                raise ValueError(f"{target} is at {now} of {self._last}: it cannot go to {position}")
            if any(park.target != target or park.position > position for park in parked):
                raise ValueError(f"only events of {target} up to {position} can be parked with it")
            if position == now and not parked:
                return
            with self._transaction() as connection:
                connection.execute("UPDATE targets SET position = ? WHERE target = ?", (position, target))
                parking.park(connection, parked)
                crash_point("park.written" if parked else "advance.written")
            crash_point("park.committed" if parked else "advance.committed")
            self._positions[target] = position

    def depth(self, target: str) -> Depth:
        """How far `target` is behind. Cheap: positions have no gaps, so nothing is counted."""
        query = f"SELECT timestamp FROM {self._table_name} WHERE _id > ? ORDER BY _id LIMIT 1"  # noqa: S608
        with self._reading() as connection:
            position = self._position(target)
            oldest = connection.execute(query, (position,)).fetchone()
            return Depth(self._last - position, round(oldest[0] * _MS) if oldest else None)

    # --- room

    def trim(self, retain_rows: int = 0, retain_seconds: float = 0.0, seconds: float = math.inf) -> int:
        """Delete the events which every target is done with, but for the last `retain_rows`; returns how many.

        What came less than `retain_seconds` ago is kept as well, as long as the disk is not near its floor; never
        does a clock, however it jumps, delete what a target still needs. In slices, so that others get their turn; no
        new one is begun after `seconds`. Deletes nothing while no target is registered. Gives space back to the disk
        when half of the file is unused, or any is and the disk is near its floor.
        """
        until = time.monotonic() + seconds
        removed = 0
        while step := self._trim_slice(retain_rows, retain_seconds):
            removed += step
            if time.monotonic() > until:
                return removed
            # While the disk is tight, history goes too: what a slice frees is given back at once, so that no more goes.
            if retain_seconds and self._is_tight():
                self._give_back(until)
        self._give_back(until)
        return removed

    def history(self) -> History:
        """What is kept though every target is done with it. Cheap, however much it is."""
        with self._reading() as connection:
            done = max(0, min(self._positions.values(), default=0) + 1 - self._first)
            return history.kept(connection, self._table_name, done, self.size)

    def _trim_slice(self, retain_rows: int, retain_seconds: float) -> int:
        with self._lock:
            self._live()
            done = min(self._positions.values(), default=0) - retain_rows
            upto = min(done, self._first + _TRIM_ROWS - 1)
            if upto < self._first:
                return 0
            with self._transaction() as connection:
                if retain_seconds and not self._is_tight():
                    ripe = history.Ripe(self._table_name, self._last, self._now_ms(), round(retain_seconds * _MS))
                    upto = ripe.upto(connection, self._first, upto)
                connection.execute(f"DELETE FROM {self._table_name} WHERE _id <= ?", (upto,))  # noqa: S608
                crash_point("trim.written")
            crash_point("trim.committed")
            removed, self._first = upto + 1 - self._first, upto + 1
            return removed

    def _is_tight(self) -> bool:
        """Whether the disk is so near its floor that events which are on their way may soon be refused."""
        return self.free_bytes() < self.min_free_bytes + self.min_free_bytes // 4

    def _give_back(self, until: float) -> None:
        while self._vacuum_slice() and time.monotonic() < until:
            pass

    def _vacuum_slice(self) -> bool:
        with self._reading() as connection:
            unused = connection.execute("PRAGMA freelist_count").fetchone()[0]
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            if unused <= (0 if self._is_tight() else max(_SPARE_PAGES, pages // 2)):
                return False
            # A page for every step, and only executescript steps to the end; the checkpoint shrinks the file.
            connection.executescript(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            return True

    def close(self) -> None:
        """Commit what waits, then close: waiting threads get QueueClosed. From any thread, as often as you like."""
        with self._closing:
            if self._closed:
                return
            # Not under the lock of the queue, which the last batch takes.
            self._committer.close()
            with self._lock:
                self._closed = True
                self._release()
        with self._arrived:
            self._arrived.notify_all()

    def __enter__(self) -> EventQueue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
