"""Homes: what a change, or an object that a refresh reads, is to a target: one way, or both ways by its home. Pure.

Each target has one `Direction`, which its policy holds. Nothing else in the replay knows which of the two it is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from hmsclient.genthrift.hive_metastore import ttypes as hive

from pysync.model.change import Change
from pysync.model.event import Kind
from pysync.model.home import Condition, Provenance, Stance, births_of, first_home, home_of, stance
from pysync.model.mark import Mark
from pysync.model.operation import Operation, Refresh, RequestReread
from pysync.targets.settings import TargetSettings

# Directions: what each change is to a target. Both ways its object's home and its path decide.
#
# Pure, but for what `DroppedTables` remembers.


_TABLES = frozenset({Kind.CREATE_TABLE, Kind.ALTER_TABLE, Kind.DROP_TABLE})
_DATABASES = frozenset({Kind.CREATE_DATABASE, Kind.ALTER_DATABASE, Kind.DROP_DATABASE})
_PARTITIONS = frozenset({Kind.ADD_PARTITION, Kind.ALTER_PARTITION, Kind.DROP_PARTITION})
# The only bound: a window may be translated more than once, so what was used is kept.
_MOST_DROPPED = 20_000
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

    table: Any
    by: int | None = None


class DroppedTables:
    """The tables that were dropped with their databases: HMS reports each before it commits the drop of the database.

    They may come in an earlier window than that drop. What an earlier process received is lost. For any thread: people
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


# Origins: the home of an object that a refresh reads, and what follows from it. Pure.


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins for one refresh and one target. One way all that the source has is the source's, but echoes.

    `cluster` and `relays` are those of the target's direction.
    """

    refresh: Refresh
    cluster: str
    relays: bool

    @property
    def source(self) -> str:
        """The cluster that is read."""
        return self.refresh.visited[-1] if self.refresh.visited else self.refresh.mark.source

    def of(self, item: Any, there: Any = None) -> dict[str, Any]:  # noqa: ARG002
        """The mark and path for writing an object. `there` is the target's object, if the source has none."""
        mark = replace(self.refresh.mark, created=getattr(item, "createTime", None) or 0)
        before = Mark.read(getattr(item, "parameters", None))
        visited = (before.source,) if before is not None else ()
        return {"mark": mark, "visited": (*visited, *self.refresh.visited)}

    def of_function(self, home: str, at_source: Any, there: Any) -> dict[str, Any]:  # noqa: ARG002
        """The same for a function of a database, once its `home` has confirmed it."""
        return self.of(at_source, there)

    def comes_from_target(self, item: Any) -> bool:
        """Whether the object is the target's own, which it must not get back."""
        mark = Mark.read(item.parameters)
        return mark is not None and mark.source == self.cluster

    def is_ours(self, there: Any) -> bool:
        """Whether the target has the object from the source, so that this refresh may drop it."""
        mark = None if there is None else Mark.read(there.parameters)
        return mark is not None and mark.source == self.refresh.mark.source

    def home(self, item: Any, there: Any) -> str:  # noqa: ARG002
        """The home of an object, as source, target and the sender of a re-read request know it; "" if nobody does."""
        return self.source

    def brings_state_of(self, home: str) -> bool:  # noqa: ARG002
        """Whether the refresh brings the state of that home; else it can only request a reread."""
        return True

    def is_over(self, at_source: Any, there: Any) -> bool:  # noqa: ARG002
        """Whether the home of the target's table has given up the name to another cluster's table, which will come."""
        return False

    def state_home(self, at_source: Any, home: str) -> str:  # noqa: ARG002
        """Whose state is passed on for a table of `home`: that of the table's present home, if it was sent too."""
        return home

    def concerns_target(self, home: str) -> bool:  # noqa: ARG002
        """Whether the target gets objects of that home."""
        return True

    def request_reread(self, home: str, database: str, *, table: str = "", function: str = "") -> Iterator[Operation]:  # noqa: ARG002
        """Have it read again at the target if that is its home, else on the way to or from the home."""
        return iter(())


class HomeOrigins(Origins):
    """Both ways. No event has the home of an object that is read, so the object itself must.

    A refresh brings only the state of an object's home. For all other objects it can only request a reread.
    """

    __slots__ = ()

    def of(self, item: Any, there: Any = None) -> dict[str, Any]:
        """The mark is the home's. What the home has not confirmed is only a request."""
        refresh = self.refresh
        # The refresh of an operation's table (pysync.replay.window.plan) has the mark of the home, which may be a third
        # cluster.
        own = refresh.mark if refresh.mark.source == self.source else Mark(self.source, 0, 0)
        if isinstance(item, hive.Database):
            own = replace(own, born=0)  # the refresh may be of a table in it, whose birth that is
        parameters = getattr(there if item is None else item, "parameters", None)
        mark = Mark.read(parameters)
        if mark is None or first_home(parameters, self.source, relay=self.relays) == own.source:
            mark = replace(own, created=getattr(item, "createTime", None) or 0)
        asks = not self.brings_state_of(mark.source) or mark.source == self.cluster
        condition = Condition(
            Stance.REQUEST if asks else Stance.STATE, may_be_absent=refresh.needed, chain_length=refresh.chain_length
        )
        return {"mark": mark, "visited": refresh.visited, "condition": condition}

    def of_function(self, home: str, at_source: Any, there: Any) -> dict[str, Any]:
        """The mark is that of `home`.

        The mark of the database at the source may name another home: clusters that created the database at the same
        time need not know of each other yet.
        """
        origin = self.of(at_source, there)
        if origin["mark"].source == home:
            return origin
        return origin | {
            "mark": replace(self.refresh.mark, source=home, born=0),
            "condition": Condition(None, place=home, chain_length=self.refresh.chain_length),
        }

    def comes_from_target(self, item: Any) -> bool:  # noqa: ARG002
        """Never: the target's own objects are compared, too."""
        return False

    def is_ours(self, there: Any) -> bool:
        """If the refresh brings the state of its home."""
        return there is not None and self.brings_state_of(self.home(None, there))

    def home(self, item: Any, there: Any) -> str:
        """If source, target and the sender of a re-read request disagree, it is the smallest name."""
        mine = "" if item is None else first_home(item.parameters, self.source, relay=self.relays)
        theirs = "" if there is None else first_home(there.parameters, self.cluster, relay=self.relays)
        return min(filter(None, (mine, theirs, self.refresh.home)), default="")

    def brings_state_of(self, home: str) -> bool:
        """If the refresh has been there."""
        return home in self.refresh.visited

    def is_over(self, at_source: Any, there: Any) -> bool:
        """If the refresh brings the state of the home that the target knows, and the source knows another one."""
        home = None if there is None else home_of(there.parameters, self.cluster)
        return home is not None and self.brings_state_of(home) and home != home_of(at_source.parameters, self.source)

    def state_home(self, at_source: Any, home: str) -> str:
        """The home that the table has at the source, if the refresh brings that."""
        now = home if at_source is None else home_of(at_source.parameters, self.source)
        return now if self.brings_state_of(now) else home

    def concerns_target(self, home: str) -> bool:
        """In pairs the target gets a third cluster's objects from that cluster itself."""
        return self.relays or home in {self.source, self.cluster}

    def request_reread(self, home: str, database: str, *, table: str = "", function: str = "") -> Iterator[Operation]:
        """Unless it concerns a third cluster in pairs."""
        if self.relays or home == self.cluster:
            way: dict[str, Any] = {"mark": self.refresh.mark, "visited": self.refresh.visited}
            way["chain_length"] = max(1, self.refresh.chain_length)
            yield RequestReread(database=database, table=table, function=function, home=home, **way)


def is_in_the_way(there: Any, wanted: Any) -> bool:
    """Whether the target has an earlier table of that name, whose partitions do not fit the wanted one."""
    mark = Mark.read(there.parameters) if there is not None else None
    earlier = mark is not None and 0 < mark.created < (wanted.createTime or 0)
    return earlier and keys_of(there) != keys_of(wanted)


def keys_of(table: Any) -> list[str]:
    """The names of its partition keys."""
    return [key.name for key in table.partitionKeys or ()]
