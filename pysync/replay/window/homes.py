"""Homes: what a change or an object that a refresh reads is to a target with both_ways, by the object's home. Pure."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.mark import Condition, Mark, Provenance, Stance, births_of, first_home, home_of, stance
from pysync.model.operation import Operation, Refresh, RequestReread
from pysync.replay.window.policy import Policy
from pysync.targets.settings import TargetSettings

# Homes: what each change is to a target with `both_ways`, by its object's home and the path of the change.
#
# Pure, but for what `DroppedTables` remembers.


_TABLES = frozenset({Kind.CREATE_TABLE, Kind.ALTER_TABLE, Kind.DROP_TABLE})
_DATABASES = frozenset({Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.DROP_DATABASE})
_PARTITIONS = frozenset({Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION})
# The only bound: a window may be translated more than once, so what was used is kept.
_MOST_DROPPED = 20_000
_OF_HOME_ALONE = frozenset({Kind.COLUMN_STATISTICS, Kind.INSERT})


@dataclass(frozen=True, slots=True)
class Homes:
    """The view of one target: its cluster's name, and whether it gets objects whose home is neither end."""

    cluster: str
    relay: bool = True

    @classmethod
    def of(cls, settings: TargetSettings) -> Homes | None:
        """The view of a target; None without `both_ways`."""
        return cls(settings.cluster or settings.name, settings.relay) if settings.both_ways else None

    def placed(self, change: Change) -> Change | None:
        """The change, with what it is to the target; None if the target has had it, or gets it from elsewhere."""
        if change.kind is Kind.REFRESH:
            return None if self.cluster in change.event.visited else change
        if change.kind in _OF_HOME_ALONE:
            return None if self.cluster in change.event.visited else change
        item = _object(change)
        if item is None:  # a function or constraint, without a mark: the target's object tells the home
            return replace(change, provenance=Provenance(None, change.event.source, change.event.visited))
        return self._placed(change, item)

    def has_lost(self, request: Change) -> bool:
        """Whether a re-read request says that the target may have lost changes, and did not come from there directly.

        A cluster that replicates to this one has compared itself with it, which finds what differs at either.
        """
        visited = request.event.visited
        return self.relay and request.event.attributes["home"] == self.cluster and visited[-2:-1] != (self.cluster,)

    def _placed(self, change: Change, item: Any) -> Change | None:
        source, visited = change.event.source, change.event.visited
        home = home_of(item.parameters, source)
        mark = None if home == source else Mark.read(item.parameters)
        if mark and change.kind is Kind.DROP_DATABASE and self.cluster in births_of(item.parameters, source):
            home, mark = self.cluster, Mark(self.cluster, 0, 0)  # it was born at the target as well
        if change.kind is Kind.CREATE_DATABASE and home not in visited:
            visited = (home, *visited)  # only a sidecar writes marks: the home has had it
        standing = stance(home, visited, self.cluster)
        if standing is None or not (self.relay or home in {source, self.cluster}):
            return self._given_way(change, home)
        then = self._moved(change, home) if change.kind is Kind.ALTER_TABLE else None
        whole = change.new_table_name if _gets_a_name(change, standing) else change.whole
        return replace(change, provenance=Provenance(standing, home, visited, mark), whole=whole, then=then)

    def _given_way(self, change: Change, home: str) -> Change | None:
        """What the target has to know of a change that is not for it: a table is no longer what it was.

        The target's own table, which had a replica here, has to be told again. A table that was born at the source is
        gone. The same holds for the tables that went with a database which others drop.
        """
        if change.kind is Kind.DROP_DATABASE and self.cluster not in change.event.visited:
            source = change.event.source
            return replace(change, provenance=Provenance(Stance.STATE, source, (source,), tables_alone=True))
        moved = self._moved(change, home) if change.kind is Kind.ALTER_TABLE else None
        return moved or (self._freed(change, home) if not self.relay and _frees(change) else None)

    def _moved(self, change: Change, home: str) -> Change | None:
        """What it means to the target that a table's home has changed; None if nothing."""
        source, before = change.event.source, change.before[0]
        was, mark = home_of(before.parameters, source), Mark.read(before.parameters)
        if was == home or not (self.relay or was in {source, self.cluster}):
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

    table: Any
    by: int | None = None


class DroppedTables:
    """The tables that were dropped with their databases: HMS tells each before it commits the drop of the database.

    They may come in an earlier window than that drop. What an earlier process was told is lost. For any thread: people
    may look at a plan while the drain is at work.
    """

    def __init__(self) -> None:
        self._tables: OrderedDict[int, _Dropped] = OrderedDict()
        self._lock = threading.Lock()

    def note(self, change: Change) -> None:
        """Remember such a table, or hand the remembered tables to the change that drops their database."""
        with self._lock:
            if change.kind is Kind.DROP_TABLE and change.event.uncommitted:
                self._remember(change)
            elif change.kind is Kind.DROP_DATABASE:
                change.dropped_tables = self._dropped_with(change)

    def _remember(self, change: Change) -> None:
        known = self._tables.get(change.position)
        self._tables[change.position] = _Dropped(change.before[0], known.by if known else None)
        while len(self._tables) > _MOST_DROPPED:
            self._tables.popitem(last=False)

    def _dropped_with(self, change: Change) -> list[Any]:
        """The tables of the database that no earlier drop has taken along."""
        # By position, and nothing is taken out: a window may be translated more than once.
        dropped = [it for at, it in self._tables.items() if at < change.position and it.by in {None, change.position}]
        dropped = [it for it in dropped if it.table.dbName == change.database]
        for it in dropped:
            it.by = change.position
        return [it.table for it in dropped]


def _object(change: Change) -> Any | None:
    """The object that tells the home: the database, the table, or the table of partitions."""
    if change.kind in _PARTITIONS:
        return change.table
    objects: Sequence[Any] = change.after or change.before
    return objects[0] if change.kind in _TABLES or change.kind in _DATABASES else None


def _gets_a_name(change: Change, standing: Stance) -> bool:
    """Whether the target has to compare the whole table after the change.

    So it is if the home tells of a rename, or if an echo of one comes as a create: changes that were on their way for
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


# Origins: the home of an object that a refresh reads, and what follows from it. Pure.
#
# No event tells it, so the object itself does. Both ways a refresh brings only the state of an object's home. For all
# other objects it can only ask the home to say them again.


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins for one refresh and one target."""

    policy: Policy
    refresh: Refresh

    def of(self, item: Any, there: Any = None) -> dict[str, Any]:
        """The mark and path for writing an object. `there` is the target's object, if the source has none."""
        if self.policy.both_ways:
            return self._both_ways(item, there)
        mark = replace(self.refresh.mark, created=getattr(item, "createTime", None) or 0)
        before = Mark.read(getattr(item, "parameters", None))
        visited = (before.source,) if before is not None else ()
        return {"mark": mark, "visited": (*visited, *self.refresh.visited)}

    def of_function(self, home: str, at_source: Any, there: Any) -> dict[str, Any]:
        """The same for a function of a database, once its `home` has said it.

        The mark of the database at the source may name another home: clusters that created the database at the same
        time need not know of each other yet.
        """
        origin = self.of(at_source, there)
        if not self.policy.both_ways or origin["mark"].source == home:
            return origin
        return origin | {
            "mark": replace(self.refresh.mark, source=home, born=0),
            "condition": Condition(None, place=home, chain_length=self.refresh.chain_length),
        }

    def comes_from_target(self, item: Any) -> bool:
        """Whether the object is the target's own, which it must not get back; both ways it is compared."""
        if self.policy.both_ways:
            return False
        mark = Mark.read(item.parameters)
        return mark is not None and mark.source == self.policy.cluster

    def is_ours(self, there: Any) -> bool:
        """Whether the target has the object from the source, so that this refresh may drop it."""
        if there is None:
            return False
        if self.policy.both_ways:
            return self.brings_state_of(self.home(None, there))
        mark = Mark.read(there.parameters)
        return mark is not None and mark.source == self.refresh.mark.source

    # --- both ways

    def home(self, item: Any, there: Any) -> str:
        """The home of an object, as source, target and the sender of a re-read request know it; "" if nobody does.

        If they disagree, it is the smallest name.
        """
        mine = "" if item is None else first_home(item.parameters, self.source, relay=self.policy.relay)
        theirs = (
            "" if there is None else first_home(there.parameters, self.policy.cluster or "", relay=self.policy.relay)
        )
        return min(filter(None, (mine, theirs, self.refresh.home)), default="")

    def brings_state_of(self, home: str) -> bool:
        """Whether the refresh brings the state of that home; one way it always does."""
        return not self.policy.both_ways or home in self.refresh.visited

    def is_over(self, at_source: Any, there: Any) -> bool:
        """Whether the home of the target's table has given up the name to another cluster's table, which will come."""
        if there is None or not self.policy.both_ways:
            return False
        home = home_of(there.parameters, self.policy.cluster or "")
        return self.brings_state_of(home) and home != home_of(at_source.parameters, self.source)

    def state_home(self, at_source: Any, home: str) -> str:
        """Whose state is passed on for a table of `home`: that of the table's present home, if it was said too."""
        now = home if at_source is None else home_of(at_source.parameters, self.source)
        return now if self.brings_state_of(now) else home

    def concerns_target(self, home: str) -> bool:
        """Whether the target gets objects of that home."""
        return self.policy.relay or home in {self.source, self.policy.cluster}

    def request_reread(self, home: str, database: str, *, table: str = "", function: str = "") -> Iterator[Operation]:
        """Have the object read anew at the target if that is its home, else on the way to or from the home."""
        if self.policy.both_ways and (self.policy.relay or home == self.policy.cluster):
            way: dict[str, Any] = {"mark": self.refresh.mark, "visited": self.refresh.visited}
            way["chain_length"] = max(1, self.refresh.chain_length)
            yield RequestReread(database=database, table=table, function=function, home=home, **way)

    @property
    def source(self) -> str:
        """The cluster that is read."""
        return self.refresh.visited[-1] if self.refresh.visited else self.refresh.mark.source

    def _both_ways(self, item: Any, there: Any) -> dict[str, Any]:
        """The mark is the home's. What the home has not said is only a request."""
        refresh = self.refresh
        # The refresh of an operation's table (pysync.replay.window.plan) has the mark of the home, which may be a third
        # cluster.
        own = refresh.mark if refresh.mark.source == self.source else Mark(self.source, 0, 0)
        if isinstance(item, hive.Database):
            own = replace(own, born=0)  # the refresh may be of a table in it, whose birth that is
        parameters = getattr(there if item is None else item, "parameters", None)
        mark = Mark.read(parameters)
        if mark is None or first_home(parameters, self.source, relay=self.policy.relay) == own.source:
            mark = replace(own, created=getattr(item, "createTime", None) or 0)
        asks = not self.brings_state_of(mark.source) or mark.source == self.policy.cluster
        condition = Condition(
            Stance.REQUEST if asks else Stance.STATE, anew=refresh.anew, chain_length=refresh.chain_length
        )
        return {"mark": mark, "visited": refresh.visited, "condition": condition}


def is_in_the_way(there: Any, wanted: Any) -> bool:
    """Whether the target has an earlier table of that name, whose partitions do not fit the wanted one."""
    mark = Mark.read(there.parameters) if there is not None else None
    earlier = mark is not None and 0 < mark.created < (wanted.createTime or 0)
    return earlier and keys_of(there) != keys_of(wanted)


def keys_of(table: Any) -> list[str]:
    """The names of its partition keys."""
    return [key.name for key in table.partitionKeys or ()]
