"""Brake: judges what a target is to remove. What exceeds a limit is held, object by object, until a person decides.

Every removal is judged once before it is made: those of a window together, those of a comparison together, and what
neither has named at the door (pysync.targets.apply.door). What is held is judged again with every retry of its event,
by what source and target have then: so a hold ends by itself when the source has the object again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

import structlog

from pysync.model.names import TableName
from pysync.model.operation import DropDatabase, Operation
from pysync.model.removal import Lost
from pysync.queue import Removal, Removals
from pysync.queue.removals import State
from pysync.replay.limits import HELD, LimitCheck, Limits, ObjectsAtEnds, is_lost, tables_among
from pysync.replay.removal_index import RemovalIndex
from pysync.replay.window.draft import Draft
from pysync.replay.window.removals import Flight, flight_of, lost_by_operations, lost_by_window

_MOST_LOGGED = 20
_MOST_PARTITIONS = 32767
"""Of a table with more partitions than a target lists, what it has is not known."""

log = structlog.get_logger(__name__)


class BothEnds(Protocol):
    """What the brake asks source and target (pysync.replay.probe). Methods raise what the target raises."""

    def at_target(self, database: str) -> Set[str]:
        """The objects that the target has of a database, as `at_source` names them."""

    def tables_of(self, database: str) -> Collection[str]:
        """The names of the tables that the target has in a database."""

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


class Brake:
    """The one judge of what a target removes, and the holder of what is held and kept; from any thread.

    What it decides is in the queue's file before an object is removed. `reading` gives both ends for some reads, which
    are never asked with the lock held: a target may hang. `clock` returns seconds since 1970.
    """

    def __init__(
        self,
        target: str,
        limits: Limits,
        removals: Removals,
        reading: Callable[[], AbstractContextManager[BothEnds]],
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._target, self._limits, self._reading = target, limits, reading
        self._clock = clock or time.time
        self._rows = RemovalIndex(removals)
        self._limit_check = LimitCheck(limits, self._rows, self._now_ms)
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
            with self._reading() as ends:
                lost = lost_by_window(draft, flights, ends, seconds=self._limits.seconds, most=most)
                self._judge(lost, ends, put=flight_of(draft).ever_put())
        with self._lock:
            self._flights = flights if parked else [*flights, flight_of(draft)]

    def expect_all(self, operations: Sequence[Operation], position: int, *, leaving: bool = False) -> None:
        """Judge what a comparison, the event at `position`, removes, together. Raises what the target raises.

        `leaving`: because it leaves the scope of the target, whether the source has it or not.
        """
        if self._limits.are_set:
            seconds, now = self._limits.seconds, self._now_ms()
            with self._reading() as ends:
                lost = lost_by_operations(operations, position, now, ends, seconds=seconds, leaving=leaving)
                self._judge(lost, ends)

    def review(self, parked: Collection[int]) -> None:
        """Judge again what is held, by what both ends have now. Raises what the target raises.

        What the events at the positions `parked` hold may come before it is removed, by events that wait, too.
        """
        held = self._in_state(*HELD)
        with self._reading() as ends:
            self._judge(held, ends, put={it.object for it in held if it.position in parked})

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
        return self._rows.state(name) == "keep"

    def keeps_within(self, name: str) -> bool:
        """Whether a person has decided that the target keeps any part of a database or table."""
        return self._rows.keeps_within(name)

    def keeps_again(self, name: str, kind: str, position: int) -> bool:
        """Whether an object stays that says that a person has kept it, which an older copy of the queue does not know.

        Not if the person has taken that back, or decided otherwise since.
        """
        with self._lock:
            if self._rows.state(name) in {"released", "open", "drop"}:
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
            with self._reading() as ends:
                self._judge([self._removal(it, position) for it in unknown], ends)
        with self._lock:
            return {it.object for it in lost if not self._stays(it.object)}

    def reason_of(self, name: str) -> str:
        """Why an object is held; "" if it is not."""
        rows = (self._rows.get(it) for it in (name, f"{name}/*"))
        return next((it.reason for it in rows if it is not None and it.state in HELD), "")

    def removed(self, names: Iterable[str]) -> None:
        """These objects are gone: a decision about them is carried out."""
        with self._lock:
            rows = [row for it in names for row in map(self._rows.get, (it, f"{it}/*")) if row is not None]
            dropped = [it.object for it in rows if it.state == "drop"]
            self._rows.change([replace(it, state="passed") for it in rows if it.state == "released"], dropped)

    def put(self, names: Iterable[str], position: int) -> None:
        """The source has these objects since the event at `position`: what was held or decided before of them ends."""
        if not self._rows:
            return
        with self._lock:
            rows = (row for row in map(self._rows.get, names) if row is not None)
            self._rows.change((), [it.object for it in rows if it.state != "passed" and it.position < position])

    # --- what a person sees, and decides

    def held(self) -> list[Removal]:
        """What is held, by name."""
        return sorted(self._in_state(*HELD), key=_by_name)

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
            self._rows.change([*decided, *(others if decided else ())], counted)
        return decided

    def release(self, names: Collection[str]) -> list[Removal]:
        """Take back that objects are kept (names as for `decide`); returns them."""
        with self._lock:
            reason = "a person has taken back that it is kept"
            released = [replace(it, state="released", reason=reason) for it in _meant(self.kept(), names)]
            self._rows.change(released)
        return released

    # --- judging

    def _judge(self, candidates: Sequence[Removal], ends: BothEnds, put: Set[str] = frozenset()) -> None:
        """Let these removals pass, or hold them. `put` are tables that the window itself brings before."""
        with self._lock:
            judged, beside = self._act(candidates)
            if not self._limit_check.may_exceed(judged, beside):
                self._hold(judged, {})
                return
        view = _view([*judged, *beside], ends)
        if not self._decided(candidates, view, put, only_to_pass=True):
            # What the source has again is no loss. It is asked last, as most removals pass whatever it has.
            again = _again([*judged, *beside], ends)
            self._decided(candidates, replace(view, again=again), put)

    def _decided(
        self, candidates: Sequence[Removal], view: ObjectsAtEnds, put: Set[str], *, only_to_pass: bool = False
    ) -> bool:
        """Decide about these removals, by what both ends have; with `only_to_pass` only if nothing is held."""
        with self._lock:
            judged, beside = self._act(candidates)  # a person may have decided meanwhile
            view = replace(view, to_be=self._to_be(view))
            lost, lost_beside = ([it for it in some if is_lost(it, view, put)] for some in (judged, beside))
            exceeding = self._limit_check.exceeding(lost, lost_beside, view)
            if exceeding and only_to_pass:
                return False
            self._hold(judged, exceeding)
            return True

    def _act(self, candidates: Iterable[Removal]) -> tuple[list[Removal], list[Removal]]:
        """What is to be judged, and the tables that are held in the same databases.

        A hold is one act: if any of it is judged again, all of it is.
        """
        # A comparison names some objects twice: as gone, and with their database.
        once = {it.object: it for it in candidates}
        judged = [it for it in once.values() if self._rows.state(it.object) not in {"keep", "drop"}]
        if any(self._rows.state(it.object) in HELD for it in judged):
            return [*judged, *(it for it in self.held() if it.object not in once)], []
        databases = sorted({it.database for it in judged})
        held = (it for name in databases for it in self._rows.within(name, *HELD))
        return judged, [it for it in held if it.kind == "table"]

    def _to_be(self, view: ObjectsAtEnds) -> Mapping[str, Set[str]]:
        """What databases and partitioned tables have once all windows under way are applied."""
        ever_put = set[str]().union(*(it.ever_put() for it in self._flights))
        others = ever_put - tables_among(ever_put)
        return {
            name: there | ever_put if "." in name else self._after_flights(name, there) | others
            for name, there in view.there.items()
        }

    def _after_flights(self, database: str, there: Set[str]) -> Set[str]:
        prefix = f"{database}."
        for flight in self._flights:
            gone = {it for it in flight.removed & there if self._rows.state(it) not in {*HELD, "keep"}}
            there = (there - gone) | {it for it in flight.put if it.startswith(prefix)}
        return there

    def _hold(self, judged: Sequence[Removal], exceeding: Mapping[str, str]) -> None:
        """Hold the removals that exceed a limit, with the reasons, and let the others pass."""
        states = [(self._rows.state(it.object) in HELD, it) for it in judged]
        self._write(
            [replace(it, state=self._new_state(it, exceeding), reason=exceeding.get(it.object, "")) for it in judged]
        )
        if names := [it.object for was_held, it in states if it.object in exceeding and not was_held]:
            reason = exceeding[names[0]]
            log.error("drops_held", target=self._target, reason=reason, objects=names[:_MOST_LOGGED], count=len(names))
        if ended := sorted(it.object for was_held, it in states if was_held and it.object not in exceeding):
            log.info("hold_ended", target=self._target, objects=ended[:_MOST_LOGGED], count=len(ended))

    def _new_state(self, removal: Removal, exceeding: Mapping[str, str]) -> State:
        """The state of a removal that was judged.

        What a person does not keep any more, but says that it is kept, has to be known as such until it is gone.
        """
        state = self._rows.state(removal.object)
        if removal.object in exceeding:
            return "open" if state in {"open", "released"} else "held"
        return "released" if state == "released" else "passed"

    # --- the rows

    def _stays(self, name: str) -> bool:
        is_held = not {self._rows.state(name), self._rows.state(f"{name}/*")}.isdisjoint(HELD)
        return (is_held and self.is_limited) or self.keeps(name) or self.keeps_within(name)

    def _is_unknown(self, lost: Lost, position: int) -> bool:
        row = self._rows.get(lost.object)
        if row is None or row.state == "released":  # perhaps only since the removals of this event were judged
            return True
        return row.state == "passed" and row.position < position

    def _in_state(self, *states: State) -> list[Removal]:
        with self._lock:
            return self._rows.of(*states)

    def _write(self, written: Sequence[Removal]) -> None:
        """Write what has changed, and forget what passed too long before the latest of it."""
        with self._lock:
            latest = max(written, key=lambda it: it.position, default=None)
            old = self._rows.passed_before(latest.at_ms - self._limits.seconds * 1000) if latest is not None else ()
            names = {it.object for it in written}
            changed = [it for it in written if it != self._rows.get(it.object)]
            self._rows.change(changed, [it for it in old if it not in names])

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


def _view(act: Sequence[Removal], ends: BothEnds) -> ObjectsAtEnds:
    there: dict[str, Set[str]] = {}
    for name in sorted({it.database for it in act}):
        there[name] = ends.at_target(name)
    for name in sorted({it.table for it in act if it.kind == "partition"}):
        if name not in there[TableName.parse(name).database]:
            there[name] = set()  # the target cannot list those of a table that it does not have
            continue
        names = ends.partitions_of(TableName.parse(name), _MOST_PARTITIONS)
        if len(names) < _MOST_PARTITIONS:
            there[name] = {f"{name}/{it}" for it in (*names, *("*" for _ in names[:1]))}
    return ObjectsAtEnds(there)


def _again(act: Sequence[Removal], ends: BothEnds) -> Set[str]:
    again = set[str]()
    for name in sorted({it.database for it in act}):
        again |= ends.at_source(name) or set()
    for name in sorted({it.table for it in act if it.kind == "partition" and it.table in again}):
        there_again = ends.partitions_at_source(TableName.parse(name)) or set()
        again |= {f"{name}/{it}" for it in there_again}
        lost = next((it for it in act if it.object == f"{name}/*"), None)
        if lost is not None and len(there_again) >= lost.count:
            again.add(lost.object)
    return again
