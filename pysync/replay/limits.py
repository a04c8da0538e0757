"""Limits: how much a target may lose, and what exceeds that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from pysync.base.text import duration
from pysync.queue import Removal
from pysync.queue.removals import State
from pysync.replay.removal_index import RemovalIndex
from pysync.targets.settings import TargetSettings

HELD: tuple[State, State] = ("held", "open")
"""The states of what waits for a person."""


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


@dataclass(frozen=True, slots=True)
class ObjectsAtEnds:
    """What both ends have: what is `there` at the target now, and what is `to_be` there once all that is under way is
    applied, both by database and partitioned table; what the source has `again`.
    """

    there: Mapping[str, Set[str]]
    again: Set[str] = frozenset()
    to_be: Mapping[str, Set[str]] = field(default_factory=dict)


class LimitCheck:
    """What exceeds the limits, among what is known of other removals. `now_ms` is the time since 1970."""

    def __init__(self, limits: Limits, rows: RemovalIndex, now_ms: Callable[[], int]) -> None:
        self._limits, self._rows, self._now_ms = limits, rows, now_ms

    def may_exceed(self, judged: Sequence[Removal], beside: Sequence[Removal]) -> bool:
        """Whether these removals may exceed a limit, or wait for a decision, as far as neither end has to be asked.

        `beside` are the tables that are held in the same databases.
        """
        if self._over_window(judged) or self._over_time(judged) or self.open(judged):
            return True
        databases = {it.database for it in judged if it.lasting} if self._limits.share else set()
        return any(self._may_exceed_share(name, [*judged, *beside]) for name in databases)

    def _may_exceed_share(self, database: str, act: Iterable[Removal]) -> bool:
        """Whether so many tables are gone that it is too much of the smallest database that has a share."""
        gone, most = set[str](), self._limits.share * self._limits.share_from
        for name in self._gone(database, act):
            gone.add(name)
            if len(gone) > most:
                return True
        return False

    def exceeding(self, lost: Sequence[Removal], beside: Sequence[Removal], view: ObjectsAtEnds) -> dict[str, str]:
        """The objects that exceed a limit, or wait for a decision anyhow, each with the reason."""
        held = self.open(lost)
        for some in self._new_and_held(lost):
            if why := self._over_window(some) or self._over_time(some):
                held |= dict.fromkeys((it.object for it in some if it.count), why)
        for database in sorted({it.database for it in lost} & view.there.keys()) if self._limits.share else ():
            if reason := self._over_share(database, [*lost, *beside], view):
                of_share = (it for it in lost if it.database == database and it.kind != "partition" and it.count)
                held |= dict.fromkeys((it.object for it in of_share), reason)
        return held | self._held_beside_new([it for it in lost if it.object not in held and _is_there(it, view)])

    def _held_beside_new(self, passing: Sequence[Removal]) -> dict[str, str]:
        """What stays held though its own reason has ended: what would go now, with it, is too much."""
        why = self._over_window(passing) or self._over_time(passing)
        return dict.fromkeys((it.object for it in self._new_and_held(passing)[1] if it.count), why) if why else {}

    def _new_and_held(self, act: Sequence[Removal]) -> tuple[list[Removal], list[Removal]]:
        """What comes now, and what is held: the number of the one says nothing of the other."""
        new, held = list[Removal](), list[Removal]()
        for it in act:
            (held if self._rows.state(it.object) in HELD else new).append(it)
        return new, held

    def open(self, lost: Sequence[Removal]) -> dict[str, str]:
        """Those that wait for a decision whatever the limits say, each with the reason."""
        rows = ((it, self._rows.get(it.object)) for it in lost if it.count)
        return {it.object: row.reason for it, row in rows if row is not None and row.state == "open"}

    def _over_window(self, act: Sequence[Removal]) -> str:
        limit = self._limits.window
        return f"max_drops_per_window is {limit}" if limit and sum(it.count for it in act) > limit else ""

    def _over_time(self, act: Sequence[Removal]) -> str:
        limit, seconds = self._limits.drops, self._limits.seconds
        repeated = (row for it in act if (row := self._rows.get(it.object)) is not None and row.state == "passed")
        most = sum(it.count for it in act) + self._rows.passed - sum(it.count for it in repeated)
        if not limit or most <= limit:
            return ""
        times = [*self._rows.times(), *(it.at_ms for it in act)]
        if max(times) - min(times) >= seconds * 1000:
            names = {it.object for it in act}
            passed = (it for it in self._rows.of("passed") if it.object not in names)
            most = _most_within([*act, *passed], round(seconds * 1000))
        return f"there are {most} drops within {duration(seconds)}, max_drops is {limit}" if most > limit else ""

    def _over_share(self, database: str, lost: Sequence[Removal], view: ObjectsAtEnds) -> str:
        tables = tables_among(view.there[database])
        gone = set(self._gone(database, lost))
        left = tables_among(view.to_be[database]) | (tables & view.again)
        left -= {it.object for it in lost if it.kind == "table"} | set(self._kept_lately(database))
        had = left | gone
        number, share = len(had) - len(left), self._limits.share
        if len(had) < self._limits.share_from or number <= share * len(had):
            return ""
        return f"{number} of the {len(had)} tables of {database} would be gone, max_drop_share is {share:g}"

    def _gone(self, database: str, act: Iterable[Removal]) -> Iterator[str]:
        """The tables of a database that are gone, or would be, and those that a person has kept lately."""
        passed = self._rows.within(database, "passed")
        yield from (it.object for it in (*act, *passed) if it.lasting and it.database == database)
        yield from self._kept_lately(database)

    def _kept_lately(self, database: str) -> Iterator[str]:
        since = self._now_ms() - self._limits.seconds * 1000
        return (it.object for it in self._rows.within(database, "keep") if it.lasting and it.at_ms > since)


def is_lost(removal: Removal, view: ObjectsAtEnds, put: Set[str]) -> bool:
    """Whether the source does not have the object, and the target does, or will before it is removed.

    Also where nobody has looked.
    """
    if not removal.leaving and removal.object in view.again:
        return False
    to_be = view.to_be.get(removal.table if removal.kind == "partition" else removal.database)
    return to_be is None or removal.object in put or removal.object in to_be


def _is_there(removal: Removal, view: ObjectsAtEnds) -> bool:
    """Whether the target has the object now. Also where nobody has looked."""
    there = view.there.get(removal.table if removal.kind == "partition" else removal.database)
    return there is None or removal.object in there


def tables_among(objects: Set[str]) -> set[str]:
    """The tables among the objects of a database."""
    return {it for it in objects if "." in it and not it.endswith("()")}


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
