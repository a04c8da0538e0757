"""Brake: holds a window that would drop too much (at once, within a time, of one database) until a person decides."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from pysync.base.text import duration
from pysync.model.operation import DropDatabase, Operation, PutTable
from pysync.queue import Notes, Queued, note_of
from pysync.replay.ledger import Drop, Hold, Ledger, drops_of, drops_of_refresh
from pysync.replay.window.draft import Draft
from pysync.replay.window.order import database_of
from pysync.targets.base import OutcomeUnknown, Target, Unavailable
from pysync.targets.settings import TargetSettings

_SAME_BURST_MS = 60_000
"""Drops in the same databases, without a longer pause than this, belong to the ones that a person decided about."""

_Tables = Mapping[str, Collection[str]]
"""Tables by their database."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many drops a target may get: in a window, within `seconds`, and as a share of a database's tables.

    The share counts for databases with at least `share_from` tables, within `seconds`, and only for tables that are
    older than that, or that go with their database. 0 is no limit.
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

    @property
    def are_set(self) -> bool:
        """Whether there is any limit."""
        return bool(self.window or self.drops or self.share)


@dataclass(slots=True)
class _Count:
    """The drops of the window up to position `last`: by its events, and by each of its refreshes.

    `put` are the names of the tables that it creates or alters; `is_let_through`: a person let the drops of its events
    through.
    """

    last: int
    drops: Sequence[Drop] = ()
    put: frozenset[str] = frozenset()
    refreshed: dict[int, list[Drop]] = field(default_factory=dict)
    is_let_through: bool = False

    @property
    def every(self) -> list[Drop]:
        return [*self.drops, *(drop for drops in self.refreshed.values() for drop in drops)]


@dataclass(slots=True)
class _Decision:
    """What a person decided of a hold: its drops are made, or (`keeps`) left out.

    So are later ones in the same `databases`: those that had come by then (`upto`), and those that follow without a
    pause; `at_ms` is when the last of them came.
    """

    databases: frozenset[str]
    keeps: bool
    upto: int
    at_ms: int


# Probe: what a drain's own thread asks the target, each time by a connection of its own.


_PAUSE_SECONDS = 30.0


class Probe:
    """Short reads at a target. Before `open_target` is set there is nothing at the target.

    `clock` gives seconds that only grow. Methods raise what the target raises, unless they say otherwise.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.open_target: Callable[[], Target] | None = None
        self._clock = clock
        self._checked_at = -math.inf

    def tables_of(self, database: str) -> Collection[str]:
        """The names of the tables in a database."""
        with self._target() as target:
            return target.tables(database) if target else ()

    def tables_with(self, drop: DropDatabase) -> Collection[str]:
        """The names of the tables that the drop of a database takes along."""
        with self._target() as target:
            return target.tables_with(drop) if target else ()

    def is_due(self) -> bool:
        """Whether `answers` was not called for 30 s."""
        return self._clock() - self._checked_at >= _PAUSE_SECONDS

    def answers(self) -> bool:
        """Whether the target answers a call that concerns no object."""
        self._checked_at = self._clock()
        try:
            with self._target() as target:
                return target is not None and target.databases() is not None
        except (Unavailable, OutcomeUnknown):
            return False

    @contextmanager
    def _target(self) -> Iterator[Target | None]:
        target = self.open_target() if self.open_target else None
        try:
            yield target
        finally:
            if target is not None:
                target.close()


# Brake: holds every window that would exceed a limit, until a person decides.


class Brake:
    """Holds every window that would exceed a limit, until a person has its drops made (`release`), or left out.

    Used by the drain's thread; `held`, `release`, `keeps` and `allows` by any thread. A hold is not stored: after a
    restart the window is held again. The ledger keeps the drops of late. `tables_of` lists the target's tables in a
    database, `tables_with` those that go with the drop of one; neither is called with the lock held, because a target
    may hang, and `release` must not hang with it.
    """

    def __init__(
        self,
        limits: Limits,
        ledger: Ledger | None = None,
        *,
        tables_of: Callable[[str], Collection[str]] = lambda _: (),
        tables_with: Callable[[DropDatabase], Collection[str]] = lambda _: (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limits = limits
        self._ledger = ledger or Ledger(limits.seconds)
        self._tables_of = tables_of
        self._tables_with = tables_with
        self._clock = clock
        self._hold: Hold | None = None
        self._decision: _Decision | None = None
        self._let_through = 0
        self._refreshes_let_through = set[int]()  # their positions
        self._left_out_upto = 0
        self._counting = threading.Lock()
        self._counts: list[_Count] = []  # of the windows in flight, in order

    @classmethod
    def of(cls, settings: TargetSettings, notes: Notes, probe: Probe) -> Brake:
        """The brake of a target, whose ledger is stored in the queue's file."""
        limits, note = Limits.of(settings), note_of(settings.name, "drops")
        ledger = Ledger(limits.seconds, partial(notes.put, note), notes.get(note))
        return cls(limits, ledger, tables_of=probe.tables_of, tables_with=probe.tables_with)

    @property
    def held(self) -> Hold | None:
        """What is held, and why."""
        return self._hold

    def cut(self, events: Sequence[Queued]) -> Sequence[Queued]:
        """The part of a window that a person decided about, or else all of it.

        More events may have come since a person looked at the window.
        """
        through = [event for event in events if event.position <= self._decided]
        return through or events

    def shown(self, events: Sequence[Queued]) -> Sequence[Queued]:
        """The part of a window that is held, or else what `cut` returns."""
        hold = self._hold
        return [it for it in events if it.position <= hold.last] if hold is not None else self.cut(events)

    def keeps(self, position: int) -> bool:
        """Whether the drops of the event at that position are left out."""
        return position <= self._left_out_upto

    def holds(self, draft: Draft) -> bool:
        """Whether the window is held from now on; if not, its drops are counted.

        Raises what the target raises; then it is neither held nor counted.
        """
        last = draft.events[-1].position
        drops = self._with_tables(drops_of(draft, self._limits.seconds), is_decided=last <= self._decided)
        with self._counting:
            self._begin(draft, drops)
            new = self._ledger.new(drops)
            doubtful = self._doubtful(new) if last > self._decided and self._over(drops, new) is None else []
        there = self._listed(doubtful)
        with self._counting:
            why = self._over(drops, new) or self._over_share(there) if last > self._decided else None
            if why is None or self._belong(drops, keeps=False):
                self._ledger.enter(new)
                if why is not None or last <= self._let_through:
                    self._count(last).is_let_through = True
                    self._ledger.clear()
                return False
            # Nothing of it is applied, so it is not under way.
            self._counts = [it for it in self._counts if it.last != last]
            # The next turn takes the window again, now without these drops.
            if not self._is_left_out_too(draft, drops):
                self._hold = self._held(draft, why, drops)
            return True

    def update_hold(self, draft: Draft) -> None:
        """Update a hold, as more events may have come. Raises what the target raises.

        That of a refresh stays as it is: no draft knows what a refresh drops.
        """
        hold = self._hold
        if hold is None or hold.refreshes or not draft.events or draft.events[-1].position <= hold.last:
            return
        is_decided = draft.events[-1].position <= self._decided
        drops = self._with_tables(drops_of(draft, self._limits.seconds), is_decided=is_decided)
        with self._counting:
            if self._hold is hold:
                # Without asking the target for its tables again: a share that was exceeded keeps its text.
                why = self._over(drops, self._ledger.new(drops)) or hold.limit
                self._hold = self._held(draft, why, drops)

    def allows(self, operations: Sequence[Operation], position: int) -> bool:
        """Whether a refresh, the event at `position`, may make all these drops; if not, its window is held from now on.

        Called by the lanes: a refresh knows its drops only when it reads the source. May be called again for the same
        refresh. Raises what the target raises.
        """
        dropped = drops_of_refresh(operations, position, round(self._clock() * 1000))
        drops = self._with_tables(dropped, is_decided=self._is_refresh_decided(position))
        with self._counting:
            # Replaced, not added: a refresh that is tried again passes all its drops again.
            self._count(position).refreshed[position] = drops
            doubtful = self._doubtful(self._refreshed(self._counts)) if self._over_refreshed(position) is None else []
        there = self._listed(doubtful)
        with self._counting:
            why = self._over_refreshed(position) or self._over_share(there)
            if why is None or self._is_refresh_decided(position):  # maybe while the target listed its tables
                return True
            self._hold_refresh(position, why)
            return False

    def passed(self, position: int) -> None:
        """Remember the drops of refreshes up to that position: the target is done with their windows."""
        with self._counting:
            self._ledger.enter(self._refreshed([it for it in self._counts if it.last <= position]))
            self._counts = [it for it in self._counts if it.last > position]

    def release(self, upto: int = 0, *, through: int | None = None, keeps: bool = False) -> bool:
        """Let go what is held, or with `keeps` all of it but the drops; False if nothing is, or the person saw another.

        `through` is how far the person has seen the hold, as more may have come since; None: all of it. Drops in the
        same databases that had come by the position `upto`, or that follow without a pause of a minute, share their
        fate: all of it is one mistake, or none.
        """
        with self._counting:
            hold = self._hold
            if hold is None or (through is not None and through < hold.first):
                return False
            last = hold.last if through is None else min(through, hold.last)
            if keeps:
                self._left_out_upto = max(self._left_out_upto, last)
            else:
                if hold.refreshes:
                    self._refreshes_let_through |= {it.position for it in hold.drops if it.position <= last}
                else:
                    self._let_through = max(self._let_through, last)
                self._ledger.clear()
            self._hold = None
            seen = frozenset(it.database for it in hold.drops if it.position <= last)
            self._decision = _Decision(seen, keeps, upto, round(self._clock() * 1000))
            return True

    # --- without the lock

    def _listed(self, databases: Iterable[str]) -> _Tables:
        """The target's tables in these databases."""
        return {name: self._tables_of(name) for name in databases}

    def _with_tables(self, dropped: Sequence[tuple[Drop, Operation]], *, is_decided: bool) -> list[Drop]:
        """The drops, and those of the tables that go with a database; each object once."""
        drops = {(it.what, it.key, it.position if it.what == "partitions" else 0): it for it, _ in dropped}
        if self._limits.are_set and not is_decided:
            for database, operation in dropped:
                if isinstance(operation, DropDatabase):
                    for table in self._tables_with(operation):
                        key = f"{database.key}.{table}"
                        drop = Drop(database.position, database.at_ms, "table", key, lasting=True)
                        drops["table", key, 0] = drop
        return list(drops.values())

    # --- with the lock held

    @property
    def _decided(self) -> int:
        """The last position that a person decided about."""
        return max(self._let_through, self._left_out_upto)

    def _is_refresh_decided(self, position: int) -> bool:
        """Whether a person decided about the refresh; one who let its window through has not seen what it drops."""
        return position in self._refreshes_let_through or position <= self._left_out_upto

    def _begin(self, draft: Draft, drops: Sequence[Drop]) -> None:
        """Count the drops of a window from now on."""
        # A window that was given up is taken again: its first count must not stay.
        self._counts = [it for it in self._counts if it.last < draft.events[0].position]
        put = (it.key for work in draft.works for it in work.operations if isinstance(it, PutTable))
        self._counts.append(_Count(draft.events[-1].position, drops, frozenset(put)))

    def _count(self, position: int) -> _Count:
        """The count of the window that an event is in. A parked event that is tried again gets its own."""
        count = next((it for it in self._counts if it.last >= position), None)
        if count is None:
            count = _Count(position)
            self._counts.append(count)
        return count

    def _refreshed(self, counts: Iterable[_Count]) -> list[Drop]:
        """The drops by refreshes of these windows, without those that a person let through."""
        refreshes = (refresh for it in counts for refresh in it.refreshed.items())
        return [it for position, drops in refreshes if position not in self._refreshes_let_through for it in drops]

    def _undecided(self, counts: Sequence[_Count]) -> list[Drop]:
        """The drops of these windows, by events and by refreshes, without those that a person let through."""
        by_events = [drop for it in counts if not it.is_let_through for drop in it.drops]
        return [*by_events, *self._refreshed(counts)]

    def _over(self, drops: Sequence[Drop], new: Sequence[Drop]) -> str | None:
        return self._limit_of(drops) or self._over_time(self._ledger.most(new) if new else 0)

    def _over_refreshed(self, position: int) -> str | None:
        lately = self._ledger.most(self._refreshed(self._counts))
        return self._limit_of(self._undecided([self._count(position)])) or self._over_time(lately)

    def _limit_of(self, drops: Sequence[Drop]) -> str | None:
        limit = self._limits.window
        return f"max_drops_per_window is {limit}" if limit and sum(it.count for it in drops) > limit else None

    def _over_time(self, lately: int) -> str | None:
        limit, seconds = self._limits.drops, self._limits.seconds
        if not limit or lately <= limit:
            return None
        return f"there are {lately} drops within {duration(seconds)}, max_drops is {limit}"

    def _doubtful(self, new: Sequence[Drop]) -> list[str]:
        """The databases that these drops may take too large a share of.

        Only those with enough drops to exceed the share of the smallest database that counts: the target has to list
        the tables of each.
        """
        share, least = self._limits.share, self._limits.share_from
        if not share:
            return []
        databases = sorted({it.database for it in new if it.lasting})
        return [name for name in databases if len(self._dropped_tables(name)) > share * least]

    def _dropped_tables(self, database: str) -> set[str]:
        """The tables of a database that are gone for good, by the windows under way and by those before.

        Without those that a person let through.
        """
        gone = {it.key for it in self._undecided(self._counts) if it.lasting and it.database == database}
        return gone | self._ledger.tables(database)

    def _over_share(self, there: _Tables) -> str | None:
        """Why the drops exceed the share of one of these databases, if they do; `there` are the target's tables."""
        share, least = self._limits.share, self._limits.share_from
        for database, tables in there.items():
            left = self._left(database, {f"{database}.{table}" for table in tables})
            had = left | self._dropped_tables(database)
            lost = len(had) - len(left)
            if len(had) >= least and lost > share * len(had):
                return f"{lost} of the {len(had)} tables of {database} would be gone, max_drop_share is {share:g}"
        return None

    def _left(self, database: str, tables: set[str]) -> set[str]:
        """The tables that the database has once all windows under way are applied; the target has `tables` now."""
        for it in self._counts:
            dropped = {drop.key for drop in it.every if drop.what == "table"}
            tables = (tables - dropped) | {key for key in it.put if database_of(key) == database}
        return tables

    def _is_left_out_too(self, draft: Draft, drops: Sequence[Drop]) -> bool:
        """Whether these drops belong to what a person has left out, so that their window is taken without them."""
        if not self._belong(drops, keeps=True):
            return False
        self._left_out_upto = max(self._left_out_upto, draft.events[-1].position)
        return True

    def _belong(self, drops: Sequence[Drop], *, keeps: bool) -> bool:
        """Whether these drops share the fate of those that a person decided about in this way."""
        decision = self._decision
        if decision is None or decision.keeps is not keeps or not drops:
            return False
        if not {it.database for it in drops} <= decision.databases:
            return False
        first = min(drops, key=lambda it: it.position)
        # A clock that was set back makes no pause shorter.
        if first.position > decision.upto and abs(first.at_ms - decision.at_ms) > _SAME_BURST_MS:
            return False
        if first.position > decision.upto:  # the next pause is measured from its last drop
            decision.at_ms = max(drops, key=lambda it: it.position).at_ms
        return True

    def _held(self, draft: Draft, why: str, drops: Sequence[Drop]) -> Hold:
        first, last = draft.events[0].position, draft.events[-1].position
        return Hold(first, last, self._since(), why, tuple(drops))

    def _hold_refresh(self, position: int, why: str) -> None:
        drops = tuple(self._undecided([self._count(position)]))
        last = max(position, *(it.position for it in drops))
        self._hold = Hold(position, last, self._since(), why, drops, refreshes=True)

    def _since(self) -> int:
        return self._hold.at_ms if self._hold else round(self._clock() * 1000)
