"""Directions: what each change is to a target: one way, or both ways by its object's home and its path.

Each target has one `Direction`, which its policy holds. Nothing else in the replay knows which of the two it is. Pure,
but for what `DroppedTables` remembers.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.home import Provenance, Stance, births_of, home_of, stance
from pysync.model.mark import Mark
from pysync.model.operation import Refresh
from pysync.model.wire import decode, encode
from pysync.replay.window.origins import HomeOrigins, Origins
from pysync.targets.settings import TargetSettings

_TABLES = frozenset({Kind.CREATE_TABLE, Kind.ALTER_TABLE, Kind.DROP_TABLE})
_DATABASES = frozenset({Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.DROP_DATABASE})
_PARTITIONS = frozenset({Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION})
# The only bound: a window may be translated more than once, so what was used is kept.
_MOST_DROPPED = 20_000
_MOST_DROPPED_BYTES = 64 * 1024 * 1024
_OF_HOME_ALONE = frozenset({Kind.COLUMN_STATISTICS, Kind.INSERT})


@dataclass(frozen=True, slots=True)
class Direction:
    """The way of changes to a target that only receives; `BothWays` is that to a target whose cluster replicates back.

    `cluster` is the name of the target's own source.
    """

    cluster: str = ""
    relays: bool = False
    """Whether there are other clusters behind the target, which get changes from it."""

    names_objects: ClassVar[bool] = True
    """Whether marks hold the names of objects at the source."""
    shares_databases: ClassVar[bool] = False
    """Whether a database may have been born at both ends, so that a refresh of what is in it brings it along."""
    skips_repeated_requests: ClassVar[bool] = False
    """Whether only the last of equal re-read requests counts."""

    @classmethod
    def of(cls, settings: TargetSettings) -> Direction:
        """The direction of a target."""
        cluster = settings.cluster or settings.name
        return BothWays(cluster, settings.relay) if settings.both_ways else Direction(cluster)

    def rule_against(self, change: Change) -> str | None:
        """The rule by which the target is not to have a change, whatever its object; None if there is none."""
        if self.cluster in change.event.visited:
            return f"the change came from the cluster {self.cluster}"
        return self._rule_against_loss(change)

    def placed(self, change: Change) -> Change | None:
        """The change, with what it is to the target; None if the target has had it, or gets it from elsewhere."""
        return change

    def has_lost(self, request: Change) -> bool:  # noqa: ARG002
        """Whether a re-read request says that the target may have lost changes, and came from elsewhere."""
        return False

    def origins(self, refresh: Refresh) -> Origins:
        """The origins of the objects that a refresh reads."""
        return Origins(refresh, self.cluster, self.relays)

    def _rule_against_loss(self, change: Change) -> str | None:
        return "the target has no other clusters behind it" if change.reports_loss and not self.relays else None


@dataclass(frozen=True, slots=True)
class BothWays(Direction):
    """The home of an object decides. With `relays` the target also gets objects whose home is neither end."""

    relays: bool = True

    names_objects: ClassVar[bool] = False  # a mark is the home's, and each cluster has names of its own
    shares_databases: ClassVar[bool] = True
    skips_repeated_requests: ClassVar[bool] = True

    def rule_against(self, change: Change) -> str | None:
        """Not because the change has been there: `placed` judges echoes."""
        return self._rule_against_loss(change)

    def placed(self, change: Change) -> Change | None:
        """By the home of its object."""
        if change.kind is Kind.REFRESH:
            return None if self.cluster in change.event.visited else change
        if change.kind in _OF_HOME_ALONE:
            return None if self.cluster in change.event.visited else change
        item = _object(change)
        if item is None:  # a function or constraint, without a mark: the target's object has the home
            return replace(change, provenance=Provenance(None, change.event.source, change.event.visited))
        return self._placed(change, item)

    def has_lost(self, request: Change) -> bool:
        """If the target is its home. A cluster that replicates to this one has compared itself with it.

        That finds what differs at either.
        """
        visited = request.event.visited
        return self.relays and request.event.attributes["home"] == self.cluster and visited[-2:-1] != (self.cluster,)

    def origins(self, refresh: Refresh) -> Origins:
        """By the homes of the objects."""
        return HomeOrigins(refresh, self.cluster, self.relays)

    def _placed(self, change: Change, item: Any) -> Change | None:
        source, visited = change.event.source, change.event.visited
        home = home_of(item.parameters, source)
        mark = None if home == source else Mark.read(item.parameters)
        if mark and change.kind is Kind.DROP_DATABASE and self.cluster in births_of(item.parameters, source):
            home, mark = self.cluster, Mark(self.cluster, 0, 0)  # it was born at the target as well
        if change.kind is Kind.CREATE_DATABASE and home not in visited:
            visited = (home, *visited)  # only a sidecar writes marks: the home has had it
        standing = stance(home, visited, self.cluster)
        if standing is None or not (self.relays or home in {source, self.cluster}):
            return self._given_way(change, home)
        then = self._moved(change, home) if change.kind is Kind.ALTER_TABLE else None
        whole = change.new_table_name if _gets_a_name(change, standing) else change.whole
        return replace(change, provenance=Provenance(standing, home, visited, mark), whole=whole, then=then)

    def _given_way(self, change: Change, home: str) -> Change | None:
        """What the target has to know of a change that is not for it: a table is no longer what it was.

        The target's own table, which had a replica here, has to be sent again. A table that was born at the source is
        gone. The same holds for the tables that went with a database which others drop.
        """
        if change.kind is Kind.DROP_DATABASE and self.cluster not in change.event.visited:
            source = change.event.source
            return replace(change, provenance=Provenance(Stance.STATE, source, (source,), tables_alone=True))
        moved = self._moved(change, home) if change.kind is Kind.ALTER_TABLE else None
        return moved or (self._freed(change, home) if not self.relays and _frees(change) else None)

    def _moved(self, change: Change, home: str) -> Change | None:
        """What it means to the target that a table's home has changed; None if nothing."""
        source, before = change.event.source, change.before[0]
        was, mark = home_of(before.parameters, source), Mark.read(before.parameters)
        if was == home or not (self.relays or was in {source, self.cluster}):
            return None
        if was == self.cluster:
            return _as_drop(change, Provenance(Stance.REQUEST, was, change.event.visited, mark, blind=True))
        path = (source,) if was == source else (was, source)
        return _as_drop(change, Provenance(Stance.STATE, was, path, None if was == source else mark))

    def _freed(self, change: Change, home: str) -> Change | None:
        """A name that a third cluster's table has given up at the source: it may have kept out the target's own."""
        if home in {change.event.source, self.cluster}:
            return None
        mark = Mark(self.cluster, 0, 0)
        return _as_drop(change, Provenance(Stance.REQUEST, self.cluster, change.event.visited, mark, blind=True))


@dataclass(slots=True)
class _Dropped:
    """A table that was dropped with its database, and the position of that database's drop, once it has come."""

    database: str
    table: bytes
    by: int | None = None


class DroppedTables:
    """The tables that were dropped with their databases: HMS reports each before it commits the drop of the database.

    They may come in an earlier window than that drop. What an earlier process received is lost. For any thread: people
    may look at a plan while the drain is at work.
    """

    def __init__(self) -> None:
        self._tables: OrderedDict[int, _Dropped] = OrderedDict()
        self._bytes = 0  # of the tables; as objects they would take six times as much memory
        self._lock = threading.Lock()

    def note(self, change: Change) -> None:
        """Remember such a table, or hand the remembered tables to the change that drops their database."""
        if change.kind is Kind.DROP_TABLE and change.event.uncommitted:
            with self._lock:
                self._remember(change)
        elif change.kind is Kind.DROP_DATABASE:
            with self._lock:
                dropped = self._dropped_with(change)
            change.dropped_tables = [decode(hive.Table, it) for it in dropped]

    def _remember(self, change: Change) -> None:
        if change.position not in self._tables:
            table = change.before[0]
            self._tables[change.position] = dropped = _Dropped(table.dbName, encode(table))
            self._bytes += len(dropped.table)
        while len(self._tables) > _MOST_DROPPED or self._bytes > _MOST_DROPPED_BYTES:
            self._bytes -= len(self._tables.popitem(last=False)[1].table)

    def _dropped_with(self, change: Change) -> list[bytes]:
        """The tables of the database that no earlier drop has taken along."""
        # By position, and nothing is taken out: a window may be translated more than once.
        dropped = [it for at, it in self._tables.items() if at < change.position and it.by in {None, change.position}]
        dropped = [it for it in dropped if it.database == change.database]
        for it in dropped:
            it.by = change.position
        return [it.table for it in dropped]


def _object(change: Change) -> Any | None:
    """The object that has the home: the database, the table, or the table of partitions."""
    if change.kind in _PARTITIONS:
        return change.table
    objects: Sequence[Any] = change.after or change.before
    return objects[0] if change.kind in _TABLES or change.kind in _DATABASES else None


def _gets_a_name(change: Change, standing: Stance) -> bool:
    """Whether the target has to compare the whole table after the change.

    So it is if the home reports a rename, or if an echo of one comes as a create: changes that were on their way for
    the old name may be missing under the new one.
    """
    if change.kind is Kind.CREATE_TABLE:
        return standing is Stance.ECHO
    return (
        standing is not Stance.REQUEST
        and change.kind is Kind.ALTER_TABLE
        and change.table_name != change.new_table_name
    )


def _frees(change: Change) -> bool:
    """Whether the table's name is free at the source after the change."""
    if change.kind is Kind.DROP_TABLE:
        return not change.event.uncommitted
    return change.kind is Kind.ALTER_TABLE and change.table_name != change.new_table_name


def _as_drop(change: Change, provenance: Provenance) -> Change:
    event = replace(change.event, kind=Kind.DROP_TABLE)
    return replace(change, event=event, before=deepcopy(change.before), after=[], provenance=provenance)
