"""Brake: judges what a target is to remove. What exceeds a limit is held, object by object, until a person decides.

Every removal is judged once before it is made: those of a window together, those of a comparison together, and what
neither has named at the door (pysync.targets.apply.door). What is held is judged again with every retry of its event,
by what source and target have then: so a hold ends by itself when the source has the object again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from pysync.base.text import duration
from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, Operation
from pysync.model.removal import Lost
from pysync.queue import Removal, Removals
from pysync.queue.removals import State
from pysync.replay.window.draft import Draft
from pysync.replay.window.removals import Flight, flight_of, lost_by_operations, lost_by_window
from pysync.targets.settings import TargetSettings

_MOST_LOGGED = 20
_MOST_PARTITIONS = 32767
"""Of a table with more partitions than a target lists, what it has is not known."""
_HELD = ("held", "open")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a target may remove: at once, within `seconds`, and as a share of a database's tables.

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


class Ends(Protocol):
    """What the brake asks source and target (pysync.replay.probe). Methods raise what the target raises."""

    def at_target(self, database: str) -> Set[str]:
        """The objects that the target has of a database, as `at_source` names them."""

    def tables_with(self, drop: DropDatabase) -> Mapping[str, int]:
        """The names of the tables that the drop of a database takes along, with their createTime at the source."""

    def partitions_of(self, table: TableName, most: int) -> Sequence[str]:
        """The names of a table's partitions at the target, at most so many."""

    def is_young(self, database: str, seconds: float) -> bool:
        """Whether this queue has seen how the source made the database, within so many seconds."""

    def at_source(self, database: str) -> Set[str] | None:
        """The objects that the source has now for a database of the target; None: the source cannot be read."""

    def partitions_at_source(self, table: TableName) -> Set[str] | None:
        """The names of the partitions that the source has now for a table of the target; None: as above."""


@dataclass(frozen=True, slots=True)
class _View:
    """What both ends have: by database and partitioned table the objects at the target, and those at the source."""

    there: Mapping[str, Set[str]]
    again: Set[str]

    def tables(self, database: str) -> set[str]:
        """The tables of a database at the target."""
        return {it for it in self.there[database] if "." in it and not it.endswith("()")}


class Brake:
    """The one judge of what a target removes, and the holder of what is held and kept; from any thread.

    What it decides is in the queue's file before an object is removed. `ends` is never asked with the lock held: a
    target may hang. `clock` returns seconds since 1970.
    """

    def __init__(
        self, target: str, limits: Limits, removals: Removals, ends: Ends, *, clock: Callable[[], float] | None = None
    ) -> None:
        self._target, self._limits, self._removals, self._ends = target, limits, removals, ends
        self._clock = clock or time.time
        self._rows = {it.object: it for it in removals.all()}
        self._flights: list[Flight] = []  # of the windows under way, in order
        self._lock = threading.RLock()

    # --- what is about to be removed

    def expect(self, draft: Draft, *, parked: bool = False) -> None:
        """Judge what the works of a window remove, together, before any of them begins. Raises what the target does.

        May be called again for the same events. What was parked, and is behind the position, is no window under way.
        """
        with self._lock:
            flights = [it for it in self._flights if parked or it.last < draft.events[0].position]
        if self._limits.are_set and any(it.drops for work in draft.works for it in work.operations):
            most = max(self._limits.window, self._limits.drops) + 1
            lost = lost_by_window(draft, flights, self._ends, seconds=self._limits.seconds, most=most)
            self._judge(lost, put=flight_of(draft).ever_put)
        with self._lock:
            self._flights = flights if parked else [*flights, flight_of(draft)]

    def expect_all(self, operations: Sequence[Operation], position: int, *, leaving: bool = False) -> None:
        """Judge what a comparison, the event at `position`, removes, together. Raises what the target raises.

        `leaving`: because it leaves the scope of the target, whether the source has it or not.
        """
        if self._limits.are_set:
            limits, now = self._limits, self._now_ms()
            self._judge(
                lost_by_operations(operations, position, now, self._ends, seconds=limits.seconds, leaving=leaving)
            )

    def review(self, parked: Collection[int]) -> None:
        """Judge again what is held, by what both ends have now. Raises what the target raises.

        What the events at the positions `parked` hold may come before it is removed, by events that wait, too.
        """
        if held := self._in_state(*_HELD):
            self._judge((), put={it.object for it in held if it.position in parked})

    def passed(self, position: int) -> None:
        """The windows up to that position are no longer under way."""
        with self._lock:
            self._flights = [it for it in self._flights if it.last > position]

    # --- at the door (see pysync.targets.guard)

    @property
    def is_limited(self) -> bool:
        """Whether there is any limit."""
        return self._limits.are_set

    def keeps(self, name: str) -> bool:
        """Whether a person has decided that the target keeps the object."""
        row = self._rows.get(name)
        return row is not None and row.state == "keep"

    def keeps_within(self, name: str) -> bool:
        """Whether a person has decided that the target keeps any part of a database or table."""
        return any(name in {it.database, it.table} - {it.object} for it in self._in_state("keep"))

    def keeps_again(self, name: str, kind: str, position: int) -> bool:
        """Whether an object stays that says that a person has kept it, which an older copy of the queue does not know.

        Not if the person has taken that back, or decided otherwise since.
        """
        with self._lock:
            if self._state(name) in {"released", "open", "drop"}:
                return False
            reason = "a person has kept it, as its parameters say"
            self._write([Removal(name, kind, "keep", reason, position, self._now_ms())])
            return True

    def going(self, lost: Sequence[Lost], position: int) -> Set[str]:
        """The names of these objects that may be removed now by the event at `position`; the others are held.

        What was not expected is judged now. What a person keeps never goes, even if that was decided after the caller
        has looked. Raises what the target raises.
        """
        unknown = [it for it in lost if self.is_limited and self._is_unknown(it, position)]
        if unknown:
            self._judge([self._removal(it, position) for it in unknown])
        with self._lock:
            return {it.object for it in lost if not self._stays(it.object)}

    def reason_of(self, name: str) -> str:
        """Why an object is held; "" if it is not."""
        rows = (self._rows.get(it) for it in (name, f"{name}/*"))
        return next((it.reason for it in rows if it is not None and it.state in _HELD), "")

    def removed(self, names: Iterable[str]) -> None:
        """These objects are gone: a decision about them is carried out."""
        with self._lock:
            rows = [self._rows[it] for name in names for it in (name, f"{name}/*") if it in self._rows]
            dropped = [it.object for it in rows if it.state == "drop"]
            self._change([replace(it, state="passed") for it in rows if it.state == "released"], dropped)

    def put(self, names: Iterable[str], position: int) -> None:
        """The source has these objects since the event at `position`: what was held or decided before of them ends."""
        with self._lock:
            decided = {it.object for it in self._rows.values() if it.state != "passed" and it.position < position}
            if decided:
                self._forget(decided.intersection(names))

    # --- what a person sees, and decides

    def held(self) -> list[Removal]:
        """What is held, by name."""
        return sorted(self._in_state(*_HELD), key=_by_name)

    def kept(self) -> list[Removal]:
        """What a person has kept, by name."""
        return sorted(self._in_state("keep"), key=_by_name)

    def decide(self, names: Collection[str], *, keep: bool) -> list[Removal]:
        """Decide of what is held: of these objects, tables and databases with all in them; without any, of all.

        Returns what was decided. The others wait for a decision of their own, even if they are few. Objects that are
        dropped count for no limit afterwards, nor does what was dropped in their databases lately.
        """
        with self._lock:
            held = self.held()
            meant = _meant(held, names)
            at_ms, reason = self._now_ms(), "a person has kept it" if keep else "a person has let the drop through"
            decided = [replace(it, state="keep" if keep else "drop", reason=reason, at_ms=at_ms) for it in meant]
            databases = {it.database for it in decided} if not keep else set()
            counted = [it.object for it in self._in_state("passed") if it.database in databases]
            chosen = {it.object for it in meant}
            others = [replace(it, state="open") for it in held if it.object not in chosen]
            self._change([*decided, *(others if decided else ())], counted)
        return decided

    def release(self, names: Collection[str]) -> list[Removal]:
        """Take back that objects are kept (names as for `decide`); returns them."""
        with self._lock:
            reason = "a person has taken back that it is kept"
            released = [replace(it, state="released", reason=reason) for it in _meant(self.kept(), names)]
            self._change(released, ())
        return released

    # --- judging

    def _judge(self, candidates: Sequence[Removal], put: Set[str] = frozenset()) -> None:
        """Let these removals pass, or hold them. `put` are tables that the window itself brings before."""
        with self._lock:
            undecided = self._undecided(candidates)
            act = self._with_held(undecided)
            if not self._may_exceed(act):
                self._hold(act, self._open(act))
                return
        view = self._view(act)
        with self._lock:
            act = self._with_held(self._undecided(candidates))  # a person may have decided meanwhile
            lost = [it for it in act if self._is_there(it, view, put) and (it.leaving or it.object not in view.again)]
            self._hold(act, self._exceeding(lost, view))

    def _undecided(self, candidates: Iterable[Removal]) -> list[Removal]:
        # A comparison names some objects twice: as gone, and with their database.
        once = {it.object: it for it in candidates}
        return [it for it in once.values() if self._state(it.object) not in {"keep", "drop"}]

    def _with_held(self, undecided: Sequence[Removal]) -> list[Removal]:
        """These removals, and the others that are held: a hold is one act."""
        names = {it.object for it in undecided}
        return [*undecided, *(it for it in self.held() if it.object not in names)]

    def _is_there(self, removal: Removal, view: _View, put: Set[str]) -> bool:
        """Whether the target has the object, or will have it before it is removed; True where nobody has looked."""
        there = view.there.get(removal.table if removal.kind == "partition" else removal.database)
        if there is None or removal.object in put:
            return True
        if removal.kind == "table":
            return removal.object in self._after_flights(removal.database, there)
        return removal.object in there or any(removal.object in it.ever_put for it in self._flights)

    def _may_exceed(self, act: Sequence[Removal]) -> bool:
        if any(self._over_window(it) or self._over_time(it) for it in self._new_and_held(act)):
            return True
        share, least = self._limits.share, self._limits.share_from
        databases = {it.database for it in act if it.lasting} if share else set()
        return any(len(self._gone(name, act)) > share * least for name in databases)

    def _view(self, act: Sequence[Removal]) -> _View:
        again, there = set[str](), dict[str, Set[str]]()
        for name in sorted({it.database for it in act}):
            again |= self._ends.at_source(name) or set()
            there[name] = self._ends.at_target(name)
        for name in sorted({it.table for it in act if it.kind == "partition"}):
            names = self._ends.partitions_of(TableName.parse(name), _MOST_PARTITIONS)
            if len(names) < _MOST_PARTITIONS:
                there[name] = {f"{name}/{it}" for it in (*names, *("*" for _ in names[:1]))}
        for name in sorted({it.table for it in act if it.kind == "partition" and it.table in again}):
            table = TableName.parse(name)
            there_again = self._ends.partitions_at_source(table) or set()
            again |= {f"{name}/{it}" for it in there_again}
            lost = next((it for it in act if it.object == f"{name}/*"), None)
            if lost is not None and len(there_again) >= lost.count:
                again.add(lost.object)
        return _View(there, again)

    def _exceeding(self, lost: Sequence[Removal], view: _View) -> dict[str, str]:
        """The objects that exceed a limit, or wait for a decision anyhow, each with the reason."""
        held = self._open(lost)
        for some in self._new_and_held(lost):
            if why := self._over_window(some) or self._over_time(some):
                held |= dict.fromkeys((it.object for it in some if it.count), why)
        for database in sorted({it.database for it in lost}):
            reason = self._over_share(database, lost, view.tables(database), view.again)
            if reason:
                of_share = (it for it in lost if it.database == database and it.kind != "partition" and it.count)
                held |= dict.fromkeys((it.object for it in of_share), reason)
        return held

    def _new_and_held(self, act: Sequence[Removal]) -> tuple[list[Removal], list[Removal]]:
        """What comes now, and what is held: the number of the one says nothing of the other."""
        held = {it.object for it in self.held()}
        return [it for it in act if it.object not in held], [it for it in act if it.object in held]

    def _open(self, lost: Sequence[Removal]) -> dict[str, str]:
        """Those that wait for a decision whatever the limits say, each with the reason."""
        rows = ((it, self._rows.get(it.object)) for it in lost if it.count)
        return {it.object: row.reason for it, row in rows if row is not None and row.state == "open"}

    def _over_window(self, act: Sequence[Removal]) -> str:
        limit = self._limits.window
        return f"max_drops_per_window is {limit}" if limit and sum(it.count for it in act) > limit else ""

    def _over_time(self, act: Sequence[Removal]) -> str:
        limit, seconds = self._limits.drops, self._limits.seconds
        names = {it.object for it in act}
        drops = [*act, *(it for it in self._in_state("passed") if it.object not in names)]
        if not limit or sum(it.count for it in drops) <= limit:
            return ""
        most = _most_within(drops, round(seconds * 1000))
        return f"there are {most} drops within {duration(seconds)}, max_drops is {limit}" if most > limit else ""

    def _over_share(self, database: str, lost: Sequence[Removal], tables: Set[str], again: Set[str]) -> str:
        gone = self._gone(database, lost)
        left = self._after_flights(database, tables) | {it for it in again if it in tables}
        left -= {it.object for it in lost if it.kind == "table"} | self._kept_lately(database)
        had = left | gone
        number, share = len(had) - len(left), self._limits.share
        if len(had) < self._limits.share_from or number <= share * len(had):
            return ""
        return f"{number} of the {len(had)} tables of {database} would be gone, max_drop_share is {share:g}"

    def _gone(self, database: str, act: Sequence[Removal]) -> set[str]:
        """The tables of a database that are gone, or would be, and those that a person has kept lately."""
        of_act = {it.object for it in act if it.lasting and it.database == database}
        passed = {it.object for it in self._in_state("passed") if it.lasting and it.database == database}
        return of_act | passed | self._kept_lately(database)

    def _kept_lately(self, database: str) -> set[str]:
        since = self._now_ms() - self._limits.seconds * 1000
        kept = self._in_state("keep")
        return {it.object for it in kept if it.lasting and it.database == database and it.at_ms > since}

    def _after_flights(self, database: str, tables: Set[str]) -> set[str]:
        """The tables that the database has once all windows under way are applied; the target has `tables` now."""
        there = set(tables)
        stays = {it.object for it in self._in_state(*_HELD, "keep")}
        for flight in self._flights:
            there = (there - (flight.removed - stays)) | {it for it in flight.put if it.partition(".")[0] == database}
        return there

    def _hold(self, act: Sequence[Removal], exceeding: Mapping[str, str]) -> None:
        """Hold the removals that exceed a limit, with the reasons, and let the others of the act pass."""
        before = {it.object for it in self.held()}
        judged = [replace(it, state=self._new_state(it, exceeding), reason=exceeding.get(it.object, "")) for it in act]
        self._write(judged)
        held = [it for it in judged if it.object in exceeding and it.object not in before]
        if held:
            names = [it.object for it in held]
            reason = held[0].reason
            log.error("drops_held", target=self._target, reason=reason, objects=names[:_MOST_LOGGED], count=len(names))
        if ended := sorted(before.intersection(it.object for it in act) - exceeding.keys()):
            log.info("hold_ended", target=self._target, objects=ended[:_MOST_LOGGED], count=len(ended))

    def _new_state(self, removal: Removal, exceeding: Mapping[str, str]) -> State:
        """The state of a removal that was judged.

        What a person does not keep any more, but says that it is kept, has to be known as such until it is gone.
        """
        state = self._state(removal.object)
        if removal.object in exceeding:
            return "open" if state in {"open", "released"} else "held"
        return "released" if state == "released" else "passed"

    # --- the rows

    def _state(self, name: str) -> State | None:
        row = self._rows.get(name)
        return None if row is None else row.state

    def _is_held(self, name: str) -> bool:
        return not {self._state(name), self._state(f"{name}/*")}.isdisjoint(_HELD)

    def _stays(self, name: str) -> bool:
        is_held = self.is_limited and self._is_held(name)
        return is_held or self.keeps(name) or self.keeps_within(name)

    def _is_unknown(self, lost: Lost, position: int) -> bool:
        row = self._rows.get(lost.object)
        return row is None or (row.state in {"passed", "released"} and row.position < position)

    def _in_state(self, *states: str) -> list[Removal]:
        with self._lock:
            return [it for it in self._rows.values() if it.state in states]

    def _write(self, written: Sequence[Removal]) -> None:
        """Write rows, and forget what passed too long before the latest of them."""
        with self._lock:
            latest = max(written, key=lambda it: it.position, default=None)
            since = latest.at_ms - self._limits.seconds * 1000 if latest is not None else 0
            names = {it.object for it in written}
            old = (it for it in self._rows.values() if it.state == "passed" and it.at_ms <= since)
            self._change(written, [it.object for it in old if it.object not in names])

    def _forget(self, names: Iterable[str]) -> None:
        with self._lock:
            self._change((), list(names))

    def _change(self, written: Sequence[Removal], forgotten: Collection[str]) -> None:
        """Write and forget rows, on disk first. Called with the lock held."""
        self._removals.change(written, forgotten)
        for name in forgotten:
            self._rows.pop(name, None)
        self._rows.update({it.object: it for it in written})

    def _removal(self, lost: Lost, position: int) -> Removal:
        now = self._now_ms()
        lasting = lost.is_lasting(now, self._limits.seconds)
        return Removal(lost.object, lost.kind, "passed", "", position, now, lost.count, lasting)

    def _now_ms(self) -> int:
        return round(self._clock() * 1000)


def _by_name(removal: Removal) -> str:
    return removal.object


def _meant(rows: Sequence[Removal], names: Collection[str]) -> list[Removal]:
    """Those of the rows that these names mean; all of them without any name."""
    wanted = set(names)
    return [it for it in rows if not wanted or not wanted.isdisjoint({it.object, it.table, it.database})]


def _most_within(drops: Iterable[Removal], ms: int) -> int:
    """The most drops that came within so many milliseconds."""
    ordered = sorted(drops, key=lambda it: it.at_ms)
    most = total = first = 0
    for it in ordered:
        total += it.count
        while ordered[first].at_ms <= it.at_ms - ms:
            total -= ordered[first].count
            first += 1
        most = max(most, total)
    return most
