"""Brake: holds a window that would drop too much (at once, within a time, or of one database) until a person lets it
go.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pysync.model.operation import Operation
from pysync.queue import Pause, Queued
from pysync.replay.draft import Draft
from pysync.replay.ledger import Drop, Ledger, drops_of, drops_of_refresh
from pysync.targets.settings import TargetSettings
from pysync.text import count, duration, span

_SAME_BURST_MS = 60_000
"""Drops in the same databases, without a longer pause than this, belong to the ones that a person let go."""

_Tables = Mapping[str, Collection[str]]
"""Tables by their database."""

_OBJECT, _OBJECTS = "database, table or partition", "databases, tables and partitions"
_LOOK = "look at `pysync plan`, then run `pysync resume`"


@dataclass(frozen=True, slots=True)
class Limits:
    """How many drops a target may get: in a window, within `seconds`, and as a share of a database's tables.

    The share counts for databases with at least `share_from` tables, within `seconds`, and only for tables that are
    older than that. 0 is no limit.
    """

    window: int = 0
    drops: int = 0
    seconds: float = 3600.0
    share: float = 0.0
    share_from: int = 0

    @classmethod
    def of(cls, settings: TargetSettings) -> Limits:
        """The limits of a target; none for a shadow, which drops nothing."""
        if settings.mode == "shadow":
            return cls()
        drops, seconds = settings.drops_over_time
        return cls(settings.max_drops_per_window, drops, seconds, settings.max_drop_share, settings.max_drop_share_from)


@dataclass(frozen=True, slots=True)
class _Hit:
    pause: Pause
    why: str  # the limit that was exceeded
    upto: int
    databases: frozenset[str]


@dataclass(slots=True)
class _Count:
    """The drops of the window up to position `last`: by its events, and by each of its refreshes."""

    last: int
    dropped: int = 0
    refreshed: dict[int, list[Drop]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.dropped + sum(it.count for drops in self.refreshed.values() for it in drops)


@dataclass(slots=True)
class _Burst:
    """What a person let go: drops in these databases, the last of which came at that time."""

    databases: frozenset[str]
    at_ms: int


class Brake:
    """Holds every window that would exceed a limit; `release` lets go what had come by then.

    Used by the drain's thread; `held`, `release` and `allows` by any thread. A hold is not stored: after a restart the
    window is held again. The ledger keeps the drops of late. `tables_of` lists the target's tables in a database; it is
    never called with the lock held, because a target may hang, and `release` must not hang with it.
    """

    def __init__(
        self,
        limits: Limits,
        ledger: Ledger | None = None,
        *,
        tables_of: Callable[[str], Collection[str]] = lambda _: (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limits = limits
        self._ledger = ledger or Ledger(limits.seconds)
        self._tables_of = tables_of
        self._clock = clock
        self._hit: _Hit | None = None
        self._burst: _Burst | None = None
        self._let_through = 0
        self._counting = threading.Lock()
        self._counts: list[_Count] = []  # of the windows in hand, in order

    @property
    def held(self) -> Pause | None:
        """Why a window is held, and since when."""
        return self._hit.pause if self._hit else None

    def cut(self, events: Sequence[Queued]) -> Sequence[Queued]:
        """The part of a window that was let through, or else all of it.

        More events may have come since a person looked at the window.
        """
        through = [event for event in events if event.position <= self._let_through]
        return through or events

    def holds(self, draft: Draft) -> bool:
        """Whether the window is held from now on; if not, its drops are counted.

        Raises what `tables_of` raises; then it is neither held nor counted.
        """
        drops = drops_of(draft, self._limits.seconds)
        with self._counting:
            self._begin(draft)
            new = self._ledger.new(drops)
            doubtful = self._doubtful(new, draft.events[-1].position) if self._over(draft, new) is None else []
        there = self._listed(doubtful)
        with self._counting:
            why = self._why(draft, new, there)
            if why is None or self._goes_on(drops):
                self._ledger.enter(new)
                return False
            self._hold(draft, why, drops)
            return True

    def look_again(self, draft: Draft) -> None:
        """Update the reason of a held window, as more events may have come."""
        with self._counting:
            if self._hit is not None and draft.events and draft.events[-1].position > self._hit.upto:
                drops = drops_of(draft, self._limits.seconds)
                # Without asking the target for its tables again: a share that was exceeded keeps its text.
                why = self._over(draft, self._ledger.new(drops)) or self._hit.why
                self._hold(draft, why, drops)

    def allows(self, drops: Sequence[Operation], position: int) -> bool:
        """Whether a refresh, the event at `position`, may make all these drops; if not, its window is held from now on.

        Called by the lanes: a refresh knows its drops only when it reads the source. May be called again for the same
        refresh. Raises what `tables_of` raises.
        """
        with self._counting:
            # Replaced, not added: a refresh that is tried again passes all its drops again.
            self._count(position).refreshed[position] = drops_of_refresh(drops, position, round(self._clock() * 1000))
            lately = self._refreshed()
            doubtful = self._doubtful(lately, position) if self._over_refreshed(position, lately) is None else []
        there = self._listed(doubtful)
        with self._counting:
            lately = self._refreshed()
            why = self._over_refreshed(position, lately) or self._over_share(lately, there)
            if why is None or position <= self._let_through:
                return True
            self._hold_refresh(position, why)
            return False

    def passed(self, position: int) -> None:
        """Remember the drops of refreshes up to that position: the target is done with their windows."""
        with self._counting:
            self._ledger.enter(self._refreshed(position))
            self._counts = [it for it in self._counts if it.last > position]

    def release(self, upto: int = 0) -> bool:
        """Let go what is held, and all events up to that position; False if nothing is held.

        Later drops in the same databases, without a pause of a minute, go too: all of it is one mistake, or none.
        """
        with self._counting:
            hit = self._hit
            if hit is None:
                return False
            self._let_through, self._hit = max(hit.upto, upto), None
            self._burst = _Burst(hit.databases, round(self._clock() * 1000))
            self._ledger.clear()
            return True

    def _listed(self, databases: Iterable[str]) -> _Tables:
        """The target's tables in these databases. Without the lock."""
        return {name: self._tables_of(name) for name in databases}

    # --- with the lock held

    def _begin(self, draft: Draft) -> None:
        """Count the drops of a window from now on."""
        # A window that was given up, or held, comes again: its first count must not stay.
        self._counts = [it for it in self._counts if it.last < draft.events[0].position]
        self._counts.append(_Count(draft.events[-1].position, draft.drops))

    def _count(self, position: int) -> _Count:
        """The count of the window that an event is in. A parked event that is tried again gets its own."""
        found = next((it for it in self._counts if it.last >= position), None)
        if found is None:
            found = _Count(position)
            self._counts.append(found)
        return found

    def _refreshed(self, upto: int | None = None) -> list[Drop]:
        """The drops by refreshes of the windows in hand, or of the windows up to a position."""
        windows = (it for it in self._counts if upto is None or it.last <= upto)
        return [drop for it in windows for drops in it.refreshed.values() for drop in drops]

    def _why(self, draft: Draft, new: Sequence[Drop], there: _Tables) -> str | None:
        """The limit that a window exceeds, if it was not let through."""
        if draft.events[-1].position <= self._let_through:
            return None
        return self._over(draft, new) or self._over_share(new, there)

    def _over(self, draft: Draft, new: Sequence[Drop]) -> str | None:
        return self._limit_of(draft.drops) or self._over_time(self._ledger.most(new) if new else 0)

    def _over_refreshed(self, position: int, lately: Sequence[Drop]) -> str | None:
        return self._limit_of(self._count(position).total) or self._over_time(self._ledger.most(lately))

    def _limit_of(self, drops: int) -> str | None:
        limit = self._limits.window
        return f"max_drops_per_window is {limit}" if limit and drops > limit else None

    def _over_time(self, lately: int) -> str | None:
        limit, seconds = self._limits.drops, self._limits.seconds
        return (
            f"there are {lately} drops within {duration(seconds)}, max_drops is {limit}"
            if limit and lately > limit
            else None
        )

    def _doubtful(self, new: Sequence[Drop], position: int) -> list[str]:
        """The databases that these drops may take too large a share of, if events up to `position` are not let through.

        Only those with enough drops to exceed the share of the smallest database that counts: the target has to list
        the tables of each.
        """
        share, least = self._limits.share, self._limits.share_from
        if not share or position <= self._let_through:
            return []
        databases = sorted({it.database for it in new if it.table})
        return [name for name in databases if len(self._gone(name, new)) > share * least]

    def _gone(self, database: str, new: Sequence[Drop]) -> set[str]:
        """The tables of a database that are gone with these drops and the remembered ones."""
        return _tables_of(database, new) | self._ledger.tables(database)

    def _over_share(self, new: Sequence[Drop], there: _Tables) -> str | None:
        """Why the drops exceed the share of one of these databases, if they do; `there` are the target's tables."""
        share, least = self._limits.share, self._limits.share_from
        for database, tables in there.items():
            left = {f"{database}.{table}" for table in tables} - _tables_of(database, new)
            had = left | self._gone(database, new)
            lost = len(had) - len(left)
            if len(had) >= least and lost > share * len(had):
                return f"{lost} of the {len(had)} tables of {database} would be gone, max_drop_share is {share:g}"
        return None

    def _goes_on(self, drops: Sequence[Drop]) -> bool:
        """Whether these drops belong to what a person let go."""
        burst = self._burst
        if burst is None or not drops or not {it.database for it in drops} <= burst.databases:
            return False
        if min(it.at_ms for it in drops) > burst.at_ms + _SAME_BURST_MS:
            return False
        # The burst goes on: the next pause is measured from its last drop.
        burst.at_ms = max(burst.at_ms, *(it.at_ms for it in drops))
        self._ledger.clear()
        return True

    def _hold(self, draft: Draft, why: str, drops: Sequence[Drop]) -> None:
        first, last = draft.events[0].position, draft.events[-1].position
        reason = f"brake: {span('event', first, last)} would drop {count(draft.drops, _OBJECT, _OBJECTS)}"
        pause = self._pause(f"{reason}; {why}; {_LOOK}")
        self._hit = _Hit(pause, why, last, frozenset(it.database for it in drops))

    def _hold_refresh(self, position: int, why: str) -> None:
        total = self._count(position).total
        reason = (
            f"brake: the refresh at event {position} would drop {count(total, _OBJECT, _OBJECTS)} that the target "
            f"should no longer have; {why}; look at source and target, then run `pysync resume`"
        )
        self._hit = _Hit(self._pause(reason), why, max(position, self._hit.upto if self._hit else 0), frozenset())

    def _pause(self, reason: str) -> Pause:
        since = self._hit.pause.at_ms if self._hit else round(self._clock() * 1000)
        return Pause(reason, since)


def _tables_of(database: str, drops: Iterable[Drop]) -> set[str]:
    return {it.key for it in drops if it.table and it.database == database}
