"""Consistent points: when a target shows a database as the source had it at one moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import structlog

from pysync.base.errors import PysyncError, UsageError
from pysync.capture.clocks import Clocks
from pysync.capture.overlaps import CALM_SECONDS, CLOSE_SECONDS
from pysync.model.event import SIDECAR, Event, Kind
from pysync.model.named import objects_of
from pysync.model.wire import decode_event
from pysync.queue import EventQueue, Queued
from pysync.replay.drain import Drain
from pysync.replay.window.mapping import NameMapping
from pysync.replay.window.order import Hold, concerns, is_database
from pysync.sidecar.waiting.capture import THERE, Arrival, Capture, Verdict, waits
from pysync.sidecar.waiting.reaching import Objects, Reaching

# --- Proof: whether a target with the events up to a position shows what the source's database had at one moment.
# Pure.
#
# What speaks against it: an object was read at the source when that had more than these events; two metastores
# changed the database at about the same time, so nobody knows whose change was first; or the events before and after
# the position may belong to one call.


_CALL_SECONDS = 0.1
"""The callbacks of one call follow each other at once."""
_OF_SEVERAL = frozenset(
    {
        Kind.ALTER_PARTITION,
        Kind.DROP_PARTITION,
        Kind.ADD_PRIMARYKEY,
        Kind.ADD_FOREIGNKEY,
        Kind.ADD_UNIQUECONSTRAINT,
        Kind.ADD_NOTNULLCONSTRAINT,
        Kind.ADD_DEFAULTCONSTRAINT,
        Kind.ADD_CHECKCONSTRAINT,
    }
)
"""The kinds of events of which one call of a metastore may bring several."""


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """An event of the database: who reported it, when by our clock (s), and what it is about, by the target's names.

    `keys` are empty if that is not known. `refresh`: it is the sidecar's own.
    """

    position: int
    instance: str
    thread: str | None
    at: float
    kind: Kind | None
    keys: frozenset[str]
    refresh: bool = False


def doubt(before: Sequence[ReportedChange], after: Sequence[ReportedChange], read: Set[str] | None) -> str | None:
    """Why the state between `before` and `after` may never have been at the source; None if it has.

    `before` are the last events of the database up to the position, as many as are close to the first of `after`;
    `after` all that have come since; `read` the objects that were read at the source meanwhile (None: too many).
    """
    if read is None:
        return "too many objects were read at the source meanwhile"
    return _read_later(after, read) or _two_metastores(before, after) or _one_call(before, after)


def _read_later(after: Sequence[ReportedChange], read: Set[str]) -> str | None:
    for event in after:
        if not event.refresh and any(_may_show(key, event.keys) for key in sorted(read)):
            return f"{_name(event)} changed again after it was read at the source"
    return None


def _may_show(key: str, keys: Set[str]) -> bool:
    """Whether what was read of an object shows a change of these keys; without a name it is the list of databases."""
    return not keys or (concerns({key})(keys) if key else any(map(is_database, keys)))


def _two_metastores(before: Sequence[ReportedChange], after: Sequence[ReportedChange]) -> str | None:
    for event in after:
        for other in before:
            of_two = not (event.refresh or other.refresh) and event.instance != other.instance
            if of_two and event.at - other.at < CLOSE_SECONDS:
                return f"two metastores changed {_name(other)} and {_name(event)} at about the same time"
    return None


def _one_call(before: Sequence[ReportedChange], after: Sequence[ReportedChange]) -> str | None:
    """Only the next event of a thread can be of the same call as its last one."""
    last = {(it.instance, it.thread): it for it in before}
    seen: set[tuple[str, str | None]] = set()
    for event in after:
        who = (event.instance, event.thread)
        other = last.get(who)
        follows = who not in seen and other is not None and event.at - other.at < _CALL_SECONDS
        if follows and other is not None and event.kind in _OF_SEVERAL and event.keys & other.keys:
            return f"two changes of {_name(event)} may be of one call"
        seen.add(who)
    return None


def _name(event: ReportedChange) -> str:
    return min(event.keys, default="an object")


# --- Witness: the events of a database in the queue on both sides of a position, as a proof needs them

_CHUNK = 200
_BYTES = 16 * 1024 * 1024
_NO_CHANGE = frozenset({Kind.GOODBYE, Kind.INSERT})


@dataclass(frozen=True, slots=True)
class Witness:
    """Reads the queue for one target's names of some objects; `clocks` are those of the listeners."""

    queue: EventQueue
    mapping: NameMapping
    objects: Objects
    clocks: Clocks

    def after(self, position: int) -> list[ReportedChange]:
        """The events behind the position, in order."""
        changes: list[ReportedChange] = []
        while events := self.queue.events(position, _CHUNK, _BYTES):
            changes += self._changes(events)
            position = events[-1].position
        return changes

    def before(self, position: int, earliest: float) -> list[ReportedChange]:
        """The last events up to the position, in order: those that may be close to one that came at `earliest`."""
        changes: list[ReportedChange] = []
        end = position + 1
        while end > 1:
            begin = max(1, end - _CHUNK)
            events = [it for it in self.queue.events(begin - 1, end - begin, _BYTES) if it.position < end]
            seen = list(self._changes(events))
            changes[:0] = seen
            # What came long before was changed long before, unless a spool held it: then its listener's time decides.
            if not events or (seen and max(it.at for it in seen) < earliest - 2 * CLOSE_SECONDS):
                return changes
            if events[-1].at_ms / 1000 < earliest - 2 * CLOSE_SECONDS:
                return changes
            end = begin
        return changes

    def _changes(self, events: list[Queued]) -> Iterator[ReportedChange]:
        for queued in events:
            change = self._of(queued)
            if change is not None and self.objects.concerned(change.keys):
                yield change

    def _of(self, queued: Queued) -> ReportedChange | None:
        try:
            event = decode_event(queued.data)
        except PysyncError:
            return ReportedChange(queued.position, "", None, queued.at_ms / 1000, None, frozenset())
        if event.kind in _NO_CHANGE:
            return None
        names = objects_of(event, queued.position) or _attributes(event)
        keys = frozenset(self.mapping.key(name) for name in names)
        at = event.time_ms / 1000 - (self.clocks.offset(event.instance) or 0.0)
        refresh = event.instance == SIDECAR
        return ReportedChange(
            queued.position, event.instance, event.attributes.get("thread"), at, event.kind, keys, refresh
        )


def _attributes(event: Event) -> list[str]:
    """The object that an event names in its attributes, as a refresh does."""
    database, table = event.attributes.get("database", ""), event.attributes.get("table", "")
    return [f"{database}.{table}" if table else database] if database else []


# --- Consistent: holds a database at a target in a state that the source's database had at one moment.
#
# 1. Everything that the source had when this was made arrives in the queue.
# 2. The database is held at an event behind that: the target gets what is before, and nothing of this database that is
#    behind it. Other databases go on.
# 3. When the target has it, once more everything that the source has then arrives. What came behind the held event
#    shows whether the target may have got anything of it. If so, it is held at a later event.

log = structlog.get_logger(__name__)

_UNSETTLED = "the order of two changes is not known"


class Consistent:
    """A wait for a consistent point of the database `name`, held for `seconds` at most. For one thread at a time."""

    def __init__(self, drain: Drain, queue: EventQueue, capture: Capture, name: str, seconds: float) -> None:
        _refuse(drain, name)
        mapping = drain.translator.mapping
        self._drain, self._queue, self._capture, self._seconds = drain, queue, capture, seconds
        self._objects = Objects.of(name, mapping)
        self._reaching = Reaching(drain, queue, self._objects)
        self._witness = Witness(queue, mapping, self._objects, capture.watch.clocks)
        self._arrival: Arrival | None = self._new_arrival()
        self._since = self._arrival.begun  # what was read at the source before that is in the queue, too
        self._hold: Hold | None = None
        self._call: tuple[int, float] | None = None  # the second arrival, and when it began
        self._attempts = 0
        self._reached: Verdict | None = None

    def verdict(self) -> Verdict:
        """What it has come to; once it is `there` the database stays held until `end`."""
        if self._reached is not None:
            return self._reached
        verdict = self._reaching.hindered() or self._step()
        if verdict.state == THERE:
            self._reached = verdict
        elif verdict.state == "cannot":
            self.end()
        return verdict

    def end(self) -> bool:
        """Let the database go on; whether it was held until now."""
        hold, self._hold = self._hold, None
        return hold is not None and self._drain.holds.end(hold)

    def _step(self) -> Verdict:
        if self._arrival is not None:
            verdict = self._arrival.verdict()
            if isinstance(verdict, Verdict):
                return verdict
            self._since = max(self._since, self._arrival.begun)
            self._arrival = None
            if not self._begin_hold(verdict):
                return self._retry(_UNSETTLED, after_arrival=True)
        hold = self._hold
        if hold is None or not self._drain.holds.lasts(hold):
            return self._retry(f"the target had to begin anew, or it took longer than {self._seconds:g} s")
        if self._call is None:
            behind = self._reaching.verdict(hold.upto)
            if behind is not None:
                return behind
            self._call = self._capture.begin(), self._capture.clock()
        return self._capture.missing(self._call[0]) or self._proved(hold, self._call[1])

    def _begin_hold(self, least: int) -> bool:
        """Hold the database; False if the order of two changes before the held event is not known."""
        clock, concerned = self._capture.clock, concerns({self._objects.source})
        # What is unsettled before may be settled by a refresh behind the held event; what becomes so later stays so for
        # longer than this takes.
        began, before = clock(), self._capture.is_unsettled(clock(), concerned)
        self._hold = self._drain.holds.begin(self._objects.databases, least, self._seconds)
        self._call = None
        self._attempts += 1
        return not (before or self._capture.is_unsettled(clock(), concerned)) and clock() - began < CALM_SECONDS

    def _proved(self, hold: Hold, called_at: float) -> Verdict:
        """All that may have been read at the source has come: judge by what is behind the held event."""
        gap, upto = self._capture.gap(self._drain.name)
        if gap is not None or upto > hold.upto:
            return self._retry("changes of it may be missing", after_arrival=True)
        after = self._witness.after(hold.upto)
        before = self._witness.before(hold.upto, min(it.at for it in after)) if after else []
        doubtful = doubt(before, after, self._read())
        if doubtful is not None:
            self._since = called_at
            return self._retry(doubtful)
        return self._there(hold)

    def _read(self) -> set[str] | None:
        read = self._drain.reads.since(self._since - CLOSE_SECONDS)
        return None if read is None else {key for key in read if not key or self._objects.concerned({key})}

    def _there(self, hold: Hold) -> Verdict:
        if not self._drain.holds.lasts(hold):
            return self._retry("the target had to begin anew")
        left = max(0.0, hold.until - self._capture.clock())
        text = f"{self._drain.name} shows {self._objects.source} as the source had it after event {hold.upto}"
        more = {"attempts": self._attempts, "held_seconds": round(left, 3)}
        return Verdict(THERE, "consistent", text, None, hold.upto, more)

    def _retry(self, why: str, *, after_arrival: bool = False) -> Verdict:
        """Let the database go on, and try a later event; `after_arrival`: first let everything arrive again."""
        self.end()
        log.info("point_doubted", target=self._drain.name, database=self._objects.source, reason=why)
        if after_arrival or not self._begin_hold(self._queue.last):
            self.end()
            self._arrival = self._new_arrival()
        return waits("again", f"no consistent point yet ({self._attempts} tried): {why}")

    def _new_arrival(self) -> Arrival:
        return Arrival(self._capture, self._drain.name, concerns({self._objects.source}))


def _refuse(drain: Drain, name: str) -> None:
    if "." in name:
        raise UsageError("a consistent point is of a database", "write db")
    if drain.settings.both_ways:
        raise UsageError(
            f"target {drain.name} has both_ways = true: it has changes of its own, so it shows no moment of the source",
            "wait without --consistent",
        )
